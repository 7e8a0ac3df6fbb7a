from __future__ import annotations

import subprocess
import sys

import pytest

import vestige.stats as stats


def test_every_public_name_is_there():
    assert set(stats.__all__) == set(dir(stats)) & set(stats.__all__)
    for name in stats.__all__:
        assert callable(getattr(stats, name))
    with pytest.raises(AttributeError, match="no attribute 'mean'"):
        stats.mean  # noqa: B018


def test_importing_the_package_loads_no_number_library():
    code = "import sys, vestige.stats; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
