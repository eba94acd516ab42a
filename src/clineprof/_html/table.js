// SPDX-License-Identifier: MIT
// A table for any number of rows. Only the visible rows exist, between two empty rows that are as high as all others
// together. The headings sort the table; the keyboard moves through its rows.
"use strict";

const BEYOND = 20; // rows that exist above and below the visible rows

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// A column: {key, title, hint, width (in ch; undefined: the rest of the width), text (false: the values are numbers),
//            value(id): the value to sort by, fill(cell, id, row),
//            bar (the kind of bar below the number, which shows its share of the column's largest; undefined: none)}
// An id is a number that the owner of the table gives to a row.
class Table {
  // Makes a table that is first sorted by the column `key`. A click on a row calls open(id) and then
  // opened(byKeyboard), which says whether the keyboard made the click.
  constructor(scroller, label, key, open, opened, descending = true) {
    this.scroller = scroller;
    this.open = open;
    this.opened = opened;
    this.usual = { key, descending }; // is restored when the column goes by which rows are sorted
    Object.assign(this, this.usual);
    this.ids = [];
    this.natural = []; // the ids in the order in which they were given
    this.made = new Map(); // index in ids -> row element
    this.selected = -1;
    this.rowHeight = 0;
    this.rearranged = () => {}; // is called when rows or their order have changed
    this.table = element("table", "list");
    this.table.setAttribute("aria-label", label);
    this.body = element("tbody");
    this.above = element("tr", "space");
    this.below = element("tr", "space");
    this.above.append(element("td"));
    this.below.append(element("td"));
    this.table.append(element("colgroup"), element("thead"), this.body);
    scroller.append(this.table);
    scroller.addEventListener("scroll", () => this.update(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(scroller);
    this.body.addEventListener("click", (event) => this.clicked(event));
  }

  clicked(event) {
    const row = event.target.closest("tr");
    if (!this.open || !row || row.at === undefined || !getSelection().isCollapsed) return;
    this.select(row.at, false);
    this.open(this.ids[row.at]);
    this.opened(event.detail === 0);
  }

  // ---- columns and their order

  // Shows the columns. minimum: the least width in ch of the column without a width.
  show(columns, minimum, ids) {
    this.columns = columns;
    if (!columns.some((column) => column.key === this.key)) Object.assign(this, this.usual);
    for (const column of columns) if (column.bar) column.largest = most(ids.map(column.value));
    const cols = columns.map((column) => {
      const col = element("col");
      if (column.width) col.style.width = `calc(${column.width}ch - var(--closer))`;
      return col;
    });
    const wide = columns.reduce((sum, column) => sum + (column.width || minimum), 0);
    const fixed = columns.filter((column) => column.width).length;
    this.table.style.minWidth = `calc(${wide}ch - ${fixed} * var(--closer))`;
    this.table.querySelector("colgroup").replaceChildren(...cols);
    const row = element("tr");
    row.append(...columns.map((column) => this.heading(column)));
    this.table.tHead.replaceChildren(row);
    this.above.firstChild.colSpan = this.below.firstChild.colSpan = columns.length;
    this.tellOrder();
    this.setRows(ids);
  }

  heading(column) {
    const cell = element("th", column.text ? "" : "num");
    cell.scope = "col";
    cell.dataset.key = column.key;
    const button = element("button", "", column.title);
    button.type = "button";
    if (column.hint) button.title = column.hint;
    button.addEventListener("click", () => {
      const turned = this.key === column.key ? !this.descending : !column.text;
      this.sort(column.key, turned);
    });
    cell.append(button);
    return cell;
  }

  sort(key, descending) {
    this.key = key;
    this.descending = descending;
    const id = this.ids[this.selected];
    this.arrange();
    this.selected = id === undefined ? -1 : this.ids.indexOf(id);
    this.scroller.scrollTop = 0;
    this.tellOrder();
    this.rebuild();
  }

  // Sorts the rows. Rows with equal values keep the order in which they were given.
  arrange() {
    const column = this.columns.find((column) => column.key === this.key);
    const kind = column.text ? Array : Float64Array;
    const keys = kind.from(this.natural, (id) => column.value(id));
    const places = Uint32Array.from(keys.keys());
    const sign = this.descending ? -1 : 1;
    places.sort((a, b) =>
      keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b);
    this.ids = Array.from(places, (place) => this.natural[place]);
  }

  tellOrder() {
    for (const cell of this.table.tHead.querySelectorAll("th")) {
      const chosen = cell.dataset.key === this.key;
      cell.setAttribute("aria-sort", !chosen ? "none" : this.descending ? "descending" : "ascending");
    }
  }

  // ---- rows

  setRows(ids) {
    this.natural = ids;
    this.selected = -1;
    this.arrange();
    this.scroller.scrollTop = 0;
    this.table.setAttribute("aria-rowcount", ids.length + 1);
    this.rebuild();
  }

  // Makes all visible rows again.
  rebuild() {
    this.made.clear();
    this.body.replaceChildren(this.above, this.below);
    this.update();
    this.rearranged();
  }

  measure() {
    const [row] = this.made.values();
    if (row && row.offsetHeight) this.rowHeight = row.getBoundingClientRect().height;
    this.update();
  }

  update() {
    if (!this.columns || !this.scroller.clientHeight) return;
    if (!this.rowHeight && this.ids.length) this.make(0, 1);
    const height = this.rowHeight || 1, top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / height) - BEYOND);
    const end = Math.ceil((top + this.scroller.clientHeight) / height) + BEYOND;
    this.make(first, Math.min(this.ids.length, end));
    this.above.firstChild.style.height = first * height + "px";
    this.below.firstChild.style.height =
      Math.max(0, this.ids.length - Math.min(this.ids.length, end)) * height + "px";
    if (!this.rowHeight && this.made.size) this.measure();
  }

