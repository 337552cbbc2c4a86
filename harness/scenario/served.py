"""A scenario whose agent asks over HTTP: served on loopback in fresh folders, watched from the server's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.paths import KnownPaths, PathMap
from harness.cassette.rewriting import rewrite_response
from harness.cassette.scrubbing import Scrubber, recordable
from harness.play.cassette_player import CassettePlayer
from harness.play.faulty_player import FaultyPlayer
from harness.play.models import ModelsPlayer, models_of
from harness.play.player import MissError, Player
from harness.play.proxy import RecordingProxy, network
from harness.play.server import LoopbackServer
from harness.play.sessions import DEFAULT, Session, SessionPlayer, Sessions
from harness.play.strict_player import StrictPlayer
from harness.scenario.agents.agent import Agent, AgentEnd, AgentUnavailableError
from harness.scenario.agents.callable import CallableAgent
from harness.scenario.agents.command import CommandAgent
from harness.scenario.agents.context import API_KEY, AgentContext
from harness.scenario.agents.presets.agent import PresetAgent
from harness.scenario.agents.presets.preset import load_preset
from harness.scenario.drift_events import note_allowed_drift
from harness.scenario.format import Scenario
from harness.scenario.guards import GuardedNetwork, GuardedPlayer
from harness.scenario.incidents import explain_refusals, note_incidents
from harness.scenario.observed import Asked, observe
from harness.scenario.outcome import ScenarioRun, Served
from harness.scenario.policy import ReplayPolicy
from harness.scenario.stage import Stage
from harness.scenario.workspace import ALIAS, contents
from harness.trace.run import Run
from harness.wire.exchange import Exchange, Request

HOME_ALIAS = "/home/agent"
"""The name under which a recording has the agent's home, whatever the temporary folder is called."""

_HOST = "harness.invalid"  # RFC 2606: a name that never resolves
_NEVER = "the agent's end came before the answer"


def agent_of(scenario: Scenario, program: str | None = None) -> Agent | None:
    """The scenario's agent, None for the built-in pipeline; ``program`` is that of a preset where the user names it."""
    spec, folder = scenario.agent, scenario.path.parent.resolve()
    if spec.python is not None:
        return CallableAgent(spec.python, folder)
    if spec.command is not None:
        return CommandAgent(spec.command, folder, spec.env, spec.stdin, spec.cwd, spec.install)
    if spec.preset is not None:
        return PresetAgent(load_preset(spec.preset, folder), program)
    return None


@dataclass(frozen=True, slots=True)
class Upstream:
    """A live model: its base URL and the key it wants."""

    endpoint: str
    api_key: str


@dataclass(slots=True)
class _Cast:
    """The player of a run, and what can be said of it afterwards."""

    player: Player
    unused: Callable[[], list[str]]
    cannot: Callable[[], str | None] = lambda: None
    cassette: Cassette | None = None
    replayed: CassettePlayer | None = None
    fallback: str = ""


