"""Bug reports of family B about arguments: each gives the answer that its report calls right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.pipeline.argument_policy import STRICT, ArgumentPolicy, read_arguments
from harness.pipeline.arguments import ParameterValidator
from harness.pipeline.executor import Execution, ToolExecutor
from harness.pipeline.loop import LoopStatus
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result
from harness.pipeline.tool import ToolKind
from harness.scenario.portable import portable
from harness.trace.folder import save_run
from harness.trace.run import Run
from harness.wire.rules import check_request
from tests.pipeline.playing import Session, call, calling, codes_of, held, saying
from tests.pipeline.tools import flat, json_objects

LENIENT = ArgumentPolicy(repair=True, coerce=True)
POLICIES = pytest.mark.parametrize("policy", [STRICT, LENIENT], ids=["strict", "lenient"])

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
READ: dict[str, Any] = {"path": TEXT, "offset": INTEGER, "limit": INTEGER}
WRITE: dict[str, Any] = {"path": TEXT, "content": TEXT, "append": {"type": "boolean", "default": False}}
CHANGE = {"type": "object", "properties": {"old": TEXT, "new": TEXT}, "required": ["old", "new"]}
TOOLS: dict[str, tuple[ToolKind, dict[str, Any], list[str]]] = {
    "list_tasks": (ToolKind.READ, {}, []),
    "read_file": (ToolKind.READ, READ, ["path"]),
    "write_file": (ToolKind.EDIT, WRITE, ["path", "content"]),
    "edit_file": (ToolKind.EDIT, {"path": TEXT, "edits": {"type": "array", "items": CHANGE}}, ["path", "edits"]),
    "run": (ToolKind.SHELL, {"command": TEXT}, ["command"]),
}


def schema_of(tool: str) -> dict[str, Any]:
    _, properties, required = TOOLS[tool]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class Agent:
    """The reports' tools in a pipeline that keeps what each was run with; ``write_file`` writes into ``folder``."""

    def __init__(self, policy: ArgumentPolicy = STRICT, folder: Path | None = None) -> None:
        self.runs: list[dict[str, Any]] = []
        self.folder = folder
        self.registry = ToolRegistry()
        for name, (kind, _, _) in TOOLS.items():
            function = {"name": name, "parameters": schema_of(name)}
            self.registry.register_definition({"type": "function", "function": function}, self._run, kind)
        self.executor = ToolExecutor(self.registry, arguments=policy)

    def _run(self, parameters: Mapping[str, Any]) -> ToolResult:
        self.runs.append(dict(parameters))
        if self.folder is not None:
            (self.folder / parameters["path"]).write_text(parameters["content"], "utf-8", newline="")
        return ToolResult.success("done")

    def send(self, tool: str, arguments: object) -> Execution:
        outcome = ToolOrchestrator(self.executor).run([flat(tool, arguments)])
        assert json.loads(outcome.observations[0].observation)["status"] == outcome.executions[0].result.status
        return outcome.executions[0]


def accepted(tool: str, arguments: str, policy: ArgumentPolicy = STRICT) -> dict[str, Any]:
    """What the tool is run with."""
    agent = Agent(policy)
    done = agent.send(tool, arguments)
    assert done.result.status is ToolStatus.SUCCESS, done.result.text
    (parameters,) = agent.runs
    return parameters


def refused(tool: str, arguments: str, policy: ArgumentPolicy = STRICT) -> str:
    """Why the tool is not run."""
    agent = Agent(policy)
    done = agent.send(tool, arguments)
    assert done.result.error_code is ErrorCode.INVALID_PARAM
    assert not done.executed
    assert agent.runs == []
    return done.result.text


@POLICIES
@pytest.mark.parametrize("arguments", ["", " ", "\n", "{}"])
def test_b01_empty_arguments_are_none_and_a_missing_parameter_still_counts(
    arguments: str, policy: ArgumentPolicy
) -> None:
    assert accepted("list_tasks", arguments, policy) == {}
    assert '"path" is a required property' in refused("read_file", arguments, policy)


@POLICIES
@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("null", "null"),
        ("[]", "an array"),
        ("123", "a number"),
        ('"abc"', "a string"),
        ("true", "a boolean"),
        ('[{"path":"a"}]', "an array"),
    ],
)
def test_b02_what_is_no_object_is_one_error_that_names_its_type(
    arguments: str, kind: str, policy: ArgumentPolicy
) -> None:
    assert refused("read_file", arguments, policy) == f"arguments are a JSON object, not {kind}"


