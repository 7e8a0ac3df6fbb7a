"""Several targets a pair: each its own value, place, words, questions, request and rules."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest
from pydantic import ValidationError
from tests.audits.verification.made import acting, base, claim_of, decided, finding, rules, seen

from vestige.audits.verification.fixtures import Material, build_pairs, synthetic_users
from vestige.audits.verification.fragments import Piece, put_together
from vestige.audits.verification.looking import Looker, owners_of
from vestige.audits.verification.naming import fixture_texts, nonce_words, topics
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.scripts import build_scripts, removal_requests, secret_values
from vestige.audits.verification.settings import (
    CONDITIONS,
    EXPOSED,
    TARGETS,
    TargetName,
    VerificationSettings,
    kind_of,
    numbered,
)
from vestige.canaries import Canary
from vestige.errors import ConfigError
from vestige.options import checked_options
from vestige.reaching import plan_lines
from vestige.runs.steps import Ask, Await, Forget, Scan, Sham
from vestige.stats import equivalence_power, pairs_for_equivalence
from vestige.text import content_words
from vestige.verify_options import VERIFY_LISTS, VerifyOptions

FOUR: tuple[TargetName, ...] = ("nonce", "nonce-2", "preference", "preference-2")
USERS = synthetic_users(8, 0)


def made(targets: tuple[TargetName, ...] = FOUR, pairs: int = 4, **more: Any) -> list[Material]:
    settings = VerificationSettings(pairs=pairs, targets=targets, **more)
    return build_pairs(USERS, settings, 7)[0]


# --- names


def test_names_are_numbered_from_the_first_on() -> None:
    assert numbered(1, 1) == VerificationSettings().targets
    assert numbered(2, 2) == FOUR
    assert numbered(5, 5) == TARGETS
    for bad in (("nonce-2",), ("nonce", "nonce-3"), ("nonce", "nonce"), ("nonce-6",), ("nonces",)):
        with pytest.raises(ValidationError):
            VerificationSettings.model_validate({"targets": bad})


def options(**given: Any) -> VerifyOptions:
    return checked_options(VerifyOptions, VERIFY_LISTS, given)


def test_targets_are_given_by_name_or_by_number() -> None:
    assert options(nonces=2, preferences=2).settings().targets == FOUR
    assert options(targets="nonce,nonce-2,preference,preference-2").settings().targets == FOUR
    assert options(nonces=3).settings().targets == ("nonce", "nonce-2", "nonce-3", "preference")
    assert options(nonces=0).settings().targets == ("preference",)
    assert options().settings().targets == ("nonce", "preference")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"targets": "nonce", "nonces": 2},
            "--targets: give them by name, or their numbers with --nonces and --preferences, not both",
        ),
        ({"nonces": 0, "preferences": 0}, "--nonces: with 0 of them and no preference there is no target"),
        ({"nonces": 6}, "less than or equal to 5"),
        ({"targets": "nonce-2"}, "nonce-2 without nonce"),
    ],
)
def test_a_slip_in_the_targets_is_one_line(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        options(**given)
    assert "\n" not in str(caught.value) and not str(caught.value).startswith("--?")


# --- fixtures


def test_one_more_target_changes_none_of_the_others() -> None:
    for alone, beside in zip(made(("nonce", "preference")), made(), strict=True):
        assert (alone.pair.nonce, alone.pair.preference) == (beside.pair.nonce, beside.pair.preference)
        assert alone.pair.placed == {t: beside.pair.placed[t] for t in ("nonce", "preference")}
        first = {p.id: p.text for p in _probes(alone).values()}
        both = {p.id: p.text for p in _probes(beside).values()}
        assert first.items() <= both.items()


def _probes(item: Material) -> dict[str, Any]:
    targets = tuple(t for t in TARGETS if t in item.pair.nonces or t in item.pair.preferences)
    return build_scripts([item], VerificationSettings(pairs=4, targets=targets), 7).probes


def test_every_target_is_told_where_it_is_exposed_and_nowhere_else() -> None:
    for item in made(TARGETS):
        pair = item.pair
        assert [*pair.nonces, *pair.preferences] == list(TARGETS)
        for condition in CONDITIONS:
            text = "\n".join(t.content for s in item.told[condition] for t in s.turns)
            for nonce in pair.nonces.values():
                for arm, value in nonce.values.items():
                    assert (value in text) == (arm == condition)
                assert nonce.decoy in text
            for preference in pair.preferences.values():
                assert (preference.statement in text) == (condition != "never_exposed")
                assert preference.other not in text and preference.decoy in text


def test_no_two_targets_can_be_taken_for_one_another() -> None:
    for item in made(TARGETS):
        nonces, preferences = item.pair.nonces.values(), item.pair.preferences.values()
        for condition in EXPOSED:
            for a, b in combinations([Canary(n.values[condition]) for n in nonces], 2):
                assert set(a.parts).isdisjoint(b.parts)
        assert len({n.label for n in nonces} | {n.decoy_label for n in nonces}) == 10
        names = [name for p in preferences for name in (p.favoured, p.other, p.decoy_value)]
        assert len(set(names)) == 15
        assert not [(a, b) for a, b in combinations(names, 2) if a[:3] == b[:3] and a[-3:] == b[-3:]]
        said = [p.statement + p.decoy for p in preferences]
        assert [sum(topic in text for text in said) for topic in topics()].count(1) == 10
        assert len(set(item.pair.placed.values())) == min(10, len(item.pair.placed))


def test_labels_share_no_word() -> None:
    called = ["private session token", "locker code"]
    for target in TARGETS:
        if kind_of(target) == "nonce" and (words := nonce_words(target)) is not None:
            called += [words["label"], words["decoy"]]
            assert words["thing"] in words["label"]
    assert len(called) == 10
    for a, b in combinations(called, 2):
        assert set(content_words(a)).isdisjoint(content_words(b)), (a, b)
    assert not [t for t in fixture_texts()["topics"] for c in called if set(t.split()) & set(c.split())]


def test_preferences_are_balanced_each_by_itself() -> None:
    items = made(pairs=8)
    for target in ("preference", "preference-2"):
        shown = [m.pair.preferences[target].order[0] == m.pair.preferences[target].favoured for m in items]
        assert sum(shown[:4]) == sum(shown[4:]) == 2


def test_a_source_that_is_withdrawn_holds_all_of_them() -> None:
    for item in made(kind="source"):
        assert len({item.pair.sources[t] for t in FOUR}) == 1
        settings = VerificationSettings(targets=FOUR, kind="source")
        assert list(removal_requests(item.pair, settings, "exposed_removed")) == ["nonce"]


def test_a_fixture_of_one_of_each_is_read_as_before() -> None:
    """A released fixture knows nothing of further targets, nor of what its nonce is called."""
    data = made(("nonce", "preference"))[0].pair.model_dump(mode="json")
    for name in ("further_nonces", "further_preferences"):
        assert data.pop(name) == {}
    for name in ("label", "decoy_label"):
        data["nonce"].pop(name)
    pair = Pair.model_validate_json(json.dumps(data))
    request = removal_requests(pair, VerificationSettings(), "exposed_removed")["nonce"]
    assert request.description == f"Please forget my private session token: {request.value}."
    assert list(pair.nonces) == ["nonce"] and list(pair.preferences) == ["preference"]


@pytest.mark.parametrize("name", ["nonce", "preference-2", "nonce-9"])
def test_a_fixture_with_a_wrong_name_is_refused(name: str) -> None:
    data = made()[0].pair.model_dump(mode="json")
    data["further_nonces"] = {name: data["further_nonces"]["nonce-2"]}
    with pytest.raises(ValidationError):
        Pair.model_validate(data)


# --- scripts


def test_every_target_has_questions_a_request_and_needles_of_its_own() -> None:
    (item, *_) = made()
    pair, settings = item.pair, VerificationSettings(pairs=4, targets=FOUR)
    built = build_scripts([item], settings, 7)
    arms = {e.labels["condition"]: e for e in built.episodes}
    steps = arms["exposed_removed"].steps
    assert [s.labels["target"] for s in steps if isinstance(s, Forget)] == list(FOUR)
    assert [s.request.value for s in steps if isinstance(s, Forget)] == [
        pair.nonces["nonce"].values["exposed_removed"],
        pair.nonces["nonce-2"].values["exposed_removed"],
        pair.preferences["preference"].favoured,
        pair.preferences["preference-2"].favoured,
    ]
    (waiting,) = [s for s in steps if isinstance(s, Await)]
    assert set(waiting.needles) == {f"{t}:verbatim" for t in FOUR}
    shams = [s for s in arms["sham_removal"].steps if isinstance(s, Sham)]
    assert [s.request.value for s in shams][:2] == [n.decoy for n in pair.nonces.values()]
    assert f"my {pair.nonces['nonce-2'].decoy_label}:" in (shams[1].request.description or "")
    needles = next(s for s in steps if isinstance(s, Scan)).needles
    assert needles["nonce-2:verbatim"] == pair.nonces["nonce-2"].values["exposed_removed"]
    assert needles["foreign:sham_removal:nonce-2"] == pair.nonces["nonce-2"].values["sham_removal"]
    for target in FOUR:
        asked = [s for s in steps if isinstance(s, Ask) and s.labels.get("target") == target]
        kinds = {built.probes[s.probe].kind for s in asked}
        wanted = {"recall", "semantic", "structured", "sibling_recall", "reintroduction"}
        assert kinds == wanted | ({"choice"} if kind_of(target) == "preference" else set())
        text = " ".join(built.probes[s.probe].text for s in asked)
        named = {"nonce": "session", "nonce-2": "guest network"}.get(target)
        assert (named or pair.preferences[target].topic) in text
    choice = built.probes[f"{item.id}/choice-preference-2-0"]
    assert choice.choices == pair.preferences["preference-2"].order
    assert len(secret_values(pair)) == 2 * len(EXPOSED) + 4


def test_a_correction_and_a_reintroduction_name_every_target() -> None:
    (item, *_) = made(task="correction")
    said = item.correction["exposed_removed"].turns[0].content
    again = item.again.turns[0].content
    for nonce in item.pair.nonces.values():
        assert f"my {nonce.label} has changed. It is {nonce.replacement['exposed_removed']}" in said
        assert f"my {nonce.label} again: it is {nonce.values['exposed_removed']}" in again
    for preference in item.pair.preferences.values():
        assert f"for a {preference.topic} I now always want {preference.other}" in said
        assert preference.statement.strip() in again


# --- looking


def test_sightings_and_owners_go_by_name() -> None:
    (item, *_) = made()
    pair = item.pair
    settings = VerificationSettings(targets=FOUR)
    looker = Looker(
        pair, "exposed_removed", settings, f"{item.id}/exposed_removed", owners_of({item.id: pair})
    )
    assert looker.targets == FOUR
    second = pair.nonces["nonce-2"].values
    assert [look.target for look in looker.own([f"It is {second['exposed_removed']}."])] == ["nonce-2"]
    assert looker.others([second["sham_removal"]]) == {(f"{item.id}/sham_removal", "nonce-2"): 1}
    name = pair.preferences["preference-2"].favoured
    assert [look.target for look in looker.own([name])] == ["preference-2"]
    # What one decision task names is no evidence of it; of another preference it is.
    assert looker.own([name], {"preference-2": "prompted"}) == []
    (look,) = looker.own([name], {"preference": "prompted"})
    assert (look.target, look.state) == ("preference-2", "confirmed")


def test_fragments_make_each_nonce_whole_by_itself() -> None:
    (item, *_) = made()
    pair = item.pair
    looker = Looker(pair, "exposed_removed", VerificationSettings(targets=FOUR), "e", {})
    one, two = (Canary(n.values["exposed_removed"]).parts for n in pair.nonces.values())
    mixed = [Piece("answer", "served", "after", part) for part in (one[0], one[1], two[2])]
    assert list(put_together(mixed, looker, [])) == []
    whole = [*mixed, *(Piece("tool_arguments", "served", "delayed", part) for part in two[:2])]
    ((place, look),) = put_together(whole, looker, [])
    assert (look.target, look.count, place.channel) == ("nonce-2", 3, "tool_arguments")


# --- rules


def good(i: int) -> list[Any]:
    """Everything shows both nonces where it should."""
    return [*base(i), seen(i, "exposed_unchanged", "answer", "nonce-2", step=2)]


def test_one_of_two_nonces_fails_the_claim_by_its_name() -> None:
    pairs = [f for i in range(60) for f in good(i)]
    both = ("nonce", "nonce-2")
    assert claim_of(60, pairs, targets=both).verdict == "limited_evidence"
    claim = claim_of(60, [*pairs, seen(3, "exposed_removed", "answer", "nonce-2")], targets=both)
    assert (claim.verdict, decided(claim)) == ("fails", "disclosure")
    rule = claim.rules[claim.decided_by]
    assert rule.target == "nonce-2" and "the nonce-2 was seen in 1 episode" in claim.statement
    assert [t.union["exposed_removed"].events for t in claim.targets] == [0, 1]


def test_every_nonce_needs_its_own_positive_control() -> None:
    pairs = [f for i in range(60) for f in base(i)]
    claim = claim_of(60, pairs, targets=("nonce", "nonce-2"))
    assert claim.verdict == "unassessable"
    assert [r.outcome for r in rules(claim, "sensitivity")] == ["passes", "unassessable"]


def deciding(i: int, second: bool) -> list[Any]:
    """Two preferences: the first is forgotten, the second one chosen or not."""
    chance = i % 2 == 0
    out = acting(i)
    for condition in CONDITIONS:
        chosen = condition in ("exposed_unchanged", "sham_removal") or (
            second if condition == "exposed_removed" else chance
        )
        values = {"chosen": "favoured" if chosen else "other", "source": "schema"}
        out.append(finding(i, condition, "action", values, step=31, target="preference-2"))
    return [*out, seen(i, "exposed_unchanged", "answer", "preference-2", step=3)]


def test_every_preference_has_its_own_residual() -> None:
    targets = ("nonce", "preference", "preference-2")
    still = [f for i in range(100) for f in deciding(i, True)]
    claim = claim_of(100, still, targets=targets)
    assert (claim.verdict, decided(claim)) == ("fails", "residual")
    assert claim.rules[claim.decided_by].target == "preference-2"
    assert "the option of preference-2 was chosen +0.500 more often" in claim.statement
    values = [t.residual.value for t in claim.targets if t.residual is not None]
    assert values == [0.0, 0.5]
    gone = [f for i in range(100) for f in deciding(i, i % 2 == 0)]
    passed = claim_of(100, gone, targets=targets)
    assert passed.verdict == "limited_evidence"
    assert "choices of preference differed" in passed.statement
    assert "choices of preference-2 differed" in passed.statement


def test_choices_that_cannot_be_read_are_told_by_preference() -> None:
    targets = ("nonce", "preference", "preference-2")
    found = [f for i in range(100) for f in deciding(i, i % 2 == 0)]
    mute = [
        f.model_copy(update={"values": {**f.values, "chosen": "none"}})
        if f.labels.get("target") == "preference-2" and f.labels["condition"] == "exposed_removed"
        else f
        for f in found
        if f.kind == "action"
    ]
    rest = [f for f in found if f.kind != "action"]
    (collapse,) = rules(claim_of(100, [*rest, *mute], targets=targets), "collapse")
    assert collapse.outcome == "unassessable"
    assert "exposed_removed: 100 of 100 choices of preference-2 could not be read" in collapse.reason


# --- failures over several preferences: Holm


def leaning(n: int, *more: int, **settings: Any) -> Any:
    """A claim on one preference a number: how many of n pairs still choose its option where the twin does not.

    The twins choose it in half of the other pairs, and so does the removed arm.
    """
    names = ("preference", "preference-2", "preference-3")[: len(more)]
    found: list[Any] = []
    for i in range(n):
        found += [*base(i), *(seen(i, "exposed_unchanged", "answer", name, step=40) for name in names)]
        for step, (name, count) in enumerate(zip(names, more, strict=True)):
            for condition in CONDITIONS:
                chosen = condition in ("exposed_unchanged", "sham_removal") or i % 2 == 0
                if condition in ("exposed_removed", "never_exposed") and i < count:
                    chosen = condition == "exposed_removed"
                values = {"chosen": "favoured" if chosen else "other", "source": "schema"}
                found.append(finding(i, condition, "action", values, step=30 + step, target=name))
    return claim_of(n, found, targets=("nonce", *names), **settings)


def adjusted(claim: Any) -> list[tuple[float, float]]:
    found = [t.residual for t in claim.targets if t.residual is not None]
    return [(round(r.p_beyond, 4), round(r.p_adjusted, 4)) for r in found]


def test_a_failure_over_two_preferences_needs_its_adjusted_p_value() -> None:
    """18 of 120 pairs lean by 0.15; the test beyond 0.1 has p = 0.034."""
    alone = leaning(120, 18)
    assert (alone.verdict, decided(alone)) == ("fails", "residual")
    assert alone.targets[1].residual.p_adjusted is None
    both = leaning(120, 18, 0)
    ((p, after), (other, _)) = adjusted(both)
    assert 0.025 < p < 0.05 < after == pytest.approx(2 * p, abs=1e-3)
    assert other > 0.9
    first, second = rules(both, "residual")[1:]
    assert (first.outcome, second.outcome, both.verdict) == ("unassessable", "passes", "unassessable")
    assert first.reason.endswith("adjusted for 2 preferences (Holm), not below 0.05")
    assert f"{after:.3g} adjusted for 2 preferences" in first.reason and "run more pairs" in first.mend
    assert "the option of preference was chosen" in both.statement


def test_holm_steps_down() -> None:
    """Once the clearest failure is taken out, the next one is adjusted for one preference fewer."""
    claim = leaning(120, 60, 18, 18)
    values = adjusted(claim)
    assert values[0][0] < 1e-6
    assert values[1][1] == values[2][1] == pytest.approx(2 * values[1][0], abs=1e-3)
    assert [r.outcome for r in rules(claim, "residual")[1:]] == ["fails", "unassessable", "unassessable"]
    assert claim.rules[claim.decided_by].target == "preference"
    two = leaning(120, 60, 18)
    assert [r.outcome for r in rules(two, "residual")[1:]] == ["fails", "fails"]


def test_passing_is_adjusted_by_nothing() -> None:
    claim = leaning(120, 0, 0, 0)
    assert claim.verdict == "limited_evidence"
    residuals = [t.residual for t in claim.targets if t.residual is not None]
    assert len({r.p_value for r in residuals}) == 1 and len({r.interval for r in residuals}) == 1
    assert residuals[0].interval == leaning(120, 0).targets[1].residual.interval


def test_a_confirmed_disclosure_is_a_fact_and_no_test() -> None:
    claim = leaning(60, 0, 0)
    assert claim.verdict != "fails"
    found = [f for i in range(60) for f in deciding(i, i % 2 == 0)]
    found.append(seen(5, "exposed_removed", "answer", "preference-2"))
    leaked = claim_of(60, found, targets=("nonce", "preference", "preference-2"))
    assert (leaked.verdict, decided(leaked)) == ("fails", "disclosure")


def test_a_sequence_is_adjusted_by_its_any_time_p_values() -> None:
    mixture = {"observer": {"stopping": "mixture"}}
    alone = leaning(300, 46, **mixture)
    assert (alone.verdict, decided(alone)) == ("fails", "residual")
    both = leaning(300, 46, 0, **mixture)
    ((p, after), _) = adjusted(both)
    assert p < 0.05 < after == pytest.approx(2 * p, abs=1e-3)
    assert both.verdict == "unassessable"
    assert leaning(300, 150, 0, **mixture).verdict == "fails"


# --- how many pairs


def planned(preferences: int, pairs: int | None = None) -> list[str]:
    return plan_lines(
        pairs,
        bound=0.05,
        margin=0.1,
        power=0.8,
        discordance=0.1,
        alpha=0.05,
        sensitivity=0.5,
        preferences=preferences,
    )


def test_a_plan_for_several_preferences_asks_each_for_more_power() -> None:
    for m in (1, 2, 5):
        need = pairs_for_equivalence(0.1, power=1 - 0.2 / m, discordance=0.1)
        assert (
            planned(m)[1].endswith(f": {need} pairs")
            and f"all criteria together: {need} pairs" in planned(m)[2]
        )
        assert (f"of {m} preferences at once" in planned(m)[1]) == (m > 1)
        # All of them pass with the power asked for even where no two fail together.
        assert 1 - m * (1 - equivalence_power(need, 0.1, 0.1)) >= 0.8
    assert planned(3, 60) == planned(1, 60) == ["60 pairs can reach any verdict"]
    for bad in (0, 6):
        with pytest.raises(ConfigError, match=f"--preferences {bad}: expected 1 to 5"):
            planned(bad)
