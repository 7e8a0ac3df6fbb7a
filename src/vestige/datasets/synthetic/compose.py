"""Writes one made-up user: what is told in which session, the talk around it, and the question."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import Literal

from vestige.datasets.instance import Instance, TurnRef
from vestige.datasets.synthetic.grammar import Chat, Grammar, Occasion, Slot, Template, Topic
from vestige.datasets.synthetic.values import KINDS, MONTHS, Random, amount, given_name, pick, whole, yes
from vestige.records import Session, Turn

__all__ = ["Generated", "QuestionType", "compose", "words"]

QuestionType = Literal["single", "update", "both", "total", "first", "last", "days", "abstention"]

_NAMES: dict[QuestionType, str] = {
    "single": "single-session-user",
    "update": "knowledge-update",
    "both": "multi-session",
    "total": "multi-session",
    "first": "temporal-reasoning",
    "last": "temporal-reasoning",
    "days": "temporal-reasoning",
    "abstention": "abstention",
}
_RELATIONS = (
    "best friend",
    "classmate",
    "colleague",
    "cousin",
    "flatmate",
    "neighbour",
    "old friend",
    "teammate",
)
_LITTLE = frozenset(
    ("a", "an", "the", "and", "of", "for", "in", "at", "on", "to", "with", "my", "is", "am", "pm")
)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> frozenset[str]:
    """The words of a text that carry content, lower case; numbers count."""
    return frozenset(_WORD.findall(text.casefold())) - _LITTLE


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence of the user that tells something."""

    template: Template
    text: str
    evidence: bool = False

    @property
    def bare(self) -> bool:
        """It starts with a value, a person or "I", so its first letter stays as it is after a bridge."""
        return self.template.text.startswith(("{", "I ", "I'", "IT ", "'"))


@dataclass(frozen=True, slots=True)
class Generated:
    """An instance, and by session and turn the ids of the templates in it (the agent never sees them)."""

    instance: Instance
    templates: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(slots=True)
class _Target:
    """What the question is about, decided before anything is written."""

    topic: Topic
    key: str
    question: str
    expected: str
    told: list[_Statement]
    """In the order of the sessions, one a session."""
    slot: Slot | None = None
    kind: str = ""
    """Of an occasion's value: facts of this kind beside it could be taken for one more occasion."""


@dataclass(slots=True)
class _Writer:
    """The state of one user: what was drawn already must not be drawn again."""

    grammar: Grammar
    rng: Random
    start: datetime.date
    values: set[str] = field(default_factory=set[str])
    keys: set[str] = field(default_factory=set[str])
    chats: set[str] = field(default_factory=set[str])
    people: set[str] = field(default_factory=set[str])

    def value(self, kind: str) -> str:
        """A value that this user's talk does not contain yet."""
        while (drawn := KINDS[kind](self.rng)) in self.values:
            pass
        self.values.add(drawn)
        return drawn

    def who(self) -> str:
        """Somebody else, each only once, so that no two people are mistaken for one."""
        while (name := given_name(self.rng)) in self.people:
            pass
        self.people.add(name)
        return f"my {pick(self.rng, _RELATIONS)} {name}"

    def changing(self, slot: Slot) -> tuple[str, str]:
        """An old and a new value; numbers with a trend go its way, and not too far."""
        while True:
            old, new = self.value(slot.kind), self.value(slot.kind)
            if not slot.trend:
                return old, new
            old, new = sorted((old, new), key=_number, reverse=slot.trend == "down")
            if abs(_number(old) - _number(new)) <= 0.25 * _number(old):
                return old, new

    def own(self, template: Template, value: str, *, evidence: bool = False, **more: str) -> _Statement:
        return _Statement(template, template.text.format(v=value, **more), evidence)

    def foreign(self, slot: Slot, who: str | None = None) -> _Statement:
        template = pick(self.rng, slot.other)
        text = template.text.format(who=who or self.who(), v=self.value(slot.kind))
        return _Statement(template, text)

    def chat(self, topic: Topic) -> Chat:
        """A request not made before: of the topic, or about anything."""
        pools = (topic.chats, self.grammar.chats)
        if yes(self.rng, 0.3):
            pools = pools[::-1]
        for pool in pools:
            fresh = [chat for chat in pool if chat.user.id not in self.chats]
            if fresh:
                chosen = pick(self.rng, fresh)
                self.chats.add(chosen.user.id)
                return chosen
        raise AssertionError("a user has fewer turns than there are requests")

    def phrase(self, kind: str) -> Template:
        return pick(self.rng, self.grammar.phrases[kind])


def _day(date: datetime.date) -> str:
    return f"{date.day} {MONTHS[date.month - 1]}"


