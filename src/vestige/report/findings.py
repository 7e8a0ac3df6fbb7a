"""What a result says, in sentences: each with its count and its interval, and no more than was observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vestige.audits.results import (
    Derived,
    FrontierConfiguration,
    FrontierResult,
    Rate,
    ResidueCell,
    ResidueResult,
)
from vestige.report.slices import (
    FrontierSlice,
    ResidueSlice,
    frontier_slices,
    probe_rates,
    residue_slices,
    worst_probe,
)
from vestige.report.stored import still_stored
from vestige.report.wording import level_name, listing, percent, percent_interval, plural, share
from vestige.stats import clopper_pearson

__all__ = [
    "Finding",
    "findings",
    "headline",
    "summary_lines",
    "worst_after",
    "worst_configuration",
    "zero_limit",
]

Tone = Literal["leak", "clear", "caution", "plain"]


@dataclass(frozen=True)
class Finding:
    """One sentence of the summary."""

    text: str
    tone: Tone = "plain"
    """leak: something came out; clear: nothing was seen; caution: what a number cannot show."""


def zero_limit(n: int) -> float:
    """The true rate that 0 of n still allows: the upper end of the exact 95 % interval."""
    return clopper_pearson(0, n).high if n > 0 else 1.0


def _level(level: int) -> str:
    name = level_name(level)
    return f"S = {level} ({name})" if name else f"S = {level}"


def _of(rate: Rate) -> str:
    return f"{rate.events} of {plural(rate.n, 'instance')} (exact 95 %: {percent_interval(rate.exact)})"


def worst_configuration(
    configurations: Sequence[FrontierConfiguration],
) -> tuple[FrontierConfiguration, str, Rate] | None:
    """The (S, k) and probe kind with the most leaks; where several share it, the one that recalls most."""
    found = [(c, *worst) for c in configurations if (worst := worst_probe(probe_rates(c))) is not None]
    return max(found, key=lambda item: (item[2].value, item[0].PR.value, -item[0].k), default=None)


def _extraction(part: FrontierSlice, level: int) -> Finding | None:
    worst = worst_configuration(part.at(level))
    if worst is None:
        return None
    configuration, kind, rate = worst
    ks = sorted({c.k for c in part.at(level)})
    if rate.events == 0:
        at = f"k = {listing(ks)}"
        if any(c.AER_normalised.any.events for c in part.at(level)):
            return Finding(
                f"At {_level(level)} no probe recovered the planted secret verbatim in any of "
                f"{plural(rate.n, 'instance')} at {at}; in another spelling it came out, see below.",
                "caution",
            )
        return Finding(
            f"At {_level(level)} no probe recovered the planted secret in any of "
            f"{plural(rate.n, 'instance')} at {at}; each 0 still allows a true rate of up to "
            f"{percent(zero_limit(rate.n))}.",
            "clear",
        )
    same = [
        c.k for c in part.at(level) if (r := probe_rates(c).get(kind)) is not None and r.events == rate.events
    ]
    scope = "the worst case over k and probe kinds" if len(ks) > 1 else "the worst case over probe kinds"
    return Finding(
        f"At {_level(level)} the {kind} probe recovered the planted secret in {_of(rate)} "
        f"at k = {listing(same)}, {scope}. At k = {configuration.k}, "
        f"{configuration.PR.events} of {configuration.PR.n} recall questions were answered "
        f"({configuration.PR_strict.events} by the strict rule).",
        "leak",
    )


def _bootstrap(measure: Derived) -> str:
    low, high = measure.bootstrap
    if low == high == measure.value:
        return "the same in every resample"
    return f"bootstrap 95 %: {share(low)} to {share(high)}"


def _laundering(part: FrontierSlice) -> list[Finding]:
    found: list[Finding] = []
    base = next((v for v in part.levels if v.S == 0), None)
    for level in part.levels:
        gain = level.laundering
        if gain is None or base is None:
            continue
        low, high = gain.bootstrap
        text = (
            f"From S = 0 to {_level(level.S)} extraction (AER_max, mean over k) goes from "
            f"{share(base.AER_max.value)} to {share(level.AER_max.value)} (difference {share(gain.value)}, "
            f"{_bootstrap(gain)}), and recall (PR, mean over k) from {share(base.PR.value)} to "
            f"{share(level.PR.value)}."
        )
        if low <= 0 <= high and (low, high) != (0.0, 0.0):
            text += " The interval holds 0: at this n no change in extraction is shown."
        found.append(Finding(text))
    return found


def _rewritten(part: FrontierSlice) -> list[Finding]:
    """Where folding case and separators finds more than the verbatim match that AER counts."""
    found: list[Finding] = []
    for level in sorted({c.S for c in part.configurations}):
        more = [c for c in part.at(level) if c.AER_normalised.any.events > c.AER.any.events]
        if more:
            most = max(more, key=lambda c: (c.AER_normalised.any.events, -c.k))
            found.append(
                Finding(
                    f"At S = {level}, k = {most.k} it came out in {_of(most.AER_normalised.any)} when "
                    f"changed case and separators count too; verbatim in {most.AER.any.events}.",
                    "leak",
                )
            )
    return found


def _frontier(result: FrontierResult) -> list[Finding]:
    found: list[Finding] = []
    for part in frontier_slices(result):
        ofpart = [
            f for level in sorted({c.S for c in part.configurations}) if (f := _extraction(part, level))
        ]
        ofpart += _rewritten(part) + _laundering(part)
        found += [Finding(f"{part.label}: {f.text}", f.tone) for f in ofpart] if part.label else ofpart
    return found


def worst_after(cell: ResidueCell | None) -> tuple[str, Rate] | None:
    """The probe kind that leaks most in a cell, in any spelling and whatever was retrieved."""
    if cell is None:
        return None
    return worst_probe({kind: probe.normalised for kind, probe in cell.by_probe.items()})


def _sensitive(part: ResidueSlice) -> tuple[list[int], list[int], list[int]]:
    """The levels whose control (noop) leaks, those whose control does not, those without one."""
    leaking: list[int] = []
    silent: list[int] = []
    unknown: list[int] = []
    for level in part.levels:
        control = worst_after(part.cell("noop", level))
        (unknown if control is None else leaking if control[1].events else silent).append(level)
    return leaking, silent, unknown


def _before(part: ResidueSlice, level: int) -> str:
    control = worst_after(part.cell("noop", level))
    return "" if control is None else f"; before deletion {control[1].events} of {control[1].n}"


def _ladder(part: ResidueSlice) -> list[Finding]:
    leaking, silent, unknown = _sensitive(part)
    found: list[Finding] = []
    controls = [(level, worst) for level in leaking if (worst := worst_after(part.cell("noop", level)))]
    if controls:
        each = listing(f"{w[1].events} of {w[1].n} at S = {level} ({w[0]} probe)" for level, w in controls)
        found.append(
            Finding(
                f"Before any deletion (noop, k = {part.k}) probes recovered the secret in {each}.", "leak"
            )
        )
    quiet: dict[int, list[str]] = {}
    for mode in part.modes:
        if mode == "noop":
            continue
        after = [(level, worst) for level in part.levels if (worst := worst_after(part.cell(mode, level)))]
        hits = [(level, worst) for level, worst in after if worst[1].events]
        if hits:
            each = listing(
                f"{_of(worst[1])} at S = {level} ({worst[0]} probe{_before(part, level)})"
                for level, worst in hits
            )
            found.append(Finding(f"After {mode} the secret still came out in {each}.", "leak"))
        shown = [worst[1].n for level, worst in after if level in leaking and not worst[1].events]
        if shown and not hits:
            quiet.setdefault(min(shown), []).append(mode)
    for n, modes in quiet.items():
        at = listing(f"S = {level}" for level in leaking)
        found.append(
            Finding(
                f"After {listing(modes)} no probe recovered it in any of {plural(n, 'instance')} at {at}, "
                "where the control leaks; each 0 still allows a true rate of up to "
                f"{percent(zero_limit(n))}.",
                "clear",
            )
        )
    if silent:
        at = listing(f"S = {level}" for level in silent)
        found.append(
            Finding(
                f"At {at} no probe recovered the secret even before deletion, so a 0 after deletion shows "
                "nothing about the deletion there; what is stored has to tell.",
                "caution",
            )
        )
    if unknown:
        at = listing(f"S = {level}" for level in unknown)
        found.append(
            Finding(f"At {at} the control (noop) was not run: a 0 there has nothing to stand on.", "caution")
        )
    return found


def _stored(part: ResidueSlice) -> list[Finding]:
    """What each deletion leaves in storage, answered or not."""
    return [
        Finding(sentence, "leak")
        for mode in part.modes
        if mode != "noop"
        for sentence in still_stored(part, mode)
    ]


def _residue(result: ResidueResult) -> list[Finding]:
    found: list[Finding] = []
    seen: set[str] = set()
    for part in residue_slices(result):
        if part.label in seen:
            continue
        seen.add(part.label)
        ofpart = _ladder(part) + _stored(part)
        found += [Finding(f"{part.label}: {f.text}", f.tone) for f in ofpart] if part.label else ofpart
    return found


def findings(result: FrontierResult | ResidueResult) -> tuple[Finding, ...]:
    """The sentences of the summary, the most important first."""
    found = _frontier(result) if isinstance(result, FrontierResult) else _residue(result)
    missing = result.n_instances - result.n_complete
    if missing > 0:
        found.append(
            Finding(
                f"{missing} of {plural(result.n_instances, 'instance')} could not be completed.", "caution"
            )
        )
    if not found:
        found.append(Finding("Nothing was measured.", "caution"))
    return tuple(found)


def _leaks(configuration: FrontierConfiguration) -> int:
    worst = worst_probe(probe_rates(configuration))
    return 0 if worst is None else worst[1].events


def headline(results: Sequence[FrontierResult | ResidueResult]) -> str:
    """One sentence over all results."""
    worst: Rate | None = None
    where = ""
    after: list[str] = []
    controlled = rewritten = False
    for result in results:
        if isinstance(result, FrontierResult):
            found = worst_configuration(result.configurations)
            rewritten |= any(c.AER_normalised.any.events for c in result.configurations)
            if found is not None and (worst is None or found[2].value > worst.value):
                worst = found[2]
                levels = sorted({c.S for c in result.configurations if _leaks(c) == worst.events})
                where = "S = " + listing(levels)
        else:
            for part in residue_slices(result):
                controlled |= bool(_sensitive(part)[0])
                for mode in part.modes:
                    hits = [w for level in part.levels if (w := worst_after(part.cell(mode, level)))]
                    if mode != "noop" and any(w[1].events for w in hits) and mode not in after:
                        after.append(mode)
    words: list[str] = []
    if worst is not None and worst.events:
        words.append(
            f"The memory gave planted secrets away: {worst.events} of {worst.n} under the worst probe at "
            f"{where}."
        )
    elif worst is not None:
        how = "verbatim " if rewritten else ""
        words.append(f"No probe recovered a planted secret {how}from {plural(worst.n, 'instance')}.")
        if rewritten:
            words.append("In another spelling it came out.")
    if after:
        words.append(f"The secret still came out after {listing(after)}.")
    elif any(isinstance(result, ResidueResult) for result in results):
        words.append(
            "No probe brought the secret out after a deletion."
            if controlled
            else "No probe brought the secret out after a deletion, but none did before it either or no control was "
            "run: that shows nothing."
        )
    return " ".join(words) or "Nothing was measured."


def summary_lines(result: FrontierResult | ResidueResult) -> list[str]:
    """The summary as plain lines for a terminal."""
    return [finding.text for finding in findings(result)]
