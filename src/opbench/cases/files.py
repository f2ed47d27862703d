"""Files that fills name: they stay in the suite's folder, and their content is part of the case."""

from __future__ import annotations

import hashlib
from pathlib import Path

_CHUNK_BYTES = 1 << 20


class FileHasher:
    """Gives the SHA-256 of a file by its path in a folder; ValueError when there is no such file in there."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        # A suite may name one file in thousands of cases.
        self._known: dict[tuple[str, int, int], str] = {}

    def __call__(self, path: str) -> str:
        """The SHA-256 of a file, in hexadecimal digits."""
        try:
            found = (self._folder / path).resolve(strict=True)
            # A link may lead out of the folder where the path does not.
            if not found.is_relative_to(self._folder.resolve()):
                raise ValueError("the path must stay in the suite's folder")
            if not found.is_file():
                raise ValueError("this is not a file")
            status = found.stat()
            key = (str(found), status.st_size, status.st_mtime_ns)
            if key not in self._known:
                self._known[key] = _sha256(found)
            return self._known[key]
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "its links lead nowhere"
            raise ValueError(f"the file cannot be read ({reason})") from None


def _sha256(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            state.update(chunk)
    return state.hexdigest()
