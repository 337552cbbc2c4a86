"""The page in a real browser: what is drawn, what the keys do, and that nothing hostile or foreign happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.html.comparison import comparison_of
from harness.report.html.page import render_page
from tests.report.html.browser import Browser, find_browser, running_browser
from tests.report.html.runs import HOSTILE, saved_cases
from tests.report.html.test_comparison import CONTRACT

SHOWN = "[...document.querySelectorAll('tr.case')].filter(row => !row.hidden).map(row => row.id)"
FOCUS = "(document.activeElement.closest('tr.case') || {}).id"
# WCAG 2: relative luminance, and the contrast of every text with the first opaque colour behind it.
CONTRASTS = """
(() => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const shown = walker.currentNode.data.trim() && element.checkVisibility();
    if (!shown || element.closest('svg, script, style, mark')) continue;
    const [one, other] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${element.className} ${walker.currentNode.data.slice(0, 40)}`);
  }
  return low;
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium is installed")
    with running_browser(program, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    """The page of hostile cases and a comparison, open; at the end it must have neither complained nor asked."""
    yield opened(browser, tmp_path, "")
    assert browser.problems == []
    assert all(url.startswith("file:") for url in browser.requests)
    assert browser.value("window.hacked") is None


def opened(browser: Browser, folder: Path, fragment: str) -> Browser:
    path = folder / "report.html"
    html = render_page(saved_cases(folder, HOSTILE), "Nightly", comparison_of(CONTRACT)).html
    path.write_text(html, "utf-8")
    browser.problems.clear()
    browser.requests.clear()
    browser.screen(1200)
    browser.open(path, fragment)
    return browser


def open_everything(page: Browser) -> None:
    page.value("document.querySelectorAll('button.open[aria-expanded=false]').forEach(button => button.click())")
    page.value("document.querySelectorAll('button.every').forEach(button => button.click())")
    page.value("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.wait_for("[...document.querySelectorAll('details.call')].every(call => call.querySelector('pre'))")


def test_a_case_opens_and_shows_its_run(page: Browser) -> None:
    page.value("document.querySelector('#case-0 button.open').click()")
    behind = "document.querySelector('#case-0').nextElementSibling"
    assert page.value(f"{behind}.classList.contains('behind-row') && !{behind}.hidden")
    assert page.value(f"{behind}.querySelectorAll('li.step').length") == 2
    assert page.value(f"{behind}.querySelector('.batch.together').querySelectorAll('details.call').length") == 2
    assert "side by side" in page.value(f"{behind}.querySelector('.batch.together').textContent")
    assert page.value(f"{behind}.querySelectorAll('svg').length") == 2
    assert page.value(f"[...{behind}.querySelectorAll('.drift .gone')].pop().textContent") == "- old line\n"
    assert page.value(f"[...{behind}.querySelectorAll('.drift .new')].pop().textContent") == "+ new line\n"
    page.value("document.querySelector('#case-0 button.open').click()")
    assert page.value(f"{behind}.hidden")


def test_a_call_shows_arguments_digit_by_digit_gates_truncation_and_result(page: Browser) -> None:
    page.value("document.querySelector('#case-0 button.open').click()")
    open_everything(page)
    calls = page.value("[...document.querySelectorAll('#case-0 + tr details.call')].map(call => call.textContent)")
    assert '{\n  "path": "file1.txt",\n  "limit": 12345678901234567890\n}' in calls[0]
    assert "path: file1.txt, limit: 12345678901234567890" in calls[0]
    assert "permission allow: reads" in calls[0]
    assert "60,000 bytes, sent 51,200" in calls[1]
    assert '"content": "one\\n\n      two\\n"' in calls[1]
    assert "ACCESS_DENIED" in calls[2]
    assert "refused before" in calls[2]


def test_a_hostile_tool_result_does_nothing(page: Browser) -> None:
    open_everything(page)
    assert page.value("window.hacked") is None
    assert page.value("document.querySelectorAll('img').length") == 0
    shown = page.value("document.querySelector('#case-0 + tr').textContent")
    assert '</script><script>window.hacked=1;alert(1)</script><img src=x onerror="window.hacked=1">' in shown
    assert "\u202e" not in shown


def test_filters_narrow_the_table(page: Browser) -> None:
    assert page.value(SHOWN) == ["case-1", "case-2", "case-0"]
    change = """(id, value) => {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event('input', {bubbles: true}));
    }"""
    page.value(f"({change})('tag', \"it's\")")
    assert page.value(SHOWN) == ["case-0"]
    page.value(f"({change})('tag', '')")
    page.value(f"({change})('model', 'other')")
    assert page.value(SHOWN) == ["case-1"]
    page.value(f"({change})('model', '')")
    page.value("document.querySelector('input[value=FAIL]').click()")
    assert page.value(SHOWN) == ["case-2", "case-0"]
    page.value(f"({change})('search', 'CASSETTE broken')")
    assert page.value(SHOWN) == ["case-2"]
    assert page.value("document.getElementById('shown').textContent") == "1 of 3 cases shown"
    page.value(f"({change})('search', 'nothing like it')")
    assert page.value("document.getElementById('none').checkVisibility()")
    page.value("document.getElementById('reset').click()")
    assert page.value(SHOWN) == ["case-1", "case-2", "case-0"]


def test_everything_works_from_the_keyboard(page: Browser) -> None:
    page.press("Tab")
    assert page.value("document.activeElement.className") == "skip"
    page.press("j")
    assert page.value(FOCUS) == "case-1"
    page.press("j")
    page.press("j")
    page.press("j")
    assert page.value(FOCUS) == "case-0"
    page.press("k")
    assert page.value(FOCUS) == "case-2"
    page.press("k")
    page.press("Enter")
    assert page.value("document.querySelector('#case-1 button').getAttribute('aria-expanded')") == "true"
    page.press("Tab")
    assert page.value("document.activeElement.className") == "every"
    page.press("Escape")
    assert page.value("document.querySelector('#case-1 button').getAttribute('aria-expanded')") == "false"
    page.press("/")
    assert page.value("document.activeElement.id") == "search"
    page.write("jk good")
    assert page.value(SHOWN) == []
    page.press("Escape")
    assert page.value(SHOWN) == ["case-1", "case-2", "case-0"]


def test_a_link_leads_to_its_case(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, "#case-0")
    browser.wait_for(f"{FOCUS} === 'case-0'")
    assert browser.value("document.querySelector('#case-0 button').getAttribute('aria-expanded')") == "true"
    assert browser.problems == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_can_be_read_in_both_themes(page: Browser, theme: str) -> None:
    page.screen(1200, theme=theme)
    open_everything(page)
    dark = page.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (theme == "dark")
    assert page.value(CONTRASTS) == []
    page.value("document.getElementById('theme').click()")
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    page.value("document.getElementById('theme').click()")
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.value(CONTRASTS) == []


@pytest.mark.parametrize("width", [360, 768, 880, 1200])
def test_the_page_is_never_wider_than_the_screen(page: Browser, width: int) -> None:
    page.screen(width)
    open_everything(page)
    assert page.value("document.documentElement.scrollWidth") == width


def test_everything_that_can_be_reached_has_a_name(page: Browser) -> None:
    open_everything(page)
    unnamed = page.value(
        """[...document.querySelectorAll('button, a, input, select, summary, [tabindex="0"], [role=img], table th')]
        .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels || []).length
          || document.getElementById(e.getAttribute('aria-labelledby'))))
        .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    identities = page.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(identities) == len(set(identities))
    assert page.value("document.querySelectorAll('main, header, footer, nav').length") == 4
