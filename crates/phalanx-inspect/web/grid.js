// @ts-check
// A grid of any number of rows. Its row elements are few, and are used again while it scrolls.

import { h, setText } from "./dom.js";

const ROW = 26;
// Browsers limit the height of an element. Above this the scroll bar stands for rows in proportion.
const TALLEST = 8_000_000;

/** @typedef {{name: string, kind: string, component?: string, field?: string}} Column */
/** @typedef {{
 *   label: string,
 *   onrange: () => void,
 *   onopen: (entity: string) => void,
 *   onsort: (column: Column) => void,
 *   onedit: (entity: string, column: Column, value: string) => Promise<boolean>,
 *   onpick: (picked: Set<string>) => void,
 *   sort: () => {field: string, descends: boolean} | null,
 * }} Options */

/** A grid of entities. */
export class Grid {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.total = 0;
    this.isExact = true;
    this.first = 0;
    this.active = 0;
    this.cell = 0;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Map<number, any[]>} */
    this.rows = new Map();
    /** @type {Set<string>} */
    this.picked = new Set();
    /** @type {any[]} */
    this.lines = [];
    this.editing = null;
    this.head = h("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": 1 });
    this.layer = h("div", { class: "grid-layer", role: "rowgroup" }, this.head);
    this.space = h("div", { class: "grid-space", role: "presentation" }, this.layer);
    this.element = h("div", { class: "grid", role: "grid", tabIndex: 0, "aria-label": options.label, "aria-multiselectable": "true" }, this.space);
    this.element.addEventListener("scroll", () => this.scrolled());
    this.element.addEventListener("wheel", (/** @type {WheelEvent} */ event) => this.wheeled(event), { passive: false });
    this.element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.pressed(event));
    this.layer.addEventListener("click", (/** @type {MouseEvent} */ event) => this.clicked(event));
    this.layer.addEventListener("dblclick", (/** @type {MouseEvent} */ event) => { this.clicked(event, true); });
    this.observer = new ResizeObserver(() => { this.measure(); this.draw(); this.options.onrange(); });
    this.observer.observe(this.element);
  }

  destroy() {
    this.observer.disconnect();
  }

  /** The number of rows that fit. */
  get fits() {
    return Math.max(1, Math.floor((this.element.clientHeight - ROW) / ROW));
  }

  /** The rows that are needed. */
  get range() {
    const from = Math.max(0, Math.floor(this.first) - 8);
    return { from, count: Math.min(this.fits + 20, 400) };
  }

  get isMapped() {
    return (this.total + 1) * ROW > TALLEST;
  }

  /** The largest row that can be first. */
  get lastFirst() {
    return Math.max(0, this.total - this.fits);
  }

  measure() {
    this.space.style.height = `${Math.min((this.total + 1) * ROW, TALLEST)}px`;
    this.layer.style.height = `${this.element.clientHeight}px`;
    this.layer.style.setProperty("--columns", `minmax(5.5rem, 7rem) minmax(5.5rem, .7fr) repeat(${this.columns.length}, minmax(7rem, 1fr))`);
    this.layer.style.minWidth = `${12 + this.columns.length * 7}rem`;
  }

  /** @param {number} total @param {boolean} isExact */
  setTotal(total, isExact) {
    if (total === this.total && isExact === this.isExact) return;
    [this.total, this.isExact] = [total, isExact];
    this.element.setAttribute("aria-rowcount", isExact ? String(total + 1) : "-1");
    this.active = Math.min(this.active, Math.max(0, total - 1));
    this.measure();
    if (this.first > this.lastFirst) this.moveTo(this.lastFirst);
  }

  /** @param {Column[]} columns */
  setColumns(columns) {
    const key = (/** @type {Column[]} */ list) => JSON.stringify(list);
    if (key(columns) === key(this.columns) && this.head.children.length) return this.drawSort();
    this.columns = columns;
    this.element.setAttribute("aria-colcount", String(columns.length + 2));
    const cell = (/** @type {any} */ child, /** @type {number} */ at) =>
      h("div", { role: "columnheader", class: "grid-cell", "aria-colindex": at + 1 }, child);
    this.head.replaceChildren(
      cell("Entity", 0), cell("Name", 1),
      ...columns.map((column, at) => cell(h("button", {
        tabIndex: -1, title: `Sort by ${column.name}`, onclick: (/** @type {Event} */ event) => { event.stopPropagation(); this.options.onsort(column); },
      }, column.name), at + 2)));
    for (const line of this.lines) line.remove();
    this.lines = [];
    this.measure();
    this.drawSort();
    this.draw();
  }

  drawSort() {
    const sort = this.options.sort();
    this.columns.forEach((column, at) => {
      const head = this.head.children[at + 2];
      const mine = sort && sort.field === column.name;
      if (mine) head.setAttribute("aria-sort", sort.descends ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      setText(head.firstChild, column.name + (mine ? (sort.descends ? " ▾" : " ▴") : ""));
    });
  }

  /** Takes rows of an answer. @param {number} from @param {any[][]} rows @param {number} asked */
  setRows(from, rows, asked) {
    for (let at = from; at < from + asked; at++) this.rows.delete(at);
    if (this.rows.size > 4000) this.rows.clear();
    rows.forEach((row, at) => this.rows.set(from + at, row));
    this.draw();
  }

  clear() {
    this.rows.clear();
    this.draw();
  }

  // The scroll bar and `first`: each is set by the other, and `expected` tells which.
  scrolled() {
    const top = this.element.scrollTop;
    if (this.expected !== undefined && Math.abs(top - this.expected) < 2) {
      this.expected = undefined;
      return;
    }
    this.expected = undefined;
    const most = this.element.scrollHeight - this.element.clientHeight;
    this.first = this.isMapped ? (most > 0 ? (top / most) * this.lastFirst : 0) : top / ROW;
    this.draw();
    this.options.onrange();
  }

  /** Puts a row at the top. @param {number} first */
  moveTo(first) {
    this.first = Math.min(Math.max(0, first), this.lastFirst);
    const most = this.element.scrollHeight - this.element.clientHeight;
    const top = this.isMapped ? (this.lastFirst ? (this.first / this.lastFirst) * most : 0) : this.first * ROW;
    if (Math.abs(top - this.element.scrollTop) >= 1) {
      this.expected = Math.round(top);
      this.element.scrollTop = top;
    }
    this.draw();
    this.options.onrange();
  }

  /** @param {WheelEvent} event */
  wheeled(event) {
    if (!this.isMapped || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? this.fits : 1 / ROW;
    this.moveTo(this.first + event.deltaY * unit);
  }

  /** Makes a row the active one, and brings it into view. @param {number} row */
  activate(row) {
    this.active = Math.min(Math.max(0, row), Math.max(0, this.total - 1));
    if (this.active < this.first) this.moveTo(this.active);
    else if (this.active > this.first + this.fits - 1) this.moveTo(this.active - this.fits + 1);
    else this.draw();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.target !== this.element || event.ctrlKey && event.key !== "Home" && event.key !== "End" || event.altKey || event.metaKey) return;
    const row = this.rows.get(this.active);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.activate(this.active + 1),
      ArrowUp: () => this.activate(this.active - 1),
      PageDown: () => this.activate(this.active + this.fits),
      PageUp: () => this.activate(this.active - this.fits),
      Home: () => this.activate(0),
      End: () => this.activate(this.total - 1),
      ArrowLeft: () => { this.cell = Math.max(0, this.cell - 1); this.draw(); this.showCell(); },
      ArrowRight: () => { this.cell = Math.min(this.columns.length + 1, this.cell + 1); this.draw(); this.showCell(); },
      Enter: () => row && this.options.onopen(row[0]),
      " ": () => { if (row) this.pick(row[0]); this.activate(this.active + 1); },
      e: () => this.edit(),
      F2: () => this.edit(),
      s: () => { const column = this.columns[this.cell - 2]; if (column) this.options.onsort(column); },
    };
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  showCell() {
    const line = this.lines.find((line) => line.row === this.active);
    line?.children[this.cell]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {string} entity */
  pick(entity) {
    if (!this.picked.delete(entity)) this.picked.add(entity);
    this.options.onpick(this.picked);
    this.draw();
  }

  /** @param {MouseEvent} event @param {boolean} [twice] */
  clicked(event, twice = false) {
    const target = /** @type {Element} */ (event.target);
    const line = /** @type {any} */ (target.closest(".grid-line"));
    if (!line || target.closest("input")) return;
    const cell = [...line.children].indexOf(target.closest(".grid-cell"));
    const row = this.rows.get(line.row);
    if (cell >= 0) this.cell = cell;
    this.activate(line.row);
    if (!row) return;
    if (twice && cell > 1) this.edit();
    else if (event.ctrlKey || event.metaKey) this.pick(row[0]);
    else if (!twice && cell === 0) this.options.onopen(row[0]);
  }

  /** Edits the active cell in place. */
  edit() {
    const column = this.columns[this.cell - 2];
    const row = this.rows.get(this.active);
    const line = this.lines.find((line) => line.row === this.active);
    if (!column || !row || !line || row[this.cell] === null || this.editing) return;
    const place = line.children[this.cell];
    const input = h("input", { value: row[this.cell], "aria-label": `${column.name} of ${row[0]}` });
    const close = () => {
      this.editing = null;
      input.remove();
      line.shown = null;
      this.draw();
      this.element.focus({ preventScroll: true });
    };
    input.addEventListener("keydown", async (/** @type {KeyboardEvent} */ event) => {
      event.stopPropagation();
      if (event.key === "Escape") close();
      if (event.key !== "Enter") return;
      if (await this.options.onedit(row[0], column, input.value)) close();
      else input.select();
    });
    input.addEventListener("blur", () => { if (this.editing) close(); });
    this.editing = input;
    place.replaceChildren(input);
    input.focus();
    input.select();
  }

  /** Draws the rows that are in view. */
  draw() {
    const start = Math.floor(this.first);
    const shown = Math.min(this.fits + 2, this.total - start);
    while (this.lines.length < shown) {
      const line = h("div", { class: "grid-row grid-line", role: "row", id: `line${this.lines.length}` },
        Array.from({ length: this.columns.length + 2 }, (_, at) => h("div", { class: "grid-cell", role: "gridcell", "aria-colindex": at + 1 })));
      this.lines.push(line);
      this.layer.append(line);
    }
    let active = "";
    this.lines.forEach((line, at) => {
      const row = start + at;
      line.hidden = at >= shown;
      if (line.hidden) return void (line.row = -1);
      if (this.editing && line.contains(this.editing)) {
        if (line.row === row) return;
        this.editing.blur();
      }
      line.row = row;
      line.style.transform = `translateY(${ROW + (row - this.first) * ROW}px)`;
      line.setAttribute("aria-rowindex", String(row + 2));
      const data = this.rows.get(row);
      const isActive = row === this.active;
      if (isActive) active = line.id;
      line.classList.toggle("active", isActive);
      line.classList.toggle("even", row % 2 === 0);
      line.setAttribute("aria-selected", String(Boolean(data && this.picked.has(data[0]))));
      [...line.children].forEach((cell, column) => {
        const value = data ? data[column] : column === 0 ? "…" : "";
        const kind = column < 2 ? (column ? "text" : "entity") : this.columns[column - 2].kind;
        setText(cell, value === null || value === undefined ? "" : value);
        const name = `grid-cell ${kind}${isActive && column === this.cell ? " here" : ""}`;
        if (cell.className !== name) cell.className = name;
      });
    });
    if (active) this.element.setAttribute("aria-activedescendant", active);
    else this.element.removeAttribute("aria-activedescendant");
  }
}
