"""Public bug reports about streams: what each one's oracle says, through ``harness stream --json`` and the loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.pipeline.loop import LoopResult, LoopStatus
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolParameter
from harness.play.script import ScriptedTurn
from harness.wire.exchange import Response
from harness.wire.rules import check_request
from tests.pipeline.playing import SSE, Answers, call, calling, codes_of, held, saying
from tests.pipeline.tools import SmallTool

pytestmark = pytest.mark.corpus

Reports = Mapping[str, Mapping[str, Any]]
Read = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def reports(shared_dir: Path) -> Reports:
    file = shared_dir / "cases" / "bug-reports.jsonl"
    if not file.is_file():
        pytest.skip("the bug reports (../shared/cases/bug-reports.jsonl) are not beside this checkout")
    return {report["id"]: report for report in map(json.loads, file.read_text("utf-8").splitlines())}


@pytest.fixture
def read(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Read:
    """What ``harness stream --json`` prints for a body, with the names of the tools offered."""

    def run(body: str | bytes, tools: list[str] | None = None, max_tokens: int | None = None) -> dict[str, Any]:
        file = tmp_path / "body.sse"
        file.write_bytes(body if isinstance(body, bytes) else body.encode())
        options = [] if max_tokens is None else ["--max-tokens", str(max_tokens)]
        if tools is not None:
            (tmp_path / "tools.json").write_text(json.dumps(tools), "utf-8")
            options += ["--tools", str(tmp_path / "tools.json")]
        with pytest.raises(SystemExit) as ended:
            main(["stream", str(file), "--json", *options])
        printed = capsysbinary.readouterr()
        assert (ended.value.code, printed.err) == (0, b"")
        document: dict[str, Any] = json.loads(printed.out)
        return document

    return run


def calls_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls with parsed arguments; a call that takes nothing has an empty object."""
    return [{**one, "arguments": json.loads(one["arguments"] or "{}")} for one in document["tool_calls"]]


def codes(document: Mapping[str, Any]) -> list[str]:
    return [anomaly["code"] for anomaly in document["anomalies"]]


def oracle(reports: Reports, number: str) -> Any:
    return reports[number]["expected"]["oracle"]


def body_of(reports: Reports, number: str) -> Any:
    """The body of a report's stream, or several by name."""
    given = reports[number]["input"]
    if given["kind"] == "sse_chunks_hex":
        return b"".join(bytes.fromhex(chunk) for chunk in given["chunks"])
    return given["bodies"] if given["kind"] == "sse_set" else given["body"]


def played(body: str, *tools: SmallTool, **config: Any) -> tuple[LoopResult, list[dict[str, Any]]]:
    """A loop whose model answers with a report's stream first, and then with text."""
    return held(Answers(Response(200, SSE, body.encode()), saying()), *tools, stream=True, **config)


def tool(name: str, *parameters: str) -> SmallTool:
    return SmallTool(
        name,
        lambda given: ToolResult.success(f"saw {given.get('path')}"),
        parameters=[ToolParameter(each, "string") for each in parameters],
    )


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("A03", ["index_reused"]),
        ("A04", ["first_index_not_zero"]),
        ("A07", ["id_changed"]),
        ("A27", ["arguments_cumulative"]),
        ("A28", []),
        ("A29", ["arguments_resent"]),
        ("A32", []),
        ("A33", []),
    ],
)
def test_a03_a04_a07_a27_a28_a29_a32_a33_the_calls_are_those_of_the_oracle(
    reports: Reports, read: Read, number: str, found: list[str]
) -> None:
    document = read(body_of(reports, number))
    wanted = oracle(reports, number)
    assert calls_of(document) == wanted["tool_calls"]
    assert document["content"] == wanted.get("content")
    assert (document["status"], codes(document)) == ("complete", found)


