// @ts-check
// The page of time: pause, single steps, looking back, and going back.

import { download, post } from "./api.js";
import { attempt, bytes, confirm, count, fill, h, plural, setText } from "./dom.js";

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  const state = h("p", { class: "figures", role: "status" });
  const pause = h("button", { onclick: () => app.togglePause() });
  const step = (/** @type {number} */ frames) => h("button", {
    onclick: async () => { await attempt(() => post("step", { frames })); app.refresh(); },
  }, frames === 1 ? "1 frame" : `${frames} frames`);
  const slider = h("input", {
    id: "scrub", type: "range", min: 0, max: 0, step: 1, "aria-label": "Frame to look at",
    oninput: () => app.look(Number(slider.value)),
  });
  const label = h("output", { htmlFor: "scrub" });
  const now = h("button", { onclick: () => app.lookNow() }, "Now");
  const go = h("button", {
    class: "danger", onclick: async () => {
      const frame = Number(slider.value);
      const lost = app.world.frame - frame;
      const text = `The world becomes what it was at the end of frame ${count(frame)}. The ${plural(lost, "frame")} after it are lost, and handles that the program got since then must not be used.`;
      if (!(await confirm("Return to this frame?", text, "Return"))) return;
      if (await attempt(() => post("rewind", { frame }))) app.lookNow();
    },
  }, "Return the world to this frame…");
  const scrub = h("section", { class: "card" }, h("h2", {}, "Earlier frames"), h("div", { class: "scrub" }, slider, label), h("div", { class: "buttons" },
    h("button", { onclick: () => app.lookBy(-1) }, "◂ Frame before"), h("button", { onclick: () => app.lookBy(1) }, "Frame after ▸"), now, go), h("p", { class: "why" },
    "Looking changes nothing: all pages show the chosen frame, and the program goes on unless it is paused. Keys: [ and ]."));
  const none = h("p", { class: "empty" });
  const actions = h("section", { class: "card" }, h("h2", {}, "Actions"), h("div", { class: "buttons" }));
  const save = h("section", { class: "card" }, h("h2", {}, "Snapshot"), h("div", { class: "buttons" },
    h("button", { onclick: () => attempt(() => download(`${app.world.name}-${app.world.frame}.phx`)) }, "Download a snapshot")));
  fill(root, h("h1", {}, "Time"), h("div", { class: "page" }, state,
    h("section", { class: "card" }, h("h2", {}, "The program"), h("div", { class: "buttons" }, pause, step(1), step(10), step(60)),
      h("p", { class: "why" }, "A pause has an effect if the loop of the program asks for it: ", h("code", {}, "if inspector.update(&mut world) == Flow::Hold { continue; }"))),
    scrub, none, actions, save));
  let drawnActions = "";

  const refresh = async () => {
    const world = app.world;
    if (!world) return;
    setText(pause, world.paused ? "Resume" : "Pause");
    const line = world.timeline;
    const parts = [`frame ${count(world.frame)}`, world.paused ? "paused" : "running", plural(world.undo, "edit to take back", "edits to take back")];
    if (line) parts.push(`${plural(line.last - line.first + 1, "frame")} kept in ${bytes(line.bytes)}`);
    setText(state, parts.join(" · "));
    scrub.hidden = !line;
    none.hidden = Boolean(line);
    setText(none, world.timelineFault ? `The timeline has ended: ${world.timelineFault}.` : "Frames are not kept. Call .timeline(600) of the builder to look at the last 600, and to return to them.");
    if (line) {
      slider.min = String(line.first);
      slider.max = String(line.last);
      const frame = app.frame();
      if (document.activeElement !== slider || frame === null) slider.value = String(frame ?? line.last);
      setText(label, frame === null ? `now, frame ${count(world.frame)}` : `frame ${count(frame)}, ${plural(line.last - frame, "frame")} back`);
      slider.setAttribute("aria-valuetext", label.textContent || "");
      now.disabled = frame === null;
      go.disabled = frame === null || world.readOnly;
    }
    const key = JSON.stringify([world.actions, world.readOnly]);
    if (key !== drawnActions) {
      drawnActions = key;
      actions.hidden = world.actions.length === 0;
      fill(/** @type {Element} */ (actions.lastChild), world.actions.map((/** @type {string} */ name) => h("button", {
        disabled: world.readOnly, onclick: async () => { await attempt(() => post("act", { name })); app.refresh(); },
      }, name)));
    }
    save.hidden = !world.snapshots;
  };
  refresh();
  return { refresh, leave: () => {}, cost: () => 0 };
}
