"""Makes the synthetic data set: which question each instance asks, and from which draws.

Every draw comes from a SeedSequence that is named by seed, instance and purpose, so an instance is the same
whatever the number of instances around it.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from vestige.datasets.instance import Dataset
from vestige.datasets.synthetic.compose import Generated, QuestionType, compose
from vestige.datasets.synthetic.grammar import load_grammar
from vestige.errors import ConfigError

__all__ = ["BLOCK", "GENERATOR_VERSION", "generate", "generate_with_templates"]

GENERATOR_VERSION = 1
"""Changes whenever the same seed gives other instances."""
MAX_INSTANCES = 1_000_000
_MIX: dict[QuestionType, int] = {
    "single": 8,
    "update": 7,
    "both": 3,
    "total": 2,
    "first": 2,
    "last": 1,
    "days": 1,
}
BLOCK: tuple[QuestionType, ...] = tuple(kind for kind, count in _MIX.items() for _ in range(count))
"""The mix of 24 instances, shuffled in each block; every 25th is an abstention.

Never more than 4 % of a sample abstain: an agent that knows nothing must not score more than that."""
_ATTEMPTS = 200


def _rng(seed: int, *name: str | int) -> np.random.Generator:
    digest = hashlib.sha256("\x1f".join(map(str, ("synthetic", GENERATOR_VERSION, *name))).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(digest[:16], "big")]))


def _kind(seed: int, index: int) -> QuestionType:
    block, place = divmod(index, len(BLOCK) + 1)
    if place == len(BLOCK):
        return "abstention"
    return BLOCK[int(_rng(seed, "types", block).permutation(len(BLOCK))[place])]


def _instance(seed: int, index: int) -> Generated:
    grammar = load_grammar()
    kind = _kind(seed, index)
    for attempt in range(_ATTEMPTS):
        made = compose(grammar, kind, f"synthetic-{index:05d}", _rng(seed, index, "user", attempt))
        if made is not None:
            return made
    raise AssertionError(f"no unambiguous instance {index} of seed {seed} in {_ATTEMPTS} draws")


def generate_with_templates(n: int, seed: int = 0) -> list[Generated]:
    """The instances of `generate`, each with the templates of its turns.

    Raises:
        ConfigError: `n` or `seed` is out of range.
    """
    if not 1 <= n <= MAX_INSTANCES:
        raise ConfigError(f"n is {n}; expected 1 to {MAX_INSTANCES:,} synthetic instances")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected a whole number from 0")
    return [_instance(seed, index) for index in range(n)]


def generate(n: int, seed: int = 0) -> Dataset:
    """A data set of `n` made-up users, each with sessions and a question.

    Instance i depends on the seed and on i alone. Types: facts told once (8 of 25), facts updated later (7),
    two sessions to be joined (5: both values, or the sum of two amounts), dates to be compared (4), and one
    question whose answer was never told. Evidence turns are exact.

    Raises:
        ConfigError: `n` or `seed` is out of range.
    """
    instances = tuple(made.instance for made in generate_with_templates(n, seed))
    digest = hashlib.sha256()
    for instance in instances:
        line = json.dumps(instance.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        digest.update(line.encode() + b"\n")
    return Dataset(
        name="synthetic",
        source=f"vestige synthetic generator {GENERATOR_VERSION}, n = {n}, seed = {seed}",
        sha256=digest.hexdigest(),
        license="Apache-2.0",
        instances=instances,
    )
