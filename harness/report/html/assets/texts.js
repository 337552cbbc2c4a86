/* The page's data, and its texts: a string, or the beginning, the end and the full size of what was cut. */

let parsed = null;

function data() {
  if (parsed === null) parsed = JSON.parse(document.getElementById("data").textContent);
  return parsed;
}

function text(number) {
  const found = data().texts[number];
  return typeof found === "string" ? { head: found, tail: "", size: found.length } : { head: found[0], tail: found[1], size: found[2] };
}

/* A text on one line, for a summary. */
function brief(number, limit) {
  const line = text(number).head.replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}

function pre(content, label) {
  const long = content.length > 1500 || content.split("\n").length > 22;
  return el("pre", long ? { tabindex: "0", role: "region", "aria-label": label } : null, content);
}

/* A text as a block; JSON is laid out, and what was cut says so. */
function block(number, label, plain) {
  const found = text(number);
  if (found.tail) {
    const shown = found.head.length + found.tail.length;
    return el("div", { class: "block" },
      pre(found.head, `${label}, its beginning`),
      el("p", { class: "cut" }, `… ${counted(found.size - shown, "character")} of ${grouped(found.size)} left out here …`),
      pre(found.tail, `${label}, its end`));
  }
  if (found.head === "") return el("p", { class: "empty" }, "(nothing)");
  return el("div", { class: "block" }, pre(plain ? found.head : laidOut(found.head) || found.head, label));
}
