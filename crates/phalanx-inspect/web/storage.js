// @ts-check
// Tables and sparse stores, components, resources and groups.

import { get } from "./api.js";
import { bar, bytes, count, fill, h, plural, short, table } from "./dom.js";

/**
 * A page that is drawn again as a whole, unless something in it has the focus or is open.
 * @param {HTMLElement} root @param {any} app @param {string} title @param {() => Promise<any[]>} draw
 */
function page(root, app, title, draw) {
  let isGone = false;
  const body = h("div", { class: "page" });
  fill(root, h("h1", {}, title), body);
  const refresh = async (isFirst = false) => {
    if (!isFirst && (body.contains(document.activeElement) || body.querySelector("details[open]") || String(getSelection()))) return;
    try {
      const parts = await draw();
      if (isGone) return;
      const top = body.querySelector(".scroll")?.scrollLeft || 0;
      fill(body, ...parts);
      const scroll = body.querySelector(".scroll");
      if (scroll) scroll.scrollLeft = top;
      app.reached();
    } catch (error) {
      if (isGone) return;
      if (/** @type {any} */ (error).status === 409) fill(body, h("p", { class: "empty" }, /** @type {any} */ (error).message));
      else app.failed(error);
    }
  };
  refresh(true);
  return { refresh: () => refresh(), leave: () => { isGone = true; }, cost: () => 5000 };
}

/** @param {number} used @param {number} all */
function share(used, all) {
  const part = all ? used / all : 1;
  const meter = h("meter", { min: 0, max: 1, value: part, "aria-label": `${Math.round(part * 100)} % used` });
  return h("span", { class: "share" }, meter, ` ${Math.round(part * 100)} %`);
}

/** @param {HTMLElement} root @param {any} app */
export function mountTables(root, app) {
  return page(root, app, "Tables and sparse stores", async () => {
    const [answer, infos] = await Promise.all([get("tables", { at: app.at === "now" ? null : app.at }), get("components")]);
    const advice = infos.components.filter((/** @type {any} */ info) => info.advice !== info.layout);
    const unused = answer.tables.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + (one.capacity ? one.bytes * (1 - one.rows / one.capacity) : 0), 0);
    return [
      h("p", { class: "figures" }, figure(bytes(answer.bytes), "in all"), figure(plural(answer.count, "table"), ""), figure(plural(answer.stores.length, "sparse store"), ""), figure(bytes(unused), "unused in tables")),
      bar(Object.entries(answer.parts).map(([name, size]) => ({ name, size: Number(size) })), bytes),
      advice.length ? h("section", { class: "card advice" }, h("h2", {}, "Advice"), h("ul", {}, advice.map((/** @type {any} */ info) =>
        h("li", {}, h("b", {}, info.short), ` is in “${info.layout}”; “${info.advice}” may suit it: ${info.reason}`)))) : null,
      h("h2", {}, "Tables"),
      table("Tables", ["Components", "Rows", "Capacity", "Used", "Bytes", "Columns"], answer.tables.map((/** @type {any} */ one) => [
        h("span", { class: "names" }, (one.extra ? "extra rows: " : "") + (one.columns.map((/** @type {any} */ c) => c.short).join(", ") || "none")),
        count(one.rows), count(one.capacity), share(one.rows, one.capacity), bytes(one.bytes),
        h("details", {}, h("summary", {}, "Show"), table(`Columns of a table with ${one.rows} rows`, ["Column", "Bytes", "Per row"],
          [["entities", bytes(one.entityBytes), perRow(one.entityBytes, one.capacity)], ...one.columns.map((/** @type {any} */ c) => [c.short, bytes(c.bytes), perRow(c.bytes, one.capacity)])], [1, 2])),
      ]), [1, 2, 4]),
      answer.count > answer.tables.length ? h("p", { class: "why" }, `The ${answer.tables.length} largest of ${answer.count} are listed.`) : null,
      h("h2", {}, "Sparse stores"),
      answer.stores.length ? table("Sparse stores", ["Component", "Layout", "Values", "Capacity", "Used", "Values’ bytes", "Keys’ bytes"], answer.stores.map((/** @type {any} */ one) => [
        one.short, one.layout, count(one.rows), count(one.capacity), share(one.rows, one.capacity), bytes(one.valueBytes), bytes(one.keyBytes),
      ]), [2, 3, 5, 6]) : h("p", { class: "empty" }, "No component has the layout “pool” or “linear”."),
    ];
  });
}