def test_b02_the_loop_goes_on() -> None:
    values = ["null", "[]", "123", '"abc"', "true", '[{"path":"a"}]']
    turns = [calling(*(call("read_file", value, f"c{n}") for n, value in enumerate(values))), saying("ok")]
    result, _ = held(turns, registry=Agent().registry)
    assert result.status is LoopStatus.ANSWERED
    assert codes_of(result) == [ErrorCode.INVALID_PARAM] * len(values)


ENCODED_TWICE = '"{\\"path\\": \\"a\\"}"'


def test_b03_arguments_encoded_twice_are_refused_by_default() -> None:
    assert refused("read_file", ENCODED_TWICE) == "arguments are a JSON object, not a string"


def test_b03_with_repair_they_are_decoded_once_more_and_it_is_told() -> None:
    agent = Agent(ArgumentPolicy(repair=True))
    done = agent.send("read_file", ENCODED_TWICE)
    assert agent.runs == [{"path": "a"}]
    assert done.result.context["repaired"] == ("decoded once more",)
    assert ("arguments", "repaired") in [(decision.gate, decision.outcome) for decision in done.decisions]


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps(json.dumps({"file": "a"})),
        json.dumps(json.dumps(json.dumps({"path": "a"}))),
        json.dumps("null"),
        json.dumps(""),
        json.dumps("abc"),
    ],
)
def test_b03_only_once_and_only_to_an_object_that_the_schema_takes(arguments: str) -> None:
    refused("read_file", arguments, LENIENT)


def test_b03_a_repair_that_does_not_fit_says_both() -> None:
    reason = refused("read_file", json.dumps(json.dumps({"file": "a"})), LENIENT)
    assert "arguments are a JSON object, not a string" in reason
    assert '"path" is a required property' in reason


@POLICIES
@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ('{"path": "p.json", "content": "{\\"a\\": 1}"}', b'{"a": 1}'),
        ('{"path": "n.txt", "content": "123"}', b"123"),
        ('{"path": "t.txt", "content": "true"}', b"true"),
    ],
)
def test_b05_a_text_that_looks_like_json_is_written_as_it_is(
    tmp_path: Path, arguments: str, content: bytes, policy: ArgumentPolicy
) -> None:
    Agent(policy, tmp_path).send("write_file", arguments)
    (written,) = tmp_path.iterdir()
    assert written.read_bytes() == content


@POLICIES
def test_b05_an_object_for_a_text_is_an_error(policy: ArgumentPolicy) -> None:
    reason = refused("write_file", '{"path": "p.json", "content": {"a": 1}}', policy)
    assert reason.startswith("content: ")
    assert 'is not of type "string"' in reason


@POLICIES
def test_b08_braces_inside_a_text_are_left_alone(policy: ArgumentPolicy) -> None:
    arguments = '{"path": "a.js", "content": "if(x){y}{z}"}'
    assert accepted("write_file", arguments, policy) == {"path": "a.js", "content": "if(x){y}{z}"}


