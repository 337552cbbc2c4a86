/* The table of cases: opening, filtering, keys; and the theme. */

function toggleCase(row, wanted) {
  const button = row.querySelector("button.open");
  const next = row.nextElementSibling;
  let drawn = next && next.classList.contains("behind-row") ? next : null;
  const open = wanted === undefined ? button.getAttribute("aria-expanded") !== "true" : wanted;
  if (open && !drawn) {
    drawn = el("tr", { class: "behind-row" }, el("td", { colspan: "7" }, caseView(Number(row.id.slice("case-".length)))));
    row.after(drawn);
  }
  button.setAttribute("aria-expanded", String(open));
  if (drawn) drawn.hidden = !open;
}

function rows() {
  return [...document.querySelectorAll("tr.case")];
}

function chosen(id) {
  const select = document.getElementById(id);
  return select ? select.value : "";
}

function applyFilter() {
  const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdicts = new Set([...document.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
  const [tag, model, kind] = ["tag", "model", "kind"].map(chosen);
  const all = rows();
  let shown = 0;
  all.forEach((row) => {
    const content = row.textContent.toLowerCase();
    const fits = verdicts.has(row.dataset.verdict) && (!tag || JSON.parse(row.dataset.tags).includes(tag)) &&
      (!model || row.dataset.model === model) && (!kind || row.dataset.kind === kind) && words.every((word) => content.includes(word));
    row.hidden = !fits;
    const next = row.nextElementSibling;
    if (next && next.classList.contains("behind-row")) next.hidden = !fits || row.querySelector("button.open").getAttribute("aria-expanded") !== "true";
    shown += fits ? 1 : 0;
  });
  document.getElementById("shown").textContent = `${shown} of ${counted(all.length, "case")} shown`;
  document.getElementById("none").hidden = shown > 0;
}

function resetFilter() {
  document.getElementById("filters").reset();
  applyFilter();
}

function moveFocus(by) {
  const open = rows().filter((row) => !row.hidden);
  if (!open.length) return;
  const active = document.activeElement;
  let row = active.closest("tr.case") || (active.closest("tr.behind-row") || {}).previousElementSibling;
  const at = open.indexOf(row);
  const next = open[at === -1 ? 0 : Math.min(Math.max(at + by, 0), open.length - 1)];
  next.querySelector("button.open").focus();
  next.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("search");
  if (event.key === "Escape") {
    if (document.activeElement === search) {
      resetFilter();
      search.blur();
      return;
    }
    const inside = document.activeElement.closest("tr.behind-row");
    const row = inside ? inside.previousElementSibling : document.activeElement.closest("tr.case");
    if (row) {
      toggleCase(row, false);
      row.querySelector("button.open").focus();
    }
    return;
  }
  if (document.activeElement.closest("input, select, textarea")) return;
  if (event.key === "j" || event.key === "k") moveFocus(event.key === "j" ? 1 : -1);
  else if (event.key === "/") search.focus();
  else return;
  event.preventDefault();
}

function followHash() {
  const found = /^#case-(\d+)$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
  if (!found) return;
  if (found.hidden) resetFilter();
  toggleCase(found, true);
  found.scrollIntoView();
  found.querySelector("button.open").focus({ preventScroll: true });
}

function nextTheme() {
  const themes = ["automatic", "dark", "light"];
  const root = document.documentElement;
  const next = themes[(themes.indexOf(root.dataset.theme || "automatic") + 1) % themes.length];
  if (next === "automatic") delete root.dataset.theme;
  else root.dataset.theme = next;
  document.getElementById("theme").textContent = `Theme: ${next}`;
}

document.getElementById("theme").addEventListener("click", nextTheme);

if (document.getElementById("filters")) {
  document.querySelector("table.cases").addEventListener("click", (event) => {
    const button = event.target.closest("button.open");
    if (button) toggleCase(button.closest("tr.case"));
  });
  document.getElementById("filters").addEventListener("input", applyFilter);
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("reset").addEventListener("click", resetFilter);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followHash);
  applyFilter();
  // Behind the browser's own move to the place, which takes the focus away.
  window.addEventListener("load", () => setTimeout(followHash));
}
