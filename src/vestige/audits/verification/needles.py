"""What a forensic scan found, by the labels of what it looked for: it records no text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vestige.audits.verification.looking import Look
from vestige.audits.verification.settings import TargetKind, VerificationSettings

__all__ = ["foreign_conditions", "needles_found"]

_FORMS = {"verbatim": None, "lower": "case", "base64": "base64", "hex": "hex", "reversed": "reversed"}
"""The normalisation that must have been declared for a needle's form to count."""


def needles_found(
    found: Mapping[str, int], kinds: Iterable[TargetKind], settings: VerificationSettings
) -> list[Look]:
    """The arm's own targets among the labels `TARGETKIND:FORM`, in the nearest form that counts.

    Occurrences of the request's own words (`request:TARGETKIND`) are taken off.
    """
    out: list[Look] = []
    for kind in sorted(kinds):
        if kind == "preference" and settings.fixture == "correlated":
            continue  # what is kept names the option too
        echoed = found.get(f"request:{kind}", 0)
        for form, needed in _FORMS.items():
            if needed is not None and needed not in settings.observer.normalisations:
                continue
            count = found.get(f"{kind}:{form}", 0) - echoed
            if count > 0:
                out.append(Look(kind, needed or "verbatim", "confirmed", count))
                break
    return out


def foreign_conditions(found: Mapping[str, int], *, exposed: bool) -> list[str]:
    """Conditions whose nonce was found though it is not the arm's own.

    An arm that never saw a nonce looks for that of exposed_removed under the label of its own.
    """
    others = {label.partition(":")[2] for label in found if label.startswith("foreign:") and found[label] > 0}
    if not exposed and any(label.startswith("nonce:") and found[label] > 0 for label in found):
        others.add("exposed_removed")
    return sorted(others)
