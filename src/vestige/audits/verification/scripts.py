"""The scripts of a verification: five matched episodes a pair, which differ in condition alone.

Source: "Counterfactual Tests", "Build matched counterfactual episodes" and "Probe disclosure and decisions". Probes
and their seeds are shared by the arms of a pair; each arm has a user namespace of its own and, where it is exposed, a
nonce of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vestige.audits.verification.fixtures import Material
from vestige.audits.verification.needles import foreign_label, needle_texts
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.questions import Asked, Probes, questions
from vestige.audits.verification.settings import TARGETS, Condition, Phase, TargetName, VerificationSettings
from vestige.errors import ConfigError
from vestige.probes import disclosure
from vestige.records import JsonScalar, RemovalRequest, Session
from vestige.runs import steps as s
from vestige.runs.folder import blob_of
from vestige.runs.plan import Probe

__all__ = ["Scripts", "build_scripts", "removal_requests", "reply_tokens", "secret_values"]


@dataclass
class Scripts:
    """What a plan takes up."""

    episodes: list[s.Episode] = field(default_factory=list[s.Episode])
    probes: dict[str, Probe] = field(default_factory=dict[str, Probe])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])


def build_scripts(
    material: Sequence[Material],
    settings: VerificationSettings,
    seed: int,
    knobs: dict[str, JsonScalar] | None = None,
    *,
    judge: bool = False,
    tools: bool = False,
) -> Scripts:
    """Every pair's episodes, in the order in which they run, each opened with `knobs`.

    Raises:
        ConfigError: A recall question would hold a target.
    """
    scripts = Scripts()
    for item in material:
        asked = questions(item, settings, seed, judge=judge, tools=tools)
        _refuse_telling(item, asked)
        scripts.probes |= {a.probe.id: a.probe for a in asked.every()}
        for condition in item.pair.arms:
            whole = _Arm(item, condition, settings, asked, scripts).steps()
            steps = [step for step in whole if _looked_at(step, settings)]
            _within_budget(steps, settings)
            scripts.episodes.append(
                s.Episode(
                    id=f"{item.id}/{condition}",
                    instance=item.id,
                    knobs=knobs or {},
                    labels={"condition": condition, "pair": item.id},
                    group=item.id,
                    steps=tuple(steps),
                )
            )
    return scripts


_INSPECTED = ("storage", "vectors", "summary", "memory_writes")
_SCANNED = ("storage", "logs")


def _looked_at(step: s.Step, settings: VerificationSettings) -> bool:
    """Whether the declared observer reads anything that the step shows."""
    match step:
        case s.Inspect():
            return any(map(settings.observer.sees, _INSPECTED))
        case s.Scan():
            return any(map(settings.observer.sees, _SCANNED))
        case _:
            return True


def reply_tokens(steps: Iterable[s.Step], settings: VerificationSettings) -> int:
    """Most tokens that the replies of an episode can take."""
    rounds = sum(step.rounds + 1 for step in steps if isinstance(step, s.AskAdaptively))
    return (rounds + sum(isinstance(step, s.Ask) for step in steps)) * settings.observer.max_tokens


def _within_budget(steps: Sequence[s.Step], settings: VerificationSettings) -> None:
    budget = settings.observer.token_budget
    needed = reply_tokens(steps, settings)
    if budget is not None and needed > budget:
        raise ConfigError(
            f"--token-budget {budget}: an episode asks {needed // settings.observer.max_tokens} questions of at most "
            f"{settings.observer.max_tokens} tokens, {needed} in all; raise it, or ask less"
        )


def _refuse_telling(item: Material, asked: Probes) -> None:
    """A recall question that holds the target would change exposure."""
    values = secret_values(item.pair)
    for one in asked.every():
        if one.probe.kind == "choice":
            continue
        reason = disclosure.guard(one.probe.text, values)
        if reason is not None:
            raise ConfigError(f"probe {one.probe.id}: {reason}; choose another --seed")


def secret_values(pair: Pair) -> list[str]:
    """What no recall question may hold."""
    values = [value for nonce in pair.nonces.values() for value in nonce.values.values()]
    return [*values, *(name for p in pair.preferences.values() for name in (p.favoured, p.other))]


def removal_requests(
    pair: Pair, settings: VerificationSettings, condition: Condition, *, decoy: bool = False
) -> dict[TargetName, RemovalRequest]:
    """What is asked of the agent's deletion interface, a request a target; with `decoy`, for the sham."""
    out: dict[TargetName, RemovalRequest] = {}
    for target in settings.targets:
        if (nonce := pair.nonces.get(target)) is not None:
            value = nonce.decoy if decoy else nonce.values[condition]
            about = f"my {nonce.decoy_label if decoy else nonce.label}: {value}"
        elif (preference := pair.preferences.get(target)) is not None:
            value = preference.decoy_value if decoy else preference.favoured
            about = f"that I like {value}"
        else:
            continue
        if settings.kind == "value" or decoy:
            out[target] = RemovalRequest(scope="unit", value=value, description=f"Please forget {about}.")
        else:
            scope = "session" if settings.kind == "source" else "source"
            out[target] = RemovalRequest(
                scope=scope,
                ids=pair.sources[target],
                description="Please forget what I said in this conversation.",
            )
    if len(set(out.values())) < len(
        out
    ):  # targets stand in the one source that is withdrawn: it is asked for once
        first = {out[target]: target for target in sorted(out, key=TARGETS.index, reverse=True)}
        out = {target: request for target, request in out.items() if first[request] == target}
    return out