def run_served(stage: Stage, agent: Agent, policy: ReplayPolicy) -> ScenarioRun:
    """Run the scenario with an agent that asks its player over the server; raises InputError for a bad scenario."""
    spec = stage.scenario.player
    with ExitStack() as stack:
        cast = _cast(stage, policy, stack)
        upstream = StrictPlayer(cast.player) if spec.strict else cast.player
        faulty = FaultyPlayer(upstream, [*spec.faults, *policy.faults], policy.seed)
        stage.world.add_fault = faulty.add
        guarded = GuardedPlayer(faulty, (stage.limits, stage.events))
        sessions = Sessions(
            lambda _: SessionPlayer(guarded, cannot=cast.cannot), max_requests=stage.scenario.agent.max_requests
        )
        before = contents(stage.workspace)
        with LoopbackServer(sessions) as server:
            session = sessions.open(DEFAULT)
            served = _run(agent, _context(stage, server.base_url))
        folders = _to_aliases(stage)
        outcome = _outcome(stage, _told(served, folders), _asked(session, folders), before, Scrubber())
    outcome.aliases = {str(stage.home): HOME_ALIAS, _netloc(server.url): _HOST}
    outcome.served = replace(
        outcome.served or served,
        asked=session.requests,
        refused=session.refused,
        max_requests=session.max_requests or 0,
        failure=session.error or "",
        unreadable=tuple(_unreadable(session)),
    )
    outcome.miss = None if session.miss is None else folders.rewrite(str(session.miss))
    outcome.unused = [*cast.unused(), *stage.left]
    outcome.faults = [fault.text for fault in faulty.faults]
    outcome.idle_faults = [fault.text for fault in faulty.idle]
    note_incidents(outcome.run, faulty.incidents)
    if outcome.faults:
        outcome.run.facts["faults"] = outcome.faults
    if stage.scenario.player.live:
        outcome.run.facts["answered_by"] = "the live model"
    if cast.replayed is not None and cast.cassette is not None:
        outcome.drift = cast.replayed.drifted
        note_allowed_drift(outcome.run, cast.cassette, cast.replayed.drifted)
        if cast.replayed.miss is not None:
            outcome.miss = folders.rewrite(str(cast.replayed.miss))
            outcome.diverged = cast.fallback
    return outcome


def record_served(
    stage: Stage, agent: Agent, upstream: Upstream, keep: Callable[[Exchange], None], scrubber: Scrubber
) -> ScenarioRun:
    """Run the scenario against the live model at ``upstream``, handing each finished exchange to ``keep``.

    What is kept holds no secrets, and the agent's folders only under their aliases, in answers too.
    """
    kept: list[Exchange] = []
    folders = _to_aliases(stage)

    def take(exchange: Exchange) -> None:
        under_alias = recordable(_under_alias(exchange, folders), scrubber)
        kept.append(under_alias)
        keep(under_alias)
        stage.limits.after_answer(exchange.request, exchange.response)

    def guarded() -> GuardedNetwork:
        return GuardedNetwork(network(), (stage.limits, stage.events))

    before = contents(stage.workspace)
    with RecordingProxy(upstream.endpoint, take, transport=guarded) as proxy:
        served = _run(agent, _context(stage, proxy.base_url, upstream.api_key))
        netloc = _netloc(proxy.base_url)
    asked = [Asked(exchange.request, exchange.response) for exchange in kept if exchange.is_chat]
    outcome = _outcome(stage, _told(served, folders), asked, before, scrubber)
    outcome.aliases = {str(stage.home): HOME_ALIAS, netloc: _HOST}
    problem = next(iter([*proxy.problems, *proxy.lost]), "")
    outcome.served = replace(outcome.served or served, asked=len(kept), failure=problem)
    return outcome


def _cast(stage: Stage, policy: ReplayPolicy, stack: ExitStack) -> _Cast:
    scenario = stage.scenario
    folder = str(stage.workspace.root)
    path = scenario.cassette
    if path is None and scenario.player.live:
        live = stack.enter_context(stage.live_player(policy, "to ask"))
        return _Cast(live, list)
    if path is None:
        script = stage.script_player(folder)
        return _Cast(
            script,
            lambda: [f"turn {number + 1} of the script" for number in range(script.played, len(script.turns))],
            lambda: script.cannot,
        )
    cassette = load_cassette(path)
    fallback = stage.fallback(policy, stack, folder)
    recorded = {"workspace": cassette.workspace or ALIAS, "home": cassette.home or HOME_ALIAS}
    player = CassettePlayer(
        cassette, _folders(stage), recorded=recorded, allow_drift=policy.allow_drift, fallback=fallback
    )
    listed = scenario.player.models or models_of(cassette)
    return _Cast(
        player if listed is None else ModelsPlayer(player, listed),
        lambda: [f"exchange {exchange.index} of {cassette.path.name}" for exchange in player.unused],
        cassette=cassette,
        replayed=player,
        fallback="" if fallback is None else f"the {policy.on_miss}",
    )


