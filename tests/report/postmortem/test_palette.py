"""Every pair of colours that meet on the page has the contrast that WCAG 2 AA asks for."""

from __future__ import annotations

import pytest

from triage.report.postmortem.palette import DARK, LIGHT

TEXT, GRAPHIC = 4.5, 3.0
TEXTS = [(ink, ground) for ground in ("ground", "raised") for ink in ("ink", "soft", "muted", "link", "bad", "good")]
HEAT = [("ink", "h1"), ("ink", "h2"), ("ink", "h3"), ("on-heat", "h4"), ("on-heat", "h5")]
ON_SHADE = [("muted", "shade"), ("ink", "shade"), ("ground", "ink"), *HEAT]
LANES = [(f"c{n}", ground) for n in range(8) for ground in ("ground", "raised", "shade")]
MARKS = [*LANES, ("edge", "raised"), ("edge", "ground"), ("soft", "shade")]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_itself() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(colours: dict[str, str]) -> None:
    poor = [(a, b, round(contrast(colours[a], colours[b]), 2)) for a, b in TEXTS + ON_SHADE if contrast(colours[a], colours[b]) < TEXT]
    faint = [(a, b, round(contrast(colours[a], colours[b]), 2)) for a, b in MARKS if contrast(colours[a], colours[b]) < GRAPHIC]
    assert not poor
    assert not faint


def test_both_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()
