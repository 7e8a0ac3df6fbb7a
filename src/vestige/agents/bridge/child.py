"""The other side of the bridge: runs one agent, in whatever interpreter has what the agent needs.

``PYTHON -s child.py FILE.py:NAME|package.module:NAME [DESCRIPTOR]`` reads requests from standard input and writes
responses to standard output (see `vestige.agents.bridge.protocol`). Standard library only, and by itself: it is run as
a file, in environments where Vestige is not installed.

DESCRIPTOR is the reading end of a pipe that the run holds open. When it closes, however the run ended, this process and
all that it started are killed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Load the folder `far` beside this file, under a name that no system has, and let it serve.

    No folder is searched for it: a file of ours must not hide a package of the environment.
    """
    here = Path(__file__).resolve()
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != here.parent]
    folder = here.with_name("far")
    spec = importlib.util.spec_from_file_location(
        "_vestige_far", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not there")
    sys.modules["_vestige_far"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    importlib.import_module("_vestige_far.serve").main(sys.argv[1:])


if __name__ == "__main__":
    main()
