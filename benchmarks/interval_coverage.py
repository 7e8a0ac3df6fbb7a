"""How often the intervals of a verdict hold, and how often its equivalence test errs, by exact enumeration.

    python benchmarks/interval_coverage.py            prints the tables
    python benchmarks/interval_coverage.py --write    puts them into docs/reference/methods.md

Every outcome is weighed with its probability; nothing is simulated. The size of the equivalence test is the
probability that it finds an equivalence where the true difference is the margin (either sign gives the same); it
depends on how many pairs disagree the other way (the nuisance parameter p01), so its worst value over a grid of p01
is given. A false alarm is an interval wholly outside the margin, again where the true difference is the margin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, xlogy
from scipy.stats import binom

from vestige.stats import clopper_pearson, equivalence_power, pairs_for_equivalence
from vestige.stats.tango import score_statistic, tango_limits

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "methods.md"
BEGIN, END = "<!-- interval_coverage: begin -->\n", "<!-- interval_coverage: end -->\n"

RATES = (0.0, 0.01, 0.1, 0.5)
RATE_SIZES = (20, 60, 200)
DISCORDANCES = ((0.01, 0.0), (0.01, 0.01), (0.1, 0.0), (0.1, 0.1), (0.25, 0.25))
PAIR_SIZES = (20, 60)
MARGINS = (0.05, 0.1, 0.2)
RANGES = ((20, 29), (30, 99), (100, 200))
STEP = 0.005


def coverage_of_a_rate(p: float, n: int) -> float:
    """Probability that Clopper–Pearson's 95 % interval of n trials holds p."""
    held = [x for x in range(n + 1) if clopper_pearson(x, n).low <= p <= clopper_pearson(x, n).high]
    return float(binom.pmf(held, n, p).sum())


def coverage_of_a_difference(p10: float, p01: float, n: int) -> float:
    """Probability that Tango's 95 % interval of n pairs holds p10 - p01."""
    n10, n01 = _outcomes(n)
    low, high = tango_limits(n10, n01, n)
    held = (low - 1e-12 <= p10 - p01) & (p10 - p01 <= high + 1e-12)
    return float(_weights(n10[held], n01[held], n, p10, p01).sum())


@cache
def worst_size(n: int, margin: float) -> tuple[float, float]:
    """(Largest probability of an equivalence at a true difference of the margin, the p01 where it is)."""
    grid = _grid(margin)
    sizes = [equivalence_power(n, margin, min(1.0, margin + 2 * q), difference=margin) for q in grid]
    worst = int(np.argmax(sizes))
    return sizes[worst], float(grid[worst])


@cache
def worst_size_alone(n: int, margin: float) -> tuple[float, float]:
    """The same, were the interval alone to decide."""
    n10, n01 = _outcomes(n)
    z = ndtri(0.95)
    shown = (score_statistic(n10, n01, n, -margin) > z) & (score_statistic(n10, n01, n, margin) < -z)
    grid = _grid(margin)
    sizes = [float(_weights(n10[shown], n01[shown], n, margin + q, q).sum()) for q in grid]
    worst = int(np.argmax(sizes))
    return sizes[worst], float(grid[worst])


@cache
def worst_alarm(n: int, margin: float) -> tuple[float, float]:
    """(Largest probability of an interval outside the margin where the difference is the margin, the p01)."""
    n10, n01 = _outcomes(n)
    outside = score_statistic(n10, n01, n, margin) > ndtri(0.95)
    grid = np.r_[np.arange(0.0, 0.1, 0.01), np.arange(0.1, (1.0 - margin) / 2.0, 0.05)]
    alarms = [float(_weights(n10[outside], n01[outside], n, margin + q, q).sum()) for q in grid]
    worst = int(np.argmax(alarms))
    return alarms[worst], float(grid[worst])


def worst_of_range(
    of: Callable[[int, float], tuple[float, float]], first: int, last: int, margin: float
) -> tuple[float, int, float]:
    """(probability, n, p01) of the worst cell with n from `first` to `last`."""
    return max((of(n, margin)[0], n, of(n, margin)[1]) for n in range(first, last + 1))


def tables() -> str:
    """All tables, in Markdown."""
    return "\n".join(
        [
            *_table(
                ["Clopper–Pearson, 95 %", *(f"n = {n}" for n in RATE_SIZES)],
                ([f"rate {p:g}", *(f"{coverage_of_a_rate(p, n):.1%}" for n in RATE_SIZES)] for p in RATES),
            ),
            "",
            *_table(
                ["Tango, 95 %", *(f"n = {n}" for n in PAIR_SIZES)],
                (
                    [
                        f"p10 {a:g}, p01 {b:g}",
                        *(f"{coverage_of_a_difference(a, b, n):.1%}" for n in PAIR_SIZES),
                    ]
                    for a, b in DISCORDANCES
                ),
            ),
            "",
            *_table(
                ["size of the test, α = 0.05", *(f"worst of n = {a} to {b}" for a, b in RANGES)],
                (
                    [f"margin {m:g}{what}", *(_worst(of, a, b, m) for a, b in RANGES)]
                    for m in MARGINS
                    for of, what in ((worst_size, ""), (worst_size_alone, ", by the interval alone"))
                ),
            ),
            "",
            *_table(
                ["false alarm, α = 0.05", *(f"worst of n = {a} to {b}" for a, b in RANGES)],
                ([f"margin {m:g}", *(_worst(worst_alarm, a, b, m) for a, b in RANGES)] for m in MARGINS),
            ),
            "",
            *_table(
                ["pairs for 80 % power, α = 0.05", *(f"discordance {d:.0%}" for d in (0, 0.05, 0.1, 0.2))],
                (
                    [
                        f"margin {m:g}",
                        *(str(pairs_for_equivalence(m, discordance=d)) for d in (0, 0.05, 0.1, 0.2)),
                    ]
                    for m in MARGINS
                ),
            ),
            "",
        ]
    )


def _grid(margin: float) -> NDArray[np.float64]:
    """Values of p01 from none to all that the margin leaves."""
    most = (1.0 - margin) / 2.0
    return np.linspace(0.0, most, round(most / STEP) + 1)


def _worst(of: Callable[[int, float], tuple[float, float]], first: int, last: int, margin: float) -> str:
    worst, n, q = worst_of_range(of, first, last, margin)
    return f"{worst:.3f} (n = {n}, p01 = {q:.3g})" if worst else "0 (none can be shown)"


def _outcomes(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """n10 and n01 of all tables of n pairs."""
    n10, n01 = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    possible = n10 + n01 <= n
    return n10[possible], n01[possible]


def _weights(
    n10: NDArray[np.float64], n01: NDArray[np.float64], n: int, p10: float, p01: float
) -> NDArray[np.float64]:
    """Their probabilities."""
    same = n - n10 - n01
    ways = gammaln(n + 1) - gammaln(n10 + 1) - gammaln(n01 + 1) - gammaln(same + 1)
    return np.exp(ways + xlogy(n10, p10) + xlogy(n01, p01) + xlogy(same, max(0.0, 1 - p10 - p01)))


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def write(page: Path = PAGE) -> None:
    """Put the tables between their markers."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}{tables()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write()
    else:
        print(tables(), end="")
