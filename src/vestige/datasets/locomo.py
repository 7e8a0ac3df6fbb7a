"""LoCoMo (Maharana et al., ACL 2024): ten long two-person conversations, each with many questions.

The first speaker is the user, the partner takes the assistant's role, and both keep their names. All
instances of a conversation share one tuple of sessions. Where the data is dirty, what could not be read is
noted, never guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from vestige.datasets.formats import Format, Parsed, unique_id
from vestige.datasets.instance import Instance, TurnRef
from vestige.datasets.reading import Node
from vestige.records import Session, Turn

__all__ = ["LOCOMO", "NOT_MENTIONED"]

NOT_MENTIONED = "This was not mentioned in the conversation."
"""The expected answer of an adversarial question; the data's `adversarial_answer` is a trap, never used."""

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d{1,6})")
_REFERENCE = re.compile(
    r"D:?\s*(\d{1,6})\s*:\s*(\d{1,6})"  # D8:6, D:11:26
    r"(?:\s*[-–—]\s*(?:D:?\s*(\d{1,6})\s*:\s*)?(\d{1,6}))?"  # a range: D8:6-9, D8:6-D8:9
)
_LONGEST_RANGE = 50

Place = dict[tuple[int, int], TurnRef]


class _Conversation:
    """The sessions of one sample, and where each dialogue id stands in them."""

    def __init__(self, sample: Node, sample_id: str) -> None:
        conversation = sample.get("conversation")
        user = conversation.get("speaker_a").filled()
        partner = conversation.get("speaker_b").filled()
        if user == partner:
            conversation.get("speaker_b").fail("a name other than speaker_a's", got="the same name")
        # A Node is no mapping: `keys()` is its own method, and it cannot be iterated.
        numbers = sorted(int(found[1]) for key in conversation.keys() if (found := _SESSION.fullmatch(key)))  # noqa: SIM118
        if len(set(numbers)) != len(numbers):
            conversation.fail("one list for each session number", got="a number twice")
        sessions: list[Session] = []
        self.places: Place = {}
        for number in numbers:
            listed = conversation.get(f"session_{number}")
            if listed.value is None:
                continue
            turns: list[Turn] = []
            for i, item in enumerate(listed.items()):
                turns.append(_turn(item, user, partner))
                self.places.setdefault(_dialogue_id(item, number, i), (len(sessions), i))
            if turns:
                date = conversation.get(f"session_{number}_date_time").optional_text()
                sessions.append(Session(id=f"{sample_id}_session_{number}", date=date, turns=tuple(turns)))
        if not sessions:
            conversation.fail("at least one session_N with a turn", got="none")
        self.sessions = tuple(sessions)

    def evidence(self, field: Node) -> tuple[tuple[TurnRef, ...] | None, list[str]]:
        """The turns that a question's evidence names, and the strings that name none.

        None where not one reference could be read: then the data does not say.
        """
        found: set[TurnRef] = set()
        unread: list[str] = []
        for item in field.items() if field.value is not None else []:
            text = item.text()
            wanted = _references(text)
            known = {self.places[ref] for ref in wanted if ref in self.places}
            found |= known
            if not wanted or len(known) < len(wanted):
                unread.append(text)
        return (tuple(sorted(found)) or None), unread


def _turn(item: Node, user: str, partner: str) -> Turn:
    speaker = item.get("speaker")
    if speaker.value not in (user, partner):
        speaker.fail("one of the two speakers", got=repr(speaker.value)[:60])
    text = item.get("text").text()
    caption = item.get("blip_caption").optional_text()
    if caption is not None:
        text = f"{text} [shares a photo: {caption}]".lstrip()
    return Turn(role="user" if speaker.value == user else "assistant", content=text, speaker=speaker.text())


def _dialogue_id(item: Node, number: int, i: int) -> tuple[int, int]:
    given = item.get("dia_id").optional_text()
    references = _references(given or "")
    return references[0] if len(references) == 1 else (number, i + 1)


def _references(text: str) -> list[tuple[int, int]]:
    """``D8:6; D9:17``, ``D:11:26``, ``D3:4-6``: each (session, turn) that a string names."""
    references: list[tuple[int, int]] = []
    for found in _REFERENCE.finditer(text):
        session, first = int(found[1]), int(found[2])
        last = int(found[4]) if found[4] else first
        if (found[3] and int(found[3]) != session) or not first <= last < first + _LONGEST_RANGE:
            last = first
        references.extend((session, turn) for turn in range(first, last + 1))
    return list(dict.fromkeys(references))


def _question(node: Node, talk: _Conversation, sample_id: str, index: int, counts: Counter[str]) -> Instance:
    category = node.get("category")
    number = category.value
    if not isinstance(number, int) or isinstance(number, bool) or number not in _CATEGORIES:
        category.fail("an integer from 1 to 5", got=repr(number)[:40])
    abstention = number == 5
    evidence, unread = talk.evidence(node.get("evidence"))
    counts["unread"] += len(unread)
    counts["no evidence"] += evidence is None
    by_partner = evidence is not None and all(talk.sessions[s].turns[t].role != "user" for s, t in evidence)
    answerable = abstention or not by_partner
    counts["unanswerable"] += not answerable
    # model_construct: validation would copy the tuple of sessions for each of some 200 questions.
    return Instance.model_construct(
        id=f"{sample_id}_q{index}",
        sessions=talk.sessions,
        question=node.get("question").filled(),
        expected=NOT_MENTIONED if abstention else node.get("answer").text_or_digits(),
        abstention=abstention,
        question_type=_CATEGORIES[number],
        question_date=None,
        evidence=evidence,
        cluster=sample_id,
        answerable=answerable,
    )


def _read(records: Iterable[Node]) -> Parsed:
    instances: list[Instance] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for sample in records:
        sample_id = sample.get("sample_id").text_or_digits()
        sample = sample.named(sample_id)
        unique_id(sample.get("sample_id"), sample_id, seen)
        talk = _Conversation(sample, sample_id)
        for index, node in enumerate(sample.get("qa").items()):
            instances.append(_question(node, talk, sample_id, index, counts))
    said = {
        "unread": "{} evidence strings name no turn of the conversation: that part is ignored",
        "no evidence": f"the evidence of {{}} of {len(instances)} questions is unknown",
        "unanswerable": f"{{}} of {len(instances)} questions rest on the partner's turns alone",
    }
    notes = tuple(text.format(counts[key]) for key, text in said.items() if counts[key])
    return Parsed(tuple(instances), notes)


def _looks(first: Node) -> bool:
    return isinstance(first.value, dict) and {"conversation", "qa"} <= set(first.keys())


LOCOMO = Format(
    name="locomo",
    looks=_looks,
    read=_read,
    expected="records with sample_id, conversation (speaker_a, speaker_b, session_1, …) and qa",
    license="CC BY-NC 4.0",
)
"""The loader of LoCoMo's public release."""
