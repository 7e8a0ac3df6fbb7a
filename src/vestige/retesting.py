"""`vestige verify --previous PACKET`: targets that were removed before are tested again beside the new ones.

Source: "Counterfactual Tests", "Regression episodes should therefore test previously removed targets alongside newly
withdrawn ones."
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import AGAIN, pairs_of, settings_of
from vestige.audits.verification.settings import VerificationSettings
from vestige.errors import ConfigError, IntegrityError
from vestige.records import JsonScalar
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan, Probe
from vestige.runs.steps import Converse, Episode, Inspect

__all__ = ["Retested", "retested"]


@dataclass(frozen=True)
class Retested:
    """An earlier packet's pairs, renamed, ready to be run again under the present agent."""

    root: str
    """Of the earlier packet."""
    pairs: tuple[str, ...]
    """Their names there."""
    fixtures: dict[str, dict[str, Any]]
    probes: dict[str, Probe]
    episodes: tuple[Episode, ...]
    blobs: dict[str, bytes]

    def setting(self) -> dict[str, Any]:
        """What the plan says of it."""
        return {"root": self.root, "pairs": list(self.pairs)}


def retested(
    packet: Path, plan: Plan, settings: VerificationSettings, knobs: dict[str, JsonScalar]
) -> Retested:
    """Take an earlier packet's pairs up; those whose targets the plan has already need no second run.

    Args:
        packet: A packet's folder, with its restricted part readable.
        plan: The new plan.
        settings: Of the new plan.
        knobs: What episodes are opened with now.

    Raises:
        ConfigError: There is no packet, its restricted part cannot be read, or it asked other questions.
        IntegrityError: It does not pass its own check.
    """
    from vestige.packet.check import check

    if not (packet / "ROOT").is_file():
        raise ConfigError(
            f"--previous {packet}: no packet here; give a packet's folder, such as a run's RUN/packet"
        )
    report = check(packet, full=False)
    if not report.ok or report.root is None:
        what = report.problems[0] if report.problems else "its root cannot be read"
        raise IntegrityError(f"--previous {packet}: does not pass its check: {what}")
    restricted = packet / "restricted"
    if not (restricted / "plan.json").is_file():
        raise ConfigError(
            f"--previous {packet}: its restricted part is not here to be read; give the packet's folder, and open it "
            "with `vestige packet decrypt` first where it is encrypted"
        )
    folder = RunFolder.open(restricted)
    old = folder.plan
    before = settings_of(old)
    for what in ("targets", "kind", "task", "fixture", "conditions", "observer"):
        if getattr(before, what) != getattr(settings, what):
            raise ConfigError(
                f"--previous {packet}: was made with another {what}; test its targets again under the settings it has"
            )
    mine = {value for pair in pairs_of(plan).values() for value in _nonces(pair)}
    names: dict[str, str] = {}
    for name, pair in pairs_of(old).items():
        if mine.isdisjoint(_nonces(pair)):
            names[name] = f"{AGAIN}{name}"
    # Records of other data may have the same names, made-up users of another seed among them.
    same_data = old.data.sha256 == plan.data.sha256
    episodes = tuple(_renamed(e, names, knobs) for e in old.episodes if e.instance in names)
    digests = {s.session for e in episodes for s in e.steps if isinstance(s, Converse)}
    digests |= {s.candidates for e in episodes for s in e.steps if isinstance(s, Inspect) and s.candidates}
    return Retested(
        root=report.root,
        pairs=tuple(sorted(pairs_of(old))),
        fixtures={
            names[n]: fixture | ({} if same_data else {"cluster": f"{AGAIN}{fixture['cluster']}"})
            for n, fixture in old.fixtures.items()
            if n in names
        },
        probes={
            new: probe.model_copy(update={"id": new})
            for probe in old.probes.values()
            if (new := _probe(probe.id, names)) is not None
        },
        episodes=episodes,
        blobs={digest: folder.get_blob(digest) for digest in sorted(digests)},
    )


def _nonces(pair: Pair) -> set[str]:
    return {value for nonce in pair.nonces.values() for value in nonce.values.values()}


def _probe(name: str, names: dict[str, str]) -> str | None:
    pair, slash, rest = name.partition("/")
    return f"{names[pair]}{slash}{rest}" if pair in names else None


def _renamed(episode: Episode, names: dict[str, str], knobs: dict[str, JsonScalar]) -> Episode:
    new = names[episode.instance]
    steps = tuple(
        step.model_copy(update={"probe": _probe(probe, names)})
        if (probe := getattr(step, "probe", None)) is not None
        else step
        for step in episode.steps
    )
    return episode.model_copy(
        update={
            "id": f"{new}/{episode.id.partition('/')[2]}",
            "instance": new,
            "group": new,
            "knobs": knobs,
            "labels": {**episode.labels, "pair": new},
            "steps": steps,
        }
    )
