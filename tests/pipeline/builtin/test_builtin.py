"""What holds for all built-in tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pipeline.builtin import BUILTIN_NAMES, builtin_tools
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.result import ErrorCode, ToolStatus, serialize_tool_result
from harness.pipeline.tool import Tool, ToolKind
from harness.pipeline.workspace import Workspace


@pytest.fixture
def tools(workspace: Workspace, versions: FileVersions) -> dict[str, Tool]:
    return {tool.name: tool for tool in builtin_tools(workspace, versions)}


def test_all_by_default_and_in_order(workspace: Workspace, versions: FileVersions) -> None:
    assert tuple(tool.name for tool in builtin_tools(workspace, versions)) == BUILTIN_NAMES


def test_a_selection_keeps_its_order_and_drops_repeats(workspace: Workspace, versions: FileVersions) -> None:
    chosen = builtin_tools(workspace, versions, names=["Bash", "Read", "Bash"])
    assert [tool.name for tool in chosen] == ["Bash", "Read"]
    assert builtin_tools(workspace, versions, names=[]) == []


def test_an_unknown_name_is_named(workspace: Workspace, versions: FileVersions) -> None:
    with pytest.raises(ValueError, match="'Write'"):
        builtin_tools(workspace, versions, names=["Read", "Write"])


def test_bash_gets_its_time_limit(workspace: Workspace, versions: FileVersions) -> None:
    (bash,) = builtin_tools(workspace, versions, names=["Bash"], bash_timeout_s=0.2)
    assert bash.run({"command": "sleep 5"}).error_code is ErrorCode.TIMEOUT
    with pytest.raises(ValueError, match="between 0 and"):
        builtin_tools(workspace, versions, bash_timeout_s=0)


def test_kinds_and_path_parameters(tools: dict[str, Tool]) -> None:
    assert {name for name, tool in tools.items() if tool.read_only} == {"Read", "Grep", "Glob", "ListFiles"}
    assert tools["Edit"].kind is ToolKind.EDIT
    assert tools["Bash"].kind is ToolKind.SHELL
    assert {name for name, tool in tools.items() if tool.path_parameter} == {"Read", "Edit"}


@pytest.mark.seed("M01", "K02")
def test_descriptions_are_there_and_short(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        assert 10 < len(tool.description) <= 200
        assert all(len(parameter.description) <= 100 for parameter in tool.get_parameters())


@pytest.mark.seed("E01")
def test_list_files_has_an_empty_object_of_properties(tools: dict[str, Tool]) -> None:
    assert json.dumps(tools["ListFiles"].parameters_schema()["properties"]) == "{}"


@pytest.mark.parametrize("name", ["Read", "Edit", "Grep", "Glob"])
@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "out", "out/x", "a\0b", "\ud800", "//etc/passwd", "/proc/self/root/etc/passwd"]
)
def test_g13_paths_that_lead_out_are_refused(tools: dict[str, Tool], root: Path, name: str, path: str) -> None:
    (root / "out").symlink_to(root.parent)
    arguments = {"path": path, "pattern": "x", "old_string": "a", "new_string": "b"}
    assert tools[name].run(arguments).error_code is ErrorCode.ACCESS_DENIED


@pytest.mark.parametrize("path", ["~/f", "a" * 5000, "C:\\x", "\\\\srv\\s"])
@pytest.mark.parametrize("name", ["Read", "Edit", "Grep", "Glob"])
def test_g13_odd_paths_are_errors(tools: dict[str, Tool], name: str, path: str) -> None:
    result = tools[name].run({"path": path, "pattern": "x", "old_string": "a", "new_string": "b"})
    assert result.status is ToolStatus.ERROR
    assert len(result.text) < 600


def test_g13_a_sibling_with_the_same_prefix_is_outside(tools: dict[str, Tool], root: Path) -> None:
    victim = root.parent / "w-victim"
    victim.mkdir()
    (victim / "f").write_text("secret")
    for path in (str(victim / "f"), "../w-victim/f"):
        assert tools["Read"].run({"path": path}).error_code is ErrorCode.ACCESS_DENIED


def test_texts_never_show_where_the_workspace_is(tools: dict[str, Tool], root: Path) -> None:
    (root / "f").write_text("text\n")
    (root / "loop").symlink_to("loop")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"path": "f"}),
        ("Read", {"path": "."}),
        ("Read", {"path": "g"}),
        ("Read", {"path": "loop"}),
        ("Edit", {"path": "f", "old_string": "text", "new_string": "x"}),
        ("Edit", {"path": "f", "old_string": "nope", "new_string": "x"}),
        ("Grep", {"pattern": "text"}),
        ("Grep", {"pattern": "("}),
        ("Glob", {"pattern": "*"}),
        ("Glob", {"pattern": "*", "path": "f"}),
        ("ListFiles", {}),
        ("Bash", {"command": "ls"}),
    ]
    for name, arguments in calls:
        assert str(root.parent) not in serialize_tool_result(tools[name].run(arguments))


_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())
_keys = st.sampled_from(["path", "pattern", "glob", "offset", "limit", "char_offset", "max_results", "ignore_case"]) | (
    st.sampled_from(["old_string", "new_string", "replace_all", "expected_mtime_ms", "expected_size_bytes"])
)


@pytest.mark.parametrize("name", ["Read", "Edit", "Grep", "Glob", "ListFiles"])
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.dictionaries(_keys, _values))
def test_whatever_the_arguments_a_result_comes_back(
    tools: dict[str, Tool], root: Path, name: str, arguments: dict[str, Any]
) -> None:
    (root / "f").write_text("text\n")
    serialize_tool_result(tools[name].run({"path": "f", "pattern": "t"} | arguments))
