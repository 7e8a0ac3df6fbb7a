"""Storage forensics: what of a value is still on disk, in which form, where, and how near it is."""

from __future__ import annotations

from vestige.channels.storage.look import Limits
from vestige.channels.storage.results import Control, FileRead, ScanHit, ScanResult, Sighting
from vestige.channels.storage.scan import control_of, scan_storage

__all__ = [
    "Control",
    "FileRead",
    "Limits",
    "ScanHit",
    "ScanResult",
    "Sighting",
    "control_of",
    "scan_storage",
]