def _number(text: str) -> float:
    """A number as the values write it: ``84,759``, ``57:28`` (of minutes), ``38.5``."""
    whole_part, _, seconds = text.replace(",", "").partition(":")
    return float(whole_part) + (float(seconds) / 60 if seconds else 0.0)


def _stamp(date: datetime.date, clock: str) -> str:
    """A time as LongMemEval writes it: ``2023/05/25 (Thu) 20:21``."""
    return f"{date:%Y/%m/%d} ({_WEEKDAYS[date.weekday()]}) {clock}"


def _about_slot(writer: _Writer, kind: QuestionType) -> _Target:
    rng = writer.rng
    topic = pick(rng, writer.grammar.topics)
    slot = pick(rng, [s for s in topic.slots if s.update or kind != "update"])
    question = pick(rng, slot.ask)
    if kind == "abstention":
        who = writer.who()
        told = [writer.foreign(slot, who), writer.foreign(slot)]
        expected = f"That never came up for you, though it did for your {who.removeprefix('my ')}."
        return _Target(topic, slot.key, question, expected, told, slot)
    if kind == "single":
        value = writer.value(slot.kind)
        return _Target(
            topic, slot.key, question, value, [writer.own(pick(rng, slot.tell), value, evidence=True)], slot
        )
    old, new = writer.changing(slot)
    told = [
        writer.own(pick(rng, slot.tell), old, evidence=True),
        writer.own(pick(rng, slot.update), new, evidence=True),
    ]
    return _Target(topic, slot.key, question, new, told, slot)


def _about_purchases(writer: _Writer) -> _Target:
    rng = writer.rng
    topic = pick(rng, [t for t in writer.grammar.topics if t.purchases])
    purchase = pick(rng, topic.purchases)
    sums = [whole(rng, 17, 389), whole(rng, 17, 389)]
    wordings = _two(rng, purchase)
    told = [
        writer.own(t, writer.value(purchase.kind), evidence=True, amount=amount(s))
        for t, s in zip(wordings, sums, strict=True)
    ]
    return _Target(
        topic, purchase.key, pick(rng, purchase.ask["total"]), amount(sum(sums)), told, kind=purchase.kind
    )


def _about_events(writer: _Writer, kind: QuestionType) -> _Target:
    rng = writer.rng
    topic = pick(rng, [t for t in writer.grammar.topics if t.events])
    event = pick(rng, topic.events)
    values = [writer.value(event.kind), writer.value(event.kind)]
    early = writer.start - datetime.timedelta(days=whole(rng, 50, 100))
    gap = whole(rng, 4, 46)
    dates = [early, early + datetime.timedelta(days=gap)]
    if yes(rng, 0.5):
        dates.reverse()
    told = [
        writer.own(t, v, evidence=True, date=_day(d))
        for t, v, d in zip(_two(rng, event), values, dates, strict=True)
    ]
    by_date = [v for _, v in sorted(zip(dates, values, strict=True))]
    expected = {
        "first": by_date[0],
        "last": by_date[1],
        "days": str(gap),
        "both": f"{values[0]} and {values[1]}",
    }[kind]
    return _Target(topic, event.key, pick(rng, event.ask[kind]), expected, told, kind=event.kind)


def _two(rng: Random, occasion: Occasion) -> list[Template]:
    first = whole(rng, 0, len(occasion.tell) - 1)
    second = (first + whole(rng, 1, len(occasion.tell) - 1)) % len(occasion.tell)
    return [occasion.tell[first], occasion.tell[second]]


def _target(writer: _Writer, kind: QuestionType) -> _Target:
    if kind in ("single", "update", "abstention"):
        return _about_slot(writer, kind)
    return _about_purchases(writer) if kind == "total" else _about_events(writer, kind)


def _told_elsewhere(writer: _Writer, topic: Topic, target: _Target, near: bool) -> list[_Statement]:
    """Facts beside the point: other facts of the user, and the same kind of fact about somebody else."""
    rng = writer.rng
    told: list[_Statement] = []
    free = [s for s in topic.slots if s.key not in writer.keys and s.key != target.key]
    if topic is target.topic:
        free = [s for s in free if s.kind != target.kind]
    for _ in range(whole(rng, 1, 2)):
        if not free:
            break
        slot = free.pop(whole(rng, 0, len(free) - 1))
        writer.keys.add(slot.key)
        told.append(writer.own(pick(rng, slot.tell), writer.value(slot.kind)))
    if near and target.slot is not None and yes(rng, 0.75):
        told.append(writer.foreign(target.slot))
    elif yes(rng, 0.6):
        told.append(writer.foreign(pick(rng, topic.slots)))
    return told


