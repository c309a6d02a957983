// @ts-check
// The frame of all pages: routes, the live loop, themes and keys.

import { get, post, Refused, setKey, takeKey } from "./api.js";
import * as charts from "./charts.js";
import * as compare from "./compare.js";
import { attempt, count, fill, h, plural, setText } from "./dom.js";
import * as entities from "./entities.js";
import * as storage from "./storage.js";
import * as systems from "./systems.js";
import * as time from "./time.js";

/** @type {Record<string, {title: string, mount: (root: HTMLElement, app: any) => any}>} */
const pages = {
  entities: { title: "Entities", mount: entities.mount },
  tables: { title: "Tables", mount: storage.mountTables },
  components: { title: "Components", mount: storage.mountComponents },
  resources: { title: "Resources", mount: storage.mountResources },
  groups: { title: "Groups", mount: storage.mountGroups },
  systems: { title: "Systems", mount: systems.mount },
  time: { title: "Time", mount: time.mount },
  compare: { title: "Compare", mount: compare.mount },
  charts: { title: "Charts", mount: charts.mount },
};

const root = /** @type {HTMLElement} */ (document.getElementById("main"));
const spoken = /** @type {HTMLElement} */ (document.getElementById("status"));
/** @type {any} */
let page = null;
let route = "";
let isLive = sessionStorage.getItem("phalanx-live") !== "off";
let failure = "";
let isRefreshing = false;
/** @type {any} */
let wanted = null;

const app = {
  /** @type {any} */
  world: null,
  at: "now",
  args: new URLSearchParams(),
  /** Remembers the state of a page in the address. @param {string} name @param {URLSearchParams} args */
  remember(name, args) {
    const query = args.toString();
    history.replaceState(null, "", `#/${name}${query ? "?" + query : ""}`);
  },
  reached() { if (failure) setFailure(""); },
  /** @param {any} error */
  failed(error) {
    if (error instanceof Refused && error.status === 401) return askKey();
    if (error instanceof Refused && error.status === 410) return app.lookNow();
    setFailure(error.message || String(error));
  },
  refresh: () => refresh(true),
  /** The frame that is looked at, or null. */
  frame() {
    const found = /^frame-(\d+)$/.exec(app.at);
    return found ? Number(found[1]) : null;
  },
  /** Looks at a frame. While one is loaded, the last wish counts. @param {number} frame */
  look(frame) {
    const line = app.world?.timeline;
    if (!line) return;
    const shown = Math.min(Math.max(frame, line.first), line.last);
    wanted = shown;
    app.at = `frame-${shown}`;
    drawTop();
    refresh(true);
  },
  /** @param {number} frames */
  lookBy(frames) {
    const line = app.world?.timeline;
    if (line) app.look((app.frame() ?? line.last) + frames);
  },
  lookNow() {
    app.at = "now";
    drawTop();
    refresh(true);
  },
  async togglePause() {
    await attempt(() => post(app.world?.paused ? "resume" : "pause"));
    refresh(true);
  },
};

// --- the frame

const name = h("strong", {});
const figures = h("span", { class: "figures-top" });
const moment = h("span", { class: "moment", hidden: true });
const alertBox = h("p", { class: "failure", role: "alert", hidden: true });
const pause = h("button", { onclick: () => app.togglePause() });
const step = h("button", { title: "Make one frame, and pause", onclick: async () => { await attempt(() => post("step", { frames: 1 })); refresh(true); } }, "Step");
const undo = h("button", { title: "Take the last edit back (u)", onclick: () => takeBack() }, "Undo");
const live = h("button", { "aria-pressed": "true", onclick: () => setLive(!isLive) }, "Live");
const theme = h("button", { onclick: () => setTheme() });

function drawTop() {
  const world = app.world;
  if (!world) return;
  setText(name, world.name);
  document.title = `${world.name} – Phalanx Inspector`;
  setText(figures, `frame ${count(world.frame)} · ${plural(world.entities, "entity", "entities")}`);
  setText(pause, world.paused ? "Resume" : "Pause");
  pause.setAttribute("aria-pressed", String(world.paused));
  undo.disabled = world.undo === 0 || world.readOnly;
  const frame = app.frame();
  moment.hidden = frame === null && !world.readOnly;
  fill(moment, frame !== null ? [`Looking at frame ${count(frame)}, ${plural(Math.max(0, world.frame - frame), "frame")} back `, h("button", { onclick: () => app.lookNow() }, "Back to now")] : "Read-only");
  document.body.classList.toggle("past", frame !== null);
}

/** @param {string} text */
function setFailure(text) {
  failure = text;
  alertBox.hidden = !text;
  setText(alertBox, text ? `${text[0].toUpperCase()}${text.slice(1)}. The page keeps what it has, and tries again.` : "");
  document.body.classList.toggle("stale", Boolean(text));
}

