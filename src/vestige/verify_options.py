"""The options of `vestige verify`: the same names on the command line, in a TOML file and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from vestige.agents.protocol import Channel
from vestige.audits.verification.settings import (
    CLAIMS,
    ClaimName,
    Condition,
    Normalisation,
    Observer,
    TargetName,
    VerificationSettings,
    numbered,
    refuse_targets,
)
from vestige.options import filled
from vestige.records import Record

__all__ = ["VERIFY_LISTS", "VerifyOptions"]

VERIFY_LISTS = frozenset({"targets", "claims", "required", "channels", "normalisations", "conditions"})
"""Options that take several values."""


class VerifyOptions(Record):
    """What `vestige verify` takes; every field is a flag of the same name."""

    data: str = "synthetic"
    """A path, or a name: longmemeval:oracle, locomo, synthetic."""
    format: str | None = None
    agent: str = "reference"
    """reference, FILE.py:NAME, MODULE:NAME, or an HTTP agent's FILE.toml."""
    model: str = "extractive"
    embedder: str = "minilm"
    """Of the reference agent's memory; it also measures similarity."""
    judge: str | None = None
    """A model that gives its opinion on semantic findings."""
    auxiliary: str | None = None
    """The model that writes adaptive questions; needed with `adaptive_rounds`."""
    out: Path | None = None
    """The run's folder; default runs/verification-<first of the plan's hash>."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """None: drawn at random, or with `resume` that of the run; a seed that can be guessed gives the targets away."""
    pairs: Annotated[int, Field(ge=1, le=100_000)] = 100
    targets: tuple[TargetName, ...] = ("nonce", "preference")
    """Names: nonce, preference; several of a kind are numbered: nonce-2."""
    nonces: Annotated[int, Field(ge=0, le=5)] | None = None
    """How many, in the place of their names; None: as `targets` says, or one where `preferences` is given."""
    preferences: Annotated[int, Field(ge=0, le=5)] | None = None
    """How many, in the place of their names; None: as `targets` says, or one where `nonces` is given."""
    kind: Literal["value", "source", "derivations"] = "value"
    task: Literal["withdrawal", "correction"] = "withdrawal"
    fixture: Literal["plain", "correlated", "two_sources"] = "plain"
    correlated_policy: Literal["permitted", "prohibited"] = "permitted"
    """Of a correlated fixture: whether what is kept may imply the target."""
    conditions: tuple[Condition, ...] = VerificationSettings().conditions
    claims: tuple[ClaimName, ...] = ("non_use",)
    tolerate: Literal["old_version", "dead_bytes", "vector_only"] | None = None
    """Worst grade of residue that the claim of erasure tolerates; None: none."""
    required: tuple[Channel, ...] | None = None
    """Channels that must be covered beyond those that a claim requires anyway; None: no others."""
    credentials: Literal["operator", "user"] = "operator"
    """Whose access the observer has."""
    channels: tuple[Channel, ...] | None = None
    """Where the observer looks; None: wherever the credentials reach."""
    token_budget: Annotated[int, Field(ge=1)] | None = None
    """Most reply tokens an episode; None: no limit."""
    normalisations: tuple[Normalisation, ...] = Observer().normalisations
    combine_fragments: bool = False
    warm: bool = False
    adaptive_rounds: Annotated[int, Field(ge=0, le=20)] = 0
    recall_probes: Annotated[int, Field(ge=1, le=4)] = 2
    semantic_probes: Annotated[int, Field(ge=0, le=5)] = 2
    structured_probes: bool = True
    choice_probes: Annotated[int, Field(ge=1, le=2)] = 1
    horizon: Annotated[int, Field(ge=0, le=50)] = 1
    max_tokens: Annotated[int, Field(ge=1, le=4000)] = 200
    stopping: Literal["fixed", "mixture"] = "fixed"
    reintroduction: bool = True
    pending_limit: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    maintain: bool = True
    alpha: Annotated[float, Field(ge=1e-6, lt=0.5)] = 0.05
    margin: Annotated[float, Field(ge=0.001, lt=1)] = 0.10
    leakage_bound: Annotated[float, Field(ge=0.0001, lt=1)] = 0.05
    sensitivity: Annotated[float, Field(ge=0, le=0.99)] = 0.5
    utility_margin: Annotated[float, Field(ge=0.001, lt=1)] = 0.10
    level: int = 0
    """Summarization S of the reference agent."""
    k: Annotated[int, Field(ge=1)] = 6
    tau: Annotated[float, Field(ge=-1, le=1)] | None = None
    granularity: str = "turn"
    mode: str = "full_purge"
    """Deletion mode of the reference agent."""
    supersede: str = "match"
    retrieve_from: Literal["auto", "raw", "summary", "both"] = "auto"
    scrub: Literal["normalised", "exact"] = "normalised"
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    deterministic: bool = False
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 4
    cache: Path | None = None
    """The response cache; default: in the run's folder."""
    resume: bool = False
    previous: Path | None = None
    """A packet of an earlier verification, whose targets are tested again."""
    sign: Path | None = None
    """Ed25519 private key file the packet is signed with."""
    recipient: Path | None = None
    """X25519 public key file the packet's restricted part is encrypted to."""
    zip: bool = False
    """Write the packet as a ZIP too."""
    show_targets: bool = False
    quiet: bool = False

    @field_validator("*", mode="before")
    @classmethod
    def _filled(cls, value: Any) -> Any:
        return filled(value)

    @field_validator(*VERIFY_LISTS)
    @classmethod
    def _distinct(cls, value: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        if not value:
            raise ValueError("give at least one value")
        if len(set(value)) < len(value):
            raise ValueError("a value stands there twice")
        return value

    @field_validator("targets")
    @classmethod
    def _in_order(cls, value: tuple[TargetName, ...]) -> tuple[TargetName, ...]:
        refuse_targets(value)
        return value

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.nonces is None and self.preferences is None:
            return self
        if "targets" in self.model_fields_set:
            raise ValueError(
                "targets: give them by name, or their numbers with --nonces and --preferences, not both"
            )
        if not self.removed():
            raise ValueError(
                "nonces: with 0 of them and no preference there is no target; a verification needs one"
            )
        return self

    def removed(self) -> tuple[TargetName, ...]:
        """The names of the targets, however they were given."""
        if self.nonces is None and self.preferences is None:
            return self.targets
        one = (1 if n is None else n for n in (self.nonces, self.preferences))
        return numbered(*one)

    @model_validator(mode="after")
    def _claimed(self) -> Self:
        known = [c for name in self.claims for c in CLAIMS[name].channels]
        if strange := [c for c in self.required or () if c not in known]:
            raise ValueError(
                f"required: {', '.join(strange)} is in no claim of the plan; expected some of {', '.join(known)}"
            )
        if self.tolerate is not None and "erasure" not in self.claims:
            raise ValueError(
                f"tolerate: {self.tolerate}: only the claim of erasure can tolerate residue; add it with --claims "
                "non_use,erasure, or leave the option out"
            )
        return self

    @field_validator("conditions")
    @classmethod
    def _needed(cls, value: tuple[Condition, ...]) -> tuple[Condition, ...]:
        missing = [c for c in ("never_exposed", "exposed_unchanged", "exposed_removed") if c not in value]
        if missing:
            raise ValueError(
                f"no verdict without {', '.join(missing)}; only full_reset and sham_removal can be left out"
            )
        return value

    def settings(self) -> VerificationSettings:
        """What of it the plan fixes."""
        observer = {name: getattr(self, name) for name in Observer.model_fields if hasattr(self, name)}
        return VerificationSettings(
            observer=Observer(**observer),
            targets=self.removed(),
            **{
                name: getattr(self, name)
                for name in VerificationSettings.model_fields
                if name not in ("observer", "targets") and hasattr(self, name)
            },
        )
