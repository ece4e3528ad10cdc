"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const tip = find("tip"), filter = find("filter"), shown = find("shown"), theme = find("theme");

  // The card of a mark: its row tells what hovering shows.
  const cardOf = (mark) => find(decodeURIComponent(mark.getAttribute("href").slice(1)))?.closest("details");
  const NAMES = ["", "", "", "died after ", "dump ", "probe ", "down "];
  const told = (card) => {
    const cells = [...card.querySelector("summary").children].map((cell) => cell.textContent);
    const rest = cells.map((text, at) => (at > 2 && text !== "-" ? NAMES[at] + text : "")).filter(Boolean);
    return `${cells[2]} · ${cells[1]} UTC\n${rest.join(" · ")}\n${cells[0]}`;
  };
  const name = (mark) => {
    const card = mark.hasAttribute("aria-label") ? null : cardOf(mark);
    if (card) mark.setAttribute("aria-label", told(card).replaceAll("\n", ", "));
  };
  const show = (mark) => {
    const card = cardOf(mark);
    if (!card) return;
    tip.textContent = told(card);
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    const left = Math.min(Math.max(8, at.left + at.width / 2 - tip.offsetWidth / 2), wide - tip.offsetWidth - 8);
    const above = at.top - tip.offsetHeight - 10;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : at.bottom + 10) + scrollY}px`;
  };
  const hide = () => { tip.hidden = true; };
  const markAt = (event) => event.target.closest?.(".m");
  document.addEventListener("pointerover", (event) => { const mark = markAt(event); mark ? show(mark) : hide(); });
  document.addEventListener("focusin", (event) => { const mark = markAt(event); mark ? show(mark) : hide(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // Arrow keys go from mark to mark of one plot; Tab goes on to what follows the plot.
  const STEP = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  document.addEventListener("keydown", (event) => {
    const mark = markAt(event);
    if (!mark || !(event.key in STEP || event.key === "Home" || event.key === "End")) return;
    event.preventDefault();
    const marks = [...mark.closest("svg.plot").querySelectorAll(".m")].filter((other) => other.getClientRects().length);
    const at = marks.indexOf(mark);
    const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : Math.min(marks.length - 1, Math.max(0, at + STEP[event.key]));
    mark.tabIndex = -1;
    marks[next].tabIndex = 0;
    name(marks[next]);
    marks[next].focus({ preventScroll: true });
  });

  // A link to an incident opens its card, and its class if that was filtered out.
  const open = () => {
    const body = location.hash.startsWith("#i-") && find(decodeURIComponent(location.hash.slice(1)));
    if (!body) return;
    const card = body.closest("details"), lane = [...card.classList].find((name) => /^k\d+$/.test(name)).slice(1);
    const box = filter.querySelector(`input[value="${lane}"]`);
    if (box && !box.checked) { box.checked = true; apply(); }
    card.open = true;
    card.scrollIntoView({ block: "center" });
    card.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#i-"]');
    if (link && (link.getAttribute("href")) === location.hash) { event.preventDefault(); open(); }
  });

  // One style sheet hides the classes that are not wanted, however many marks and cards there are.
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  const boxes = [...filter.querySelectorAll("input")];
  const apply = () => {
    const off = boxes.filter((box) => !box.checked).map((box) => box.value);
    while (sheet.cssRules.length) sheet.deleteRule(0);
    if (off.length) sheet.insertRule(`${off.map((lane) => `.k${lane}`).join()}{display:none!important}`);
    const count = boxes.filter((box) => box.checked).reduce((sum, box) => sum + Number(box.parentElement.querySelector("b").textContent.replaceAll(",", "")), 0);
    shown.textContent = off.length ? `${count.toLocaleString("en")} shown` : "";
    for (const plot of document.querySelectorAll("svg.plot")) {
      const marks = [...plot.querySelectorAll(".m")];
      const reachable = marks.find((mark) => mark.getClientRects().length);
      for (const mark of marks) mark.tabIndex = mark === reachable ? 0 : -1;
      if (reachable) name(reachable);
    }
  };
  filter.addEventListener("change", apply);
  filter.addEventListener("submit", (event) => event.preventDefault());
  find("all").addEventListener("click", () => { for (const box of boxes) box.checked = true; apply(); });
  filter.hidden = boxes.length < 2;

  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  addEventListener("beforeprint", () => { if (document.body.classList.contains("few")) for (const card of document.querySelectorAll(".card")) card.open = true; });
  open();
})();
