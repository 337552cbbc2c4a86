/* Two texts as one list of lines: same, gone, new; within a pair of changed lines, what changed is marked. */

const MOST_LINES = 400;

function lineDifferences(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const middle = between(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (line) => [" ", line];
  return [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
}

function between(old, now) {
  if (old.length > MOST_LINES || now.length > MOST_LINES) {
    return [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
  }
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i][j] = old[i] === now[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const found = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push([" ", old[i]]);
      i += 1;
      j += 1;
    } else if (i < old.length && (j === now.length || common[i + 1][j] >= common[i][j + 1])) {
      found.push(["-", old[i]]);
      i += 1;
    } else {
      found.push(["+", now[j]]);
      j += 1;
    }
  }
  return found;
}

function marked(line, other) {
  let start = 0;
  while (start < line.length && start < other.length && line[start] === other[start]) start += 1;
  let end = 0;
  while (end < line.length - start && end < other.length - start && line[line.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  if (start === 0 && end === 0) return [line];
  return [line.slice(0, start), el("mark", null, line.slice(start, line.length - end)), line.slice(line.length - end)];
}

/* Long stretches of equal lines are folded to the few around a change. */
function differenceView(before, after, names) {
  const lines = lineDifferences(before, after);
  const near = new Set();
  lines.forEach(([sign], at) => {
    if (sign !== " ") for (let n = at - 3; n <= at + 3; n += 1) near.add(n);
  });
  const rows = [];
  let folded = 0;
  const unfold = () => {
    if (folded) rows.push(el("span", { class: "fold" }, `  … ${counted(folded, "line")} the same\n`));
    folded = 0;
  };
  lines.forEach(([sign, line], at) => {
    if (!near.has(at)) {
      folded += 1;
      return;
    }
    unfold();
    const other = sign === "-" ? lines[at + 1] : sign === "+" ? lines[at - 1] : null;
    const paired = other && other[0] === (sign === "-" ? "+" : "-");
    const kind = sign === "-" ? "gone" : sign === "+" ? "new" : "same";
    rows.push(el("span", { class: kind }, `${sign} `, paired ? marked(line, other[1]) : line, "\n"));
  });
  unfold();
  return el("div", { class: "difference" },
    el("p", { class: "names" }, el("span", { class: "gone" }, `- ${names[0]}`), " ", el("span", { class: "new" }, `+ ${names[1]}`)),
    el("pre", { tabindex: "0", role: "region", "aria-label": `difference of ${names[0]} and ${names[1]}` }, rows));
}

function whole(number) {
  const found = text(number);
  const shown = found.tail ? `${found.head}\n… ${grouped(found.size)} characters in all …\n${found.tail}` : found.head;
  return laidOut(shown) || shown;
}

/* Lines that are a diff already, as a miss has them. */
function colouredLines(source) {
  const rows = source.split("\n").map((line) => {
    const kind = /^\s*(-(?!-)|recorded:)/.test(line) ? "gone" : /^\s*(\+(?!\+)|now:)/.test(line) ? "new" : "same";
    return el("span", { class: kind }, `${line}\n`);
  });
  return el("pre", { class: "difference" }, rows);
}
