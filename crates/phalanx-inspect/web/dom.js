// @ts-check
// Elements and texts. Whatever comes from the program is set as text, never as markup.

/**
 * Makes an element. Children are nodes or texts.
 * @param {string} tag @param {Record<string, any>} [props] @param {...any} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.startsWith("aria") && name !== "list" && name !== "role") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** @param {Element} element @param {any[]} children */
function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child);
  }
}

/** Makes an element of SVG. @param {string} tag @param {Record<string, any>} props @param {...any} children */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  add(element, children);
  return element;
}

/** Replaces the children of an element. @param {Element} element @param {...any} children */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** Sets a text, if it is another one. @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const whole = new Intl.NumberFormat("en");

/** @param {number} number */
export const count = (number) => whole.format(number);

/** @param {number} number @param {string} one @param {string} [many] */
export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many || one + "s"}`;

/** @param {number} size */
export function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (size >= 1024 && at < 4) [size, at] = [size / 1024, at + 1];
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[at]}`;
}

/** @param {number} value */
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return size >= 1000 ? count(Math.round(value)) : String(+value.toPrecision(4));
}

/** A time in microseconds. @param {number} time */
export const micros = (time) => (time < 1000 ? `${short(time)} µs` : `${short(time / 1000)} ms`);

/** Shows a message for some seconds. @param {string} text @param {boolean} [isError] */
export function toast(text, isError = false) {
  const box = document.getElementById("toasts");
  if (!box) return;
  const item = h("div", { class: isError ? "toast bad" : "toast", role: isError ? "alert" : null }, text);
  box.append(item);
  while (box.children.length > 3) box.firstChild?.remove();
  setTimeout(() => item.remove(), isError ? 7000 : 4000);
}

/** Runs something, and shows its error. @param {() => Promise<any>} run */
export async function attempt(run) {
  try {
    const answer = await run();
    if (answer && answer.done) toast(answer.done);
    return answer;
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), true);
    return null;
  }
}

/**
 * Asks a question in a dialog.
 * @param {string} title @param {string} text @param {string} yes
 * @returns {Promise<boolean>}
 */
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const done = (/** @type {boolean} */ answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const dialog = h("dialog", { "aria-labelledby": "ask", oncancel: () => done(false) },
      h("h2", { id: "ask" }, title),
      h("p", {}, text),
      h("div", { class: "buttons" },
        h("button", { class: "danger", onclick: () => done(true) }, yes),
        h("button", { autofocus: true, onclick: () => done(false) }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A bar that shows parts of a whole. @param {{name: string, size: number}[]} parts @param {(size: number) => string} format */
export function bar(parts, format) {
  const all = parts.reduce((sum, part) => sum + part.size, 0) || 1;
  const shown = parts.filter((part) => part.size > 0);
  const strip = h("div", { class: "bar", "aria-hidden": "true" }, shown.map((part, at) => {
    const piece = h("span", { class: `tone${at % 8}`, title: `${part.name}: ${format(part.size)}` });
    piece.style.flexGrow = String(part.size / all);
    return piece;
  }));
  const legend = h("ul", { class: "legend" }, shown.map((part, at) =>
    h("li", {}, h("i", { class: `tone${at % 8}`, "aria-hidden": "true" }), `${part.name} `, h("b", {}, format(part.size)))));
  return h("div", {}, strip, legend);
}

/** A table of texts and nodes. @param {string} label @param {any[]} head @param {any[][]} rows @param {number[]} [numeric] */
export function table(label, head, rows, numeric = []) {
  const kind = (/** @type {number} */ at) => (numeric.includes(at) ? "number" : null);
  return h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": label },
    h("table", { "aria-label": label },
      h("thead", {}, h("tr", {}, head.map((cell, at) => h("th", { scope: "col", class: kind(at) }, cell)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, at) => h("td", { class: kind(at) }, cell)))))));
}
