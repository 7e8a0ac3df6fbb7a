"""The summary on a terminal."""

from __future__ import annotations

import samples
from rich.console import Console

from vestige.report.terminal import render


def printed(result: samples.FrontierResult | samples.ResidueResult) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(render(result))
    return capture.get()


def test_the_frontiers_table_and_sentences() -> None:
    text = printed(samples.frontier())
    assert "k = 10" in text and "8/8" in text and "0.63–1.00" in text
    assert "the direct probe recovered the planted secret in 8 of 8 instances" in text


def test_the_ladder_and_its_sentences() -> None:
    text = printed(samples.residue())
    assert "raw_plus_resummarize" in text and "5/8" in text and "n/c" in text


def test_markup_in_a_name_is_not_obeyed() -> None:
    result = samples.residue(levels=(0,), modes=("noop",))
    odd = result.cells[0].model_copy(update={"mode": "[bold red]x[/]\x1b[2J"})
    text = printed(result.model_copy(update={"cells": (odd,)}))
    assert "[bold red]x[/]" in text and "\x1b" not in text
