from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from harness.play.neutral.actions import Action, EditFile, RawCall, ReadFile, RunCommand
from harness.play.neutral.filling import SAID
from harness.play.neutral.turn import NeutralTurn
from harness.play.player import CannotAnswerError
from harness.play.script import ScriptedTurn
from tests.play.offers import BASH, EDIT, FOLDER, READ, body, call_of, text, tool

HELLO = EditFile("hello.py", "helo", "hello")
PATH_AND_TEXTS = {"old_string": text(), "new_string": text()}


# Reading


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (tool("Read", {"path": text("Path relative to project root.")}), {"path": "hello.py"}),
        (tool("read", {"filePath": text("The absolute path to the file")}), {"filePath": f"{FOLDER}/hello.py"}),
        (tool("read_file", {"file_path": text("Must start with '/'.")}), {"file_path": f"{FOLDER}/hello.py"}),
        (tool("read_file", {"absolute_path": text()}), {"absolute_path": f"{FOLDER}/hello.py"}),
        (tool("read", {"path": text("relative or absolute")}), {"path": "hello.py"}),
        (
            tool("read", {"path": text()}, description="Paths are absolute, not relative."),
            {"path": f"{FOLDER}/hello.py"},
        ),
        (
            tool("view", {"target_file": text("Relative paths are not supported")}),
            {"target_file": f"{FOLDER}/hello.py"},
        ),
        (
            tool(
                "read_files", {"files": {"type": "array", "items": {"type": "object", "properties": {"path": text()}}}}
            ),
            {"files": [{"path": "hello.py"}]},
        ),
        (tool("readFiles", {"paths": {"type": "array", "items": {"type": "string"}}}), {"paths": ["hello.py"]}),
        (
            tool("file_editor", {"command": {"enum": ["view", "create"]}, "path": text("Absolute path")}),
            {"command": "view", "path": f"{FOLDER}/hello.py"},
        ),
    ],
)
def test_a_file_is_read_as_the_tool_wants_it(offered: dict[str, Any], arguments: dict[str, Any]) -> None:
    name, sent = call_of(ReadFile("hello.py"), BASH, offered)
    assert name == offered["function"]["name"]
    assert sent == arguments


def test_an_absolute_path_becomes_relative_where_the_tool_wants_that() -> None:
    offered = tool("read", {"path": text("relative to the project root")})
    assert call_of(ReadFile("${CWD}/src/a.py"), offered) == ("read", {"path": "src/a.py"})
    with pytest.raises(CannotAnswerError, match="wants a path in the agent's folder"):
        call_of(ReadFile("/etc/passwd"), offered)
    with pytest.raises(CannotAnswerError, match="wants a path in the agent's folder"):
        call_of(ReadFile(f"{FOLDER}-2/a.py"), offered)


def test_a_shell_reads_where_nothing_else_does() -> None:
    assert call_of(ReadFile("a file.py"), BASH) == ("bash", {"command": "cat 'a file.py'"})


def test_a_tool_that_reads_something_else_is_not_taken() -> None:
    board = tool("board_read", {"since": text()})
    mailbox = tool("read_mailbox", {"unread": {"type": "boolean"}})
    assert call_of(ReadFile("a.py"), board, mailbox, BASH) == ("bash", {"command": "cat a.py"})


# Running


