"""Comparing the packets of two releases, without calling anything an improvement that was looked at less closely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic_core import from_json

from vestige.audits.verification.results import (
    Bound,
    ClaimVerdict,
    Proportion,
    Residual,
    TargetResult,
    VerificationResult,
)
from vestige.errors import IntegrityError
from vestige.packet.archive import opened
from vestige.packet.layout import MANIFEST, PUBLIC, shown
from vestige.packet.observer import looked_at, other_question, weaker
from vestige.packet.recompute import Concluded, conclude_again, read
from vestige.packet.sums import check_sums, digest_file
from vestige.records import Record

__all__ = ["Change", "Direction", "PacketDiff", "diff"]

Direction = Literal["better", "worse", "not_told_apart", "same", "other"]
"""`not_told_apart`: the values differ and their intervals overlap. `other`: different, neither better nor worse."""

_ASSESSED = ("fails", "limited_evidence")


class Change(Record):
    """One thing in which two packets may differ."""

    what: str
    """Verdict, bound or rate, with its claim, target and condition."""
    a: str
    b: str
    direction: Direction


class PacketDiff(Record):
    """Two packets side by side. A is the earlier release."""

    a_root: str
    b_root: str
    comparable: bool
    """B asks the same question with an observer at least as strong: only then can B be called an improvement."""
    reasons: tuple[str, ...]
    """Why not."""
    changes: tuple[Change, ...]
    judgement: Literal["improvement", "regression", "mixed", "no_difference", "refused"]
    """`refused`: something looks better and nothing worse, and the word improvement is refused for the `reasons`."""
    statement: str
    """The judgement in one sentence."""
    retested: tuple[str, ...]
    """Targets removed in A that B says it tested again."""
    not_retested: tuple[str, ...]
    """Pairs of A of which B says nothing."""


class _Packet:
    def __init__(self, root: str, concluded: Concluded, previous: object, ledger: dict[str, str]) -> None:
        self.root, self.concluded, self.previous, self.ledger = root, concluded, previous, ledger
        self.result = concluded.result


def diff(a: Path, b: Path) -> PacketDiff:
    """Compare two packets, each a folder or a ZIP, by what follows from their findings.

    The states of their ledgers stand beside it as each packet says them; they make nothing better or worse.

    Two rates or bounds count as different only where their exact intervals do not overlap. A verdict that was
    assessable and no longer is counts as worse; from `fails` to `unassessable` is no improvement either.

    Raises:
        ConfigError: There is no packet at a path.
        IntegrityError: A packet does not pass the public check.
    """
    one, two = _loaded(a), _loaded(b)
    before, after = one.result, two.result
    phases = (looked_at(one.concluded.findings), looked_at(two.concluded.findings))
    reasons = (*other_question(before, after), *weaker(before, after, phases))
    changes = (*_changes(before, after), *_states(one.ledger, two.ledger))
    better = any(c.direction == "better" for c in changes)
    worse = any(c.direction == "worse" for c in changes)
    retested = _retested(one, two)
    return PacketDiff(
        a_root=one.root,
        b_root=two.root,
        comparable=not reasons,
        reasons=reasons,
        changes=changes,
        judgement=(judgement := _judgement(better, worse, bool(reasons))),
        statement=_statement(judgement, reasons),
        retested=retested,
        not_retested=tuple(p for p in sorted(one.concluded.brief.pairs) if p not in retested),
    )


def _loaded(path: Path) -> _Packet:
    with opened(path) as folder:
        if problems := check_sums(folder):
            raise IntegrityError(f"{path}: not compared: {problems[0]}")
        concluded = conclude_again(folder)
        if concluded.problems:
            raise IntegrityError(f"{path}: not compared: {concluded.problems[0]}")
        packet = from_json(read(folder / PUBLIC / "packet.json"))
        root = digest_file(folder / MANIFEST)
        return _Packet(
            root, concluded, packet.get("previous"), _ledger(read(folder / PUBLIC / "ledger.json"))
        )


def _ledger(data: bytes) -> dict[str, str]:
    """State by target and layer, over all pairs."""
    try:
        rows = from_json(data)
    except ValueError:
        raise IntegrityError(f"{PUBLIC}/ledger.json: is no JSON") from None
    found: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else ():
        said = [row.get(name) for name in ("target", "layer", "state")] if isinstance(row, dict) else []
        if said and all(isinstance(text, str) for text in said):
            found[", ".join(shown(str(text)) for text in said[:2])] = shown(str(said[2]))
    return found


def _judgement(
    better: bool, worse: bool, refused: bool
) -> Literal["improvement", "regression", "mixed", "no_difference", "refused"]:
    if worse:
        return "mixed" if better else "regression"
    if better:
        return "refused" if refused else "improvement"
    return "no_difference"


def _statement(judgement: str, reasons: tuple[str, ...]) -> str:
    limits = (
        f" B looked less closely than A, or asked something else ({len(reasons)} reasons)." if reasons else ""
    )
    return {
        "improvement": "B is an improvement over A, seen by an observer at least as strong.",
        "regression": f"B is worse than A.{limits}",
        "mixed": f"B looks better than A in some respects and is worse in others.{limits}",
        "no_difference": f"No difference between A and B was shown.{limits}",
        "refused": f"B looks better than A, and that is not called an improvement.{limits}",
    }[judgement]


# --------------------------------------------------------------------------------------------------- changes


def _changes(a: VerificationResult, b: VerificationResult) -> Iterator[Change]:
    yield _verdict("verdict", a.verdict, b.verdict)
    claims = {c.claim: c for c in b.claims}
    for claim in a.claims:
        other = claims.get(claim.claim)
        if other is not None:
            yield from _claim(claim, other)
    yield from _utility(a, b)
    yield _plain("distinct pairs", a.distinct_pairs, b.distinct_pairs)
    yield _plain("agent", a.agent, b.agent)
    yield _plain("model", a.model, b.model)
    yield _plain("vestige", a.vestige_version, b.vestige_version)
    old, new = a.settings.model_dump(mode="json"), b.settings.model_dump(mode="json")
    for name in sorted(old):
        if name != "observer" and old[name] != new[name]:
            yield _plain(f"setting {name}", old[name], new[name])
    for name in sorted(old["observer"]):
        if old["observer"][name] != new["observer"][name]:
            yield _plain(f"observer {name}", old["observer"][name], new["observer"][name])


def _claim(a: ClaimVerdict, b: ClaimVerdict) -> Iterator[Change]:
    name = a.claim.replace("_", "-")
    yield _verdict(f"verdict on {name}", a.verdict, b.verdict)
    yield _plain(
        f"covered channels of {name}", ", ".join(a.covered) or "none", ", ".join(b.covered) or "none"
    )
    targets = {t.target: t for t in b.targets}
    for target in a.targets:
        other = targets.get(target.target)
        if other is not None:
            yield from _target(f"{name}, {target.target}", target, other)


def _target(name: str, a: TargetResult, b: TargetResult) -> Iterator[Change]:
    old, new = a.union.get("exposed_removed"), b.union.get("exposed_removed")
    if old is not None and new is not None:
        direction = _apart(old, new, less_is_better=True)
        yield Change(what=f"union leakage of {name}", a=_bound(old), b=_bound(new), direction=direction)
    if a.residual is not None and b.residual is not None:
        yield _residual(f"residual of {name}", a.residual, b.residual)
    yield Change(
        what=f"sensitivity of {name}",
        a=_rate(a.sensitivity),
        b=_rate(b.sensitivity),
        direction="same" if a.sensitivity == b.sensitivity else "other",
    )


def _utility(a: VerificationResult, b: VerificationResult) -> Iterator[Change]:
    rows = {(u.condition, u.who): u for u in b.utility}
    for row in a.utility:
        other = rows.get((row.condition, row.who))
        if row.condition == "exposed_removed" and other is not None:
            yield Change(
                what=f"retained utility ({row.who})",
                a=_rate(row.success),
                b=_rate(other.success),
                direction=_apart(row.success, other.success, less_is_better=False),
            )


def _verdict(what: str, a: str, b: str) -> Change:
    if a == b:
        direction: Direction = "same"
    elif b == "limited_evidence":
        direction = "better"
    elif b == "fails" or a in _ASSESSED:
        direction = "worse" if a != "fails" else "other"
    else:
        direction = "other"
    return Change(what=what, a=a, b=b, direction=direction)


def _apart(a: Proportion, b: Proportion, *, less_is_better: bool) -> Direction:
    if (a.events, a.n) == (b.events, b.n):
        return "same"
    if a.value is None or b.value is None:
        return "not_told_apart"
    if b.exact[1] < a.exact[0]:
        return "better" if less_is_better else "worse"
    if b.exact[0] > a.exact[1]:
        return "worse" if less_is_better else "better"
    return "not_told_apart"


def _residual(what: str, a: Residual, b: Residual) -> Change:
    direction: Direction = "same" if (a.value, a.interval) == (b.value, b.interval) else "not_told_apart"
    if a.position == "outside" and b.position == "inside":
        direction = "better"
    elif b.position == "outside" and a.position != "outside":
        direction = "worse"
    return Change(what=what, a=_difference(a), b=_difference(b), direction=direction)


def _plain(what: str, a: object, b: object) -> Change:
    return Change(what=what, a=str(a), b=str(b), direction="same" if a == b else "other")


def _states(a: dict[str, str], b: dict[str, str]) -> Iterator[Change]:
    for name in sorted({*a, *b}):
        yield _plain(f"ledger, {name}", a.get(name, "no row"), b.get(name, "no row"))


def _rate(rate: Proportion) -> str:
    return f"{rate.events} of {rate.n} [{rate.exact[0]:.4f}, {rate.exact[1]:.4f}]"


def _bound(bound: Bound) -> str:
    return f"{bound.events} of {bound.n}, at most {bound.upper:.4f}"


def _difference(residual: Residual) -> str:
    value = "none" if residual.value is None else f"{residual.value:+.4f}"
    return f"{value} [{residual.interval[0]:+.4f}, {residual.interval[1]:+.4f}], {residual.position}"


def _retested(a: _Packet, b: _Packet) -> tuple[str, ...]:
    """The pairs of A that B names in its `previous`: `{"root": A's root, "pairs": [...]}`, or a list of such."""
    entries = b.previous if isinstance(b.previous, list) else [b.previous]
    named: set[str] = set()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("root") == a.root:
            pairs = entry.get("pairs")
            named |= {str(p) for p in pairs} if isinstance(pairs, list) else set()
    return tuple(sorted(named & set(a.concluded.brief.pairs)))