function askKey() {
  const field = h("input", { type: "text", "aria-label": "Address or key", autocomplete: "off", spellcheck: false });
  const error = h("p", { class: "bad", role: "alert" });
  fill(root, h("section", { class: "ask card" }, h("h1", {}, "Which key?"), h("p", {}, "Open the address that the program printed, or paste it here. It ends with #key=… and differs each time the program starts."),
    h("form", { onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      if (setKey(field.value.trim())) location.reload();
      else setText(error, "A key is 32 hexadecimal digits.");
    } }, field, h("button", { class: "primary" }, "Open")), error));
  page = null;
}

/** @param {boolean} on */
function setLive(on) {
  isLive = on;
  sessionStorage.setItem("phalanx-live", on ? "on" : "off");
  live.setAttribute("aria-pressed", String(on));
  if (on) refresh(true);
}

const themes = ["system", "light", "dark"];

/** @param {string} [next] */
function setTheme(next) {
  const present = localStorage.getItem("phalanx-theme") || "system";
  const chosen = next || themes[(themes.indexOf(present) + 1) % themes.length];
  localStorage.setItem("phalanx-theme", chosen);
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  setText(theme, { system: "Auto", light: "Light", dark: "Dark" }[chosen] || "");
  theme.setAttribute("aria-label", `Theme: ${theme.textContent}`);
}

async function takeBack() {
  if (await attempt(() => post("undo"))) refresh(true);
}

// --- routes

function open() {
  const [, path, query] = /^#\/([a-z]*)\??(.*)$/.exec(location.hash) || ["", "entities", ""];
  const next = pages[path] ? path : "entities";
  app.args = new URLSearchParams(query);
  if (page) page.leave();
  route = next;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.getAttribute("href") === `#/${next}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  setText(spoken, pages[next].title);
  root.className = `page-${next}`;
  page = pages[next].mount(root, app);
}

// --- the live loop: one request at a time, and never more than about 1 % of the loop

async function refresh(now = false) {
  if (isRefreshing) return void (again = again || now);
  isRefreshing = true;
  do {
    again = false;
    try {
      app.world = await get("world");
      app.reached();
      drawTop();
      if (page) await page.refresh();
    } catch (error) {
      app.failed(error);
    }
  } while (again);
  isRefreshing = false;
}
let again = false;

async function loop() {
  for (;;) {
    if (isLive && !document.hidden && page) await refresh();
    // The answer says how long the program worked for it, in microseconds.
    const cost = page && page.cost ? page.cost() : 0;
    const pauseTime = failure ? 1000 : Math.min(Math.max(100, cost / 10), 5000);
    await new Promise((resolve) => setTimeout(resolve, pauseTime));
  }
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
  /** @type {Record<string, () => void>} */
  const keys = {
    "/": () => { if (route !== "entities") location.hash = "#/entities"; setTimeout(() => document.getElementById("query")?.focus(), 50); },
    "[": () => app.lookBy(-1),
    "]": () => app.lookBy(1),
    p: () => void app.togglePause(),
    n: () => step.click(),
    u: () => void takeBack(),
    "?": () => help(),
  };
  Object.keys(pages).forEach((name, at) => { keys[String(at + 1)] = () => { location.hash = `#/${name}`; }; });
  const run = keys[event.key];
  if (!run) return;
  event.preventDefault();
  run();
});

function help() {
  const rows = [["/", "query"], ["1 … 9", "pages"], ["↑ ↓ PgUp PgDn Home End", "rows"], ["← →", "cells"], ["Enter", "open an entity"], ["e", "edit the cell"], ["s", "sort by the cell’s column"],
    ["Space", "pick a row"], ["[ ]", "frame before, frame after"], ["p", "pause"], ["n", "next frame"], ["u", "take the last edit back"]];
  const dialog = h("dialog", { "aria-labelledby": "help", onclose: () => dialog.remove() }, h("h2", { id: "help" }, "Keys"),
    h("dl", { class: "help" }, rows.map(([key, text]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)))), h("button", { autofocus: true, onclick: () => dialog.close() }, "Close"));
  document.body.append(dialog);
  dialog.showModal();
}

fill(/** @type {Element} */ (document.getElementById("top")), h("div", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", width: 22, height: 22 }), name, figures),
  h("div", { class: "buttons" }, moment, live, pause, step, undo, theme, h("button", { onclick: help, "aria-label": "Keys" }, "?")), alertBox);
fill(/** @type {Element} */ (document.getElementById("nav")), h("ul", {}, Object.entries(pages).map(([path, { title }]) => h("li", {}, h("a", { href: `#/${path}` }, title)))));
setTheme(localStorage.getItem("phalanx-theme") || "system");
live.setAttribute("aria-pressed", String(isLive));
window.addEventListener("hashchange", () => {
  if (/^#key=/.test(location.hash)) return void (takeKey() && location.reload());
  if (location.hash !== "#main") open();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && isLive) refresh(true); });
if (takeKey()) {
  // The first rows do not wait for the figures at the top.
  open();
  refresh().then(loop);
} else askKey();
