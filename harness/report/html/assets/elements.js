"use strict";

/* Elements are made with their text set as text: nothing that a model or a tool said is read as markup. */

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") parent.append(child);
  }
  return parent;
}

function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  return add(made, children);
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  return add(made, children);
}

function grouped(number) {
  return Number(number).toLocaleString("en-US");
}

function counted(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/* A details element whose content is made when it is first opened. */
function lazy(attributes, summary, content) {
  const details = el("details", attributes, el("summary", null, summary));
  let made = false;
  const fill = () => {
    if (made) return;
    made = true;
    add(details, [content()]);
  };
  details.addEventListener("toggle", () => details.open && fill());
  return details;
}
