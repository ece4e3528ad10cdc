"""The page in a real browser, offline: what it shows, filters, opens by mouse and by keys, prints, and that it asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, Tab, chromium
from tests.report.postmortem.made import START, many, page, verdict, weeks
from tests.report.postmortem.made import findings as made
from triage.model import Coverage, Gap
from triage.report.postmortem.given import Mitigation, Rung, Trial

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

VISIBLE = "[...document.querySelectorAll('{}')].filter(e => e.getClientRects().length).length"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("page") / "weeks.html", page(weeks()))


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def nothing_was_asked_or_said(tab: Tab) -> Iterator[None]:
    yield
    assert {url.partition(":")[0] for url in tab.requests} <= {"file", "data"}
    assert not tab.complaints


def count(tab: Tab, selector: str) -> int:
    return int(tab.value(VISIBLE.format(selector)))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_shows_seventeen_incidents_and_fits_the_window(tab: Tab, file: Path, width: int, dark: bool) -> None:
    tab.open(file, width=width, dark=dark)
    assert count(tab, ".card") == 17
    assert count(tab, "#raster .m") == 17
    assert tab.value("document.documentElement.scrollWidth") == width
    outside = "(e => { const r = e.getBoundingClientRect(); return r.width && (r.left < 0 || r.right > innerWidth) })"
    assert tab.value(f"[...document.querySelectorAll('.plot text')].filter({outside}).map(e => e.textContent)") == []


def test_a_class_can_be_filtered_out_of_everything(tab: Tab, file: Path) -> None:
    tab.open(file)
    tab.value("document.querySelector('#filter input').click()")
    assert count(tab, ".card") == count(tab, "#raster .m") == count(tab, "#deaths .m") == 8
    assert tab.value("document.getElementById('shown').textContent") == "8 shown"
    assert count(tab, "article.class") == 2
    tab.value("document.getElementById('all').click()")
    assert count(tab, ".card") == 17


def test_hovering_tells_and_clicking_opens_the_card(tab: Tab, file: Path) -> None:
    tab.open(file)
    tab.value("document.querySelector('#deaths .m').scrollIntoView({block: 'center', behavior: 'instant'})")
    name = tab.value("document.querySelector('#deaths .m').getAttribute('href').slice(3)")
    x, y = tab.value("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('#deaths .m').getBoundingClientRect())")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    told = tab.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    assert told.startswith("cublas-fault · 2026-11-12 13:30 UTC\ndied after 92 s · dump absent · probe refused · down ")
    assert told.endswith(name)
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    tab.settle()
    assert tab.value("[...document.querySelectorAll('.card')].filter(c => c.open).map(c => c.querySelector('code').textContent)") == [name]


def test_the_keyboard_goes_from_mark_to_mark_and_opens_a_card(tab: Tab, file: Path) -> None:
    tab.open(file)
    tab.value("document.querySelector('#raster .m[tabindex=\"0\"]').focus()")
    first = tab.value("document.activeElement.getAttribute('aria-label')")
    tab.press("ArrowRight")
    second = tab.value("document.activeElement.getAttribute('aria-label')")
    assert first.startswith("cublas-fault, 2026-11-12 13:30")
    assert second.startswith("cublas-fault, 2026-11-13 03:00")
    assert not tab.value("document.getElementById('tip').hidden")
    tab.press("Escape")
    assert tab.value("document.getElementById('tip').hidden")
    tab.press("End")
    assert tab.value("document.activeElement.getAttribute('aria-label')").startswith("triton-fault, 2026-11-27")
    tab.press("Enter")
    tab.settle()
    assert tab.value("document.querySelector('.card[open] b').textContent") == "triton-fault"
    assert tab.value("document.activeElement.tagName") == "SUMMARY"


def test_a_link_to_a_class_that_was_filtered_out_brings_it_back(tab: Tab, file: Path) -> None:
    tab.open(file)
    tab.value("document.querySelector('#filter input').click()")
    tab.value("location.hash = document.querySelector('.card .body').id")
    tab.settle()
    assert count(tab, ".card") == 17
    assert count(tab, ".card[open]") == 1


def test_without_script_the_page_still_tells_everything(tab: Tab, file: Path) -> None:
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(file)
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert count(tab, ".card") == 17
    assert count(tab, "#filter") == count(tab, "#theme") == 0


def test_the_switch_goes_between_dark_and_light(tab: Tab, file: Path) -> None:
    tab.open(file)
    before = tab.value("getComputedStyle(document.body).backgroundColor")
    tab.value("document.getElementById('theme').click()")
    assert tab.value("getComputedStyle(document.body).backgroundColor") != before
    tab.value("document.getElementById('theme').click()")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == before


def test_print_is_light_shows_every_card_in_full_and_no_controls(tab: Tab, file: Path, tmp_path: Path) -> None:
    tab.open(file, dark=True)
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert count(tab, "#filter") == count(tab, "nav") == count(tab, ".hint") == 0
    tab.call("Emulation.setEmulatedMedia", media="")
    tab.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert tab.value("[...document.querySelectorAll('.card')].every(c => c.open)")


def test_everything_that_can_be_drawn_is_drawn(tab: Tab, tmp_path: Path) -> None:
    found = made(*(verdict(n, config={"args": f"{{'x': {n // 3}}}"}) for n in range(9)),
                 coverage=Coverage(start=START - 86400, end=START + 2 * 86400, gaps=(Gap(START + 86400, START + 90000, "probe"),)))  # fmt: skip
    measure = Mitigation(name="m", fault_class="cublas-fault", status="refuted", claimed=START, since=START + 3600, refuted=START + 90000)
    rungs = (Rung(build="a", setting="0.95", margin_mib=-3, failed=1), Rung(build="a", setting="0.94", margin_mib=174, passed=2))
    trial = Trial(name="t", rungs=rungs)
    tab.open(_written(tmp_path / "all.html", page(found, mitigations=(measure,), trials=(trial,))))
    assert count(tab, "#raster .epoch") == 3
    assert count(tab, "#raster .gap") == 1
    assert count(tab, "#raster .step") == 3
    assert count(tab, ".rung") == 2


def test_hostile_text_runs_nothing(tab: Tab, tmp_path: Path) -> None:
    bad = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'><svg onload='window.hit=1'>javascript:window.hit=1"
    tab.open(_written(tmp_path / "bad.html", page(made(verdict(1, text=bad, host=bad, file=bad, engine=bad)), title=bad)))
    tab.settle()
    assert tab.value("window.hit") is None


def test_five_thousand_incidents_are_shown_filtered_and_opened(tab: Tab, tmp_path: Path) -> None:
    tab.open(_written(tmp_path / "many.html", page(many(5000))))
    assert tab.value("document.querySelectorAll('.card').length") == 5000
    tab.value("document.querySelector('#filter input').click()")
    shown = tab.value("document.getElementById('shown').textContent")
    assert shown == "2,352 shown"
    tab.value("document.getElementById('all').click()")
    tab.value("location.hash = '#i-00001387'")
    tab.settle()
    assert tab.value("document.querySelector('.card[open] code').textContent") == "00001387"
    tab.value("document.querySelector('#growth .m[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    assert "died after" in tab.value("document.activeElement.getAttribute('aria-label')")
