/* What is behind a row: what was checked, and the run. */

const MARKS = { PASS: "✓", FAIL: "×", INCONCLUSIVE: "?", ERROR: "!" };

function checkView(check) {
  const head = [el("span", { class: `verdict ${check.verdict.toLowerCase()}` }, check.verdict), " ", el("b", null, whole(check.name)),
    check.where === undefined ? "" : [" at ", el("code", null, whole(check.where))]];
  const body = [
    check.message === undefined ? "" : el("p", null, whole(check.message)),
    check.expected === undefined && check.actual === undefined ? "" : differenceView(
      check.expected === undefined ? "(nothing)" : whole(check.expected), check.actual === undefined ? "(nothing)" : whole(check.actual), ["expected", "actual"]),
    check.details === undefined ? "" : colouredLines(text(check.details).head),
  ];
  return el("li", null, head, body);
}

function checksView(checks) {
  const bad = checks.filter((check) => check.verdict !== "PASS");
  const good = checks.filter((check) => check.verdict === "PASS");
  if (!checks.length) return "";
  return el("section", { class: "checks" },
    el("h4", null, "Checks", el("span", { class: "about" }, `${good.length} of ${checks.length} passed`)),
    bad.length ? el("ul", null, bad.map(checkView)) : "",
    good.length ? lazy({ class: "message" }, `${counted(good.length, "check")} passed`, () => el("ul", { class: "good" }, good.map((check) =>
      el("li", null, `${MARKS.PASS} `, whole(check.name), check.where === undefined ? "" : ` at ${whole(check.where)}`)))) : "");
}

function factsView(run) {
  const facts = Object.entries(run.facts || {});
  if (!facts.length) return "";
  return lazy({ class: "message" }, [el("b", null, "facts"), ` ${facts.map(([name]) => name).join(", ")}`], () =>
    el("dl", { class: "facts wide" }, facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, block(value, name))))));
}

function caseView(number) {
  const found = data().cases[number];
  const run = found.run;
  const many = run && run.lanes.some((lane) => lane.steps.some((step) => step.calls));
  const view = el("div", { class: "behind" },
    found.about === undefined ? "" : el("p", { class: "description" }, whole(found.about)),
    found.whose === undefined ? "" : el("p", { class: "description" }, whole(found.whose)),
    checksView(found.checks),
    run ? factsView(run) : "",
    run ? run.lanes.map((lane, place) => laneView(lane, run, `case-${number}-lane-${place}`)) : "",
    found.left_out ? el("p", { class: "note" }, `The run is left out here: ${found.left_out}.`) : "",
    !run && !found.left_out ? el("p", { class: "note" }, "No run was saved for this case.") : "",
    found.folder ? el("p", { class: "note" }, "Saved run: ", el("code", null, found.folder)) : "");
  if (many) {
    const button = el("button", { type: "button", class: "every" }, "Open all calls");
    button.addEventListener("click", () => {
      const calls = [...view.querySelectorAll("details.call")];
      const close = calls.every((call) => call.open);
      calls.forEach((call) => { call.open = !close; });
      button.textContent = close ? "Open all calls" : "Close all calls";
    });
    view.prepend(button);
  }
  return view;
}