def _user_text(
    writer: _Writer, chat: Chat | None, told: _Statement | None, first: bool
) -> tuple[str, list[str]]:
    """A user's turn and the templates in it."""
    rng = writer.rng
    parts: list[str] = []
    used: list[str] = []

    def say(template: Template, text: str | None = None) -> None:
        parts.append(text if text is not None else template.text)
        used.append(template.id)

    if first and yes(rng, 0.6):
        say(writer.phrase("opener"))
    fact = "" if told is None else told.text[0].upper() + told.text[1:]
    if told is not None and (chat is None or yes(rng, 0.4)):
        say(told.template, fact)
        told = None
    if chat is not None:
        say(chat.user)
    if told is not None:
        bridge = writer.phrase("bridge")
        rest = told.text if told.bare else told.text[0].lower() + told.text[1:]
        say(bridge)
        say(told.template, rest)
    elif chat is not None and yes(rng, 0.12):
        say(writer.phrase("closer"))
    return " ".join(parts), used


def _session(
    writer: _Writer, topic: Topic, statements: list[_Statement], n_user: int
) -> tuple[list[Turn], list[tuple[str, ...]], list[int]]:
    """The turns, the templates of each, and the indices of those that hold evidence."""
    rng = writer.rng
    places = sorted(int(p) for p in rng.permutation(n_user)[: len(statements)])
    # NumPy shuffles lists in place; its stubs name arrays alone.
    rng.shuffle(statements)  # type: ignore[arg-type]
    at = dict(zip(places, statements, strict=True))
    turns: list[Turn] = []
    templates: list[tuple[str, ...]] = []
    evidence: list[int] = []
    for i in range(n_user):
        told = at.get(i)
        chat = None if told is not None and yes(rng, 0.25) else writer.chat(topic)
        text, used = _user_text(writer, chat, told, i == 0)
        if told is not None and told.evidence:
            evidence.append(len(turns))
        turns.append(Turn(role="user", content=text))
        templates.append(tuple(used))
        if chat is None:
            reply = [writer.phrase("only")]
        else:
            reply = [pick(rng, chat.replies)]
            if told is not None:
                reply.insert(0, writer.phrase("ack"))
        turns.append(Turn(role="assistant", content=" ".join(t.text for t in reply)))
        templates.append(tuple(t.id for t in reply))
    return turns, templates, evidence


def compose(grammar: Grammar, kind: QuestionType, name: str, rng: Random) -> Generated | None:
    """Write one user, or None where the draw came out ambiguous and must be done again.

    Ambiguous is: the expected answer shares a word with the question, or stands in a turn beside evidence.
    """
    year = whole(rng, 2022, 2025)
    start = datetime.date(year, 1, 1) + datetime.timedelta(days=whole(rng, 135, 240))
    writer = _Writer(grammar, rng, start)
    target = _target(writer, kind)
    if kind != "abstention" and words(target.expected) & words(target.question):
        return None
    n_sessions = whole(rng, max(2, len(target.told)), 5)
    holders = sorted(int(i) for i in rng.permutation(n_sessions)[: len(target.told)])
    others = [t for t in grammar.topics if t.name != target.topic.name]
    order = [others[int(i)] for i in rng.permutation(len(others))[:n_sessions]]
    if yes(rng, 0.4):
        order[holders[0]] = target.topic
    else:
        for holder in holders:
            order[holder] = target.topic

    sessions: list[Session] = []
    templates: list[tuple[tuple[str, ...], ...]] = []
    evidence: list[TurnRef] = []
    date = start
    for i, topic in enumerate(order):
        told = [target.told[holders.index(i)]] if i in holders else []
        told += _told_elsewhere(writer, topic, target, near=i in holders and kind != "abstention")
        turns, used, at = _session(writer, topic, told, whole(rng, 4, 7))
        clock = f"{whole(rng, 6, 22):02d}:{whole(rng, 0, 59):02d}"
        sessions.append(Session(id=f"{name}-session-{i + 1}", turns=tuple(turns), date=_stamp(date, clock)))
        templates.append(tuple(used))
        evidence += [(i, t) for t in at]
        date += datetime.timedelta(days=whole(rng, 2, 24))
    instance = Instance(
        id=name,
        sessions=tuple(sessions),
        question=target.question,
        expected=target.expected,
        abstention=kind == "abstention",
        question_type=_NAMES[kind],
        question_date=_stamp(date, "12:00"),
        evidence=tuple(evidence),
    )
    return None if _spoiled(instance) else Generated(instance, tuple(templates))


def _spoiled(instance: Instance) -> bool:
    """Whether a turn that is no evidence holds every word of the expected answer."""
    if instance.abstention:
        return False
    wanted = words(instance.expected)
    known = set(instance.evidence or ())
    return any(
        wanted <= words(turn.content)
        for s, session in enumerate(instance.sessions)
        for t, turn in enumerate(session.turns)
        if (s, t) not in known
    )
