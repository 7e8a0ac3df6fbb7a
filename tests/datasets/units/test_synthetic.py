from __future__ import annotations

import gc
import re
import statistics
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations

import pytest
from pydantic import ValidationError
from scipy.stats import mannwhitneyu

from vestige.datasets import Unit, UnitDataset, load_units
from vestige.datasets.units import UnitMix, generate_units
from vestige.datasets.units.synthetic.dataset import SyntheticUnits
from vestige.datasets.units.synthetic.facts import NEAR, overlap, words_of
from vestige.datasets.units.synthetic.hard import RELATIONS
from vestige.errors import ConfigError


def by_id(data: UnitDataset) -> dict[str, Unit]:
    return {unit.id: unit for unit in data}


def test_the_same_seed_gives_the_same_units_and_another_seed_others() -> None:
    first, again, other = generate_units(3), generate_units(3), generate_units(3, seed=1)
    assert dict(first.units) == dict(again.units)
    assert first.sha256 == again.sha256 != other.sha256
    assert not {u.text for u in first} & {u.text for u in other}


def test_known_bytes_of_this_version_of_the_generator() -> None:
    """A changed hash is a changed generator: raise GENERATOR_VERSION with it."""
    assert generate_units(2).sha256 == "b03fea2124b59d575dd79cfc1f03f0e9583dcb19dd6042f6575750d412ff365c"


def test_a_user_is_the_same_in_any_company_and_in_any_order() -> None:
    few, many = generate_units(2), generate_units(9)
    assert few.units["synthetic-00001"] == many.units["synthetic-00001"]
    lone = SyntheticUnits(9, seed=42, mix=UnitMix())
    assert lone["synthetic-00007"] == many.units["synthetic-00007"]


def test_shares_are_kept_and_every_unit_says_its_kind() -> None:
    mix = UnitMix(units=81, near_duplicate=0.25, inferable=0.1, common_knowledge=0.2)
    data = generate_units(4, mix=mix)
    assert (data.counts.members, data.counts.non_members) == (160, 164)
    for user in data.users:
        assert Counter(u.kind for u in data.members(user)) == {"plain": 32, "common_knowledge": 8}
        others = Counter(u.kind for u in data.non_members(user))
        assert others == {"plain": 19, "near_duplicate": 10, "inferable": 4, "common_knowledge": 8}
    assert data.counts.non_member_kinds["near_duplicate"] == 40


@pytest.mark.parametrize("seed", range(4))
def test_members_and_plain_non_members_are_free_of_near_duplicates(seed: int) -> None:
    data = generate_units(4, seed=seed, mix=UnitMix(units=120))
    for user in data.users:
        kept = [u for u in data.units[user] if u.member or u.kind in ("plain", "common_knowledge")]
        said = [words_of(u.text, (u.subject or "",)) for u in kept]
        assert max(overlap(a, b) for a, b in combinations(said, 2)) < NEAR
    assert data.counts.shared_non_members == 0


def test_a_near_duplicate_says_another_value_of_what_its_member_says() -> None:
    data = generate_units(6, mix=UnitMix(hardness=1.0))
    known = by_id(data)
    seen = 0
    for unit in data:
        if unit.kind != "near_duplicate":
            continue
        (member,) = (known[i] for i in unit.related)
        assert member.member and not unit.member and member.user == unit.user and member.text != unit.text
        assert SequenceMatcher(None, member.text, unit.text, autojunk=False).ratio() > 0.5
        seen += 1
    assert seen == 24


def nearness(hardness: float) -> float:
    data = generate_units(15, mix=UnitMix(hardness=hardness))
    known = by_id(data)
    return statistics.mean(
        SequenceMatcher(None, known[u.related[0]].text, u.text, autojunk=False).ratio()
        for u in data
        if u.kind == "near_duplicate"
    )


def test_hardness_brings_near_duplicates_nearer() -> None:
    easy, middle, hard = nearness(0.0), nearness(0.5), nearness(1.0)
    assert easy + 0.05 < middle < hard - 0.05


@pytest.mark.parametrize(("hardness", "premises"), [(1.0, 2), (0.0, 3)])
def test_an_inferable_unit_follows_from_members_by_a_relation(hardness: float, premises: int) -> None:
    data = generate_units(6, mix=UnitMix(inferable=0.2, near_duplicate=0.1, hardness=hardness))
    known = by_id(data)
    conclusions = [u for u in data if u.kind == "inferable"]
    assert len(conclusions) == 24
    for unit in conclusions:
        links = [known[i] for i in unit.related]
        assert len(links) == premises and all(u.member and u.user == unit.user for u in links)
        (relation,) = (r for r in RELATIONS if re.search(rf"'s {re.escape(r)}\b", unit.text))
        assert relation in links[0].text
        about = sum(relation in u.text for u in data.members(unit.user))
        assert about == 1, "another member is about the same relation, and the conclusion ambiguous"
        rest = re.split(rf"'s {re.escape(relation)} ", unit.text)[1]
        assert links[-1].text.endswith(rest)  # what is told of the person the relation leads to
        who = links[-1].text.removesuffix(rest).strip()
        assert who in links[-2].text


