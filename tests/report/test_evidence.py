"""The exchanges behind the numbers: all of them reachable, none repeated, no secret in any writing."""

from __future__ import annotations

import base64
import random

import samples
from samples import CANARY

from vestige.records import RetrievedUnit
from vestige.report.evidence import FULL_PER_GROUP, collect, masker
from vestige.text import fold


def test_exchanges_that_differ_in_k_alone_are_one() -> None:
    groups = collect([samples.exchange(k=k) for k in (10, 1, 3)], masker([CANARY]))
    (group,) = groups
    (shown,) = group.exchanges
    assert shown.ks == (1, 3, 10)
    assert (group.n_exchanges, group.n_instances) == (3, 1)


def test_another_reply_is_another_exchange() -> None:
    found = [samples.exchange(k=1), samples.exchange(k=3, reply=f"Again: {CANARY}")]
    (group,) = collect(found, masker([CANARY]))
    assert [exchange.ks for exchange in group.exchanges] == [(1,), (3,)]


def test_a_units_text_is_shown_once_for_an_instance() -> None:
    found = [samples.exchange(), samples.exchange(probe_kind="indirect", reply=f"Token {CANARY}")]
    first, second = collect(found, masker([CANARY]))
    assert all(unit.text is not None for unit in first.exchanges[0].units)
    assert all(unit.text is None for unit in second.exchanges[0].units)
    assert [u.anchor for u in first.exchanges[0].units] == [u.anchor for u in second.exchanges[0].units]
    assert first.exchanges[0].holding == second.exchanges[0].holding == 1


def test_every_exchange_is_reachable_however_many_there_are() -> None:
    names = [f"instance-{index:03d}" for index in range(FULL_PER_GROUP * 4)]
    (group,) = collect([samples.exchange(instance=name) for name in names], masker([CANARY]))
    assert [exchange.instance for exchange in (*group.exchanges, *group.rows)] == names
    assert len(group.exchanges) == FULL_PER_GROUP


def test_the_order_of_the_input_does_not_matter() -> None:
    found = samples.exchanges()
    shuffled = random.Random(3).sample(found, len(found))
    masked = masker({e.canary for e in found})
    assert collect(found, masked) == collect(shuffled, masked)


def test_groups_stand_in_the_order_of_the_audit() -> None:
    kinds = ("jailbreak", "direct", "indirect")
    found = [samples.exchange(S=level, probe_kind=kind) for level in (1, 0) for kind in kinds]
    found += [samples.exchange(audit="residue", mode=mode) for mode in ("tombstone", "noop", "raw_only")]
    found += [samples.exchange(kind="recall", probe_kind="recall")]
    order = [(g.audit, g.S, g.mode, g.probe_kind) for g in collect(found, masker([CANARY]))]
    assert order == [
        *(
            ("frontier", level, None, kind)
            for level in (0, 1)
            for kind in ("direct", "indirect", "jailbreak")
        ),
        *(("residue", 0, mode, "direct") for mode in ("noop", "raw_only", "tombstone")),
        ("frontier", 0, None, "recall"),
    ]


def test_secrets_are_masked_before_texts_are_cut() -> None:
    """A window that starts inside a secret must not show its end."""
    for before in range(1480, 1510):
        (group,) = collect(
            [samples.exchange(reply="x" * before + CANARY + " " + "y" * 3000)], masker([CANARY])
        )
        reply = group.exchanges[0].reply
        assert "CORAL" not in reply and "5308" not in reply
        assert "[canary]" in reply and reply.cut and reply.characters > 4400


def test_no_writing_of_a_secret_is_left() -> None:
    encoded = base64.b64encode(CANARY.encode()).decode()
    writings = (
        CANARY,
        CANARY.lower(),
        "T4K coral 5308",
        "T 4 K - C O R A L - 5 3 0 8",
        "T4K\u200b-CORAL-5308",
        encoded,
    )
    for writing in writings:
        unit = RetrievedUnit(id=f"u-{writing}", tier="raw", text=f"note: {writing} ok", score=0.5)
        found = samples.exchange(reply=f"it is {writing} ok", prompt=f"was it {writing}?", retrieved=(unit,))
        (group,) = collect([found], masker([CANARY]))
        shown = group.exchanges[0]
        for text in (shown.reply, shown.prompt, shown.units[0].text or ""):
            assert fold(CANARY) not in fold(text)
            assert encoded[:12] not in text


def test_another_instances_secret_is_masked_too() -> None:
    other = "A2B-OLIVE-7713"
    found = [samples.exchange(reply=f"{CANARY} and {other}"), samples.exchange(instance="b", canary=other)]
    (group,) = collect(found, masker([CANARY, other]))
    assert all("OLIVE" not in exchange.reply for exchange in group.exchanges)


def test_unmasked_on_request() -> None:
    (group,) = collect([samples.exchange()], masker([CANARY], show=True))
    assert CANARY in group.exchanges[0].reply
