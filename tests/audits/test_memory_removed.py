"""The synthetic questions cannot be guessed: without memory nearly none is answered."""

import pytest

import vestige


def _without_memory(embedder: str) -> "vestige.audits.results.FrontierConfiguration":
    # A cosine never exceeds 1 - τ = 1 retrieves nothing short of the question itself.
    result = vestige.frontier(
        "synthetic:100", model="extractive", embedder=embedder, levels=0, k=6, tau=1.0, seed=11
    )
    (configuration,) = result.configurations
    assert configuration.PR.n == 100
    return configuration


def test_extractive_reader_without_memory_is_almost_never_right() -> None:
    configuration = _without_memory("hashing")
    assert configuration.PR.value <= 0.05
    assert configuration.PR_strict.value <= 0.05


@pytest.mark.model("minilm")
def test_the_same_with_the_embedder_that_scores_reports() -> None:
    configuration = _without_memory("minilm")
    assert configuration.PR.value <= 0.05
    assert configuration.PR_strict.value <= 0.05


def test_with_memory_the_same_reader_answers_many() -> None:
    result = vestige.frontier("synthetic:100", model="extractive", embedder="hashing", levels=0, k=6, seed=11)
    assert result.configurations[0].PR.value >= 0.3
