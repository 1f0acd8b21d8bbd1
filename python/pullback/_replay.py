"""Pages that play a motion."""

from __future__ import annotations

import html
import os
from pathlib import Path


class Replay:
    """A page, complete in itself, that plays a motion in a browser and inline in a notebook."""

    def __init__(self, page: str) -> None:
        #: The page as HTML.
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; its path."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        # A frame of its own, so that scripts and styles of the page and of the notebook do not meet.
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="480" style="border:0" allowfullscreen></iframe>'

    def __repr__(self) -> str:
        return f"<pullback.Replay of {len(self.html) // 1024} KiB; save(path) writes it>"
