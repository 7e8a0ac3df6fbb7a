"""What the sessions of a run are called, by the SHA-256 under which the plan names them."""

from __future__ import annotations

from pydantic import ValidationError

from vestige.errors import IntegrityError, complaint
from vestige.records import Session
from vestige.runs.folder import RunFolder

__all__ = ["SessionIds"]


class SessionIds:
    """Ids of sessions by their blob, each read once."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._ids: dict[str, str] = {}

    def of(self, blob: str) -> str:
        """How the agent knows the session.

        Raises:
            IntegrityError: The blob is not there, or is no session.
        """
        if blob not in self._ids:
            try:
                self._ids[blob] = Session.model_validate_json(self._folder.get_blob(blob)).id
            except ValidationError as error:
                raise IntegrityError(f"blob {blob[:12]}… is not a session: {complaint(error)}") from None
        return self._ids[blob]