  // Makes the rows from `first` to `end` (not included), and removes all others.
  make(first, end) {
    for (const [place, row] of this.made)
      if (place < first || place >= end) {
        row.remove();
        this.made.delete(place);
      }
    let before = this.below;
    for (let at = end - 1; at >= first; at--) {
      let row = this.made.get(at);
      if (!row) {
        row = this.row(at);
        this.made.set(at, row);
        before.before(row);
      }
      before = row;
    }
  }

  row(at) {
    const row = element("tr"), id = this.ids[at];
    row.at = at;
    row.setAttribute("aria-rowindex", at + 2);
    for (const column of this.columns) {
      const cell = element("td", column.text ? "text" : "num");
      column.fill(cell, id, row);
      if (column.bar && cell.textContent) bar(cell, column.value(id), column.largest, column.bar);
      row.append(cell);
    }
    this.mark(row);
    return row;
  }

  mark(row) {
    const chosen = row.at === this.selected;
    row.classList.toggle("selected", chosen);
    const button = row.querySelector("button");
    if (button) button.tabIndex = chosen || (this.selected < 0 && row.at === 0) ? 0 : -1;
    if (chosen) (button || row).setAttribute("aria-current", "true");
    else (button || row).removeAttribute("aria-current");
  }

  // ---- the keyboard

  select(at, focus = true) {
    if (!this.ids.length) return;
    this.selected = Math.max(0, Math.min(this.ids.length - 1, at));
    this.reveal(this.selected);
    for (const row of this.made.values()) this.mark(row);
    if (focus) this.focus();
  }

  focus() {
    const row = this.made.get(Math.max(0, this.selected));
    const button = row && row.querySelector("button");
    if (button) button.focus({ preventScroll: true });
  }

  reveal(at, middle = false) {
    const head = this.table.tHead.offsetHeight, top = at * this.rowHeight;
    const room = this.scroller.clientHeight - head;
    if (middle) this.scroller.scrollTop = top - room / 2;
    else if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.rowHeight > this.scroller.scrollTop + room)
      this.scroller.scrollTop = top + this.rowHeight - room;
    this.update();
  }
}
