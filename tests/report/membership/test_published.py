"""The published numbers stand beside a run as they are printed."""

from __future__ import annotations

from vestige.report.membership.published import published


def value(setting: str, memory: str, dataset: str, attack: str, metric: str) -> tuple[float, float]:
    (found,) = [
        p
        for p in published()
        if (p.setting, p.memory, p.dataset, p.attack, p.metric) == (setting, memory, dataset, attack, metric)
    ]
    return found.mean, found.sd


def test_each_number_stands_there_once() -> None:
    assert len(published()) == 216
    assert len({(p.setting, p.memory, p.dataset, p.attack, p.metric) for p in published()}) == 216
    assert all(0 <= p.mean <= 1 and 0 <= p.sd <= 1 for p in published())


def test_rates_are_shares() -> None:
    """As the paper's table 1 prints them."""
    assert value("black", "Mem0", "LoCoMo", "mrmmia", "AUC") == (0.97, 0.0)
    assert value("black", "Mem0", "LoCoMo", "mrmmia", "TPR@1%") == (0.452, 0.021)
    assert value("black", "Mem0", "LoCoMo", "naive", "TPR@1%") == (0.0, 0.0)
