/* Pictures of a lane: its calls in the order of their batches, and the tokens of its prompts. */

const KINDS = ["system", "tools", "user", "assistant", "results", "rest"];
const KIND_NAMES = ["system prompt", "tool schemas", "user", "assistant", "tool results", "rest"];

function statusOf(call) {
  if (call.status === "success") return "good";
  if (call.status === "partial") return "partial";
  if (call.executed === false) return "refused";
  return call.status === "error" ? "bad" : "unknown";
}

/* A column a batch, left to right in their order; calls of one column ran side by side. */
function batchPicture(lane, open) {
  const row = 20;
  const column = 26;
  let x = 8;
  let most = 1;
  const shapes = [];
  lane.steps.forEach((step, number) => {
    const batches = step.batches || [];
    const width = Math.max(1, batches.length) * column + 22;
    most = Math.max(most, ...batches.map(([, calls]) => calls.length));
    shapes.push(svg("text", { class: "tick", x: x + 4, y: 11 }, String(number + 1)));
    const turn = svg("circle", { class: step.error ? "turn bad" : "turn", cx: x + 8, cy: 26, r: 5 });
    turn.append(svg("title", null, `step ${number + 1}: the model ${step.calls ? `asks for ${counted(step.calls.length, "call")}` : step.error ? "gave no usable answer" : "answers"}`));
    turn.addEventListener("click", () => open(number, null));
    shapes.push(turn);
    batches.forEach(([together, calls], batch) => {
      const left = x + 20 + batch * column;
      if (calls.length > 1) {
        shapes.push(svg("rect", { class: together ? "together" : "apart", x: left - 3, y: 16, width: column - 2, height: calls.length * row + 4, rx: 4 }));
      }
      calls.forEach((position, place) => {
        const call = step.calls[position];
        const y = 18 + place * row;
        const kind = statusOf(call);
        const mark = { good: "", partial: "~", refused: "–", bad: "×", unknown: "?" }[kind];
        const shape = svg("g", { class: `mark ${kind}` },
          svg("title", null, `step ${number + 1}: ${call.name}, ${call.code || call.status}`),
          svg("rect", { x: left, y, width: column - 8, height: row - 4, rx: 3 }),
          svg("text", { x: left + (column - 8) / 2, y: y + 12, "text-anchor": "middle" }, mark));
        shape.addEventListener("click", () => open(number, position));
        shapes.push(shape);
      });
    });
    shapes.push(svg("line", { class: "grid", x1: x + width - 4, x2: x + width - 4, y1: 2, y2: 1000 }));
    x += width;
  });
  const height = 18 + most * row + 4;
  const label = `${counted(lane.steps.length, "step")}; at most ${counted(most, "call")} side by side`;
  return el("figure", null,
    el("figcaption", null, most > 1 ? "Calls by step, left to right; in one box: side by side" : "Calls by step, left to right"),
    el("div", { class: "scroll strip", tabindex: "0", role: "region", "aria-label": `calls of lane ${lane.name}` },
      svg("svg", { width: x + 4, height, viewBox: `0 0 ${x + 4} ${height}`, role: "img", "aria-label": label }, shapes)));
}

function promptOf(step) {
  return step.tokens ? step.tokens.slice(0, KINDS.length).reduce((sum, part) => sum + part, 0) : null;
}

function reportedOf(step) {
  return step.usage ? step.usage[0] : null;
}

function tokenPicture(lane) {
  const steps = lane.steps;
  const highest = Math.max(...steps.map((step) => Math.max(promptOf(step) || 0, reportedOf(step) || 0)));
  if (!highest) return null;
  const plot = 110;
  const left = 56;
  const slot = Math.max(9, Math.min(44, 620 / steps.length));
  const width = left + steps.length * slot + 12;
  const y = (tokens) => 8 + plot * (1 - tokens / highest);
  const shapes = [0, 0.5, 1].map((part) => [
    svg("line", { class: "grid", x1: left, x2: width - 4, y1: y(highest * part), y2: y(highest * part) }),
    svg("text", { class: "tick", x: left - 6, y: y(highest * part) + 4, "text-anchor": "end" }, grouped(Math.round(highest * part))),
  ]);
  const every = Math.ceil(steps.length / Math.floor(620 / 28));
  steps.forEach((step, number) => {
    const x = left + number * slot + slot * 0.12;
    let base = 0;
    (step.tokens ? step.tokens.slice(0, KINDS.length) : []).forEach((tokens, kind) => {
      if (!tokens) return;
      shapes.push(svg("rect", { class: KINDS[kind], x, y: y(base + tokens), width: slot * 0.76, height: (plot * tokens) / highest },
        svg("title", null, `step ${number + 1}, ${KIND_NAMES[kind]}: ${grouped(tokens)} tokens`)));
      base += tokens;
    });
    const reported = reportedOf(step);
    if (reported !== null) {
      if (!step.tokens) shapes.push(svg("rect", { class: "reported", x, y: y(reported), width: slot * 0.76, height: (plot * reported) / highest }));
      shapes.push(svg("circle", { class: "dot", cx: x + slot * 0.38, cy: y(reported), r: 3.5 },
        svg("title", null, `step ${number + 1}, reported by the provider: ${grouped(reported)} tokens`)));
    }
    if (number % every === 0) shapes.push(svg("text", { class: "tick", x: x + slot * 0.38, y: plot + 24, "text-anchor": "middle" }, String(number + 1)));
  });
  const label = `prompt tokens of ${counted(steps.length, "step")}, at most ${grouped(highest)}`;
  return el("figure", { class: "tokens" },
    el("figcaption", null, "Prompt tokens by step"),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "prompt tokens by step" },
      svg("svg", { width, height: plot + 30, viewBox: `0 0 ${width} ${plot + 30}`, role: "img", "aria-label": label }, shapes)),
    tokenLegend(steps),
    lazy(null, "as a table", () => tokenTable(steps)));
}

function tokenLegend(steps) {
  const sums = KINDS.map((_, kind) => steps.reduce((sum, step) => sum + (step.tokens ? step.tokens[kind] : 0), 0));
  const total = sums.reduce((sum, part) => sum + part, 0);
  const entries = sums.map((sum, kind) => sum && el("li", null, el("span", { class: `key ${KINDS[kind]}` }), `${KIND_NAMES[kind]} ${grouped(sum)} (${sum / total < 0.005 ? "<1" : Math.round((100 * sum) / total)} %)`));
  const reported = steps.some((step) => reportedOf(step) !== null);
  return el("ul", { class: "legend" }, entries.filter(Boolean), reported ? el("li", null, el("span", { class: "key dot" }), "reported by the provider") : "");
}

function tokenTable(steps) {
  const head = ["step", ...KIND_NAMES, "counted", "reported", "answer"];
  const rows = steps.map((step, number) => {
    const parts = step.tokens ? step.tokens.slice(0, KINDS.length).map(grouped) : KINDS.map(() => "");
    const counted = step.tokens ? `${step.tokens[KINDS.length] ? "≈ " : ""}${grouped(promptOf(step))}` : "";
    const [prompt, , answer] = step.usage || [null, null, null];
    return [String(number + 1), ...parts, counted, prompt === null ? "" : grouped(prompt), answer === null ? "" : grouped(answer)];
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "prompt tokens by step, a table" },
    el("table", { class: "plain" },
      el("thead", null, el("tr", null, head.map((name) => el("th", { scope: "col", class: "number" }, name)))),
      el("tbody", null, rows.map((row) => el("tr", null, row.map((cell) => el("td", { class: "number" }, cell)))))));
}
