"""JSON texts that say of what kind and version they are."""

from __future__ import annotations

from opbench.cases.errors import ArgumentError
from opbench.results.encoding import Document, RecordError, parse


def document_of(text: str, kind: str, version: int, what: str) -> Document:
    """The object in a text, which must be of this kind (`what`, in words) and version."""
    try:
        document = parse(text)
    except RecordError as error:
        raise ArgumentError(f"text {error}") from None
    if document.get("kind") != kind:
        raise ArgumentError(f"text must be {what} with the kind {kind!r}, not {document.get('kind')!r}")
    if document.get("version") != version:
        raise ArgumentError(f"text has version {document.get('version')!r}; this opbench reads {version}")
    return document