/** @param {number} size @param {number} rows */
const perRow = (size, rows) => (rows ? `${short(size / rows)} B` : "–");

/** @param {string} value @param {string} label */
const figure = (value, label) => h("span", {}, h("b", {}, value), label ? ` ${label}` : "");

/** @param {HTMLElement} root @param {any} app */
export function mountComponents(root, app) {
  return page(root, app, "Components", async () => {
    const answer = await get("components");
    const infos = answer.components;
    return [
      h("p", { class: "lead" }, answer.counted ? "Accesses are counted: advice considers them." : "Accesses are not counted. Call World::set_access_counting(true) for advice that considers them."),
      table("Components", ["Component", "Layout", "Values", "Share", "Size", "Bytes", "Advice", "Fields"], infos.map((/** @type {any} */ info) => [
        h("a", { href: `#/entities?q=${encodeURIComponent(info.short)}`, title: info.name }, info.short),
        h("span", { class: "tags" }, info.layout, info.plain ? h("i", {}, "plain") : null, info.debug ? h("i", {}, "Debug") : null, info.tracked !== "None" ? h("i", {}, `tracked by ${info.tracked.toLowerCase()}`) : null),
        count(info.values), `${(info.share * 100).toFixed(info.share > 0.1 ? 0 : 1)} %`, `${info.size} B`, bytes(info.bytes),
        h("span", { class: info.advice === info.layout ? "quietly" : "advised" }, info.advice === info.layout ? "keep" : info.advice, h("small", {}, info.reason)),
        h("span", { class: "names" }, info.fields.map((/** @type {any} */ field) => `${field.path || "value"}: ${field.type}`).join(", ") || "–"),
      ]), [2, 3, 4, 5]),
      h("h2", {}, "Bytes in each layout"),
      table("Bytes in each layout", ["Component", "table", "soa", "pool", "linear"], infos.filter((/** @type {any} */ info) => info.values > 0 && info.size > 0).map((/** @type {any} */ info) => [
        info.short, ...["table", "soa", "pool", "linear"].map((name) => h("span", { class: name === info.layout ? "current" : null }, bytes(info.bytesAs[name]))),
      ]), [1, 2, 3, 4]),
    ];
  });
}

/** @param {HTMLElement} root @param {any} app */
export function mountResources(root, app) {
  return page(root, app, "Resources", async () => {
    const { resources } = await get("resources");
    if (!resources.length) return [h("p", { class: "empty" }, "The world has no resources.")];
    return resources.map((/** @type {any} */ one) => h("section", { class: "card" },
      h("h2", { title: one.name }, one.short),
      one.value === null ? h("p", { class: "why" }, "Not shown: add .resource::<", one.short, ">() to the builder of the inspector.") : h("pre", { tabIndex: 0 }, one.value)));
  });
}

/** @param {HTMLElement} root @param {any} app */
export function mountGroups(root, app) {
  return page(root, app, "Groups", async () => {
    const { groups } = await get("groups");
    if (!groups.length) return [h("p", { class: "empty" }, "The world has no groups. A group keeps several sparse sets in the same order, so that they are iterated like a table.")];
    return [table("Groups", ["Owned", "Required", "Excluded", "Members", "First members"], groups.map((/** @type {any} */ one) => [
      one.owned.join(", ") || "–", one.required.join(", ") || "–", one.excluded.join(", ") || "–", count(one.members),
      h("span", {}, one.first.slice(0, 8).map((/** @type {string} */ entity) => [h("a", { class: "entity", href: `#/entities?e=${entity}` }, entity), " "])),
    ]), [3])];
  });
}
