"""Keeps docs/rules/ true: a page for each class, as `triage rules show CLASS` prints it, and an index. `make docs` rewrites them."""

from __future__ import annotations

from pathlib import Path

from triage.knowledge.load import load
from triage.report.rule_page import class_page, index_page

FOLDER = Path(__file__).resolve().parent / "rules"


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    known = load()
    return {"README.md": index_page(known), **{f"{name}.md": class_page(fault, known) for name, fault in known.classes.items()}}


def rewritten() -> list[Path]:
    """Writes the pages that are not there or not current, deletes those of classes that are gone, and says which."""
    FOLDER.mkdir(exist_ok=True)
    wanted = {FOLDER / name: text for name, text in pages().items()}
    changed = [page for page, text in wanted.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    for page in changed:
        page.write_text(wanted[page], encoding="utf-8")
    gone = [page for page in FOLDER.glob("*.md") if page not in wanted]
    for page in gone:
        page.unlink()
    return changed + gone
