from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.pipeline.builtin import builtin_tools
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter, parameters_to_schema
from harness.pipeline.workspace import Workspace
from tests.pipeline.tools import SmallTool

PARAMETERS = (
    ToolParameter("path", "string", "the file"),
    ToolParameter("limit", "integer", "lines at most", required=False, extra={"minimum": 1}),
    ToolParameter("mode", "string", extra={"enum": ["a", "b"]}),
)


@pytest.mark.seed("R02")
def test_a_tool_lists_each_parameter_with_name_type_description_and_whether_it_is_required() -> None:
    listed = SmallTool("T", parameters=PARAMETERS).get_parameters()
    assert [(item.name, item.type, item.description, item.required) for item in listed] == [
        ("path", "string", "the file", True),
        ("limit", "integer", "lines at most", False),
        ("mode", "string", "", True),
    ]


@pytest.mark.seed("R02", "R08")
def test_the_schema_says_what_the_parameters_say() -> None:
    assert json.dumps(SmallTool("T", parameters=PARAMETERS).parameters_schema()) == json.dumps(
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "the file"},
                "limit": {"type": "integer", "description": "lines at most", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"]},
            },
            "required": ["path", "mode"],
            "additionalProperties": False,
        }
    )


@pytest.mark.seed("E01")
def test_a_tool_without_parameters_has_properties_as_an_empty_object() -> None:
    schema = json.dumps(parameters_to_schema(()))
    assert '"properties": {}' in schema
    assert '"required"' not in schema


@pytest.mark.parametrize("kind", list(ToolKind))
def test_only_a_tool_of_the_reading_kind_is_read_only(kind: ToolKind) -> None:
    assert SmallTool("T", kind=kind).read_only is (kind is ToolKind.READ)


def test_a_tool_that_does_not_care_about_the_call_id_runs_without_it() -> None:
    tool = SmallTool("T", lambda parameters: ToolResult.success(parameters["value"]))
    assert tool.run_call({"value": "v"}, "call_9") == ToolResult.success("v")
    assert tool.runs == [{"value": "v"}]


@pytest.mark.seed("P04")
def test_of_the_built_in_tools_those_that_only_look_are_read_only(tmp_path: Path) -> None:
    tools = builtin_tools(Workspace(tmp_path), FileVersions())
    assert {tool.name for tool in tools if tool.read_only} == {"Read", "Grep", "Glob", "ListFiles"}
    assert {tool.name for tool in tools if not tool.read_only} == {"Edit", "Bash"}