def test_a05_an_orphan_fragment_joins_the_open_call_with_a_warning(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A05"))
    assert calls_of(document) == [{"id": "call_a", "name": "read_file", "arguments": {"path": "a"}}]
    assert document["anomalies"] == [{"code": "orphan_fragment", "at": 1}]


@pytest.mark.parametrize("name", ["split_name", "split_equal_halves", "repeated"])
def test_a08_the_tools_offered_settle_a_name(reports: Reports, read: Read, name: str) -> None:
    tools = reports["A08"]["input"]["registries"][name]
    (found,) = read(body_of(reports, "A08")[name], tools)["tool_calls"]
    assert found["name"] == oracle(reports, "A08")[name]


def test_a13_ids_that_come_back_in_a_later_turn_pair_within_their_turn(reports: Reports) -> None:
    recorded = [message for message in reports["A13"]["input"]["messages"] if message["role"] == "assistant"]
    turns: list[ScriptedTurn] = []
    for message in recorded:
        (asked,) = message["tool_calls"]
        turns.append(calling(call(asked["function"]["name"], asked["function"]["arguments"], asked["id"])))
    seen = tool("read_file", "path")
    result, bodies = held([*turns, saying()], seen)
    assert (result.status, seen.runs) == (LoopStatus.ANSWERED, [{"path": "a"}, {"path": "b"}])
    history = bodies[-1]["messages"]
    assert check_request(bodies[-1]) == []
    answers = [json.loads(message["content"])["text"] for message in history if message["role"] == "tool"]
    assert answers == ["saw a", "saw b"]
    ids = [message["tool_call_id"] for message in history if message["role"] == "tool"]
    assert len(set(ids)) == 2


def test_a14_finish_reason_stop_with_calls_goes_on(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A14"))
    wanted = oracle(reports, "A14")
    assert (calls_of(document), document["status"]) == (wanted["tool_calls"], "complete")
    assert wanted["loop"] == "continues"
    seen = tool("read_file", "path")
    _, bodies = played(body_of(reports, "A14"), seen)
    assert (seen.runs, len(bodies)) == ([{"path": "a"}], 2)


def test_a16_usage_without_choices_is_taken_once(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A16"))
    assert document["content"] == oracle(reports, "A16")["content"]
    assert document["usage"]["total_tokens"] == oracle(reports, "A16")["usage_total"]


def test_a18_null_frames_change_nothing(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A18"))
    assert (document["content"], document["status"]) == (oracle(reports, "A18")["content"], "complete")
    assert codes(document) == ["null_frame", "null_frame"]


def test_a19_an_error_inside_a_stream(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A19"))
    assert document["status"] == "error"
    assert document["error"]["message"] == oracle(reports, "A19")["error"]
    assert played(body_of(reports, "A19"))[0].status is LoopStatus.ERROR


@pytest.mark.parametrize("name", ["eof_no_done", "done_no_finish", "cut_mid_call", "clean"])
def test_a20_how_a_stream_ends(reports: Reports, read: Read, name: str) -> None:
    status, _, executions = oracle(reports, "A20")[name].partition(", ")
    body = body_of(reports, "A20")[name]
    assert read(body)["status"] == status
    seen = tool("write_file", "path", "content")
    result, _ = played(body, seen)
    assert (result.status is LoopStatus.ANSWERED) == (status == "complete")
    if executions:
        assert (executions, seen.runs) == ("0 executions", [])


@pytest.mark.parametrize("number", ["A24", "A25"])
def test_a24_a25_framing_and_split_characters(reports: Reports, read: Read, number: str) -> None:
    document = read(body_of(reports, number))
    assert (document["content"], document["status"]) == (oracle(reports, number)["content"], "complete")
    assert document["anomalies"] == []


@pytest.mark.parametrize("name", ["prefix", "genuine"])
def test_a26_an_empty_object_before_the_arguments_or_alone(reports: Reports, read: Read, name: str) -> None:
    (found,) = calls_of(read(body_of(reports, "A26")[name]))
    assert found["arguments"] == oracle(reports, "A26")[name]


def test_a36_cut_at_the_token_limit_under_another_label(reports: Reports, read: Read) -> None:
    body, limit = body_of(reports, "A36"), reports["A36"]["input"]["request"]["max_tokens"]
    assert read(body, max_tokens=limit)["status"] == oracle(reports, "A36")["status"]
    assert read(body)["status"] == "complete"
    seen = tool("write_file", "path", "content")
    result, _ = played(body, seen, parameters={"max_tokens": limit})
    assert (len(seen.runs), codes_of(result)) == (oracle(reports, "A36")["executions"], [ErrorCode.OUTPUT_LIMIT])


def test_a37_finish_reason_length_runs_nothing(reports: Reports, read: Read) -> None:
    body = body_of(reports, "A37")
    assert read(body)["status"] == "truncated"
    assert oracle(reports, "A37")["forbidden"] == "b.md exists"
    seen = tool("write_file", "path", "content")
    result, _ = played(body, seen)
    assert (seen.runs, codes_of(result)) == ([], [ErrorCode.OUTPUT_LIMIT] * 2)


@pytest.mark.parametrize("name", ["xml", "bare", "talking_about_it"])
def test_a38_a_call_written_as_text(reports: Reports, read: Read, name: str) -> None:
    body = body_of(reports, "A38")[name]
    document = read(body, ["read_file"])
    assert (document["tool_calls"], document["status"]) == ([], "complete")
    leaked = oracle(reports, "A38")[name] == "leak detected"
    assert codes(document) == (["call_in_text"] if leaked else [])
    assert codes(read(body)) == codes(document)
    seen = tool("read_file", "path")
    played(body, seen)
    assert seen.runs == []


def test_a39_whole_calls_without_an_index(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "A39"))
    assert len(document["tool_calls"]) == oracle(reports, "A39")["tool_calls"]
    assert [one["arguments"]["path"] for one in calls_of(document)] == ["a", "b"]


def test_i02_running_totals_are_not_added_up(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "I02"))
    assert document["usage"]["total_tokens"] == oracle(reports, "I02")["usage_total"]


def test_i03_usage_beside_a_placeholder_choice(reports: Reports, read: Read) -> None:
    document = read(body_of(reports, "I03"))
    wanted = oracle(reports, "I03")
    assert document["finish_reason"] == wanted["finish_reason"]
    assert document["usage"]["total_tokens"] == wanted["usage_total"]


def test_x05_a_choice_with_another_index_is_read(reports: Reports, read: Read) -> None:
    body = body_of(reports, "A14").replace('"choices": [{"index": 0', '"choices": [{"index": 1')
    document = read(body)
    assert reports["X05"]["input"]["text"] == "choices[0].index=1"
    assert calls_of(document) == oracle(reports, "A14")["tool_calls"]
    assert document["anomalies"] == [{"code": "choice_index_not_zero", "at": 0}]


def test_every_report_about_a_stream_has_its_test(reports: Reports) -> None:
    source = Path(__file__).read_text("utf-8")
    for number, report in reports.items():
        if report["family"] == "A" or report["input"]["kind"].startswith("sse"):
            assert f"test_{number.lower()}_" in source or f"_{number.lower()}_" in source, number