@given(json_objects)
@example({"a": "}{", "b": "```json\n{}\n```", "c": "'True', None,}"})
def test_b08_a_text_that_is_json_is_never_altered(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        reading = read_arguments(text, ParameterValidator({}), LENIENT)
        assert (reading.parameters, reading.problem) == (json.loads(text), None)
        assert reading.repairs == reading.coercions == ()


def test_b09_a_trailing_comma_is_an_error_with_its_place_or_a_repair_that_is_told() -> None:
    reason = refused("read_file", '{"path":"a",}')
    assert "at line 1 column 1" in reason
    assert "near" in reason
    assert accepted("read_file", '{"path":"a",}', LENIENT) == {"path": "a"}
    done = Agent(LENIENT).send("read_file", '{"path":"a",}')
    assert done.result.context["repaired"] == ("comma before a closing bracket left out",)


@pytest.mark.parametrize("arguments", ["{,}", '{"path":"a",,}', '{"path":,}', '[{"path":"a"},]', '{"path":"a"},', ","])
def test_b09_other_commas_are_no_trailing_ones(arguments: str) -> None:
    refused("read_file", arguments, LENIENT)


@POLICIES
@pytest.mark.parametrize(
    "arguments",
    ["{'path', 'a'}", "{'path': b'a'}", "{'path': 1j}", "{'path': ('a','b')}", "{1: 'a'}", "{None: 'a'}",
     "{'path': r'a'}", "{'path': 'a' 'b'}", "{'path': f'{1}'}",
     "{'path': '\\x61'}", "{'path': '\\/'}", "{'path': ...}"],
)  # fmt: skip
def test_b11_python_literals_that_json_has_no_word_for_are_errors(arguments: str, policy: ArgumentPolicy) -> None:
    refused("read_file", arguments, policy)


@POLICIES
def test_b13_a_surrogate_pair_is_one_character(policy: ArgumentPolicy) -> None:
    arguments = '{"path":"a","content":"\\ud83d\\ude42"}'
    assert accepted("write_file", arguments, policy)["content"] == "\U0001f642"
    assert accepted("write_file", "{'path':'a','content':'\\ud83d\\ude42'}", LENIENT)["content"] == "\U0001f642"


@POLICIES
@pytest.mark.parametrize("arguments", ['{"path":"a","content":"bad \\ud83d end"}', '{"path":"a","content":"\ud83d"}'])
def test_b13_half_a_pair_is_an_error(arguments: str, policy: ArgumentPolicy) -> None:
    serialize_tool_result(ToolResult.error(ErrorCode.INVALID_PARAM, refused("write_file", arguments, policy)))


def test_b13_half_a_pair_reaches_neither_the_next_request_nor_breaks_the_trace(tmp_path: Path) -> None:
    turns = [calling(call("write_file", '{"path":"a","content":"bad \\ud83d end"}')), saying("ok")]
    with Session(turns, registry=Agent().registry) as session:
        result = session.run()
    assert result.status is LoopStatus.ANSWERED
    assert session.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
    run = Run("surrogate", "scenario", "surrogate")
    lane = run.lane("main")
    for record in session.records:
        run.add_step(lane, record, None)
    save_run(run, tmp_path / "run", portable(str(tmp_path)))
    assert (tmp_path / "run" / "run.json").stat().st_size


CUT = [
    '{"path":"notes.md","content":"first li',
    '{"path":"notes.md","content":"first line"',
    '{"path":"notes.md"',
]


@POLICIES
@pytest.mark.parametrize("arguments", CUT)
def test_b14_cut_arguments_are_never_completed(arguments: str, policy: ArgumentPolicy) -> None:
    assert "the arguments are incomplete" in refused("write_file", arguments, policy)


WRITERS = st.sampled_from(
    [
        ("write_file", {"path": "notes.md", "content": "a `}` and a '}', or \"]\" \\"}),
        ("write_file", {"path": "a", "content": "", "append": True}),
        ("edit_file", {"path": "a", "edits": [{"old": "}", "new": "]"}, {"old": "```", "new": "'"}]}),
        ("run", {"command": "rm -rf '{a,}' \"b\""}),
    ]
)
NOTATIONS = st.sampled_from(
    [
        json.dumps,
        lambda value: json.dumps(json.dumps(value)),
        lambda value: f"```json\n{json.dumps(value)}\n```",
        lambda value: f"```\n{value!r}\n```",
        repr,
        lambda value: json.dumps(value)[:-1] + ",}",
    ]
)


@given(WRITERS, NOTATIONS, st.data())
def test_b14_no_part_of_an_arguments_text_has_a_side_effect(
    written: tuple[str, dict[str, Any]], notation: Any, data: st.DataObject
) -> None:
    tool, arguments = written
    text = notation(arguments)
    length = data.draw(st.integers(1, len(text) - 1))
    assert read_arguments(text, ParameterValidator(schema_of(tool)), LENIENT).parameters == arguments
    reading = read_arguments(text[:length], ParameterValidator(schema_of(tool)), LENIENT)
    assert reading.problem is not None
    assert reading.parameters == {}


@POLICIES
def test_b15_brackets_inside_texts_are_not_counted(policy: ArgumentPolicy) -> None:
    whole = '{"path":"a","edits":[{"old":"}","new":"]"}]}'
    assert accepted("edit_file", whole, policy) == {"path": "a", "edits": [{"old": "}", "new": "]"}]}
    reason = refused("edit_file", '{"path":"a","edits":[{"old":"x","new":"y"', policy)
    assert "the arguments are incomplete: 3 brackets are not closed" in reason


FENCED = ['```json\n{"path":"a"}\n```', '```\n{"path":"a"}\n```']
NOT_ONLY_FENCED = [
    '{"path":"a"} I will read it now.',
    'Here: ```json\n{"path":"a"}\n``` and ```json\n{"path":"b"}\n```',
    '```json\n{"path":"a"}\n```\n```json\n{"path":"b"}\n```',
    '```json\n{"path":"a"}',
    '{"path":"a"}\n```',
    "```\n```",
    "```json\n[]\n```",
    "```json\nnull\n```",
]


@pytest.mark.parametrize("arguments", FENCED)
def test_b17_one_fence_around_the_whole_text_is_taken_away_with_repair_only(arguments: str) -> None:
    assert "not valid JSON" in refused("read_file", arguments)
    assert accepted("read_file", arguments, LENIENT) == {"path": "a"}
    done = Agent(LENIENT).send("read_file", arguments)
    assert done.result.context["repaired"] == ("taken out of a code fence",)


@POLICIES
@pytest.mark.parametrize("arguments", NOT_ONLY_FENCED)
def test_b17_prose_and_a_second_fence_are_errors(arguments: str, policy: ArgumentPolicy) -> None:
    refused("read_file", arguments, policy)


@POLICIES
@pytest.mark.parametrize("number", ["Infinity", "NaN", "-Infinity", "1e999", "-1e999"])
def test_b18_what_is_no_finite_number_is_an_error_that_names_the_parameter(number: str, policy: ArgumentPolicy) -> None:
    reason = refused("read_file", f'{{"path":"a","limit":{number}}}', policy)
    assert "limit is no finite number" in reason
    assert "edits[1].old is no finite number" in refused("edit_file", f'{{"edits":[{{}},{{"old":{number}}}]}}', policy)


@POLICIES
def test_b20_integers_keep_all_digits(policy: ArgumentPolicy) -> None:
    assert accepted("read_file", '{"path":"a","offset":9007199254740993}', policy)["offset"] == 9007199254740993
    assert accepted("read_file", '{"path":"a","offset":5.0}', policy)["offset"] == 5
    refused("read_file", '{"path":"a","offset":"5.5"}', policy)


@pytest.mark.parametrize(
    ("text", "number"), [("1234567890123456789", 1234567890123456789), ("5", 5), ("-0", 0), ("5.0", 5), ("1e2", 100)]
)
def test_b20_a_number_in_a_text_is_read_with_coercion_only(text: str, number: int) -> None:
    arguments = json.dumps({"path": "a", "offset": text})
    assert "offset" in refused("read_file", arguments)
    assert "offset" in refused("read_file", arguments, ArgumentPolicy(repair=True))
    agent = Agent(ArgumentPolicy(coerce=True))
    done = agent.send("read_file", arguments)
    assert agent.runs == [{"path": "a", "offset": number}]
    assert isinstance(agent.runs[0]["offset"], int)
    assert done.result.context["coerced"] == (f'offset: "{text}" read as {number}',)
    assert ("arguments", "coerced") in [(decision.gate, decision.outcome) for decision in done.decisions]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 5",
        "5 ",
        "+5",
        "05",
        "0x10",
        "1_000",
        "\u0665",
        "five",
        "NaN",
        "Infinity",
        "1e999",
        "9" * 2000,
        "true",
        "yes",
    ],
)
def test_b20_what_is_no_json_number_stays_an_error(text: str) -> None:
    refused("read_file", json.dumps({"path": "a", "offset": text}), LENIENT)


