"""A player that answers from a cassette, and after a divergence from what the user chose, never mixed silently."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from harness.cassette.cassette import Cassette
from harness.cassette.drift import Drift, DriftClass
from harness.cassette.matching import Match, Matcher
from harness.cassette.rewriting import rewrite_response
from harness.cassette.scrubbing import Scrubber
from harness.cassette.volatile import VolatileRules
from harness.play.player import MissError, Player
from harness.wire.exchange import Exchange, Request, Response


class CassettePlayer:
    """Plays each exchange of a cassette once, for requests equal to the recorded ones; see `Matcher`.

    ``present`` are this session's folders by name; where they differ from the recorded ones they take their place in
    the answers too, and `rewritten` lists those exchanges. ``allow_drift`` names classes that may differ; `drifted`
    lists what did: the model was not asked again. ``fallback`` answers from the first miss on (a script, a live model);
    `diverged` says so. Without it a miss is raised. Either way `miss` keeps the first one.
    """

    def __init__(
        self,
        cassette: Cassette,
        present: Mapping[str, str] | None = None,
        *,
        recorded: Mapping[str, str] | None = None,
        rules: VolatileRules | None = None,
        allow_drift: Collection[DriftClass] = (),
        fallback: Player | None = None,
    ) -> None:
        self.cassette = cassette
        self.matcher = Matcher(cassette, present, recorded=recorded, rules=rules, allow_drift=allow_drift)
        self.rewritten: list[int] = []
        self.drifted: list[tuple[int, Drift]] = []
        self.miss: MissError | None = None
        self._fallback = fallback
        self._scrubber = Scrubber()
        self._lock = threading.Lock()

    @property
    def diverged(self) -> bool:
        """Whether a request was not in the cassette, so that answers since then come from the fallback, if any."""
        return self.miss is not None

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """The chat exchanges nobody has asked for yet."""
        return self.matcher.unused

    def answer(self, request: Request) -> Response:
        """The recorded response, byte for byte where no folder changes; raises MissError with an explanation."""
        if self.diverged and self._fallback is not None:
            return self._fallback.answer(request)
        match = self.matcher.match(request) or self._match_scrubbed(request)
        if match is None:
            miss = MissError(self.matcher.miss(request).text)
            with self._lock:
                self.miss = self.miss or miss
            if self._fallback is None:
                raise miss
            return self._fallback.answer(request)
        response = match.exchange.response
        changed = False
        if not self.matcher.paths.is_identity:
            response, changed = rewrite_response(response, self.matcher.paths)
        with self._lock:
            self.drifted += [(match.exchange.index, drift) for drift in match.drift]
            if changed:
                self.rewritten.append(match.exchange.index)
        return response

    def _match_scrubbed(self, request: Request) -> Match | None:
        """A recording holds placeholders for secrets; the session that meets the secret again numbers it the same."""
        scrubbed = self._scrubber.request(request)
        return None if scrubbed.body == request.body else self.matcher.match(scrubbed)
