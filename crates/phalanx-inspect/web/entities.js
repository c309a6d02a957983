// @ts-check
// The page of entities: a query, a list of any length, and the entity that is open beside it.

import { get, post } from "./api.js";
import { attempt, confirm, count, fill, h, micros, plural, setText } from "./dom.js";
import { entityView } from "./entity.js";
import { Grid } from "./grid.js";
import { nameOf, queryBar, sortOf, splitQuery } from "./query.js";

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  let text = app.args.get("q") || "";
  let open = app.args.get("e") || "";
  let isGone = false;
  let busy = false;
  let again = false;
  let counted = "";
  /** @type {string[]} */
  let columns = app.args.getAll("c");
  /** @type {any[]} */
  let infos = [];
  let cost = 0;

  const bar = queryBar({ value: text, infos: () => infos, onquery: (value) => setQuery(value) });
  const summary = h("p", { class: "summary", role: "status" });
  const chooser = h("details", { class: "chooser" }, h("summary", {}, "Columns"), h("div", { class: "panel", role: "group", "aria-label": "Columns" }));
  const despawn = h("button", {
    class: "danger", hidden: true, onclick: async () => {
      const entities = [...grid.picked];
      const name = plural(entities.length, "entity", "entities");
      if (!(await confirm(`Despawn ${name}?`, "Their components and extra rows are dropped.", "Despawn"))) return;
      if (await attempt(() => post("despawn", { entities }))) grid.picked.clear();
      despawn.hidden = true;
      app.refresh();
    },
  });
  const grid = new Grid({
    label: "Entities",
    onrange: () => load(),
    onopen: (entity) => show(entity),
    onsort: (column) => {
      const [head] = splitQuery(text);
      const sort = sortOf(text);
      const mine = sort && sort.field === column.name;
      const order = mine ? (sort.descends ? "" : `sort ${column.name} desc`) : `sort ${column.name}`;
      bar.input.value = [head, order].filter(Boolean).join(" ");
      setQuery(bar.input.value);
    },
    onedit: async (entity, column, value) => {
      const done = await attempt(() => post("edit", { entity, component: column.component, field: column.field || "", value }));
      app.refresh();
      return done !== null;
    },
    onpick: (picked) => {
      despawn.hidden = picked.size === 0 || app.world?.readOnly || app.at !== "now";
      setText(despawn, `Despawn ${plural(picked.size, "entity", "entities")}`);
    },
    sort: () => sortOf(text),
  });
  const side = h("aside", { class: "side", "aria-label": "Entity", hidden: true });
  const view = entityView(side, app, { onclose: () => show(""), onopen: (/** @type {string} */ entity) => show(entity) });
  const split = h("div", { class: "split" }, h("div", { class: "list" }, grid.element, h("p", { class: "keys" },
    h("kbd", {}, "/"), " query ", h("kbd", {}, "↑↓"), " rows ", h("kbd", {}, "Enter"), " open ", h("kbd", {}, "e"), " edit ",
    h("kbd", {}, "s"), " sort ", h("kbd", {}, "Space"), " pick ", h("kbd", {}, "u"), " undo ", h("kbd", {}, "p"), " pause")), side);
  fill(root, h("h1", { class: "visually-hidden" }, "Entities"), h("div", { class: "tools" }, bar.element, chooser, despawn), bar.error, summary, split);

  function remember() {
    const args = new URLSearchParams();
    if (text) args.set("q", text);
    columns.forEach((name) => args.append("c", name));
    if (open) args.set("e", open);
    app.remember("entities", args);
  }

  /** @param {string} value */
  function setQuery(value) {
    if (value === text) return;
    text = value;
    counted = "";
    grid.picked.clear();
    grid.options.onpick(grid.picked);
    grid.clear();
    grid.active = 0;
    grid.moveTo(0);
    remember();
    load();
  }

  /** @param {string} entity */
  function show(entity) {
    const before = open;
    open = entity;
    remember();
    view.show(entity);
    split.classList.toggle("open", entity !== "");
    if (!entity && before) grid.element.focus({ preventScroll: true });
  }

  async function load() {
    if (busy) return void (again = true);
    busy = true;
    do {
      again = false;
      const { from, count: rows } = grid.range;
      const asked = text;
      try {
        const answer = await get("entities", { q: asked, from, count: rows, column: columns, at: app.at === "now" ? null : app.at });
        if (isGone || asked !== text) continue;
        cost = answer.cost;
        app.reached();
        bar.setError(null);
        const total = answer.total ?? (grid.total > from + answer.rows.length && counted === asked ? grid.total : from + answer.rows.length);
        grid.setTotal(answer.sorted ? Math.min(total, 10000) : total, answer.total !== null || counted === asked);
        grid.setColumns(answer.columns);
        grid.setRows(from, answer.rows, rows);
        describe(answer);
        if (answer.total === null && counted !== asked) countAll(asked);
      } catch (error) {
        if (isGone) return;
        const status = /** @type {any} */ (error).status;
        if (status === 400 || status === 409) bar.setError(error);
        else app.failed(error);
      }
    } while (again && !isGone);
    busy = false;
  }

  /** @param {any} answer */
  function describe(answer) {
    const known = answer.total !== null || counted === text;
    const total = answer.total ?? grid.total;
    const parts = [known ? plural(total, "entity", "entities") : `at least ${count(total)} entities`];
    if (answer.sorted && total > 10000) parts.push("sorted: the first 10,000 are listed");
    if (answer.torn) parts.push("the world changed during the scan, so that rows may be missing or twice");
    parts.push(`${micros(answer.cost)} of loop time${answer.steps > 1 ? ` in ${answer.steps} frames` : ""}`);
    setText(summary, parts.join(" · "));
  }

  /** @param {string} asked */
  async function countAll(asked) {
    counted = asked;
    try {
      const answer = await get("count", { q: asked, at: app.at === "now" ? null : app.at });
      if (isGone || asked !== text) return;
      cost = Math.max(cost, answer.cost);
      grid.setTotal(answer.total, true);
      load();
    } catch {
      counted = "";
    }
  }

  async function drawChooser() {
    try {
      infos = (await get("components")).components;
    } catch {
      return;
    }
    if (isGone) return;
    const names = infos.flatMap((info) => {
      const name = nameOf(info, infos);
      return [{ name, depth: 0 }, ...info.fields.filter((/** @type {any} */ field) => field.path).map((/** @type {any} */ field) => ({ name: `${name}.${field.path}`, depth: 1 }))];
    });
    fill(/** @type {Element} */ (chooser.lastChild), h("button", { class: "link", onclick: () => { columns = []; remember(); drawChooser(); load(); } }, "As the query says"),
      names.map(({ name, depth }) => h("label", { class: depth ? "inner" : null }, h("input", {
        type: "checkbox", checked: columns.includes(name), onchange: (/** @type {any} */ event) => {
          columns = event.target.checked ? [...columns, name] : columns.filter((other) => other !== name);
          remember();
          load();
        },
      }), name)));
  }

  chooser.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") { chooser.open = false; /** @type {any} */ (chooser.firstChild).focus(); event.stopPropagation(); }
  });
  drawChooser();
  if (open) show(open);
  load();
  return {
    cost: () => cost,
    refresh: () => Promise.all([load(), view.refresh()]),
    focus: () => bar.input.focus(),
    infos: drawChooser,
    leave: () => { isGone = true; grid.destroy(); },
  };
}
