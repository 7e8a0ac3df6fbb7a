"""A model endpoint of our own for the adapters."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.helpers.systems import Model


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
