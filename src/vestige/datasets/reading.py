"""Reads JSON files that nobody vouches for: record by record, with limits, and errors that name the place.

A file is a JSON list of records, or records one after another (JSON lines, or a single object). Records are
decoded as they come, so a file of some gigabytes never stands in memory as a whole; the SHA-256 is taken on
the way.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from vestige.errors import ConfigError, DataError

__all__ = ["MAX_FILE_BYTES", "MAX_RECORD_CHARS", "Node", "RecordFile", "max_file_bytes"]

MAX_FILE_BYTES = 4 * 1024**3
"""The largest file that is read (LongMemEval M is 2.7 GB); the variable VESTIGE_MAX_DATA_BYTES changes it."""
MAX_RECORD_CHARS = 256 * 1024**2
"""The longest single record; also where the search for the end of a broken one stops."""
MAX_DIGITS = 640
"""Of an integer; Python itself reads no longer one where it is told to be strict, and no data set holds one."""
_CHUNK_BYTES = 1 << 20
_SPACE = " \t\n\r"


def max_file_bytes() -> int:
    """The size limit in force, in bytes.

    Raises:
        ConfigError: VESTIGE_MAX_DATA_BYTES is not a positive whole number.
    """
    given = os.environ.get("VESTIGE_MAX_DATA_BYTES")
    if given is None:
        return MAX_FILE_BYTES
    if not given.isascii() or not given.isdigit() or int(given) == 0:
        raise ConfigError(
            f"VESTIGE_MAX_DATA_BYTES is {given!r}; expected a positive number of bytes, e.g. {MAX_FILE_BYTES}"
        )
    return int(given)


class _LongInteger:
    """Stands for an integer that is not read, so that the field it stands in can be named."""

    def __init__(self, digits: int) -> None:
        self._digits = digits

    def __repr__(self) -> str:
        return f"an integer of {self._digits:,} digits"


def _integer(text: str) -> int | _LongInteger:
    digits = len(text.lstrip("-"))
    return int(text) if digits <= MAX_DIGITS else _LongInteger(digits)


def _kind(value: object) -> str:
    """A value's type in the words of JSON."""
    if isinstance(value, _LongInteger):
        return repr(value)
    names: dict[type[object], str] = {
        type(None): "null",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a record together with where it stands, so that every complaint can say so."""

    value: object
    record: str
    """File and record: ``data.json, record 3 (id 6a1eabeb)``."""
    path: str = ""
    """The field: ``haystack_sessions[1][4].content``."""

    def fail(self, expected: str, *, got: str | None = None) -> NoReturn:
        """Raise the DataError of this place; `got` defaults to the value's type."""
        field = f", field {self.path}" if self.path else ""
        raise DataError(f"{self.record}{field}: expected {expected}, got {got or _kind(self.value)}")

    def named(self, identifier: str) -> Node:
        """The same value, its record named by `identifier` as well as by number."""
        shown = identifier if len(identifier) <= 60 else identifier[:57] + "…"
        return Node(self.value, f"{self.record} (id {shown.encode('unicode_escape').decode()})", self.path)

    def keys(self) -> list[str]:
        """The keys of an object, in the file's order."""
        return list(self._object())

    def _object(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            self.fail("an object")
        return cast("dict[str, object]", self.value)

    def has(self, key: str) -> bool:
        """Whether an object has this key with a value other than null."""
        return self._object().get(key) is not None

    def get(self, key: str) -> Node:
        """The value under `key`, null where it is missing."""
        return Node(self._object().get(key), self.record, f"{self.path}.{key}" if self.path else key)

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            self.fail("a list")
        elements = cast("list[object]", self.value)
        return [Node(v, self.record, f"{self.path}[{i}]") for i, v in enumerate(elements)]

    def text(self) -> str:
        """A text that can be written as UTF-8."""
        if not isinstance(self.value, str):
            self.fail("text")
        if not self.value.isascii():
            try:
                self.value.encode()
            except UnicodeEncodeError:
                self.fail("text in valid Unicode", got="text with a lone surrogate")
        return self.value

    def filled(self) -> str:
        """A text with something in it."""
        text = self.text()
        if not text.strip():
            self.fail("text", got="an empty text")
        return text

    def text_or_digits(self) -> str:
        """A text, or an integer as its digits."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if isinstance(self.value, _LongInteger):
            self.fail(f"text, or an integer of at most {MAX_DIGITS} digits")
        if not isinstance(self.value, str):
            self.fail("text or an integer")
        return self.filled()

    def optional_text(self) -> str | None:
        """A text, or None where it is null, missing or blank."""
        return None if self.value is None else self.text().strip() or None

    def flag(self) -> bool | None:
        """A boolean, or None where it is null or missing."""
        if self.value is not None and not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value


class RecordFile:
    """One file of records. Iterate over it once; then `sha256` is that of all its bytes.

    Raises:
        DataError: the file cannot be read, is too large, is not UTF-8, not JSON, or nested too deep.
    """

    def __init__(self, path: Path, *, max_bytes: int | None = None) -> None:
        self.path = path
        self.sha256 = ""
        limit = max_file_bytes() if max_bytes is None else max_bytes
        try:
            if path.is_dir():
                raise DataError(f"{path} is a folder; expected a file of records")
            size = path.stat().st_size
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {_reason(error)}; expected a file of records") from error
        if size > limit:
            raise DataError(
                f"{path} has {size:,} bytes, more than the limit of {limit:,}; "
                "set VESTIGE_MAX_DATA_BYTES to read it all the same"
            )

    def __iter__(self) -> Iterator[Node]:
        """The records in order, each as a Node that knows its file and number (from 0)."""
        try:
            with self.path.open("rb") as handle:
                scanner = _Scanner(self.path, handle)
                yield from scanner.records()
                self.sha256 = scanner.digest.hexdigest()
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class _Scanner:
    """The text of a file, of which only the record that is being decoded is kept."""

    def __init__(self, path: Path, handle: BinaryIO) -> None:
        self.path = path
        self.handle = handle
        self.digest = hashlib.sha256()
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self.json = json.JSONDecoder(parse_int=_integer)
        self.text = ""
        self.at = 0
        self.before = 0
        self.read_bytes = 0
        self.ended = False

    def more(self, n_bytes: int = _CHUNK_BYTES) -> bool:
        """Read on; False at the end of the file. What was decoded already is let go."""
        if self.ended:
            return False
        chunk = self.handle.read(n_bytes)
        self.digest.update(chunk)
        self.ended = not chunk
        try:
            fresh = self.decoder.decode(chunk, final=self.ended)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.path} is not UTF-8: byte 0x{error.object[error.start]:02x} near byte "
                f"{self.read_bytes + error.start}; save it as UTF-8"
            ) from error
        self.read_bytes += len(chunk)
        self.before += self.at
        self.text = self.text[self.at :] + fresh
        self.at = 0
        return True

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self, index: int) -> object:
        """Decode the value that starts here."""
        want = _CHUNK_BYTES
        while True:
            try:
                value, end = self.json.raw_decode(self.text, self.at)
                if end < len(self.text) or self.ended:
                    self.at = end
                    return value
                problem, position = "it is cut short", end
            except RecursionError as error:
                raise DataError(f"{self.path}, record {index}: nested too deep to be read") from error
            except json.JSONDecodeError as error:
                problem, position = error.msg, error.pos
            if len(self.text) - self.at > MAX_RECORD_CHARS or not self.more(want):
                place = self.before + position
                raise DataError(f"{self.path}, record {index}: not JSON at character {place:,}: {problem}")
            # Each attempt starts over, so what is read doubles: the work stays linear in the record's length.
            want = max(want, len(self.text))

    def records(self) -> Iterator[Node]:
        first = self.peek()
        if first == "":
            raise DataError(f"{self.path} is empty; expected JSON records")
        if first not in "[{":
            raise DataError(f"{self.path} is not JSON: it starts with {first!r}; expected a list of records")
        in_list = first == "["
        index = 0
        if in_list:
            self.at += 1
        while True:
            ahead = self.peek()
            if in_list and ahead == "]" and index == 0:
                self.at += 1
                break
            if not in_list and ahead == "":
                break
            yield Node(self.value(index), f"{self.path}, record {index}")
            index += 1
            if in_list:
                ahead = self.peek()
                self.at += 1
                if ahead == "]":
                    break
                if ahead != ",":
                    shown = repr(ahead) if ahead else "the end of the file"
                    where = f"{self.path}, after record {index - 1}"
                    raise DataError(f"{where}: expected ',' or ']', got {shown}")
        if self.peek() != "":
            place = self.before + self.at
            raise DataError(f"{self.path}: something follows the list of records at character {place:,}")
        while self.more():
            pass
