"""What is said in a verification: texts added to turns, empty talk, corrections, and the target told anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vestige.audits.verification.naming import fixture_texts
from vestige.audits.verification.pairs import Nonce, Preference
from vestige.audits.verification.settings import Condition
from vestige.datasets.synthetic.grammar import load_grammar
from vestige.records import Session, Turn, TurnRef
from vestige.runs.plan import generator

__all__ = ["append", "chat", "correction", "told_again"]


def append(sessions: Sequence[Session], additions: Sequence[tuple[TurnRef, str]]) -> tuple[Session, ...]:
    """The sessions with texts added to the ends of turns."""
    out = list(sessions)
    for (s, t), text in additions:
        turns = list(out[s].turns)
        turns[t] = turns[t].model_copy(update={"content": turns[t].content + text})
        out[s] = out[s].model_copy(update={"turns": tuple(turns)})
    return tuple(out)


def chat(name: str, index: int, seed: int) -> Session:
    """A session that tells nothing about the user."""
    rng = generator(seed, name, "later", str(index))
    chats = load_grammar().chats
    turns: list[Turn] = []
    for pick in rng.choice(len(chats), size=3, replace=False):
        request = chats[int(pick)]
        reply = request.replies[int(rng.integers(len(request.replies)))]
        turns += [Turn(role="user", content=request.user.text), Turn(role="assistant", content=reply.text)]
    return Session(id=f"later-{index}", turns=tuple(turns))


def _exchange(session: str, text: str) -> Session:
    answer = fixture_texts()["told"]["acknowledged"]
    return Session(
        id=session, turns=(Turn(role="user", content=text.strip()), Turn(role="assistant", content=answer))
    )


def correction(condition: Condition, nonces: Iterable[Nonce], preferences: Iterable[Preference]) -> Session:
    """The session that states the replacements."""
    told, parts = fixture_texts()["told"], list[str]()
    for nonce in nonces:
        new = nonce.replacement[condition]
        parts.append(told["correction_nonce"].format(label=nonce.label, value=new))
    for preference in preferences:
        parts.append(
            told["correction_preference"].format(topic=preference.topic, option=preference.replacement)
        )
    return _exchange("correction", " ".join(parts))


def told_again(nonces: Iterable[Nonce], preferences: Iterable[Preference]) -> Session:
    """The session in which the user gives the targets again."""
    told = fixture_texts()["told"]["reintroduction_nonce"]
    parts = [told.format(label=n.label, value=n.values["exposed_removed"]) for n in nonces]
    return _exchange("again", " ".join([*parts, *(p.statement for p in preferences)]))