def test_b20_the_history_has_the_arguments_as_they_came() -> None:
    for text in ('{"path":"a","offset":9007199254740993}', '{ "path":"a", "offset":"5"}'):
        with Session([calling(call("read_file", text)), saying()], registry=Agent().registry) as session:
            session.run()
        assert session.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == text


MIXED = '{"path": "a", "append": True, "offset": None}'


def test_x01_python_words_in_json_are_an_error_by_default_and_read_with_repair() -> None:
    assert "not valid JSON" in refused("write_file", MIXED)
    written = '{"path": "a", "content": "True, None", "append": True}'
    assert accepted("write_file", written, LENIENT) == {"path": "a", "content": "True, None", "append": True}
    assert accepted("read_file", '{"path": "a", "offset": None}', LENIENT) == {"path": "a"}
    assert accepted("read_file", "{'path': 'it\\'s \"a\"'}", LENIENT) == {"path": 'it\'s "a"'}
    reading = read_arguments(MIXED, ParameterValidator({}), ArgumentPolicy(repair=True))
    assert reading.parameters == {"path": "a", "append": True, "offset": None}
    assert reading.repairs == ("Python literals read",)


@POLICIES
@pytest.mark.parametrize("arguments", ['{"path":"ok","path":"../x"}', "{'path':'ok','path':'../x'}"])
def test_x02_a_key_that_appears_twice_is_an_error_whatever_the_policy(arguments: str, policy: ArgumentPolicy) -> None:
    refused("read_file", arguments, policy)


