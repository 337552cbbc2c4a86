/* A run: its lanes, each a list of steps with what was said, the calls by batch, and what happened on the way. */

const GOOD = { good: "✓", partial: "~", refused: "–", bad: "×", unknown: "?" };

function chip(kind, ...content) {
  return el("span", { class: `chip ${kind}` }, content);
}

function bytes(number) {
  return number < 10000 ? `${grouped(number)} bytes` : `${grouped(Math.round(number / 1024))} KiB`;
}

function messageView(message) {
  const size = message.text === undefined ? "" : ` ${brief(message.text, 90)}`;
  const calls = (message.calls || []).map(([name]) => name).join(", ");
  return lazy({ class: "message" }, [el("b", null, message.role), size, calls ? ` calls ${calls}` : ""], () => [
    message.text === undefined ? "" : block(message.text, `message of ${message.role}`),
    (message.calls || []).map(([name, given]) => el("div", null, el("p", null, "calls ", el("code", null, name)), block(given, `arguments of ${name}`))),
  ]);
}

function driftView(drift) {
  const parts = [el("p", null, chip("bad", `drift: ${drift.class}`), " ", el("code", null, drift.path), drift.allowed ? " (allowed: the model was not asked again)" : "")];
  const why = drift.why === undefined ? "" : el("p", null, whole(drift.why));
  if (drift.recorded === undefined && drift.present === undefined) return el("div", { class: "drift" }, parts, why);
  const before = drift.recorded === undefined ? "(absent)" : whole(drift.recorded);
  const after = drift.present === undefined ? "(absent)" : whole(drift.present);
  return el("div", { class: "drift" }, parts, why, differenceView(before, after, ["recorded", "now"]));
}

function callView(call, place) {
  const kind = statusOf(call);
  const denied = (call.gates || []).filter(([gate, outcome]) => gate === "permission" && outcome !== "allow");
  const summary = [
    el("span", { class: `state ${kind}` }, `${GOOD[kind]} ${call.code || call.status}`), " ",
    el("b", null, call.name), " ",
    el("code", { class: "line" }, argumentsLine(call.arguments, 120)),
    denied.map(([, outcome]) => chip("warn", outcome)),
    (call.cuts || []).length ? chip("warn", `cut ${bytes(call.cuts[0][1])} → ${bytes(call.cuts[call.cuts.length - 1][2])}`) : "",
    call.lane ? chip("plain", `sub-agent ${call.lane}`) : "",
  ];
  return lazy({ class: `call ${kind}`, id: place }, summary, () => {
    const facts = [
      ["id", call.id],
      call.received !== undefined ? ["id as received", call.received || "(none)"] : null,
      call.received_name !== undefined ? ["name as received", call.received_name] : null,
      call.executed === false ? ["run", "no: it was refused before"] : null,
      call.safe !== undefined ? ["may run beside others", call.safe ? "yes" : "no"] : null,
    ].filter(Boolean);
    return [
      el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value)))),
      el("h6", null, "Arguments"),
      call.problem === undefined ? "" : el("p", { class: "problem" }, whole(call.problem)),
      block(call.arguments, `arguments of ${call.name}`),
      call.gates ? [el("h6", null, "Gates"), el("ol", { class: "gates" }, call.gates.map(([gate, outcome, reason]) =>
        el("li", null, el("b", null, gate), ` ${outcome}`, reason ? `: ${reason}` : "")))] : "",
      call.cuts ? [el("h6", null, "Truncation"), el("ul", null, call.cuts.map(([layer, before, after]) =>
        el("li", null, `layer ${layer}: ${grouped(before)} bytes, sent ${grouped(after)}`)))] : "",
      el("h6", null, "Result, as the model gets it"),
      block(call.result, `result of ${call.name}`),
      call.full === undefined ? "" : lazy(null, "Result before it was cut", () => block(call.full, `whole result of ${call.name}`)),
    ];
  });
}

function batchView([together, positions], calls, place) {
  const alone = positions.length === 1;
  const title = alone ? "" : el("p", { class: "batch-title" }, together ? `${counted(positions.length, "call")} side by side` : `${counted(positions.length, "call")} one after the other`);
  return el("div", { class: `batch ${together && !alone ? "together" : "apart"}` }, title,
    el("div", { class: "calls" }, positions.map((position) => callView(calls[position], `${place}-call-${position}`))));
}

