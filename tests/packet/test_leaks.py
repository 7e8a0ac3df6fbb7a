"""The leak scan finds a target however it is written, and nothing else."""

from __future__ import annotations

import base64
import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.canaries import draw
from vestige.packet.leaks import LeakScan, MultiSearch

NONCE, NAME, SHORT = "XQ7-VIOLET-3829", "Bel & Arik's Couriers", "Osko"
SCAN = LeakScan([NONCE, NAME, SHORT])

WRITTEN = {
    "verbatim": f"it is {NONCE}.",
    "lower": f"it is {NONCE.lower()}.",
    "spaced": "it is X Q 7 - VIOLET - 3 8 2 9",
    "full width": "it is ＸＱ７－ＶＩＯＬＥＴ－３８２９",
    "reversed": NONCE[::-1],
    "hex": NONCE.encode().hex(),
    "hex, upper": NONCE.encode().hex().upper(),
    "base64": base64.b64encode(NONCE.encode()).decode(),
    "base64, one off": base64.b64encode(f"a{NONCE} and more".encode()).decode(),
    "base64, two off": base64.b64encode(f"ab{NONCE} and more".encode()).decode(),
    "base64, lower": base64.b64encode(f"my {NONCE.lower()}".encode()).decode(),
    "digits spelled": "XQ7 violet three eight two nine",
    "all digits spelled": "xq seven, violet, three-eight-two-nine",
    "name": f"choose {NAME}",
    "name in HTML": "choose Bel &amp; Arik&#39;s Couriers",
    "name in URL": "?q=Bel%20%26%20Arik%27s%20Couriers",
    "name in JSON": json.dumps({"a": "x\nBel & Arik\u2019s couriers"}),
    "nonce in JSON escapes": r'"\u0058Q7-VIOLET-3829"',
    "short name": "go with osko, please",
}


@pytest.mark.parametrize("how", WRITTEN)
def test_it_is_found(how: str) -> None:
    assert SCAN.leaks(WRITTEN[how].encode())


@pytest.mark.parametrize(
    "text", ["", "XQ7-VIOLET-3828", "VIOLET", "3829", "Oskoman", "Bel", "Couriers", "a" * 100_000, "\x00\xff"]
)
def test_nothing_else_is(text: str) -> None:
    assert not SCAN.leaks(text.encode())


def test_bytes_that_are_no_text_are_searched_too() -> None:
    assert SCAN.leaks(b"\xff\xfe" + NONCE.encode() + b"\xff")


@given(
    needles=st.lists(st.binary(min_size=1, max_size=12), max_size=6),
    data=st.binary(max_size=60),
    plant=st.booleans(),
)
def test_many_needles_are_found_as_one_by_one(needles: list[bytes], data: bytes, plant: bool) -> None:
    if plant and needles:
        data = data[:20] + needles[-1] + data[20:]
    assert MultiSearch(needles).found_in(data) == any(n in data for n in needles)


def test_it_is_found_over_the_border_of_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestige.packet.leaks._CHUNK", 64)
    search = MultiSearch([b"abcdefghij", b"wxyz"])
    for at in range(200):
        assert search.found_in(b"." * at + b"abcdefghij" + b"." * 50)
        assert search.found_in(b"." * at + b"wxyz")
    assert not search.found_in(b"." * 300)


def test_thousands_of_targets_in_megabytes_take_seconds() -> None:
    rng = np.random.default_rng(0)
    scan = LeakScan([draw(rng).value for _ in range(1_000)])
    data = rng.bytes(500_000).hex().encode()
    began = time.perf_counter()
    assert not scan.leaks(data)
    assert time.perf_counter() - began < 10
