"""What is drawn is what was measured; the same result gives the same bytes."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
import samples
from matplotlib.lines import Line2D

from vestige.report import figures, palette
from vestige.report.charts import frontier, ladder, probes
from vestige.report.slices import frontier_slices, residue_slices


def test_the_frontiers_lines_run_through_the_measured_points() -> None:
    result = samples.frontier()
    axes = frontier(frontier_slices(result)[0]).axes[0]
    lines = {line.get_gid(): line for line in axes.get_lines() if line.get_gid()}
    assert set(lines) == {"frontier-S0", "frontier-S1", "frontier-S2"}
    for level in (0, 1, 2):
        points = [c for c in result.configurations if level == c.S]
        assert list(lines[f"frontier-S{level}"].get_xdata()) == [c.AER.max.value for c in points]
        assert list(lines[f"frontier-S{level}"].get_ydata()) == [c.PR.value for c in points]


def test_an_extraction_of_zero_has_a_bar_up_to_its_exact_limit() -> None:
    """The bootstrap's interval there is a point."""
    result = samples.frontier(n=30, levels=(2,), ks=(3,))
    (configuration,) = result.configurations
    assert configuration.AER.max.value == 0 and configuration.AER.max.bootstrap == (0, 0)
    axes = frontier(frontier_slices(result)[0]).axes[0]
    ends = [
        segment[:, 0].max() for c in axes.containers for line in c.lines[2] for segment in line.get_segments()
    ]
    assert max(ends) == pytest.approx(0.1157, abs=1e-4)


def test_each_point_names_its_k() -> None:
    axes = frontier(frontier_slices(samples.frontier())[0]).axes[0]
    labels = [text.get_text() for text in axes.texts if text.get_text().startswith("k = ")]
    named = sorted(k for label in labels for k in label.removeprefix("k = ").split(", "))
    assert named == sorted(["1", "3", "10"] * 3)


def test_levels_that_meet_on_one_spot_are_all_seen() -> None:
    """Each lower level's marker is wider than what is drawn over it, and the caption says so."""
    result = samples.frontier(levels=(0, 1, 2), ks=(1, 3))
    one = result.configurations[0]
    same = {"PR": one.PR, "AER": one.AER}
    moved = [c.model_copy(update=same) if c.k == 1 else c for c in result.configurations]
    met = result.model_copy(update={"configurations": tuple(moved)})
    (part,) = frontier_slices(met)
    axes = frontier(part).axes[0]

    def marker(level: int, index: int) -> Line2D:
        return [line for line in axes.get_lines() if line.get_label() == f"_point-S{level}"][index]

    sizes = [marker(level, 0).get_markersize() for level in (0, 1, 2)]
    assert sizes[0] >= sizes[1] + 4 and sizes[1] >= sizes[2] + 4
    orders = [marker(level, 0).get_zorder() for level in (0, 1, 2)]
    assert orders == sorted(orders) and len(set(orders)) == 3
    assert {marker(level, 1).get_markersize() for level in (0, 1, 2)} == {sizes[2]}, "those apart are alike"
    lines = [line for line in axes.get_lines() if str(line.get_gid()).startswith("frontier-")]
    assert min(orders) > max(line.get_zorder() for line in lines), "no line runs over a point"
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() == "k = 1"]
    assert len(boxes) == 3 and not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= axes.figure.bbox.x1 for box in boxes)
    assert "outer marker" in figures.drawings(met)[0].caption
    assert "outer marker" not in figures.drawings(samples.frontier())[0].caption


def test_probe_panels_show_every_rate_and_the_spread() -> None:
    result = samples.frontier()
    panels = probes(frontier_slices(result)[0]).axes
    assert len(panels) == 3
    drawn = {float(y) for container in panels[0].containers for y in container.lines[0].get_ydata()}
    assert drawn == {c.AER.direct.value for c in result.configurations if c.S == 0 and c.AER.direct} | {
        0.375,
        0.0,
    }
    assert any("Δ DI" in text.get_text() for text in panels[0].texts)


def test_the_ladder_prints_every_value_and_hatches_what_has_none() -> None:
    part = residue_slices(samples.residue())[0]
    axes = ladder(part).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert {"noop", "raw_only", "raw_plus_resummarize", "full_purge", "tombstone"} <= set(texts)
    cells = [patch for patch in axes.patches if str(patch.get_gid()).startswith("cell-")]
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(cells) == 25 and len(hatched) == 5
    assert texts.count("0.63") == 2 and texts.count("5/8") == 2 and "1.00" in texts


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        figures.save(samples.residue(), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["ladder.png", "ladder.svg"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_embedded_figure_is_well_formed_and_leaves_colours_to_the_page() -> None:
    for drawing in (*figures.drawings(samples.frontier()), *figures.drawings(samples.residue())):
        text = figures.svg(drawing)
        root = ElementTree.fromstring(text)
        assert root.tag == "svg" and "http" not in text
        identities = [element.get("id") for element in root.iter() if element.get("id")]
        assert all(identity.startswith(drawing.name) for identity in identities if identity)
        targets = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
        assert set(targets) <= set(identities)
        own = {colour for colour in palette.VARIABLES if colour in text}
        assert not own
        assert drawing.alt and drawing.caption


def test_a_sweep_of_levers_has_figures_for_each_setting() -> None:
    drawn = figures.drawings(samples.frontier(taus=(None, 0.3), ks=(3,)))
    assert [d.name for d in drawn] == ["frontier-1", "probes-1", "frontier-2", "probes-2"]
    assert "τ = 0.3" in drawn[2].caption
