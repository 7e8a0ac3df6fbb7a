"""Token counts and facts out of bytes that anybody may have written."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.models.proxy.reading import UsageReader, body_facts, body_text, kind_of
from vestige.records import Usage

COUNTS = {"prompt_tokens": 5, "completion_tokens": 6}
RIGHT = Usage(prompt_tokens=5, completion_tokens=6)


def read(data: bytes, *, events: bool = False, encoding: str = "", step: int = 7) -> Usage | None:
    reader = UsageReader(events=events, encoding=encoding)
    for at in range(0, len(data), step):
        reader.feed(data[at : at + step])
    return reader.usage()


@given(step=st.integers(1, 60), text=st.text(max_size=30), newline=st.sampled_from(["\n", "\r\n"]))
def test_the_last_count_of_a_stream_wherever_it_is_cut(step: int, text: str, newline: str) -> None:
    lines = [
        json.dumps({"choices": [{"text": text}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        json.dumps({"choices": [], "usage": COUNTS}, ensure_ascii=False),
        json.dumps({"choices": [], "usage": None}),
        "[DONE]",
    ]
    data = "".join(f"data: {line}{newline}{newline}" for line in lines).encode()
    assert read(data, events=True, step=step) == RIGHT
    assert read(data.rstrip(), events=True, step=step) == RIGHT


@given(
    data=st.binary(max_size=300),
    events=st.booleans(),
    encoding=st.sampled_from(["", "gzip", "br", "deflate"]),
)
def test_anything_may_pass(data: bytes, events: bool, encoding: str) -> None:
    read(data, events=events, encoding=encoding)
    body_facts("chat", data)
    body_text(data)


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.booleans(),
        lambda s: (
            st.lists(s)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "usage",
                        "prompt_tokens",
                        "completion_tokens",
                        "model",
                        "messages",
                        "input",
                        "content",
                        "response",
                    ]
                ),
                s,
            )
        ),
    )
)
def test_any_json_may_pass(value: object) -> None:
    data = json.dumps(value).encode()
    for events in (False, True):
        found = read(b"data: " + data if events else data, events=events, step=1000)
        assert found is None or (found.prompt_tokens >= 0 and found.completion_tokens >= 0)
    for kind in ("chat", "completion", "embeddings", "other"):
        body_facts(kind, data)


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        ({"usage": COUNTS}, RIGHT),
        ({"usage": {"input_tokens": 5, "output_tokens": 6}}, RIGHT),
        (
            {"type": "response.completed", "response": {"usage": {"input_tokens": 5, "output_tokens": 6}}},
            RIGHT,
        ),
        ({"usage": {"prompt_tokens": 4, "total_tokens": 4}}, Usage(prompt_tokens=4)),
        ({"usage": None}, None),
        ({"usage": {}}, None),
        ({"usage": {"prompt_tokens": "5", "completion_tokens": 1}}, None),
        ({"usage": {"prompt_tokens": -5, "completion_tokens": 1}}, None),
        ({"usage": {"prompt_tokens": 10**30, "completion_tokens": 1}}, None),
        ({"choices": [{"message": {"content": '"usage": {"prompt_tokens": 5}'}}]}, None),
        ([{"usage": COUNTS}], None),
    ],
)
def test_counts(reply: object, usage: Usage | None) -> None:
    assert read(json.dumps(reply).encode()) == usage


def test_a_reply_that_swells_is_not_held() -> None:
    packed = zlib.compress(b'{"usage": {"prompt_tokens": 5}, "x": "' + b" " * (200 << 20))
    assert read(packed, encoding="deflate", step=1 << 16) is None


def test_a_line_without_end_is_not_held() -> None:
    reader = UsageReader(events=True)
    for _ in range(20):
        reader.feed(b"data: " + b"x" * (1 << 20))
    reader.feed(b'"usage"\n\ndata: ' + json.dumps({"usage": COUNTS}).encode() + b"\n")
    assert reader.usage() == RIGHT


def test_kinds() -> None:
    assert [
        kind_of(p) for p in ("/v1/models", "/v1/models/x", "/v1/modelsx", "/v1/embeddings", "/embeddings")
    ] == [
        "models",
        "models",
        "other",
        "embeddings",
        "other",
    ]


def test_half_a_surrogate_pair_is_text() -> None:
    assert body_facts("chat", b'{"model": "m", "messages": [{"content": "\\ud800"}]}').unread is None
    assert "XQ7" in body_text(b'["\\ud800", "\\u0058Q7"]')
