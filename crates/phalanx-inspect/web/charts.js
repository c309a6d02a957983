// @ts-check
// Charts of the values that the program names.

import { get } from "./api.js";
import { count, fill, h, setText, short, svg } from "./dom.js";

const [WIDE, HIGH] = [600, 120];

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  let isGone = false;
  /** @type {Map<string, any>} */
  const charts = new Map();
  const body = h("div", { class: "page charts" });
  fill(root, h("h1", {}, "Charts"), body);

  /** @param {string} name */
  function chart(name) {
    const line = svg("polyline", { class: "line", points: "" });
    const mark = svg("line", { class: "mark", y1: 0, y2: HIGH, x1: -1, x2: -1 });
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img" }, line, mark);
    const [last, range, hover] = [h("b", {}), h("span", { class: "why" }), h("span", { class: "hover" })];
    const top = h("span", { class: "axis top" });
    const low = h("span", { class: "axis low" });
    const element = h("section", { class: "card" }, h("h2", {}, name, " ", last), h("div", { class: "plot" }, picture, top, low), h("p", { class: "chart-foot" }, range, hover));
    const one = { element, line, picture, last, range, top, low, values: /** @type {number[]} */ ([]), first: 0 };
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const at = Math.round(((event.clientX - box.left) / box.width) * (one.values.length - 1));
      const value = one.values[at];
      if (value === undefined) return;
      const x = one.values.length > 1 ? (at / (one.values.length - 1)) * WIDE : 0;
      mark.setAttribute("x1", String(x));
      mark.setAttribute("x2", String(x));
      setText(hover, `frame ${count(one.first + at)}: ${short(value)}`);
    });
    picture.addEventListener("pointerleave", () => { mark.setAttribute("x1", "-1"); mark.setAttribute("x2", "-1"); setText(hover, ""); });
    return one;
  }

  const refresh = async () => {
    try {
      const answer = await get("plots");
      if (isGone) return;
      app.reached();
      if (!answer.plots.length) return fill(body, h("p", { class: "empty" }, "No values are charted. Add .plot(\"alive\", |world| world.len() as f64) to the builder."));
      for (const { name, values } of answer.plots) {
        let one = charts.get(name);
        if (!one) {
          one = chart(name);
          charts.set(name, one);
          body.append(one.element);
        }
        const known = values.filter((/** @type {any} */ value) => value !== null);
        const [low, high] = [Math.min(...known), Math.max(...known)];
        const span = high - low || 1;
        one.values = values.map((/** @type {any} */ value) => value ?? NaN);
        one.first = answer.frame - values.length + 1;
        const step = values.length > 1 ? WIDE / (values.length - 1) : 0;
        const points = values.map((/** @type {any} */ value, /** @type {number} */ at) => (value === null ? "" : `${(at * step).toFixed(1)},${(high > low ? HIGH - 4 - ((value - low) / span) * (HIGH - 8) : HIGH / 2).toFixed(1)}`));
        one.line.setAttribute("points", points.join(" "));
        setText(one.last, short(values[values.length - 1] ?? NaN));
        setText(one.top, short(high));
        setText(one.low, short(low));
        const text = `frames ${count(one.first)} to ${count(answer.frame)}, between ${short(low)} and ${short(high)}`;
        setText(one.range, text);
        one.picture.setAttribute("aria-label", `${name}: ${short(values[values.length - 1] ?? NaN)}, ${text}`);
      }
    } catch (error) {
      if (!isGone) app.failed(error);
    }
  };
  refresh();
  return { refresh, leave: () => { isGone = true; }, cost: () => 1000 };
}
