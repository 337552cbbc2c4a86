"""How many prompt tokens a Chat Completions request costs, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measure.encodings import Encoding, ModelEncoding, encoding_for
from harness.measure.ledger import Ledger
from harness.measure.messages import content_text
from harness.measure.render import NO_TOOLS, RenderedTools, render_response_format, render_tools

PRIMING = 3
"""What the reply's beginning costs in every request (rule 1)."""


@dataclass(frozen=True, slots=True)
class MessageTokens:
    """What one message costs; ``tools`` and the response format, which ride in the system message, are not in it."""

    index: int
    role: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ToolTokens:
    """What one tool's definition costs as it is rendered; ``description_tokens`` of it are its own description."""

    name: str
    tokens: int
    description_tokens: int


@dataclass(frozen=True, slots=True)
class PromptCount:
    """The prompt tokens of a request.

    ``total`` is the sum of ``priming``, ``system_tokens``, ``tools_tokens``, ``response_format_tokens``,
    ``tool_choice_tokens`` and ``history`` (the other messages, by role). ``messages`` holds those from
    ``messages_from`` on, system messages included; a `ConversationCounter` lists only what a step added.
    ``tools_tokens`` is what the tools add to the request; it is a little more than the sum of ``tools``, which leaves
    out the frame around them.
    """

    model: str | None
    encoding: str
    total: int
    priming: int
    system_tokens: int
    tools_tokens: int
    response_format_tokens: int
    tool_choice_tokens: int
    history: Mapping[str, int]
    messages: tuple[MessageTokens, ...]
    tools: tuple[ToolTokens, ...]
    messages_from: int = 0
    reasons: tuple[str, ...] = ()
    not_counted: tuple[str, ...] = ()

    @property
    def estimate(self) -> bool:
        """Whether the total is not known to be what the provider counts; ``reasons`` say why."""
        return bool(self.reasons)

    @property
    def history_tokens(self) -> int:
        """All messages but the system's."""
        return sum(self.history.values())

    @property
    def new_tokens(self) -> int:
        """The messages in ``messages`` together."""
        return sum(message.tokens for message in self.messages)

    @property
    def tools_share(self) -> float:
        """The part of the total that the tools take, 0 to 1."""
        return self.tools_tokens / self.total if self.total else 0.0


def count_request(body: object, model: str | None = None, *, sorted_keys: bool = False) -> PromptCount:
    """Count the prompt tokens of a request body; never raises, what it cannot read it counts roughly and says so.

    ``model`` outweighs the body's (an answer names the dated model). ``sorted_keys``: the recorder has sorted the
    keys of the body, so the order of the properties is taken from ``required``.
    """
    request = PromptRequest.of(body, model)
    ledger = Ledger(request.encoding.encoding)
    ledger.advance(request.messages, 0)
    return assemble(request, ledger, 0, request.rendered(sorted_keys=sorted_keys))


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What of a request body bears on its prompt, whatever state the body is in."""

    body: Mapping[str, Any]
    model: str | None
    encoding: ModelEncoding
    messages: Sequence[object]
    tools: Sequence[object]
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, body: object, model: str | None = None) -> PromptRequest:
        """Read a parsed body."""
        reasons: list[str] = []
        if not isinstance(body, Mapping):
            reasons.append("the request is no JSON object")
            body = {}
        model = model if model is not None else body.get("model")
        model = model if isinstance(model, str) else None
        encoding = encoding_for(model)
        messages = body.get("messages")
        if not isinstance(messages, list | tuple):
            reasons.append("the request has no list of messages")
            messages = ()
        tools: list[object] = []
        for key in ("tools", "functions"):
            value = body.get(key)
            if isinstance(value, list | tuple):
                tools += value
            elif value is not None:
                reasons.append(f"{key} is no list")
        reasons += [encoding.reason] if encoding.reason else []
        return cls(body, model, encoding, messages, tools, tuple(reasons))

    def rendered(self, *, sorted_keys: bool) -> RenderedTools:
        """The tools as text."""
        return render_tools(self.tools, sorted_keys=sorted_keys) if self.tools else NO_TOOLS


def assemble(request: PromptRequest, ledger: Ledger, first: int, tools: RenderedTools) -> PromptCount:
    """Put together what the messages cost and what rides along with each request; lists messages from ``first`` on."""
    encoding = ledger.encoding
    riders = _Riders(encoding, request, ledger.first_system)
    tools_tokens = riders.add(tools.text)
    response_format = render_response_format(request.body.get("response_format"))
    format_tokens = riders.add(response_format)
    choice_tokens, choice_reason = _tool_choice(request.body, encoding)
    reasons = dict.fromkeys((*request.reasons, *tools.unsure, *(+ledger.reasons)))
    if response_format:
        reasons["response_format json_schema"] = None
    if choice_reason:
        reasons[choice_reason] = None
    history = ledger.history()
    system = ledger.system_tokens()
    return PromptCount(
        model=request.model,
        encoding=encoding.name,
        total=PRIMING + system + tools_tokens + format_tokens + choice_tokens + sum(history.values()),
        priming=PRIMING,
        system_tokens=system,
        tools_tokens=tools_tokens,
        response_format_tokens=format_tokens,
        tool_choice_tokens=choice_tokens,
        history=history,
        messages=tuple(
            MessageTokens(unit.start + offset, role, tokens)
            for unit in ledger.units_from(first)
            for offset, (role, tokens) in enumerate(zip(unit.roles, unit.tokens, strict=True))
        ),
        tools=tuple(
            ToolTokens(tool.name, encoding.count(tool.text), encoding.count(tool.comment)) for tool in tools.tools
        ),
        messages_from=first,
        reasons=tuple(reasons),
        not_counted=ledger.not_counted(),
    )


class _Riders:
    """Texts that are appended to the first system message, or make one where there is none (rules 5 and 19)."""

    def __init__(self, encoding: Encoding, request: PromptRequest, system: int | None) -> None:
        self._encoding = encoding
        self._text = content_text(request.messages[system]) if system is not None else None
        self._tokens = encoding.count(self._text or "")

    def add(self, text: str) -> int:
        """What one more text adds."""
        if not text:
            return 0
        opening = 0
        if self._text is None:
            self._text, opening = text, 4
        else:
            self._text = f"{self._text}\n\n{text}"
        tokens = self._encoding.count(self._text) - 1
        added = opening + tokens - self._tokens
        self._tokens = tokens
        return added


def _tool_choice(body: Mapping[str, Any], encoding: Encoding) -> tuple[int, str | None]:
    choice = body.get("tool_choice", body.get("function_call"))
    if choice == "none":
        return 1, "tool_choice none"
    if not isinstance(choice, Mapping):
        return 0, None
    function = choice.get("function", choice)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        return 0, "a tool_choice that names no function"
    return encoding.count(f" to=functions.{name}") + 4, "tool_choice names a tool"
