// @ts-check
// The page of comparisons: now, earlier frames, copies that were kept, and snapshots from files.

import { get, post, upload } from "./api.js";
import { attempt, bytes, count, fill, h, plural, table, toast } from "./dom.js";

/** The largest snapshot that the program takes. */
const FILE_LIMIT = 64 * 1024 * 1024;

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  let isGone = false;
  let drawn = "";
  const select = (/** @type {string} */ label) => h("select", { "aria-label": label });
  const [before, after] = [select("Before"), select("After")];
  const result = h("div", { class: "page" });
  const copies = h("div", { class: "buttons" });
  const picker = h("input", { type: "file", multiple: true, "aria-label": "Snapshots to load", onchange: () => load([...picker.files]) });
  const files = h("label", { class: "files", hidden: true }, "Load snapshots ", picker);

  /** Loads one or two files: all of them or none. @param {File[]} list */
  async function load(list) {
    const loaded = [];
    try {
      if (list.length > 2) throw new Error("choose one or two snapshots");
      for (const file of list) {
        if (file.size > FILE_LIMIT) throw new Error(`${file.name} has ${bytes(file.size)}, and a snapshot has at most ${bytes(FILE_LIMIT)}`);
        loaded.push(await upload(file).catch((error) => { throw new Error(`${file.name}: ${error.message}`); }));
      }
    } catch (error) {
      toast(/** @type {any} */ (error).message, true);
      await Promise.all(loaded.map((one) => post("forget", { copy: one.copy }).catch(() => null)));
      loaded.length = 0;
    }
    picker.value = "";
    await app.refresh();
    await redraw();
    if (isGone || !loaded.length) return;
    const names = loaded.map((one) => `copy-${one.copy}`);
    [before.value, after.value] = [names[0], names[1] || "now"];
    run();
  }
  const run = async () => {
    fill(result, h("p", { class: "empty" }, "Comparing…"));
    try {
      draw(await get("compare", { before: before.value, after: after.value, limit: 500 }));
    } catch (error) {
      if (!isGone) fill(result, h("p", { class: "empty bad" }, /** @type {any} */ (error).message));
    }
  };
  fill(root, h("h1", {}, "Compare"), h("div", { class: "page" },
    h("section", { class: "card" }, h("div", { class: "compare" }, h("label", {}, "Before ", before), h("label", {}, "After ", after), h("button", { class: "primary", onclick: run }, "Compare")),
      copies, files, h("p", { class: "why" }, "Keep a copy of the world, let the program run, and compare. Frames of the timeline can be compared with the world now and with copies. Two snapshots are loaded as copies, and compared at once.")), result));

  /** @param {any} answer */
  function draw(answer) {
    if (isGone) return;
    const isSame = !answer.spawned && !answer.despawned && !answer.changed;
    const moment = (/** @type {string} */ text) => text.replace("-", " ");
    fill(result,
      h("p", { class: "figures", role: "status" }, h("span", {}, `Between ${moment(answer.before)} and ${moment(answer.after)}:`), isSame ? "nothing differs" : [
        h("span", {}, h("b", {}, count(answer.spawned)), " spawned"), h("span", {}, h("b", {}, count(answer.despawned)), " despawned"), h("span", {}, h("b", {}, count(answer.changed)), " changed")],
        answer.torn ? h("span", {}, "the world changed during the comparison") : null),
      answer.components.length ? h("p", { class: "lead" }, "By component: ", answer.components.map((/** @type {any} */ one) => `${one.name} ${count(one.count)}`).join(", ")) : null,
      answer.differences.length ? table("Differences", ["Entity", "What", "Component", "Before", "After"], answer.differences.map((/** @type {any} */ one) => [
        h("a", { class: "entity", href: `#/entities?e=${one.entity}` }, one.entity), one.what,
        (one.component || "") + (one.field ? `.${one.field}` : ""), one.before ?? "", one.after ?? "",
      ])) : null,
      !isSame && answer.listed === 500 ? h("p", { class: "why" }, "The first 500 differences are listed.") : null);
  }

  /** Draws the choices again, whatever has the focus. */
  const redraw = async () => {
    app.world = await get("world").catch(() => app.world);
    drawn = "";
    if (/** @type {any} */ (document.activeElement)?.tagName === "SELECT") /** @type {any} */ (document.activeElement).blur();
    await refresh();
  };

  const refresh = async () => {
    const world = app.world;
    if (!world) return;
    const line = world.timeline;
    const key = JSON.stringify([world.copies, line && Math.min(line.last - line.first, 640) >> 4, app.at]);
    if (key === drawn || root.contains(document.activeElement) && document.activeElement?.tagName === "SELECT") return;
    drawn = key;
    const options = [["now", "Now"]];
    const nameOf = (/** @type {any} */ copy) => (copy.file === null ? `Copy ${copy.number}, frame ${count(copy.frame)}` : `Copy ${copy.number}, ${copy.file}`);
    world.copies.forEach((/** @type {any} */ copy) => options.push([`copy-${copy.number}`, nameOf(copy)]));
    files.hidden = !world.snapshots;
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
