// @ts-check
// The query bar: completion of names and fields, and errors where they are.

import { fill, h } from "./dom.js";

/** @typedef {{name: string, short: string, layout: string, fields: {path: string, kind: string, type: string, choices?: string[]}[]}} Info */

const plain = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the name of a component as it is written in queries. @param {Info} info @param {Info[]} all */
export function nameOf(info, all) {
  const unique = all.filter((other) => other.short === info.short).length === 1;
  const name = unique ? info.short : info.name;
  return name.split("::").every((part) => plain.test(part)) ? name : "`" + name + "`";
}

/** Splits a query before its `sort` or `limit`. @param {string} text @returns {[string, string]} */
export function splitQuery(text) {
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quote) {
      if (letter === "\\" && quote === '"') at++;
      else if (letter === quote) quote = "";
    } else if (letter === '"' || letter === "`") quote = letter;
    else if (/^\s*(sort|limit)\b/.test(text.slice(at)) && (at === 0 || /[\s,)]/.test(text[at - 1]) || /\s/.test(letter))) {
      return [text.slice(0, at).trim(), text.slice(at).trim()];
    }
  }
  return [text.trim(), ""];
}

/** Returns what a query is sorted by. @param {string} text */
export function sortOf(text) {
  const found = /^sort\s+(.+?)(\s+desc|\s+asc)?(\s+limit\s+\d+)?$/.exec(splitQuery(text)[1]);
  return found ? { field: found[1], descends: (found[2] || "").trim() === "desc" } : null;
}

/**
 * Makes the bar.
 * @param {{value: string, infos: () => Info[], onquery: (text: string) => void}} options
 */
export function queryBar({ value, infos, onquery }) {
  /** @type {{text: string, note: string}[]} */
  let offers = [];
  let chosen = -1;
  const input = h("input", {
    id: "query", type: "text", value, spellcheck: false, autocomplete: "off", role: "combobox", placeholder: "Position, !Burning, Health.hp < 10",
    "aria-label": "Query", "aria-expanded": "false", "aria-controls": "offers", "aria-autocomplete": "list", "aria-describedby": "query-error",
  });
  const list = h("ul", { id: "offers", role: "listbox", "aria-label": "Completions", hidden: true });
  const error = h("p", { id: "query-error", class: "query-error", hidden: true });

  const word = () => {
    const before = input.value.slice(0, input.selectionStart ?? 0);
    return (/[A-Za-z0-9_:.`]*$/.exec(before) || [""])[0];
  };

  const find = () => {
    const part = word();
    const [head, ...rest] = part.split(/\.(?=[^.]*$)/);
    const all = infos();
    if (rest.length) {
      const owner = all.find((info) => nameOf(info, all) === head || info.short === head);
      const fields = owner ? owner.fields.filter((field) => field.path.toLowerCase().startsWith(rest[0].toLowerCase())) : [];
      return fields.map((field) => ({ text: `${head}.${field.path}`, note: field.type }));
    }
    const low = part.toLowerCase();
    const names = all.map((info) => ({ text: nameOf(info, all), note: info.layout }));
    const words = part ? [{ text: "sort ", note: "order" }, { text: "limit ", note: "rows" }, { text: "changed(", note: "since the last clear" }, { text: "parent = ", note: "link" }] : [];
    const starts = names.filter((name) => name.text.toLowerCase().startsWith(low));
    const holds = names.filter((name) => !name.text.toLowerCase().startsWith(low) && name.text.toLowerCase().includes(low));
    return [...starts, ...holds, ...words.filter((name) => name.text.startsWith(low))].filter((name) => name.text !== part).slice(0, 12);
  };

  const show = () => {
    offers = document.activeElement === input ? find() : [];
    chosen = -1;
    draw();
  };
  const draw = () => {
    list.hidden = offers.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    fill(list, offers.map((offer, at) => h("li", {
      id: `offer${at}`, role: "option", "aria-selected": String(at === chosen),
      onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); take(offer.text); },
    }, h("span", {}, offer.text), h("small", {}, offer.note))));
    if (chosen >= 0) input.setAttribute("aria-activedescendant", `offer${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (/** @type {string} */ text) => {
    const end = input.selectionStart ?? input.value.length;
    const start = end - word().length;
    input.setRangeText(text, start, end, "end");
    offers = [];
    draw();
    input.focus();
  };
  const run = () => {
    offers = [];
    draw();
    onquery(input.value);
  };

  let timer = 0;
  input.addEventListener("input", () => {
    show();
    clearTimeout(timer);
    timer = setTimeout(() => onquery(input.value), 350);
  });
  input.addEventListener("click", show);
  input.addEventListener("blur", () => { offers = []; draw(); });
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown" && list.hidden) show();
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && offers.length) {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + offers.length) % offers.length;
      draw();
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(offers[chosen].text);
    else if (event.key === "Enter") { clearTimeout(timer); run(); }
    else if (event.key === "Escape" && offers.length) { offers = []; draw(); }
    else return;
    if (event.key !== "Tab" || chosen >= 0) event.preventDefault();
  });

  return {
    element: h("div", { class: "query" }, h("span", { class: "hint", "aria-hidden": "true" }, "/"), input, list),
    error,
    input,
    /** Shows an error, or none. @param {any} problem */
    setError(problem) {
      error.hidden = !problem;
      input.toggleAttribute("aria-invalid", Boolean(problem));
      if (!problem) return;
      const at = problem.body && problem.body.position;
      const nearest = problem.body && problem.body.nearest;
      const mark = typeof at === "number" ? `${input.value.slice(0, at)}▸${input.value.slice(at)}` : null;
      fill(error, problem.message, mark ? h("code", {}, mark) : null, nearest ? h("button", {
        class: "link",
        onclick: () => {
          const end = (/^[A-Za-z0-9_:`]*/.exec(input.value.slice(at)) || [""])[0].length;
          input.setRangeText(nearest, at, at + end, "end");
          run();
        },
      }, `Use ${nearest}`) : null);
    },
  };
}
