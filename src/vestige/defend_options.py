"""The options of `vestige defend`: the same names on the command line, in a TOML file and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from vestige.audits.membership.settings import Attack
from vestige.defences.spec import DEFENCES, DefenceSpec, parse_defences
from vestige.errors import ConfigError
from vestige.membership_options import MembershipOptions
from vestige.options import AuditOptions, filled, naming
from vestige.records import Record

__all__ = ["DEFEND_LISTS", "DefendOptions"]

DEFEND_LISTS = frozenset({"defences", "attacks"})
"""Options that take several values."""

EASY = tuple(name for name in DEFENCES if name != "identifying")
"""Those that need nothing but the core."""


class DefendOptions(Record):
    """What `vestige defend` takes; every field is a flag of the same name."""

    defences: tuple[str, ...] = EASY
    """Each NAME, for every strength of its sweep, or NAME:STRENGTH."""
    data: str = "synthetic:10"
    """Statements of users, for the membership audit."""
    format: str | None = None
    questions_data: str = "synthetic:20"
    """Conversations with retained questions, in which canaries are planted, for the frontier audit."""
    agent: str = "reference"
    model: str = "extractive"
    embedder: str = "minilm"
    auxiliary: str | None = None
    """The model of every auxiliary part of the attacks; None: rules."""
    attacks: tuple[Attack, ...] = ("mrmmia", "naive", "ia")
    questions: Annotated[int, Field(ge=1, le=16)] = 5
    """K."""
    users: Annotated[int, Field(ge=1)] | None = None
    per_user: Annotated[int, Field(ge=1)] | None = None
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    level: int = 0
    k: Annotated[int, Field(ge=1)] = 5
    max_tokens: Annotated[int, Field(ge=1, le=4000)] = 200
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 42
    deterministic: bool = False
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 4
    cache: Path | None = None
    out: Path | None = None
    """The folder; default runs/defence-<first of the plan's hash>."""
    resume: bool = False
    quiet: bool = False

    @field_validator("*", mode="before")
    @classmethod
    def _filled(cls, value: Any) -> Any:
        return filled(value)

    @field_validator("defences", "attacks")
    @classmethod
    def _distinct(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError("give at least one value")
        if len(set(value)) < len(value):
            raise ValueError("a value stands there twice")
        return value

    def specs(self) -> list[DefenceSpec]:
        """Every defence at every strength, in the order given.

        Raises:
            ConfigError: There is no such defence or strength, or one stands there twice.
        """
        with naming("defences"):
            found = [spec for text in self.defences for spec in parse_defences(text)]
            labels = [str(spec) for spec in found]
            twice = next((label for label in labels if labels.count(label) > 1), None)
            if twice is not None:
                raise ConfigError(f"{twice} stands there twice")
        return found

    def membership(self, spec: DefenceSpec | None, out: Path, cache: Path) -> MembershipOptions:
        """The membership audit of an arm."""
        taken = (
            "data", "format", "agent", "model", "embedder", "auxiliary", "attacks", "questions", "users", "per_user",
            "repeats", "level", "k", "max_tokens", "temperature", "seed", "deterministic", "concurrency", "quiet",
        )  # fmt: skip
        return MembershipOptions(
            **{name: getattr(self, name) for name in taken},
            defence=None if spec is None else str(spec),
            resume=True,
            cache=cache,
            out=out,
        )

    def frontier(self, spec: DefenceSpec | None, out: Path, cache: Path) -> AuditOptions:
        """The frontier audit of an arm."""
        taken = ("agent", "model", "temperature", "seed", "deterministic", "concurrency", "quiet")
        return AuditOptions(
            **{name: getattr(self, name) for name in taken},
            data=self.questions_data,
            embedder=(self.embedder,),
            levels=(self.level,),
            k=(self.k,),
            defence=None if spec is None else str(spec),
            resume=True,
            cache=cache,
            out=out,
        )