@pytest.mark.parametrize(
    ("name", "properties", "filled"),
    [
        ("run_shell_command", {"command": text(), "is_background": {"type": "boolean"}}, {"is_background": False}),
        ("execute_bash", {"command": text(), "security_risk": {"enum": ["UNKNOWN", "LOW"]}}, {"security_risk": "LOW"}),
        ("Bash", {"command": text(), "description": text()}, {"description": SAID}),
        ("bash", {"command": text(), "timeout": {"type": ["integer", "null"]}}, {"timeout": None}),
        ("bash", {"command": text(), "timeout_ms": {"type": "integer", "default": 120000}}, {"timeout_ms": 120000}),
        ("bash", {"command": text(), "workdir": text()}, {"workdir": FOLDER}),
        ("bash", {"command": text(), "kind": {"const": "shell"}}, {"kind": "shell"}),
        ("bash", {"command": text(), "mode": {"enum": ["once"]}}, {"mode": "once"}),
    ],
)
def test_what_a_tool_requires_beside_the_command_is_filled_in(
    name: str, properties: dict[str, Any], filled: dict[str, Any]
) -> None:
    assert call_of(RunCommand("ls"), tool(name, properties)) == (name, {"command": "ls", **filled})


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (tool("run_commands", {"commands": {"type": "array", "items": text()}}), {"commands": ["ls"]}),
        (tool("shell", {"command": {"type": "array", "items": text()}}), {"command": ["bash", "-lc", "ls"]}),
        (tool("exec_command", {"cmd": text()}), {"cmd": "ls"}),
    ],
)
def test_a_command_is_run_as_the_tool_wants_it(offered: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert call_of(RunCommand("ls"), offered) == (offered["function"]["name"], arguments)


def test_a_parameter_that_would_need_a_guess_is_an_error() -> None:
    for schema in ({"type": "integer"}, {"type": "string"}, {"enum": ["a", "b"]}, {}):
        offered = tool("bash", {"command": text(), "shard": schema})
        with pytest.raises(CannotAnswerError, match="requires 'shard'"):
            call_of(RunCommand("ls"), offered)


def test_a_known_shell_comes_before_another_one_and_two_unknown_ones_are_an_error() -> None:
    process = tool("run_process", {"command": text()})
    monitor = tool("execute_watched", {"command": text()})
    assert call_of(RunCommand("ls"), process, monitor, BASH)[0] == "bash"
    assert call_of(RunCommand("ls"), process)[0] == "run_process"
    with pytest.raises(CannotAnswerError, match=r"several tools would do \(run_process, execute_watched\)"):
        call_of(RunCommand("ls"), process, monitor)


def test_a_tool_that_is_told_what_to_do_by_its_command_is_no_shell() -> None:
    editor = tool("run_editor", {"command": {"type": "string", "enum": ["view", "str_replace"]}, "path": text()})
    with pytest.raises(CannotAnswerError, match=r"no tool of the request runs shell commands \(it offers run_editor\)"):
        call_of(RunCommand("ls"), editor)


# Editing


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (
            tool("edit", {"filePath": text("absolute path"), "oldString": text(), "newString": text()}),
            {"filePath": f"{FOLDER}/hello.py", "oldString": "helo", "newString": "hello"},
        ),
        (
            tool("editor", {"path": text(), "old_text": {"anyOf": [text(), {"type": "null"}]}, "new_text": text()}),
            {"path": "hello.py", "old_text": "helo", "new_text": "hello"},
        ),
        (
            tool("replace", {"file_path": text(), **PATH_AND_TEXTS, "expected_replacements": {"type": "number"}}),
            {"file_path": "hello.py", "old_string": "helo", "new_string": "hello", "expected_replacements": 1},
        ),
        (
            tool(
                "str_replace_editor",
                {"command": {"enum": ["view", "str_replace"]}, "path": text(), "old_str": text(), "new_str": text()},
            ),
            {"command": "str_replace", "path": "hello.py", "old_str": "helo", "new_str": "hello"},
        ),
        (
            tool(
                "edit",
                {
                    "path": text(),
                    "edits": {"type": "array", "items": {"properties": {"oldText": text(), "newText": text()}}},
                },
            ),
            {"path": "hello.py", "edits": [{"oldText": "helo", "newText": "hello"}]},
        ),
        (
            tool(
                "Edit",
                {"path": text(), "edits": {"type": "array", "items": {"type": "string"}}},
                description="Each item has an `old_string` and its `new_string`.",
            ),
            {"path": "hello.py", "edits": [{"old_string": "helo", "new_string": "hello"}]},
        ),
    ],
)
def test_a_file_is_edited_as_the_tool_wants_it(offered: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert call_of(HELLO, BASH, READ, offered) == (offered["function"]["name"], arguments)


def test_edits_whose_shape_nothing_tells_are_left_to_the_shell() -> None:
    vague = tool("edit", {"path": text(), "edits": {"type": "array", "items": {"type": "string"}}})
    assert call_of(HELLO, vague, BASH)[0] == "bash"
    with pytest.raises(CannotAnswerError, match="no tool of the request edits files"):
        call_of(HELLO, vague)


def test_every_place_is_replaced_only_by_tools_that_can() -> None:
    everywhere = EditFile("a.py", "x", "y", everywhere=True)
    can = tool("edit", {"path": text(), **PATH_AND_TEXTS, "replace_all": {"type": "boolean"}}, ["path"])
    assert call_of(everywhere, can)[1]["replace_all"] is True
    assert "replace_all" not in call_of(EditFile("a.py", "x", "y"), can)[1]
    with pytest.raises(CannotAnswerError, match="cannot replace every place"):
        call_of(everywhere, EDIT)


def test_of_two_editors_the_one_for_one_place_is_taken() -> None:
    several = tool("multi_edit", {"path": text(), "edits": {"type": "array", "items": {"properties": PATH_AND_TEXTS}}})
    assert call_of(HELLO, several, EDIT)[0] == "edit"


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("x", "x")])
def test_an_edit_that_changes_nothing_is_no_edit(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="an edit replaces"):
        EditFile("a.py", old, new)


