"""Pairs side by side, as they are shown: masked, neutralised, cut, every sighting named in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vestige.report.safe import Clipped, clip, one_line
from vestige.report.verification.evidence import Arm, PairExchanges, Row, Said, Seen
from vestige.report.verification.masking import Masker
from vestige.report.verification.words import CHANNELS, CONDITIONS, GRADES, PHASES, TARGETS
from vestige.report.wording import listing, plural

__all__ = ["ShownArm", "ShownPair", "ShownRow", "ShownText", "Tag", "side_by_side"]

TEXT_LIMIT = 900
PROMPT_LIMIT = 600
UNIT_LIMIT = 160
MARKED_LIMIT = 500
REST_LIMIT = 220
"""Of a text in a row where nothing was seen and nothing was decided."""
REQUEST_LIMIT = 300
"""Of a request to the agent's model, which holds the whole prompt."""
MOST_ROWS = 40


@dataclass(frozen=True)
class Tag:
    """One sighting in words."""

    text: str
    tone: str
    """leak: it must not be there; shows: a positive control at work; caution: undecided; plain: dismissed, or read by
    no claim."""


@dataclass(frozen=True)
class ShownText:
    """One observed text."""

    channel: str
    label: str
    text: Clipped
    marked: bool
    """A target stands in it."""


@dataclass(frozen=True)
class ShownArm:
    """One arm at one step."""

    condition: str
    name: str
    asked: Clipped | None
    said: tuple[ShownText, ...]
    units: tuple[ShownText, ...]
    """What was retrieved for the reply."""
    tags: tuple[Tag, ...]
    outcome: str
    missing: str

    @property
    def open(self) -> bool:
        """Whether what was retrieved is what must be looked at."""
        return any(tag.tone == "leak" for tag in self.tags) and any(unit.marked for unit in self.units)


@dataclass(frozen=True)
class ShownRow:
    """One probe, or one look at what is stored."""

    title: str
    what: str
    prompt: Clipped | None
    arms: tuple[ShownArm, ...]
    telling: bool
    """Something was seen, or something was decided."""


@dataclass(frozen=True)
class ShownPair:
    """One pair."""

    pair: str
    why: str
    tone: str
    attempt: int | None
    tally: str
    rows: tuple[ShownRow, ...]
    rest: tuple[ShownRow, ...]
    """Rows where nothing was seen."""


WHYS = {
    "contaminated": ("a target where none may be", "leak"),
    "confirmed": ("seen after the removal", "leak"),
    "uncertain": ("uncertain after the removal", "caution"),
    "decides": ("only the removed arm still prefers it", "caution"),
    "sample": ("drawn by lot, nothing seen", "clear"),
}
KINDS = {
    "recall": "recall question",
    "semantic": "semantic question",
    "structured": "structured task",
    "choice": "decision task",
    "utility": "retained fact",
    "unknown": "something never told",
    "summary": "request for a summary",
    "sibling": "sibling's own fact",
    "second_source": "value of two sources",
    "sibling_recall": "recall question to a sibling",
    "reintroduction": "use after it was told anew",
    "correction": "question after the correction",
    "stored": "what is stored",
    "sent": "what was sent to the model",
}


def side_by_side(pairs: Sequence[PairExchanges], masked: Masker) -> tuple[ShownPair, ...]:
    """Everything as it may be shown, in the order given."""
    return tuple(_pair(pair, masked) for pair in pairs)