def test_a_repaired_call_goes_back_as_json_and_says_so_in_its_plan() -> None:
    registry = Agent().registry
    orchestrator = ToolOrchestrator(ToolExecutor(registry, arguments=LENIENT))
    (plan,) = orchestrator.plan_tool_calls([flat("read_file", FENCED[0])])
    assert (plan.parsed_input, plan.parse_error, plan.concurrency_safe) == ({"path": "a"}, None, True)
    assert plan.repairs == ("taken out of a code fence",)
    turns = [calling(call("read_file", FENCED[0])), saying()]
    with Session(turns, registry=registry) as session:
        session.loop.orchestrator = orchestrator
        result = session.run()
    assert codes_of(result) == [None]
    sent = session.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"path": "a"}
    assert [check_request(body) for body in session.bodies] == [[], []]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_coercion_gives_what_fits_the_schema_or_changes_nothing(value: Any) -> None:
    validator = ParameterValidator(
        {
            "type": "object",
            "properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}},
        }
    )
    reading = read_arguments(json.dumps({"n": value}), validator, LENIENT)
    assert reading.problem is None
    if reading.coercions:
        assert validator.problem({"n": value}) is not None
        assert validator.problem(reading.parameters) is None
    else:
        assert reading.parameters == {"n": value}


def test_coercion_reaches_into_lists_and_alternatives() -> None:
    properties = {
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}, "on": {
            "type": "boolean"}}}},
    }  # fmt: skip
    text = '{"limit": "3", "rows": [{"n": "0.1", "on": "true"}, {"n": 2, "on": "False"}]}'
    reading = read_arguments(text, ParameterValidator({"properties": properties}), LENIENT)
    assert reading.parameters == {"limit": 3, "rows": [{"n": 0.1, "on": True}, {"n": 2, "on": False}]}
    assert len(reading.coercions) == 4


def test_a_number_that_a_float_cannot_hold_is_not_rounded() -> None:
    validator = ParameterValidator({"properties": {"n": {"type": "number"}}})
    reading = read_arguments('{"n": "12345678901234567.25"}', validator, LENIENT)
    assert reading.parameters == {"n": "12345678901234567.25"}


def test_null_is_left_out_only_where_the_parameter_need_not_be_there() -> None:
    assert accepted("read_file", '{"path":"a","limit":null}', LENIENT) == {"path": "a"}
    refused("read_file", '{"path":"a","limit":null}')
    refused("read_file", '{"path":null}', LENIENT)


@pytest.mark.corpus
def test_each_oracle_of_the_log_holds(shared_dir: Path) -> None:
    """B03, B17 and B20 hold with repair and coercion; all others under both policies."""
    seen = 0
    for line in (shared_dir / "cases" / "bug-reports.jsonl").read_text("utf-8").splitlines():
        report = json.loads(line)
        source, oracle = report["input"], report["expected"].get("oracle")
        if report["family"] != "B" or not oracle or source["kind"] not in ("arguments", "arguments_set"):
            continue
        values = source.get("values", [source.get("arguments")])
        for position, value in enumerate(values):
            agent = Agent(LENIENT)
            done = agent.send(source["tool"], value)
            wanted = oracle.get(str(position), oracle.get("arguments", oracle.get("all")))
            if isinstance(wanted, dict):
                assert agent.runs == [wanted], (report["id"], value)
            elif isinstance(wanted, int):
                assert agent.runs[0]["offset"] == wanted, (report["id"], value)
            elif (isinstance(wanted, str) and wanted.startswith("error")) or oracle.get("executions") == 0:
                assert (done.result.error_code, agent.runs) == (ErrorCode.INVALID_PARAM, []), (report["id"], value)
            elif isinstance(wanted, str) and wanted.startswith("file == "):
                assert agent.runs[0]["content"] == wanted.removeprefix("file == "), (report["id"], value)
            seen += wanted is not None
    assert seen >= 25
