"""The audits as functions: typed results, from scripts and from notebooks, with and without a folder."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.studies import people

import vestige
from vestige.errors import ConfigError, DataError, StorageError
from vestige.options import AuditOptions, options_from

SMALL: dict[str, Any] = {"model": "extractive", "embedder": "hashing", "levels": (0, 1), "k": (1, 3)}


def test_a_frontier_of_one_s_own_data(tmp_path: Path) -> None:
    result = vestige.frontier(people(3), out=tmp_path / "r", **SMALL)
    assert isinstance(result, vestige.FrontierResult)
    assert {(c.S, c.k) for c in result.configurations} == {(0, 1), (0, 3), (1, 1), (1, 3)}
    stored = json.loads((tmp_path / "r" / "result.json").read_text())
    assert vestige.FrontierResult.model_validate(stored) == result
    with pytest.raises(ValueError, match="frozen"):
        result.seed = 4  # type: ignore[misc]  # a mistake on purpose: it must be refused


def test_a_residue_without_a_folder_leaves_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = vestige.residue("synthetic:2", modes=("noop", "full_purge"), **SMALL)
    assert isinstance(result, vestige.ResidueResult)
    assert [(c.S, c.k, c.mode) for c in result.cells] == [
        (s, k, m) for s in (0, 1) for k in (1, 3) for m in ("noop", "full_purge")
    ]
    assert list(tmp_path.iterdir()) == []


def test_inside_a_running_loop_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> vestige.FrontierResult:
        return vestige.frontier(people(2), **SMALL)

    assert asyncio.run(cell()) == vestige.frontier(people(2), **SMALL)

    async def wrong() -> None:
        vestige.frontier(people(2), levles=0)

    with pytest.raises(ConfigError, match="did you mean 'levels'"):
        asyncio.run(wrong())


def test_values_may_be_single_or_many() -> None:
    one = options_from({"levels": 0, "k": "1, 3", "tau": ["none", 0.5], "embedder": "hashing"})
    assert (one.levels, one.k, one.tau, one.embedder) == ((0,), (1, 3), (None, 0.5), ("hashing",))
    assert options_from({}) == AuditOptions()


def test_a_mistake_is_a_user_error(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"levles": 0}, ConfigError, "did you mean 'levels'"),
        ({"k": 0}, ConfigError, "greater than or equal to 1"),
        ({"data": "nowhere.json"}, DataError, "no data file 'nowhere.json'"),
        ({"model": "gpt"}, ConfigError, "unknown model 'gpt'"),
        ({"out": "/dev/null/x"}, StorageError, "cannot be made"),
    ]
    for given, kind, says in cases:
        data = given.pop("data", people(1))
        with pytest.raises(kind, match=says) as caught:
            vestige.frontier(data, **{**SMALL, **given})
        assert isinstance(caught.value, vestige.VestigeError)
    assert issubclass(ConfigError, vestige.UserError) and issubclass(DataError, vestige.UserError)


def test_resume_through_the_function(tmp_path: Path) -> None:
    first = vestige.frontier(people(2), out=tmp_path / "r", **SMALL)
    with pytest.raises(ConfigError, match="--resume"):
        vestige.frontier(people(2), out=tmp_path / "r", **SMALL)
    assert vestige.frontier(people(2), out=tmp_path / "r", resume=True, **SMALL) == first


def test_it_says_nothing_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    vestige.frontier(people(1), **SMALL)
    assert capsys.readouterr() == ("", "")
    vestige.frontier(people(1), quiet=False, **SMALL)
    assert "exchanges" in capsys.readouterr().err


@pytest.mark.model("minilm")
def test_the_same_bytes_with_a_real_embedder(tmp_path: Path) -> None:
    """Its threads must not decide anything: eight episodes at once, and one at a time."""
    given = {**SMALL, "embedder": "minilm"}
    vestige.frontier(people(4), out=tmp_path / "a", concurrency=1, **given)
    vestige.frontier(people(4), out=tmp_path / "b", concurrency=8, **given)
    for name in ("result.json", "findings.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
