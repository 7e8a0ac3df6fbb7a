"""A report of plausible results, written once for the tests that only read it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import samples

from vestige.report import ReportPaths, write


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    results = [samples.frontier(), samples.residue()]
    return write(results, exchanges=samples.exchanges(), folder=tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def page(written: ReportPaths) -> str:
    return written.html.read_text(encoding="utf-8")