def _needles(pair: Pair, condition: Condition, settings: VerificationSettings) -> dict[str, str]:
    """Texts by label that storage is searched for: the arm's own targets, and other arms' nonces."""
    out: dict[str, str] = {}
    declared = settings.observer.normalisations
    # An arm without a target of its own looks for the one it must never have had.
    for target, nonce in pair.nonces.items():
        own = nonce.values.get(condition, nonce.values["exposed_removed"])
        out |= needle_texts(target, own, declared)
        for other, value in nonce.values.items():
            if other != condition and value != own:
                out[foreign_label(target, other)] = value
    for target, preference in pair.preferences.items():
        out |= needle_texts(target, preference.favoured, declared)
    return out


class _Arm:
    """The script of one condition of one pair."""

    def __init__(
        self,
        item: Material,
        condition: Condition,
        settings: VerificationSettings,
        asked: Probes,
        scripts: Scripts,
    ) -> None:
        self.item, self.settings = item, settings
        self.condition: Condition = condition
        self.asked, self.scripts = asked, scripts
        self.needles = _needles(item.pair, condition, settings) | self._requested_texts()
        held = tuple(f"{target}:" for target in TARGETS)
        # Stored items are compared in any case.
        self.watch = tuple(
            {v.casefold(): v for k, v in reversed(self.needles.items()) if k.startswith(held)}.values()
        )

    def _requested_texts(self) -> dict[str, str]:
        """What a kept request says: the value in it is the request's, not what it asked to be forgotten."""
        if self.condition != "exposed_removed":
            return {}
        requests = removal_requests(self.item.pair, self.settings, self.condition)
        return {f"request:{t}": r.description for t, r in requests.items() if r.value and r.description}

    def steps(self) -> Iterable[s.Step]:
        """The whole script."""
        settings, item = self.settings, self.item
        for session in item.sibling:
            yield from self._told(session, "sibling")
        for session in item.told[self.condition]:
            yield from self._told(session)
        yield s.Settle()
        if settings.observer.warm:
            yield from self._ask(self.asked.core, "before")
        yield s.Inspect(name="before", watch=self.watch, labels={"phase": "before"})
        yield s.Scan(needles=self.needles, labels={"phase": "before"})
        yield from self._intervention()
        yield s.Settle()
        yield s.Inspect(name="after", baseline="before", watch=self.watch, labels={"phase": "after"})
        yield s.Scan(needles=self.needles, labels={"phase": "after"})
        yield from self._ask(self.asked.core, "after")
        yield from self._ask(self.asked.harmless, "after")
        if settings.observer.adaptive_rounds:
            yield from self._adaptively()
        for session in item.later:
            yield from self._told(session)
        yield s.Settle()
        yield s.Inspect(name="delayed", baseline="before", watch=self.watch, labels={"phase": "delayed"})
        yield from self._ask(self.asked.delayed, "delayed")
        yield from self._ask(self.asked.corrected, "delayed")
        yield from self._ask(self.asked.sibling, "delayed")
        yield s.Restart()
        yield from self._ask(self.asked.restarted, "restarted")
        yield s.Scan(needles=self.needles, labels={"phase": "restarted"})
        if settings.maintain:
            yield s.Maintain()
            yield s.Inspect(
                name="maintained", baseline="before", watch=self.watch, labels={"phase": "maintained"}
            )
            yield s.Scan(needles=self.needles, labels={"phase": "maintained"})
        if settings.reintroduction and self.condition == "exposed_removed":
            yield from self._told(item.again)
            yield from self._ask(self.asked.again, "reintroduced")

    def _told(self, session: Session, who: s.Who = "user") -> Iterable[s.Step]:
        digest, data = blob_of(session.model_dump(mode="json"))
        self.scripts.blobs[digest] = data
        yield s.Converse(session=digest, who=who)
        yield s.EndSession(who=who)

    def _ask(self, asked: Iterable[Asked], phase: Phase) -> Iterable[s.Step]:
        for one in asked:
            yield s.Ask(probe=one.probe.id, labels={**one.labels, "phase": phase}, who=one.who)

    def _adaptively(self) -> Iterable[s.Step]:
        for target in self.settings.targets:
            first = next(a for a in self.asked.core if a.labels.get("target") == target)
            yield s.AskAdaptively(
                policy="adaptive",
                rounds=self.settings.observer.adaptive_rounds,
                probe=first.probe.id,
                labels={"target": target, "phase": "after", "family": "adaptive"},
            )

    def _intervention(self) -> Iterable[s.Step]:
        corrected = self.item.correction.get(self.condition)
        if corrected is not None and self.condition in ("never_exposed", "exposed_removed"):
            yield from self._told(corrected)
        match self.condition:
            case "exposed_removed":
                yield from self._requested(
                    removal_requests(self.item.pair, self.settings, self.condition), s.Forget
                )
            case "sham_removal":
                requests = removal_requests(self.item.pair, self.settings, self.condition, decoy=True)
                yield from self._requested(requests, s.Sham)
            case "full_reset":
                yield s.Reset()
                for session in self.item.permitted:
                    yield from self._told(session)
                if corrected is not None:
                    yield from self._told(corrected)
            case _:
                pass

    def _requested(
        self, requests: dict[TargetName, RemovalRequest], step: type[s.Forget] | type[s.Sham]
    ) -> Iterable[s.Step]:
        for target, request in requests.items():
            yield step(request=request, labels={"target": target, "phase": "boundary"})
        gone = {
            f"{target}:verbatim": request.value
            for target, request in requests.items()
            if request.value is not None and self.settings.observer.sees("storage")
        }
        yield s.Await(needles=gone, limit=self.settings.pending_limit, labels={"phase": "boundary"})