def _context(stage: Stage, base_url: str, api_key: str = API_KEY) -> AgentContext:
    spec = stage.scenario.agent
    return AgentContext(
        prompt=stage.scenario.only_prompt,
        workspace=stage.workspace.root,
        home=stage.home,
        base_url=base_url,
        model=spec.model,
        system=spec.system,
        api_key=api_key,
        timeout_s=spec.timeout_s,
    )


def _run(agent: Agent, context: AgentContext) -> Served:
    try:
        return Served(agent.run(context), timeout_s=context.timeout_s)
    except AgentUnavailableError as error:
        return Served(None, unavailable=str(error))


def _outcome(
    stage: Stage, served: Served, asked: list[Asked], before: dict[str, bytes], scrubber: Scrubber
) -> ScenarioRun:
    scenario = stage.scenario
    run = Run(scenario.name, "scenario", str(scenario.path))
    observe(run, asked, scenario.only_prompt)
    run.exchanges = [recordable(exchange, scrubber) for exchange in run.exchanges]
    run.facts = {"model": scenario.agent.model, "agent": _facts(scenario, served.end)}
    if run.lanes and served.end is not None and served.end.final_text is not None:
        run.lanes[0].final_text = served.end.final_text
    explain_refusals(run)
    return ScenarioRun(
        scenario,
        run,
        None,
        [body for one in asked if isinstance(body := one.body, dict)],
        before,
        contents(stage.workspace),
        str(stage.workspace.root),
        scrubber=scrubber,
        served=served,
    )


def _facts(scenario: Scenario, end: AgentEnd | None) -> dict[str, object]:
    spec = scenario.agent
    kinds = {"python": spec.python, "command": spec.command, "preset": spec.preset}
    facts: dict[str, object] = {name: value for name, value in kinds.items() if value is not None}
    if end is None:
        return facts
    said = {"raised": end.raised, "stdout": end.stdout, "stderr": end.stderr, "traceback": end.traceback}
    return {
        **facts,
        "exit_code": end.exit_code,
        "timed_out": end.timed_out,
        **{name: text for name, text in said.items() if text},
    }


def _told(served: Served, folders: PathMap) -> Served:
    """What the agent said, under the aliases of its folders."""
    return served if served.end is None else replace(served, end=served.end.retold(folders.rewrite))


def _asked(session: Session, folders: PathMap) -> list[Asked]:
    """The session's chat requests in the order of their coming, with what became of each, under aliases."""
    answers = {id(exchange.request): exchange for exchange in list(session.exchanges)}
    failures = {id(request): error for request, error in list(session.failed)}
    asked = []
    for request in list(session.asked):
        if not request.is_chat:
            continue
        exchange = answers.get(id(request))
        if exchange is not None:
            told = _under_alias(exchange, folders)
            asked.append(Asked(told.request, told.response))
            continue
        error = failures.get(id(request))
        why = folders.rewrite(str(error or _NEVER))
        asked.append(Asked(_request_under_alias(request, folders), None, why, isinstance(error, MissError)))
    return asked


def _unreadable(session: Session) -> Iterator[str]:
    chats = [request for request in list(session.asked) if request.is_chat]
    for number, request in enumerate(chats):
        try:
            body = request.json()
        except ValueError as error:
            yield f"request {number + 1} is not JSON: {error}"
            continue
        if not isinstance(body, dict):
            yield f"request {number + 1} is no JSON object but {type(body).__name__}"


def _folders(stage: Stage) -> dict[str, str]:
    return {"workspace": str(stage.workspace.root), "home": str(stage.home)}


def _to_aliases(stage: Stage) -> PathMap:
    return PathMap(KnownPaths(_folders(stage)), KnownPaths({"workspace": ALIAS, "home": HOME_ALIAS}))


def _under_alias(exchange: Exchange, folders: PathMap) -> Exchange:
    response, _ = rewrite_response(exchange.response, folders)
    return replace(exchange, request=_request_under_alias(exchange.request, folders), response=response)


def _request_under_alias(request: Request, folders: PathMap) -> Request:
    body = request.body
    with suppress(UnicodeDecodeError):
        body = folders.rewrite(body.decode()).encode()
    return request if body == request.body else replace(request, body=body)


def _netloc(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