function stepView(step, number, run, place, before) {
  const tokens = promptOf(step);
  const reported = reportedOf(step);
  const tools = step.tools === undefined ? null : run.tools[step.tools];
  const about = [
    step.model && step.model !== (before || {}).model ? step.model : "",
    step.finish ? `ended with ${step.finish}` : "",
    `${counted(step.sent, "message")} sent`,
    reported !== null ? `${grouped(reported)} prompt tokens` : tokens !== null ? `${step.tokens[KINDS.length] ? "≈ " : ""}${grouped(tokens)} prompt tokens` : "",
    step.usage && step.usage[2] !== null ? `${grouped(step.usage[2])} answered` : "",
    step.seconds !== undefined ? `${step.seconds.toFixed(1)} s` : "",
    step.usd ? `$${step.usd.toFixed(4)}` : "",
  ].filter(Boolean).join(" · ");
  const changed = tools && step.tools !== (before || {}).tools;
  return el("li", { class: "step", id: place, tabindex: "-1" },
    el("h5", null, `Step ${number + 1}`, step.status === "complete" ? "" : chip("warn", step.status), el("span", { class: "about" }, about)),
    changed ? lazy({ class: "message" }, [el("b", null, before ? "tools changed" : "tools offered"), ` ${tools.names.length}: ${tools.names.join(", ")}`],
      () => (tools.text === undefined ? el("p", null, tools.names.join(", ")) : toolDefinitions(tools.text))) : "",
    (step.before || []).map(messageView),
    (step.drift || []).map(driftView),
    (step.events || []).map((event) => el("p", { class: "event" }, event)),
    step.thoughts === undefined ? "" : lazy({ class: "message" }, [el("b", null, "thoughts"), ` ${brief(step.thoughts, 90)}`], () => block(step.thoughts, "thoughts", true)),
    step.text === undefined ? "" : el("div", { class: "said" }, el("b", null, "model "), block(step.text, "answer of the model", true)),
    (step.batches || []).map((batch) => batchView(batch, step.calls, place)),
    step.error === undefined ? "" : el("p", { class: "problem" }, whole(step.error)),
    (step.anomalies || []).map(([code, at, detail]) => el("p", { class: "event" }, `anomaly in the answer: ${code}${at ? ` at ${at}` : ""}${detail ? `: ${detail}` : ""}`)),
    (step.notes || []).map((note) => el("p", { class: "event" }, whole(note))));
}

function toolDefinitions(number) {
  const found = text(number);
  if (found.tail) return block(number, "tool definitions");
  return el("div", { class: "block" }, pre(found.head.split("\n").map((line) => laidOut(line) || line).join("\n"), "tool definitions"));
}

function laneView(lane, run, place) {
  const open = (number, call) => {
    const target = document.getElementById(call === null ? `${place}-step-${number}` : `${place}-step-${number}-call-${call}`);
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView({ block: "nearest" });
    (target.querySelector("summary") || target).focus({ preventScroll: true });
  };
  const calls = lane.steps.reduce((sum, step) => sum + (step.calls || []).length, 0);
  return el("section", { class: "lane", id: place },
    el("h4", null, `Lane ${lane.name}`, lane.outcome ? chip(lane.outcome === "answered" ? "good" : "warn", lane.outcome) : "",
      el("span", { class: "about" }, `${counted(lane.steps.length, "step")}, ${counted(calls, "call")}`)),
    lane.reason !== undefined && lane.outcome !== "answered" && lane.miss === undefined ? el("p", { class: "problem" }, whole(lane.reason)) : "",
    lane.steps.length ? el("div", { class: "pictures" }, batchPicture(lane, open), tokenPicture(lane) || "") : "",
    el("ol", { class: "steps" }, lane.steps.map((step, number) => stepView(step, number, run, `${place}-step-${number}`, lane.steps[number - 1]))),
    lane.miss === undefined ? "" : el("div", { class: "drift" }, el("p", null, chip("bad", "miss"), " the next request was not in the cassette"), colouredLines(text(lane.miss).head)),
    (lane.after || []).map(messageView));
}