def test_premises_are_worded_alike_on_both_sides() -> None:
    data = generate_units(40, mix=UnitMix(inferable=0.2, near_duplicate=0.1))
    linked = {True: 0, False: 0}
    for unit in data:
        if unit.kind == "plain" and any(f"'s {r}" in unit.text or f"as {r}." in unit.text for r in RELATIONS):
            linked[unit.member] += 1
    assert linked[True] == linked[False] > 0


def test_nothing_but_the_label_tells_members_from_plain_non_members() -> None:
    """Length, place and first letter of a unit carry nothing: AUC is one half within four standard errors."""
    data = generate_units(60, mix=UnitMix(near_duplicate=0, inferable=0.1, common_knowledge=0.1))
    units = [(i, u) for user in data.users for i, u in enumerate(data.units[user]) if u.kind != "inferable"]
    labels = [u.member for _, u in units]
    margin = 4 * (1 / 12 / min(sum(labels), len(labels) - sum(labels)) * 2) ** 0.5
    for score in (
        [len(u.text) for _, u in units],
        [i for i, _ in units],
        [int(u.id.rpartition("-")[2]) for _, u in units],
        [ord(u.text[0]) for _, u in units],
    ):
        sides = ([s for s, m in zip(score, labels, strict=True) if m is side] for side in (True, False))
        one, other = sides
        auc = mannwhitneyu(one, other).statistic / (len(one) * len(other))
        assert abs(auc - 0.5) < margin


def test_as_many_units_as_perltqa_are_never_in_memory_together() -> None:
    data = generate_units(140, total=16_605)
    assert (data.counts.users, data.counts.units) == (140, 16_605)
    gc.collect()
    seen = most = 0
    for number, user in enumerate(data.units):
        seen += len(data.units[user])
        if number % 20 == 19:
            most = max(most, sum(isinstance(thing, Unit) for thing in gc.get_objects()))
    assert seen == 16_605
    assert 0 < most <= 3 * 119


def test_a_total_is_spread_as_evenly_as_can_be() -> None:
    data = generate_units(4, total=42)
    assert [len(data.units[user]) for user in data.users] == [11, 11, 10, 10]


@pytest.mark.parametrize(
    "mix",
    [
        UnitMix(units=160, inferable=0.25, near_duplicate=0, common_knowledge=0, hardness=0),
        UnitMix(units=160, inferable=0, near_duplicate=0.7, common_knowledge=0.3, hardness=1),
        UnitMix(units=160, inferable=0, near_duplicate=0, common_knowledge=0),
        UnitMix(units=2),
        UnitMix(units=9, inferable=0.2, near_duplicate=0.2, common_knowledge=0),
    ],
)
def test_every_mix_at_its_limit_can_be_made(mix: UnitMix) -> None:
    data = generate_units(4, mix=mix)
    assert data.counts.units == 4 * mix.units
    assert data.counts.one_sided_users == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"inferable": 0.3},
        {"near_duplicate": 0.9, "inferable": 0.1},
        {"common_knowledge": 0.4},
        {"hardness": 1.5},
        {"units": 161},
        {"units": 1},
    ],
)
def test_a_mix_that_cannot_be_made_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        UnitMix.model_validate(wrong)


def test_wrong_arguments_say_what_was_expected() -> None:
    for call in (
        lambda: generate_units(0),
        lambda: generate_units(2, seed=-1),
        lambda: generate_units(2, total=3),
        lambda: load_units("synthetic:3", n=4),
        lambda: load_units("synthetic", n=0),
        lambda: load_units("synthetic", seed=-1),
    ):
        with pytest.raises(ConfigError, match=r"expected|disagree"):
            call()


def test_an_unknown_user_is_a_key_error() -> None:
    units = generate_units(2).units
    for user in ("synthetic-00002", "synthetic-1", "synthetic-٠٠٠٠١", "x", ""):
        with pytest.raises(KeyError):
            units[user]


def test_relations_are_each_there_once() -> None:
    assert len(set(RELATIONS)) == len(RELATIONS) >= 40