# The agent's folder


@pytest.mark.parametrize(
    "said",
    [
        "Working directory: /home/dev/w\nIs it a repository: yes",
        "4. Working Directory: /home/dev/w",
        "I'm currently working in the directory: /home/dev/w\nHere is its structure",
        "Current working directory: /home/dev/w/",
        "<cwd>no</cwd> cwd: `/home/dev/w`, shell: bash",
        "The current working directory is /home/dev/w.",
    ],
)
def test_the_folder_is_what_the_request_says_where_the_harness_does_not_know_it(said: str) -> None:
    for messages in (
        [{"role": "system", "content": said}, {"role": "user", "content": "Fix it."}],
        [{"role": "user", "content": [{"type": "text", "text": said}]}],
    ):
        turn = NeutralTurn((RunCommand("ls ${CWD}"),))
        (call,) = turn.scripted(body(BASH, messages=messages), 0).calls
        assert json.loads(call.arguments or "") == {"command": "ls /home/dev/w"}


def test_two_folders_or_none_are_not_guessed_from() -> None:
    two = [{"role": "system", "content": "Working directory: /a\nWorking directory: /b"}]
    for messages in (two, [{"role": "user", "content": "Fix it."}]):
        with pytest.raises(CannotAnswerError, match="the agent's folder is not known"):
            NeutralTurn((RunCommand("ls ${CWD}"),)).scripted(body(BASH, messages=messages), 0)


def test_what_the_model_said_later_does_not_tell_the_folder() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Working directory: /a"}]
    with pytest.raises(CannotAnswerError, match="folder is not known"):
        NeutralTurn((RunCommand("ls ${CWD}"),)).scripted(body(BASH, messages=messages), 0)


def test_an_absolute_path_cannot_be_made_without_a_folder() -> None:
    offered = tool("read", {"filePath": text("The absolute path")})
    with pytest.raises(CannotAnswerError, match=r"the tool wants an absolute path.*--workspace"):
        call_of(ReadFile("a.py"), offered, folder=None)
    assert call_of(ReadFile("/x/a.py"), offered, folder=None) == ("read", {"filePath": "/x/a.py"})


def test_the_folder_stands_in_texts_and_raw_calls_too() -> None:
    folder = '/a "b"'
    raw = RawCall("glob", '{"path": "${CWD}/src"}', "c1")
    turn = NeutralTurn((raw,), form=ScriptedTurn(text="In ${CWD}."), folder=folder).scripted(body(BASH), 0)
    assert turn.text == f"In {folder}."
    assert [(call.name, call.id) for call in turn.calls] == [("glob", "c1")]
    assert json.loads(turn.calls[0].arguments or "") == {"path": f"{folder}/src"}
    broken = NeutralTurn((RawCall("glob", '{"path": ', None),), folder=folder).scripted(body(BASH), 0)
    assert broken.calls[0].arguments == '{"path": '


