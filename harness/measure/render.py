"""What of a request becomes text that the model is shown: tools, response format, calls and results.

The forms were worked out from recordings whose usage is known (docs/token-counting.md gives the rules by
number); what none of them settles is named in ``unsure``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measure.schema import SchemaRenderer, as_json, comment_lines

_HEAD = "# Tools\n\n## functions\n\nnamespace functions {\n\n"
_FOOT = "} // namespace functions"
PARALLEL = "multi_tool_use.parallel"
_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class RenderedTool:
    """One tool's definition as text; ``comment`` is the part of it that is its description."""

    name: str
    text: str
    comment: str


@dataclass(frozen=True, slots=True)
class RenderedTools:
    """All tools of a request as text, "" without any (rule 6)."""

    text: str
    tools: tuple[RenderedTool, ...] = ()
    unsure: tuple[str, ...] = ()


NO_TOOLS = RenderedTools("")


def render_tools(tools: Sequence[object], *, sorted_keys: bool = False) -> RenderedTools:
    """The text of a ``tools`` array, or of the legacy ``functions``, which count the same (rules 5 to 12)."""
    rendered: list[RenderedTool] = []
    unsure: dict[str, None] = {}
    for tool in tools:
        definition = _definition(tool)
        if definition is None:
            unsure["a tool that is no function"] = None
            continue
        one, doubts = _render_tool(definition, sorted_keys=sorted_keys)
        rendered.append(one)
        unsure.update(dict.fromkeys(doubts))
    text = _HEAD + "".join(tool.text for tool in rendered) + _FOOT if rendered else ""
    return RenderedTools(text, tuple(rendered), tuple(f"schema: {what}" for what in unsure))


def _definition(tool: object) -> Mapping[str, Any] | None:
    if not isinstance(tool, Mapping):
        return None
    function = tool.get("function")
    if isinstance(function, Mapping):
        return function
    return tool if "name" in tool and tool.get("type", "function") == "function" else None


def _render_tool(definition: Mapping[str, Any], *, sorted_keys: bool) -> tuple[RenderedTool, list[str]]:
    name = definition.get("name")
    name = name if isinstance(name, str) else ""
    description = definition.get("description")
    lines = comment_lines(description) if isinstance(description, str) and description else []
    comment = "".join(f"{line}\n" for line in lines)
    schema = definition.get("parameters")
    renderer = SchemaRenderer(schema if isinstance(schema, Mapping) else {}, sorted_keys)
    parameters = renderer.parameters()
    signature = f"type {name} = ({f'_: {parameters}' if parameters else ''}) => any;\n\n"
    return RenderedTool(name, comment + signature, comment), renderer.unsure


def render_response_format(value: object) -> str:
    """The section of a ``json_schema`` response format, "" for any other (rules 18 and 19)."""
    if not isinstance(value, Mapping) or value.get("type") != "json_schema":
        return ""
    declared = value.get("json_schema")
    declared = declared if isinstance(declared, Mapping) else {}
    name = declared.get("name")
    description = declared.get("description")
    comment = f"// {description}\n" if isinstance(description, str) and description else ""
    schema = as_json(_without(declared.get("schema"), frozenset({"required", "additionalProperties"}), _MAX_DEPTH))
    return f"# Response Formats\n\n## {name if isinstance(name, str) else ''}\n\n{comment}{schema}"


def _without(value: object, keys: frozenset[str], depth: int) -> object:
    if not depth:
        return None
    if isinstance(value, Mapping):
        return {key: _without(item, keys, depth - 1) for key, item in value.items() if key not in keys}
    if isinstance(value, list):
        return [_without(item, keys, depth - 1) for item in value]
    return value


def compact_arguments(arguments: str) -> str | None:
    """Arguments as the compact JSON they are counted as (rule 14), or None where they are no JSON."""
    try:
        return as_json(json.loads(arguments))
    except (ValueError, RecursionError):
        return None


def render_parallel_calls(calls: Sequence[tuple[str, str]]) -> str:
    """Several calls (name and arguments) as the one call that they become (rule 16)."""
    uses = ",".join(
        f'{{"recipient_name":{as_json(f"functions.{name}")},"parameters":{compact_arguments(arguments) or "{}"}}}'
        for name, arguments in calls
    )
    return f'{{"tool_uses":[{uses}]}}'


def render_parallel_results(results: Sequence[str]) -> str:
    """The results of several calls as the one list that they become, non-ASCII escaped (rule 16)."""
    return f"[{', '.join(map(render_parallel_result, results))}]"


def render_parallel_result(text: str) -> str:
    """One entry of that list: what is JSON goes in as JSON, any other text as a string."""
    try:
        return json.dumps(json.loads(text))
    except (ValueError, RecursionError):
        return json.dumps(text)
