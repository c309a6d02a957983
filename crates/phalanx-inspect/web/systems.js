// @ts-check
// The systems of a schedule, and when each ran.

import { get } from "./api.js";
import { fill, h, micros, table } from "./dom.js";

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  let isGone = false;
  const body = h("div", { class: "page" });
  fill(root, h("h1", {}, "Systems"), body);
  const refresh = async () => {
    if (body.contains(document.activeElement)) return;
    try {
      const answer = await get("systems");
      if (isGone) return;
      app.reached();
      const all = answer.duration || 1;
      fill(body, h("p", { class: "lead" }, `The last run took ${micros(answer.duration)}. Systems on the critical path are marked with ●.`),
        table("Systems", ["System", "Stage", "Thread", "When", "Time", "Waited"], answer.systems.map((/** @type {any} */ one) => {
          const piece = h("i", { class: one.critical ? "span critical" : "span" });
          piece.style.marginLeft = `${(one.start / all) * 100}%`;
          piece.style.width = `${Math.max(0.5, ((one.end - one.start) / all) * 100)}%`;
          return [(one.critical ? "● " : "") + one.name, String(one.stage), String(one.thread), h("span", { class: "spans", "aria-hidden": "true" }, piece), micros(one.end - one.start),
            one.waited ? micros(one.waited.time) + (one.waited.for ? ` for ${one.waited.for}` : "") : "–"];
        }), [1, 2, 4]));
    } catch (error) {
      if (isGone) return;
      if (/** @type {any} */ (error).status === 409) fill(body, h("p", { class: "empty" }, /** @type {any} */ (error).message));
      else app.failed(error);
    }
  };
  refresh();
  return { refresh, leave: () => { isGone = true; }, cost: () => 1000 };
}
