"""`vestige packet check | diff | sign | decrypt | keygen`: on a packet, without model, network or agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vestige import __version__
from vestige.cli.guard import guarded, say

if TYPE_CHECKING:
    from vestige.packet.check import CheckReport
    from vestige.packet.layout import Problem

__all__ = ["register"]

Packet = Annotated[
    Path, typer.Argument(metavar="PACKET", help="A packet's folder or ZIP.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")]


def _notes(report: CheckReport) -> Iterator[str]:
    """What is no difference and should be known: of each file the first sentence that is worded otherwise."""
    wording: dict[str, list[Problem]] = {}
    for note in report.notes:
        if note.file.startswith("public/"):
            wording.setdefault(note.file, []).append(note)
        else:
            yield f"note: {note.file}: {note.what}"
    for file, notes in wording.items():
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        yield f"wording differs: {file}: {notes[0].what}{more}"
    if wording:
        yield (
            f"the packet says that it was made with vestige {report.made_with or '(it does not say)'}, this is "
            f"{__version__}; numbers, states and verdicts decide, and those of this check are computed anew"
        )


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands."""
    packet = typer.Typer(
        help="Check, compare, sign and open removal packets.", no_args_is_help=True, rich_markup_mode=None
    )
    app.add_typer(packet, name="packet", rich_help_panel=panel)

    @packet.command()
    @guarded
    def check(
        packet: Packet,
        public: Annotated[bool, typer.Option("--public", help="Leave the restricted part alone.")] = False,
        trusted_key: Annotated[
            Path | None,
            typer.Option(
                "--trusted-key", help="Ed25519 public key that must have signed it.", show_default=False
            ),
        ] = None,
        identity: Annotated[
            Path | None,
            typer.Option(
                "--identity", help="X25519 private key that opens the restricted part.", show_default=False
            ),
        ] = None,
        json: AsJson = False,
    ) -> None:
        """Verify sums and signature, and compute statistics and verdict again; exit 1 where something differs."""
        from vestige.packet.check import LEVELS
        from vestige.packet.check import check as check_packet

        report = check_packet(
            packet, full=False if public else None, trusted_key=trusted_key, identity=identity
        )
        if json:
            typer.echo(report.model_dump_json(indent=1))
        else:
            if report.packet != str(packet):
                say(f"packet       {report.packet}")
            for level in LEVELS:
                state = report.levels.get(level, "not_checked").replace("_", " ")
                reason = report.reasons.get(level, "")
                say(f"{level:<13}{state}{f': {reason}' if reason else ''}")
            if report.by_sums_alone:
                names = ", ".join(report.by_sums_alone)
                say(f"reports      by sums alone, not made anew: {names}")
            for line in _notes(report):
                say(line)
            for problem in report.problems:
                say(f"differs: {problem.file}: {problem.what}")
            if report.signed_by:
                say(
                    f"signed by     {report.signed_by}{'' if report.trusted else ' (no key was given to trust)'}"
                )
            else:
                say("unsigned: this shows damage, not who made it")
            if report.verdict is not None:
                say(f"verdict       {report.verdict}: {report.statement}")
        if not report.ok:
            raise typer.Exit(1)

    @packet.command("seal")
    @guarded
    def seal_run(
        run: Annotated[
            Path, typer.Argument(metavar="RUN", help="A verification's folder.", show_default=False)
        ],
        sign: Annotated[
            Path | None,
            typer.Option("--sign", help="Ed25519 private key file to sign with.", show_default=False),
        ] = None,
        recipient: Annotated[
            Path | None,
            typer.Option(
                "--recipient", help="X25519 public key to encrypt the restricted part to.", show_default=False
            ),
        ] = None,
        zip: Annotated[bool, typer.Option("--zip", help="Write a ZIP too.")] = False,
    ) -> None:
        """Seal a stored run's packet again, for instance after a decision on an uncertain finding."""
        from vestige.runs.folder import RunFolder
        from vestige.verifying import PacketOptions, finish

        options = PacketOptions(sign=sign, recipient=recipient, zip=zip)
        written = finish(RunFolder.open(run), packet=options)
        say(f"verdict: {written.result.verdict}")
        say(f"packet: {written.packet}")

    @packet.command()
    @guarded
    def diff(
        a: Annotated[Path, typer.Argument(metavar="A", help="The earlier packet.", show_default=False)],
        b: Annotated[Path, typer.Argument(metavar="B", help="The later packet.", show_default=False)],
        json: AsJson = False,
    ) -> None:
        """Compare two releases; exit 1 where B is worse in something."""
        from vestige.packet.diff import diff as diff_packets

        found = diff_packets(a, b)
        if json:
            typer.echo(found.model_dump_json(indent=1))
        else:
            say(found.statement)
            for change in found.changes:
                if change.direction != "same":
                    say(f"{change.direction.replace('_', ' '):<15}{change.what}: {change.a} -> {change.b}")
            for reason in found.reasons:
                say(f"not comparable: {reason}")
        if any(change.direction == "worse" for change in found.changes):
            raise typer.Exit(1)

    @packet.command()
    @guarded
    def sign(
        packet: Annotated[
            Path, typer.Argument(metavar="PACKET", help="A packet's folder.", show_default=False)
        ],
        key: Annotated[Path, typer.Option("--key", help="Ed25519 private key file.", show_default=False)],
    ) -> None:
        """Sign a packet that was sealed without a signature."""
        from vestige.packet.sign import sign as sign_packet

        say(f"signed by {sign_packet(packet, key)}")

    @packet.command()
    @guarded
    def decrypt(
        packet: Annotated[
            Path, typer.Argument(metavar="PACKET", help="A packet's folder.", show_default=False)
        ],
        identity: Annotated[
            Path, typer.Option("--identity", help="X25519 private key file.", show_default=False)
        ],
    ) -> None:
        """Open the restricted part of a packet that was encrypted to you."""
        from vestige.packet.encrypt import decrypt as open_packet

        say(f"restricted part: {open_packet(packet, identity)}")

    @packet.command()
    @guarded
    def keygen(
        kind: Annotated[
            Literal["sign", "encrypt"],
            typer.Argument(help="sign: an Ed25519 pair; encrypt: an X25519 pair.", show_default=False),
        ],
        path: Annotated[
            Path,
            typer.Argument(
                help="Private key file to make; the public one goes beside it.", show_default=False
            ),
        ],
    ) -> None:
        """Make a key pair."""
        from vestige.packet.keys import keygen as make_keys

        say(f"public key: {make_keys(kind, path)}")