def _pair(pair: PairExchanges, masked: Masker) -> ShownPair:
    rows = [_row(row, masked) for row in pair.rows]
    telling = [r for r in rows if r.telling]
    rest = [r for r in rows if not r.telling]
    why, tone = WHYS[pair.why]
    seen = [
        s for row in pair.rows for arm in row.arms for s in arm.seen if arm.condition == "exposed_removed"
    ]
    places = dict.fromkeys(CHANNELS[s.channel] for s in seen if not s.foreign and s.state != "dismissed")
    where = f" in {listing(places)}" if places and pair.why in ("confirmed", "uncertain") else ""
    failed = "" if pair.attempt is None else ", in an attempt that failed"
    return ShownPair(
        pair=one_line(masked(pair.pair)),
        why=f"{why}{where}{failed}",
        tone=tone,
        attempt=pair.attempt,
        tally=plural(len(rows), "step"),
        rows=tuple(telling[:MOST_ROWS]),
        rest=tuple((rest + telling[MOST_ROWS:])[:MOST_ROWS]),
    )


def _row(row: Row, masked: Masker) -> ShownRow:
    telling = any(arm.seen for arm in row.arms) or row.kind == "choice"
    kind = KINDS.get(row.kind, row.kind)
    words = [kind, *((TARGETS[row.target],) if row.target else ()), PHASES[row.phase]]
    if row.turn:
        words.append(f"round {row.turn}")
    prompt = clip(masked(row.prompt), PROMPT_LIMIT, whole=len(row.prompt)) if row.prompt else None
    return ShownRow(
        title=one_line(masked(" · ".join(words))),
        what=one_line(masked(row.what)),
        prompt=prompt,
        arms=tuple(_arm(arm, masked, telling) for arm in row.arms),
        telling=telling,
    )


def _arm(arm: Arm, masked: Masker, telling: bool) -> ShownArm:
    tags = dict.fromkeys(_tag(seen, arm.condition, masked) for seen in arm.seen)
    answers = [s for s in arm.said if s.channel != "retrieval"]
    units = [s for s in arm.said if s.channel == "retrieval"]
    limit = TEXT_LIMIT if telling else REST_LIMIT
    return ShownArm(
        condition=arm.condition,
        name=CONDITIONS[arm.condition][0],
        asked=clip(masked(arm.asked), PROMPT_LIMIT, whole=len(arm.asked)) if arm.asked else None,
        said=tuple(_text(s, masked, limit) for s in answers),
        units=tuple(_text(s, masked, UNIT_LIMIT) for s in units),
        tags=tuple(tags),
        outcome=one_line(masked(arm.outcome)),
        missing=arm.missing,
    )


def _text(said: Said, masked: Masker, limit: int) -> ShownText:
    text = masked(said.text)
    places = [at for p in masked.placeholders if (at := text.find(p)) >= 0]
    around = min(places, default=None)
    if said.channel == "model_requests":
        limit = REQUEST_LIMIT
    elif places:
        limit = max(limit, MARKED_LIMIT)
    return ShownText(
        channel=CHANNELS[said.channel],
        label=one_line(masked(said.label)),
        text=clip(text, limit, around, whole=len(said.text)),
        marked=bool(places),
    )


def _tag(seen: Seen, condition: str, masked: Masker) -> Tag:
    what = f"{TARGETS[seen.target]} in {CHANNELS[seen.channel]}"
    if seen.foreign:
        return Tag(f"nonce of {one_line(masked(seen.foreign))} in {CHANNELS[seen.channel]}", "leak")
    how = one_line(masked(seen.form))
    if seen.grade not in ("served",):
        how += f", {GRADES[seen.grade]}"
    if seen.who == "sibling":
        what = f"a sibling was told the {what}"
    by = f", by {one_line(masked(seen.reviewer))}" if seen.reviewer else ""
    if seen.state == "uncertain":
        return Tag(f"uncertain: {what} ({how}{by}), finding {seen.finding}", "caution")
    if seen.state == "dismissed":
        return Tag(f"dismissed{by}: {what} ({how})", "plain")
    if not seen.counts and condition not in ("exposed_unchanged", "sham_removal"):
        return Tag(f"{what} ({how}{by}), read by no claim", "plain")
    expected = condition in ("exposed_unchanged", "sham_removal") and seen.who == "user"
    return Tag(f"{what} ({how}{by})", "shows" if expected else "leak")
