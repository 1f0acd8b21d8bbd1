"""Python blocks of the pages of ``docs/guide``, in order: those of a page are one program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
NEEDS = {"gymnasium.md": "gymnasium", "mujoco.md": "mujoco"}

PAGES = sorted(GUIDE.glob("*.md"))


def test_the_guide_has_pages_of_code() -> None:
    assert len(PAGES) >= 3 and all("```python\n" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name])
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "guide"}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        # Lines of errors are those of the page.
        above = text.count("\n", 0, block.start(1))
        exec(compile("\n" * above + block.group(1), str(page), "exec"), names)