# Turns


def test_a_turn_does_all_its_actions_in_order_with_an_id_each() -> None:
    actions: tuple[Action, ...] = (ReadFile("a.py"), HELLO, RunCommand("ls"))
    turn = NeutralTurn(actions, folder=FOLDER).scripted(body(BASH, READ, EDIT), 4)
    assert [(call.id, call.name) for call in turn.calls] == [
        ("call_5_1", "read"),
        ("call_5_2", "edit"),
        ("call_5_3", "bash"),
    ]
    assert turn.finish_reason == "tool_calls"


def test_the_rest_of_the_answer_is_as_the_script_has_it() -> None:
    form = ScriptedTurn(text="Now.", usage={"prompt_tokens": 3}, fragment=2, finish_reason=None, done=False)
    turn = NeutralTurn((RunCommand("ls"),), form=form).scripted(body(BASH), 0)
    assert (turn.text, turn.usage, turn.fragment, turn.finish_reason, turn.done) == ("Now.", form.usage, 2, None, False)
    assert NeutralTurn((RunCommand("ls"),), finish_reason="stop").scripted(body(BASH), 0).finish_reason == "stop"


def test_a_turn_that_finishes_does_nothing_else() -> None:
    with pytest.raises(ValueError, match="does nothing else"):
        NeutralTurn((HELLO,), finish="Done.")


# Finishing


def test_the_conversation_ends_by_a_text() -> None:
    turn = NeutralTurn(finish="Done.").scripted(body(BASH), 3)
    assert (turn.text, turn.calls, turn.finish_reason) == ("Done.", (), "stop")


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (tool("attempt_completion", {"result": text()}), {"result": "Done."}),
        (tool("finish", {"message": text(), "done": {"enum": ["true"]}}), {"message": "Done.", "done": "true"}),
        (tool("submit", {}), {}),
    ],
)
def test_the_conversation_ends_by_the_tool_that_ends_it(offered: dict[str, Any], arguments: dict[str, Any]) -> None:
    turn = NeutralTurn(finish="Done.").scripted(body(BASH, offered), 3)
    (call,) = turn.calls
    assert (call.name, json.loads(call.arguments or "")) == (offered["function"]["name"], arguments)
    assert turn.finish_reason == "tool_calls"


def test_a_tool_that_ends_it_with_more_than_a_text_is_an_error() -> None:
    offered = tool("final_result", {"rating": {"type": "integer"}})
    with pytest.raises(CannotAnswerError, match="takes rating and no text"):
        NeutralTurn(finish="Done.").scripted(body(offered), 0)


def test_the_conversation_ends_by_the_command_that_the_prompt_asks_for() -> None:
    prompt = "Submit with `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."
    asked = body(BASH, messages=[{"role": "user", "content": [{"type": "text", "text": prompt}]}])
    (call,) = NeutralTurn(finish="Done.").scripted(asked, 0).calls
    assert json.loads(call.arguments or "") == {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}


# Requests that offer little


@pytest.mark.parametrize("tools", [None, [], {}, ["x", {"type": "function"}, {"function": {"name": 3}}]])
def test_a_request_without_usable_tools_is_an_error_that_says_so(tools: object) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Fix it."}], "tools": tools}
    for action in (ReadFile("a.py"), HELLO, RunCommand("ls")):
        with pytest.raises(CannotAnswerError, match=r"no tool of the request .* \(it offers none\)"):
            NeutralTurn((action,), folder=FOLDER).scripted(asked, 0)


@pytest.mark.parametrize("schema", [None, [], {"properties": []}, {"properties": {"path": True}, "required": "path"}])
def test_a_broken_schema_says_nothing(schema: object) -> None:
    offered = {"type": "function", "function": {"name": "read", "parameters": schema}}
    name, arguments = call_of(ReadFile("a.py"), offered, BASH)
    if isinstance(schema, dict) and schema["properties"]:
        assert (name, arguments) == ("read", {"path": "a.py"})
    else:
        assert (name, shlex.split(arguments["command"])) == ("bash", ["cat", "a.py"])
