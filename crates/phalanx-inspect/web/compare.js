// @ts-check
// The page of comparisons: now, earlier frames, and copies that were kept.

import { get, post } from "./api.js";
import { attempt, count, fill, h, plural, table } from "./dom.js";

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  let isGone = false;
  let drawn = "";
  const select = (/** @type {string} */ label) => h("select", { "aria-label": label });
  const [before, after] = [select("Before"), select("After")];
  const result = h("div", { class: "page" });
  const copies = h("div", { class: "buttons" });
  const run = async () => {
    fill(result, h("p", { class: "empty" }, "Comparing…"));
    try {
      // A number of frames back is that from now on, when the button is pressed.
      const moment = (/** @type {string} */ value) => (value.startsWith("back-") ? `frame-${app.world.timeline.last - Number(value.slice(5))}` : value);
      draw(await get("compare", { before: moment(before.value), after: moment(after.value), limit: 500 }));
    } catch (error) {
      if (!isGone) fill(result, h("p", { class: "empty bad" }, /** @type {any} */ (error).message));
    }
  };
  fill(root, h("h1", {}, "Compare"), h("div", { class: "page" },
    h("section", { class: "card" }, h("div", { class: "compare" }, h("label", {}, "Before ", before), h("label", {}, "After ", after), h("button", { class: "primary", onclick: run }, "Compare")),
      copies, h("p", { class: "why" }, "Keep a copy of the world, let the program run, and compare. Frames of the timeline can be compared with the world now and with copies.")), result));

  /** @param {any} answer */
  function draw(answer) {
    if (isGone) return;
    const isSame = !answer.spawned && !answer.despawned && !answer.changed;
    fill(result,
      h("p", { class: "figures", role: "status" }, isSame ? "Nothing differs." : [
        h("span", {}, h("b", {}, count(answer.spawned)), " spawned"), h("span", {}, h("b", {}, count(answer.despawned)), " despawned"), h("span", {}, h("b", {}, count(answer.changed)), " changed")],
        answer.torn ? h("span", {}, "the world changed during the comparison") : null),
      answer.components.length ? h("p", { class: "lead" }, "By component: ", answer.components.map((/** @type {any} */ one) => `${one.name} ${count(one.count)}`).join(", ")) : null,
      answer.differences.length ? table("Differences", ["Entity", "What", "Component", "Before", "After"], answer.differences.map((/** @type {any} */ one) => [
        h("a", { class: "entity", href: `#/entities?e=${one.entity}` }, one.entity), one.what,
        (one.component || "") + (one.field ? `.${one.field}` : ""), one.before ?? "", one.after ?? "",
      ])) : null,
      !isSame && answer.listed === 500 ? h("p", { class: "why" }, "The first 500 differences are listed.") : null);
  }

  const refresh = async () => {
    const world = app.world;
    if (!world) return;
    const line = world.timeline;
    const key = JSON.stringify([world.copies, line && Math.min(line.last - line.first, 640) >> 4, app.at]);
    if (key === drawn || root.contains(document.activeElement) && document.activeElement?.tagName === "SELECT") return;
    drawn = key;
    const options = [["now", "Now"]];
    world.copies.forEach((/** @type {any} */ copy) => options.push([`copy-${copy.number}`, `Copy ${copy.number}, frame ${count(copy.frame)}`]));
    const frame = app.frame();
    if (frame !== null) options.push([`frame-${frame}`, `Frame ${count(frame)}, which is looked at`]);
    if (line) {
      for (const back of [1, 10, 60, 300, 600]) {
        if (line.last - back >= line.first + 30 || back === 1 && line.last > line.first) options.push([`back-${back}`, `${plural(back, "frame")} back`]);
      }
    }
    const chosen = [before.value, after.value];
    for (const list of [before, after]) fill(list, options.map(([value, name]) => h("option", { value }, name)));
    const has = (/** @type {string} */ value) => options.some(([other]) => other === value);
    before.value = has(chosen[0]) && chosen[0] !== "now" ? chosen[0] : options.length > 1 ? options[1][0] : "now";
    after.value = has(chosen[1]) ? chosen[1] : "now";
    fill(copies, h("button", { onclick: async () => { await attempt(() => post("keep")); app.refresh(); } }, "Keep a copy of now"),
      world.copies.map((/** @type {any} */ copy) => h("button", {
        class: "quiet", onclick: async () => { await attempt(() => post("forget", { copy: copy.number })); app.refresh(); },
      }, `Forget copy ${copy.number} (${plural(copy.entities, "entity", "entities")})`)));
  };
  refresh();
  return { refresh, leave: () => { isGone = true; }, cost: () => 0 };
}
