"""What a packet says of how the run was made and is scored: fixtures without texts, manifests, scoring."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib import metadata
from typing import Any

from vestige.audits.verification.brief import Brief
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import pairs_of
from vestige.packet.keyed import Keyed, targets_of
from vestige.packet.observations import Row
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan, canonical_json
from vestige.runs.steps import Converse

__all__ = ["fixtures", "manifests", "scoring", "software"]

_LONG = 200
"""Characters of a setting above which it stands as its sum and length: instructions."""
_HOST = ("vestige", "python", "platform")
_PACKAGES = ("vestige", "numpy", "scipy", "pydantic")


def software() -> dict[str, Any]:
    """What scores and seals here."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = "not installed"
    return {"python": platform.python_version(), "packages": packages}


def fixtures(plan: Plan, keyed: Keyed) -> dict[str, Any]:
    """Every pair's fixture: its structure, and codes of its texts."""
    told: dict[str, dict[str, list[str]]] = {}
    for episode in plan.episodes:
        condition = episode.id.rpartition("/")[2]
        blobs = [keyed.mac("session", s.session) for s in episode.steps if isinstance(s, Converse)]
        told.setdefault(episode.instance, {})[condition] = blobs
    pairs: dict[str, Row] = {}
    for name, pair in pairs_of(plan).items():
        targets: dict[str, Row] = {}
        for target, role, value in targets_of(pair):
            targets.setdefault(target, {})[role] = {"hmac": keyed.mac("target", value), "length": len(value)}
        pairs[name] = {
            "source": keyed.mac("id", pair.source_id),
            "fingerprint": pair.fingerprint,
            "arms": list(pair.arms),
            "targets": targets,
            "countable": list(pair.nonce.countable) if pair.nonce is not None else None,
            "favoured_first": pair.preference.order[0] == pair.preference.favoured
            if pair.preference is not None
            else None,
            "placed": {kind: list(place) for kind, place in pair.placed.items()},
            "sources": {kind: [keyed.mac("id", i) for i in ids] for kind, ids in pair.sources.items()},
            "derived": list(pair.derived),
            "retained": {
                key: {"hmac": keyed.mac("text", text), "length": len(text)}
                for key, text in pair.retained.model_dump(mode="json").items()
            },
            "sessions": told.get(name, {}),
        } | _further(pair)
    probes = {
        probe.id: {
            "kind": probe.kind,
            "text": {"hmac": keyed.mac("text", probe.text), "length": len(probe.text)},
            "write_back": probe.write_back,
            "max_tokens": probe.max_tokens,
        }
        for probe in plan.probes.values()
    }
    return {"schema_version": 1, "pairs": pairs, "probes": probes}


def _further(pair: Pair) -> dict[str, Any]:
    """What the first of a kind says of itself, of the further ones; nothing where there are none."""
    nonces = {t: {"countable": list(n.countable)} for t, n in pair.further_nonces.items()}
    preferences = {
        t: {"favoured_first": p.order[0] == p.favoured} for t, p in pair.further_preferences.items()
    }
    return {"further": nonces | preferences} if nonces or preferences else {}


def scoring(plan: Plan, brief: Brief) -> dict[str, Any]:
    """What scoring read: every setting, and the rules in words."""
    settings, observer = brief.settings, brief.settings.observer
    return {
        "schema_version": 1,
        "normalisations": ["verbatim", *observer.normalisations],
        "fragments_combined": observer.combine_fragments,
        "semantic_rules": {
            "vestige": plan.vestige_version,
            "probe_texts": plan.settings.get("probe_texts"),
            "embedder": brief.embedder,
            "judge": brief.judge,
        },
        "action_labels": {
            "favoured": "the option that the preference favours",
            "other": "the other option",
            "none": "no option, or not told apart",
        },
        "action_sources": ["tool_call", "schema", "text"],
        "utility": {
            "criterion": "success in exposed_removed no worse than in never_exposed",
            "margin": settings.utility_margin,
            "outcomes": ["success", "justified_abstention", "unsupported_refusal", "tool_error", "wrong"],
        },
        "uncertainty": {
            "leakage": "exact one-sided upper bound"
            if observer.stopping == "fixed"
            else "mixture confidence sequence",
            "residual": "Tango for binary pairs, t for other values, t over cluster means in clusters",
            "alpha": settings.alpha,
            "margin": settings.margin,
            "leakage_bound": settings.leakage_bound,
            "unit": "pair",
            "resampled": "pairs, or clusters of pairs",
        },
        "settings": settings.model_dump(mode="json"),
    }


def manifests(folder: RunFolder, brief: Brief, keyed: Keyed, scored_with: dict[str, Any]) -> dict[str, Any]:
    """Model, instructions, retrieval, tools, sources, sampling and software of the run."""
    plan = folder.plan
    tools = {tool.name: tool for probe in plan.probes.values() for tool in probe.tools}
    sessions = {s.session for e in plan.episodes for s in e.steps if isinstance(s, Converse)}
    description = brief.description
    return {
        "schema_version": 1,
        "plan_sha256": folder.plan_sha256,
        "agent": {
            "name": plan.agent.name,
            "version": description.version if description is not None else "not observed",
            "capabilities": list(description.capabilities) if description is not None else [],
            "channels": list(description.channels) if description is not None else [],
            "absent": dict(description.absent) if description is not None else {},
            "external_effects": list(description.external_effects) if description is not None else [],
        },
        "model": plan.models.model_dump(mode="json"),
        "instructions": {
            "settings": _short(plan.agent.settings),
            "probe_texts": plan.settings.get("probe_texts"),
            "notes": list(brief.notes),
        },
        "retrieval": {
            "knobs": _short(plan.agent.knobs),
            "embedder": brief.embedder,
        },
        "tools": {
            "asked": {
                name: {
                    "description": _short(tool.description),
                    "hmac": keyed.mac("text", _json(tool.parameters)),
                }
                for name, tool in sorted(tools.items())
            },
            "run_by_agent": list(description.tools) if description is not None else [],
        },
        "sources": {"data": plan.data.model_dump(mode="json"), "sessions": len(sessions)},
        "sampling": {
            "seed": "withheld: stands in the restricted part, since targets could be drawn again from it",
            "temperature": plan.models.temperature,
            "deterministic": plan.models.deterministic,
            "max_tokens": brief.settings.observer.max_tokens,
        },
        "software": {"plan": plan.vestige_version, "run": _hosts(folder), "scored": scored_with},
    }


def _hosts(folder: RunFolder) -> list[dict[str, Any]]:
    path = folder.path / "host.json"
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    entries = found if isinstance(found, list) else [found]
    return [
        {name: str(e[name])[:_LONG] for name in _HOST if name in e} for e in entries if isinstance(e, dict)
    ]


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _short(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    if isinstance(value, str) and len(value) > _LONG:
        return {
            "sha256": hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest(),
            "length": len(value),
        }
    return value


def _json(value: Any) -> str:
    return canonical_json(value).decode("utf-8", "surrogatepass")
