"""The options of `vestige membership`: the same names on the command line, in a TOML file and in Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from vestige.attacks.terms import Mode, Weights
from vestige.audits.membership.settings import Attack, MembershipSettings
from vestige.defences.spec import DefenceSpec
from vestige.options import filled, one_defence
from vestige.records import Record

__all__ = ["MEMBERSHIP_LISTS", "MembershipOptions"]

MEMBERSHIP_LISTS = frozenset({"attacks"})
"""Options that take several values."""

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)", re.IGNORECASE)


class MembershipOptions(Record):
    """What `vestige membership` takes; every field is a flag of the same name."""

    data: str = "synthetic:20"
    """A path, or a name: locomo, synthetic, synthetic:N."""
    format: str | None = None
    agent: str = "reference"
    """reference, FILE.py:NAME, MODULE:NAME, or an HTTP agent's FILE.toml."""
    model: str = "extractive"
    embedder: str = "minilm"
    """Of the reference agent's memory; it also measures similarity."""
    auxiliary: str | None = None
    """The model of every auxiliary part that has none of its own; None: rules."""
    generator: str | None = None
    """Writes the questions; `rules` or a model."""
    responses: str | None = None
    """Judges replies."""
    memory: str | None = None
    """Judges retrieved units."""
    paraphraser: str | None = None
    """Tells the candidate in other words."""
    extractor: str | None = None
    """The model that makes statements of dialogues, where the data holds dialogues."""
    attacks: tuple[Attack, ...] = MembershipSettings().attacks
    questions: Annotated[int, Field(ge=1, le=16)] = 5
    """K."""
    follow_up: bool = True
    ablate_follow_up: bool = False
    w_r: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    w_p: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    w_m: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 1.0
    scoring: Mode = "paper"
    rule: Literal["exact", "equivalence"] = "exact"
    drop_shared: bool = False
    unscored: Literal["left_out", "lowest"] = "left_out"
    users: Annotated[int, Field(ge=1)] | None = None
    per_user: Annotated[int, Field(ge=1)] | None = None
    split_seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 42
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 42
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    chunk: Annotated[int, Field(ge=1, le=1000)] = 5
    max_tokens: Annotated[int, Field(ge=1, le=4000)] = 200
    level: int = 0
    """Summarization S of the reference agent; statements are stored directly at every S."""
    k: Annotated[int, Field(ge=1)] = 5
    tau: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = None
    defence: str | None = None
    """What stands before the agent: NAME:STRENGTH, names of `vestige.defences.spec.DEFENCES`."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.7
    budget: str | None = None
    """Time after which no more candidates are begun: 30m, 2h, 90s."""
    deterministic: bool = False
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 4
    cache: Path | None = None
    """The response cache; default: in the run's folder."""
    out: Path | None = None
    """The run's folder; default runs/membership-<first of the plan's hash>."""
    resume: bool = False
    quiet: bool = False

    @field_validator("*", mode="before")
    @classmethod
    def _filled(cls, value: Any) -> Any:
        return filled(value)

    @field_validator("attacks")
    @classmethod
    def _distinct(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError("give at least one value")
        if len(set(value)) < len(value):
            raise ValueError("a value stands there twice")
        return value

    @field_validator("budget")
    @classmethod
    def _timed(cls, value: str | None) -> str | None:
        if value is not None and _BUDGET.fullmatch(value.strip()) is None:
            raise ValueError("expected a time such as 30m, 2h or 90s")
        return value

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        if self.budget is None:
            return None
        found = _BUDGET.fullmatch(self.budget.strip())
        assert found is not None
        factor = {"s": 1, "m": 60, "min": 60, "h": 3600}[found.group(2).lower()]
        return float(found.group(1)) * factor

    def spec(self) -> DefenceSpec | None:
        """The defence."""
        return one_defence(self.defence)

    def parts(self) -> dict[str, str]:
        """The model of each auxiliary part that has one."""
        out: dict[str, str] = {}
        for part in ("generator", "responses", "memory", "paraphraser"):
            name: str | None = getattr(self, part) or self.auxiliary
            if name is not None and name != "rules":
                out[part] = name
        return out

    def settings(self) -> MembershipSettings:
        """What of it the plan fixes."""
        return MembershipSettings(
            weights=Weights(r=self.w_r, p=self.w_p, m=self.w_m),
            mode=self.scoring,
            **{
                name: getattr(self, name)
                for name in MembershipSettings.model_fields
                if name not in ("weights", "mode") and hasattr(self, name)
            },
        )
