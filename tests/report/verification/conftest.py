"""Three verifications, written once for the tests that only read them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import verification_samples as samples

from vestige.report.verification import VerificationReportPaths


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, VerificationReportPaths]:
    """By verdict."""
    return {
        name: samples.write(story, tmp_path_factory.mktemp(name)) for name, story in samples.STORIES.items()
    }
