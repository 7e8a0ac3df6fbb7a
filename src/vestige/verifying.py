"""`vestige verify` as calls: plan, run, score, conclude, and what is written of it."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vestige import __version__, workflow
from vestige.agents.opening import AGENTS, check_agent, settings_of
from vestige.audits.findings import Finding
from vestige.audits.study import data_ref
from vestige.audits.verification import fixtures, naming, scripts
from vestige.audits.verification.results import VerificationResult
from vestige.datasets import load
from vestige.datasets.instance import Dataset
from vestige.errors import ConfigError, complaint
from vestige.memory.settings import MemorySettings
from vestige.models.resolve import refuse_credentials
from vestige.options import naming as naming_option
from vestige.probes import disclosure
from vestige.records import JsonScalar
from vestige.runs.folder import RunFolder
from vestige.runs.plan import AgentSpec, ModelSpec, Plan
from vestige.verify_options import VerifyOptions
from vestige.workflow import Planned, model_identity

if TYPE_CHECKING:
    from vestige.audits.verification.adjudication import Decision
    from vestige.report.verification import VerificationReportPaths

__all__ = [
    "PacketOptions",
    "Written",
    "adjudicate",
    "check_options",
    "finish",
    "make_plan",
    "uncertain",
    "uncertain_lines",
]


@dataclass(frozen=True)
class PacketOptions:
    """How a packet is sealed."""

    sign: Path | None = None
    """Ed25519 private key file."""
    recipient: Path | None = None
    """X25519 public key file."""
    zip: bool = False


def check_options(options: VerifyOptions) -> None:
    """Refuse what would only be noticed once everything is measured.

    Raises:
        ConfigError: A key cannot be read, or options do not go together.
        MissingDependency: The optional package that signs and encrypts is not installed.
    """
    if options.auxiliary is not None and not options.adaptive_rounds:
        raise ConfigError(
            f"--auxiliary {options.auxiliary}: writes adaptive questions, and none are asked for; add --adaptive-rounds"
        )
    if options.resume and options.out is None:
        raise ConfigError("--resume: say with --out which run is to go on; a new one draws a seed of its own")
    if options.out is not None and options.out.is_file():
        raise ConfigError(f"--out {options.out}: is a file; give the name of a folder")
    if options.sign is None and options.recipient is None:
        return
    from vestige.packet import keys

    if options.sign is not None:
        with naming_option("sign"):
            keys.load_signer(options.sign)
    if options.recipient is not None:
        with naming_option("recipient"):
            keys.load_recipient(options.recipient)


def make_plan(options: VerifyOptions, dataset: Dataset | None = None) -> Planned:
    """Fix everything before the first exchange.

    Raises:
        ConfigError: An option cannot be met.
        DataError: The data cannot be read.
    """
    check_options(options)
    check_agent(options.agent)
    knobs = _knobs(options)
    for flag, name in (
        ("model", options.model),
        ("judge", options.judge),
        ("auxiliary", options.auxiliary),
        ("embedder", options.embedder),
    ):
        with naming_option(flag):
            refuse_credentials(name or "")
    if options.adaptive_rounds and options.auxiliary is None:
        raise ConfigError(
            f"--adaptive-rounds {options.adaptive_rounds}: needs a model that writes the questions; name it with "
            "--auxiliary"
        )
    settings = options.settings()
    seed = _seed(options)
    data = dataset or _load(options, seed)
    material, notes = fixtures.build_pairs(data, settings, seed)
    built = scripts.build_scripts(
        material,
        settings,
        seed,
        {"embedder": options.embedder},
        judge=options.judge is not None,
        tools=options.agent in AGENTS,
    )
    plan = Plan(
        audit="verification",
        vestige_version=__version__,
        seed=seed,
        agent=AgentSpec(name=options.agent, knobs=knobs, settings=settings_of(options.agent, knobs)),
        models=ModelSpec(
            agent=options.model,
            agent_identity=model_identity(options.model),
            scorer_embedder=options.embedder,
            judge=options.judge,
            adaptive=options.auxiliary,
            temperature=options.temperature,
            deterministic=options.deterministic,
        ),
        data=data_ref(data),
        settings={
            "verification": settings.model_dump(mode="json"),
            "notes": notes,
            "probe_texts": disclosure.texts_version(),
            "fixture_texts": naming.fixture_texts()["version"],
        },
        fixtures={item.id: item.pair.model_dump(mode="json") for item in material},
        probes=built.probes,
        episodes=tuple(built.episodes),
    )
    if options.previous is None:
        return Planned(plan=plan, blobs=built.blobs, notes=tuple(notes))
    from vestige.retesting import retested

    again = retested(options.previous, plan, settings, {"embedder": options.embedder})
    notes = [*notes, f"{len(again.fixtures)} pairs of an earlier packet are tested again, as R-…."]
    plan = plan.model_copy(
        update={
            "settings": {**plan.settings, "notes": notes, "previous": again.setting()},
            "fixtures": plan.fixtures | again.fixtures,
            "probes": plan.probes | again.probes,
            "episodes": plan.episodes + again.episodes,
        }
    )
    return Planned(plan=plan, blobs=built.blobs | again.blobs, notes=tuple(notes))


def _knobs(options: VerifyOptions) -> dict[str, JsonScalar]:
    """What the reference agent is set to; a user's own agent has its own settings."""
    if options.agent not in AGENTS:
        return {}
    knobs: dict[str, JsonScalar] = {
        "level": options.level,
        "k": options.k,
        "tau": options.tau,
        "granularity": options.granularity,
        "deletion": options.mode,
        "supersede": options.supersede,
        "retrieve_from": options.retrieve_from,
        "scrub": options.scrub,
        "temperature": options.temperature,
    }
    flags = {"deletion": "mode"}
    checked: dict[str, Any] = {}
    for name, value in knobs.items():
        checked[name] = value
        with naming_option(flags.get(name, name), value):
            MemorySettings(**checked)
    return knobs


