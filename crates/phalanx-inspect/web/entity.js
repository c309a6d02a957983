// @ts-check
// One entity: its values, extra rows and links. A field that is being edited is never drawn again.

import { get, post } from "./api.js";
import { attempt, confirm, fill, h, setText } from "./dom.js";

/**
 * @param {HTMLElement} root @param {any} app
 * @param {{onclose: () => void, onopen: (entity: string) => void}} options
 */
export function entityView(root, app, options) {
  let shown = "";
  let drawn = "";
  let isFrozen = false;

  const isEditing = () => root.contains(document.activeElement) && document.activeElement?.matches("input, select, textarea");

  /** @param {string} entity */
  function show(entity) {
    shown = entity;
    drawn = "";
    root.hidden = !entity;
    if (!entity) return fill(root);
    refresh(true);
  }

  async function refresh(isFirst = false) {
    if (!shown || isFrozen) return;
    const asked = shown;
    let answer;
    try {
      answer = await get(`entity/${asked}`, { at: app.at === "now" ? null : app.at });
    } catch (error) {
      if (asked !== shown) return;
      if (/** @type {any} */ (error).status === 404) {
        drawn = "";
        fill(root, head(asked, null), h("p", { class: "empty" }, `${asked} is not alive${app.at === "now" ? "" : " at this frame"}.`));
      } else app.failed(error);
      return;
    }
    if (asked !== shown || isEditing() && !isFirst) return;
    // The structure is drawn when it changes, and otherwise only the values.
    const form = JSON.stringify([answer.components.map((/** @type {any} */ c) => [c.name, c.editable, c.json !== null, c.fields.map((/** @type {any} */ f) => f.path)]),
      answer.rows.length, answer.relations, answer.name, answer.missing]);
    if (form !== drawn) {
      const focus = document.activeElement?.id;
      drawn = form;
      draw(answer);
      if (focus && root.contains(document.getElementById(focus))) document.getElementById(focus)?.focus();
      if (isFirst) /** @type {any} */ (root.querySelector("h2"))?.focus({ preventScroll: true });
    } else {
      let at = 0;
      const nodes = root.querySelectorAll("[data-value]");
      const set = (/** @type {string} */ value) => { const node = nodes[at++]; if (node) put(node, value); };
      const each = (/** @type {any[]} */ list) => list.forEach((c) => (c.fields.length ? c.fields.forEach((/** @type {any} */ f) => set(f.value)) : set(c.value)));
      each(answer.components);
      answer.rows.forEach((/** @type {any} */ row) => each(row.components));
    }
  }

  /** @param {any} node @param {string} value */
  function put(node, value) {
    if (node.tagName === "INPUT" && node.type === "checkbox") node.checked = value === "true";
    else if ("value" in node && node.tagName !== "LI") { if (node.value !== value) node.value = value; }
    else if (node.textContent !== value) {
      setText(node, value);
    }
  }

  /** @param {string} entity @param {any} answer */
  function head(entity, answer) {
    const fixed = app.world?.readOnly || app.at !== "now";
    return h("div", { class: "side-head" },
      h("div", {},
        h("h2", { tabIndex: -1 }, h("span", { class: "entity" }, entity), answer?.name ? ` ${answer.name}` : ""),
        answer?.path && answer.path !== answer.name ? h("p", { class: "path" }, answer.path) : null),
      h("div", { class: "buttons" },
        answer && !fixed ? h("button", { onclick: () => rename(answer) }, "Name…") : null,
        answer && !fixed ? h("button", { class: "danger", onclick: () => despawn(entity) }, "Despawn") : null,
        h("button", { onclick: options.onclose, "aria-label": "Close" }, "✕")));
  }

  /** @param {any} answer */
  function draw(answer) {
    const entity = answer.entity;
    fill(root, head(entity, answer),
      answer.components.length ? null : h("p", { class: "empty" }, "This entity has no components."),
      answer.components.map((/** @type {any} */ component) => card(entity, component)),
      answer.relations.map((/** @type {any} */ relation) => h("section", { class: "card" }, h("h3", {}, relation.name),
        relation.target ? h("p", {}, "Target ", link(relation.target)) : null,
        relation.sources.length ? h("p", {}, "Sources ", relation.sources.map((/** @type {any} */ source) => [link(source), " "]), relation.whole ? "" : "and more") : null)),
      answer.rows.map((/** @type {any} */ row) => h("section", { class: "card" },
        h("h3", {}, "Extra row", row.about ? ` about ${row.about}` : "", row.role ? ` in role ${row.role}` : ""),
        row.components.map((/** @type {any} */ component) => card(null, component)))),
      answer.missing.length ? inserter(entity, answer.missing) : null);
  }

  /** @param {[string, string | null]} to */
  function link([entity, name]) {
    return h("button", { class: "link", onclick: () => options.onopen(entity) }, h("span", { class: "entity" }, entity), name ? ` ${name}` : "");
  }

  /** @param {string | null} entity @param {any} component */
  function card(entity, component) {
    const remove = entity && component.why !== "this view is read-only" ? h("button", {
      class: "quiet", title: `Remove ${component.short}`, "aria-label": `Remove ${component.short}`, onclick: async () => {
        if (!(await confirm(`Remove ${component.short} from ${entity}?`, "The value is dropped.", "Remove"))) return;
        await attempt(() => post("remove", { entity, component: component.name }));
        app.refresh();
      },
    }, "✕") : null;
    const fields = component.fields;
    return h("section", { class: "card" },
      h("h3", {}, h("span", { title: component.name }, component.short), h("small", {}, component.layout), remove),
      fields.length === 0 ? h("p", { class: "value", "data-value": "" }, component.value)
        : h("dl", {}, fields.map((/** @type {any} */ field) => h("div", {},
          h("dt", { title: field.type }, field.path === "" || (field.path === "0" && fields.length === 1) ? "value" : field.path, h("small", {}, field.type)),
          h("dd", {}, input(entity, component, field))))),
      component.json !== null && entity ? json(entity, component) : null,
      component.why && component.why !== "this view is read-only" ? h("p", { class: "why" }, `Read-only: ${component.why}.`) : null);
  }

  /** @param {string | null} entity @param {any} component @param {any} field */
  function input(entity, component, field) {
    const label = `${component.short}${field.path ? "." + field.path : ""}`;
    const id = `f-${component.name}-${field.path}`;
    const isOpen = entity && component.editable && field.kind !== "other" && !(field.kind === "text" && field.type === "text");
    if (!isOpen) {
      const isEntity = field.kind === "entity";
      return isEntity ? h("button", { class: "link entity", "data-value": "", onclick: (/** @type {any} */ event) => options.onopen(event.currentTarget.textContent) }, field.value)
        : h("span", { class: `value ${field.kind}`, "data-value": "" }, field.value);
    }
    const set = async (/** @type {string} */ value, /** @type {any} */ node) => {
      const done = await attempt(() => post("edit", { entity, component: component.name, field: field.path, value }));
      if (!done) node.setAttribute("aria-invalid", "true");
      else {
        node.removeAttribute("aria-invalid");
        app.refresh();
      }
      return done;
    };
    if (field.kind === "bool") {
      return h("input", { id, type: "checkbox", checked: field.value === "true", "aria-label": label, "data-value": "", onchange: (/** @type {any} */ event) => set(String(event.target.checked), event.target) });
    }
    if (field.kind === "choice") {
      const list = h("select", { id, "aria-label": label, "data-value": "", onchange: (/** @type {any} */ event) => { set(event.target.value, event.target); event.target.blur(); } },
        field.choices.map((/** @type {string} */ name) => h("option", { value: name }, name)));
      list.value = field.value;
      return list;
    }
    const node = h("input", { id, type: "text", value: field.value, "aria-label": label, "data-value": "", inputMode: field.kind === "number" ? "decimal" : null, spellcheck: false, class: field.kind });
    let [before, sent] = [field.value, field.value];
    // Enter may come with an event of a change, too: each text is sent once.
    const commit = async () => {
      if (node.value === sent) return;
      sent = node.value;
      if (await set(node.value, node)) before = node.value;
    };
    node.addEventListener("focus", () => { before = sent = node.value; node.select(); });
    node.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") { node.value = sent = before; node.removeAttribute("aria-invalid"); node.blur(); event.stopPropagation(); }
      if (event.key === "Enter") { commit(); node.select(); }
      const step = field.kind === "number" && (event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0);
      if (step && Number.isFinite(Number(node.value))) {
        event.preventDefault();
        node.value = String(+(Number(node.value) + step * (event.shiftKey ? 10 : 1)).toFixed(6));
        commit();
      }
    });
    node.addEventListener("change", commit);
    return node;
  }

  /** @param {string} entity @param {any} component */
  function json(entity, component) {
    const area = h("textarea", { "aria-label": `${component.short} as JSON`, spellcheck: false, rows: 3 });
    area.value = component.json;
    return h("details", {}, h("summary", {}, "JSON"), area, h("button", {
      onclick: async () => {
        await attempt(() => post("edit", { entity, component: component.name, field: "", value: area.value }));
        area.blur();
        app.refresh();
      },
    }, "Set"));
  }

  /** @param {string} entity @param {string[]} missing */
  function inserter(entity, missing) {
    const list = h("select", { id: "insert", "aria-label": "Component to insert" }, missing.map((name) => h("option", { value: name }, name.replace(/^.*::(?=[^<]*(<|$))/, ""))));
    return h("div", { class: "buttons insert" }, list, h("button", {
      onclick: async () => { list.blur(); await attempt(() => post("insert", { entity, component: list.value })); app.refresh(); },
    }, "Insert with zeros"));
  }

  /** @param {any} answer */
  async function rename(answer) {
    isFrozen = true;
    const field = h("input", { type: "text", value: answer.name || "", "aria-label": "Name", spellcheck: false });
    const dialog = h("dialog", { "aria-labelledby": "rename", onclose: () => { dialog.remove(); isFrozen = false; } }, h("h2", { id: "rename" }, `Name of ${answer.entity}`), h("form", {
      method: "dialog", onsubmit: () => attempt(() => post("rename", { entity: answer.entity, name: field.value || null })).then(() => app.refresh()),
    }, field, h("div", { class: "buttons" }, h("button", { type: "submit" }, "Set"), h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  }

  /** @param {string} entity */
  async function despawn(entity) {
    if (!(await confirm(`Despawn ${entity}?`, "Its components and extra rows are dropped.", "Despawn"))) return;
    await attempt(() => post("despawn", { entities: [entity] }));
    app.refresh();
  }

  return { show, refresh: () => refresh() };
}