def _seed(options: VerifyOptions) -> int:
    """The seed given; that of the run to be continued; or one that nobody can guess."""
    if options.seed is not None:
        return options.seed
    if options.resume and options.out is not None and (options.out / "plan.json").exists():
        return RunFolder.open(options.out).plan.seed
    return secrets.randbits(53)


def _load(options: VerifyOptions, seed: int) -> Dataset:
    if options.data == "synthetic" and options.format is None:
        return fixtures.synthetic_users(options.pairs, seed)
    with naming_option("data", options.data):
        return load(options.data, options.format, seed=seed)


@dataclass(frozen=True)
class Written:
    """A verification with what was written of it."""

    result: VerificationResult
    report: Path
    packet: Path | None


def finish(
    folder: RunFolder,
    *,
    show_targets: bool = False,
    title: str | None = None,
    out: Path | None = None,
    packet: PacketOptions | None = None,
) -> Written:
    """Score and conclude a stored run, and write its report; with `packet`, seal its packet too.

    Args:
        folder: The run.
        show_targets: Leave the targets readable in the report; the packet's own report has them masked all the same.
        title: Of the report.
        out: Where the report goes; None: into the run's folder.
        packet: How to seal; None: no packet.

    Raises:
        IntegrityError: The record cannot be read, or the packet would give a target away.
        StorageError: Something cannot be written.
    """
    from vestige.audits.verification import reading
    from vestige.audits.verification.ledger import ledger as ledger_of
    from vestige.packet.seal import seal
    from vestige.report.verification.gather import gather, waits
    from vestige.report.verification.writing import write_verification

    findings = workflow.score(folder)
    result = workflow.conclude(folder, findings)
    assert isinstance(result, VerificationResult)
    rows = ledger_of(folder.plan, folder, result)
    shown = gather(folder, findings)
    waited = waits(folder)
    pairs = reading.pairs_of(folder.plan).values()

    def write(where: Path, show: bool) -> VerificationReportPaths:
        return write_verification(
            result,
            ledger=rows,
            episodes=shown,
            waited=waited,
            folder=where,
            show_targets=show,
            title=title,
            fixtures=pairs,
        )

    paths = write(out or folder.path, show_targets)
    if packet is None:
        return Written(result, paths.html, None)
    with tempfile.TemporaryDirectory(prefix="vestige-") as scratch:
        masked = write(Path(scratch), False)
        sealed = seal(
            folder,
            folder.path / "packet",
            findings=findings,
            result=result,
            brief=reading.brief_of(folder.plan, folder),
            ledger=rows,
            reports=(masked.html, masked.markdown, masked.json),
            recipient=packet.recipient,
            sign_key=packet.sign,
            zip=packet.zip,
            replace=True,
        )
    return Written(result, paths.html, sealed)


def uncertain(folder: RunFolder) -> list[Finding]:
    """The sightings after the removal that the rules could not decide and no person has."""
    return [
        f
        for f in workflow.score(folder)
        if f.values.get("state") == "uncertain" and f.labels.get("condition") == "exposed_removed"
    ]


def uncertain_lines(folder: RunFolder) -> list[str]:
    """One line a finding that waits for a person, with what was said there, its targets masked."""
    from vestige.audits.verification.adjudication import finding_id
    from vestige.report.verification.waiting import excerpts

    waiting = uncertain(folder)
    if not waiting:
        return ["no uncertain finding waits for a decision"]
    said = excerpts(folder, waiting)
    lines: list[str] = []
    for finding in waiting:
        name, values = finding_id(finding), finding.values
        where = f"{finding.episode}  {values.get('channel')}  {values.get('target')}"
        lines.append(f"{name}  {where}  {said.get(name, '')}")
    return lines


def adjudicate(
    folder: RunFolder, finding: str, decision: Decision, *, reviewer: str, reason: str
) -> VerificationResult:
    """Record a person's decision on an uncertain finding, and conclude anew.

    Raises:
        ConfigError: There is no such finding, or the rules decided it.
    """
    from vestige.audits.verification import adjudication

    known = {adjudication.finding_id(f): f for f in workflow.score(folder) if f.kind.startswith("sighting:")}
    decided = adjudication.last_decisions(adjudication.read_adjudications(folder.path))
    found = known.get(finding)
    if found is None:
        raise ConfigError(
            f"{finding}: no such finding; `vestige adjudicate {folder.path}` lists those that wait for a decision"
        )
    if found.values.get("state") != "uncertain" and finding not in decided:
        raise ConfigError(f"{finding}: was matched by the rules, which is no matter of opinion")
    try:
        record = adjudication.Adjudication(
            finding=finding, reviewer=reviewer, decision=decision, reason=reason
        )
    except ValidationError as error:
        raise ConfigError(f"adjudicate {finding}: {complaint(error)}") from None
    adjudication.append_adjudication(folder.path, record)
    result = workflow.conclude(folder)
    assert isinstance(result, VerificationResult)
    return result
