// SPDX-License-Identifier: MIT
// The flame graph: a box for each context, as wide as its time, callers above what they call. Boxes that are too narrow
// to be seen are joined with their neighbours. Only the boxes of the visible rows exist.
"use strict";

const LEAST_WIDTH = 3; // pixels; narrower boxes are joined
const LEAST_SEEN = 0.7; // pixels; what is narrower still is not drawn
const LEAST_TEXT = 26; // pixels; a narrower box has no name in it
const BOX_HEIGHT = 20;
const MOST_STEPS = 8; // of the way to the selected box that are shown

// The tree of contexts, with what drawing needs. A list of siblings is a part of `order`, the widest first.
class Contexts {
  constructor() {
    Object.assign(this, readTree());
    const count = this.parent.length;
    this.width = Float64Array.from(this.self);
    for (let i = count - 1; i >= 0; i--) if (this.parent[i] >= 0) this.width[this.parent[i]] += this.width[i];
    const { parent, width } = this;
    this.order = Uint32Array.from(parent.keys()).sort((a, b) => parent[a] - parent[b] || width[b] - width[a] || a - b);
    this.first = new Uint32Array(count + 1); // where the children begin: first[parent + 1]; those without a parent at 0
    this.end = new Uint32Array(count + 1);
    this.place = new Uint32Array(count); // of the context in `order`
    this.order.forEach((i, place) => {
      const siblings = parent[i] + 1;
      if (!this.end[siblings]) this.first[siblings] = place;
      this.end[siblings] = place + 1;
      this.place[i] = place;
    });
    this.whole = this.sum(this.first[0], this.end[0]);
  }

  sum(from, end) {
    let sum = 0;
    for (let place = from; place < end; place++) sum += this.width[this.order[place]];
    return sum;
  }

  // Returns the contexts on the way to this one, from the root, itself included.
  way(i) {
    const found = [];
    for (; i >= 0; i = this.parent[i]) found.push(i);
    return found.reverse();
  }

  // Returns the line of the context's function that called most; undefined if it called nothing.
  callingLine(i) {
    const first = this.first[i + 1];
    return first < this.end[i + 1] ? this.line[this.order[first]] || undefined : undefined;
  }
}

// A box: {context, count (of the contexts that are joined in it), place (in `order`), row, left, width (in pixels),
//         passed (is it a caller of what is zoomed into?)}
class Flame {
  constructor(scroller, open, opened) {
    this.scroller = scroller;
    this.open = open;
    this.opened = opened;
    this.tree = null;
    this.ids = []; // the boxes, row by row
    this.rows = []; // the number of the first box of each row
    this.made = new Map(); // number of the box -> element
    this.selected = -1;
    this.zooms = []; // lists of siblings: {from, end}, as places in `order`
    this.canvas = scroller.appendChild(element("div", "canvas"));
    this.canvas.setAttribute("role", "group");
    this.canvas.setAttribute("aria-label", "Flame graph: callers above what they call");
    scroller.addEventListener("scroll", () => this.update(), { passive: true });
    scroller.addEventListener("keydown", (event) => this.pressed(event));
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    this.canvas.addEventListener("dblclick", () => this.zoom());
    new ResizeObserver(() => this.resized()).observe(scroller);
  }

  get columns() {
    return this.tree;
  }

  // Reads the tree when the graph is first shown.
  read() {
    this.tree = this.tree || new Contexts();
    at("flame-note").textContent = noteOnJoined().join("");
    this.find();
    this.arrange();
  }

  resized() {
    if (this.tree && this.scroller.clientWidth && this.scroller.clientWidth !== this.width) this.arrange();
    else this.update();
  }

  // ---- where boxes are

  arrange() {
    const chosen = this.ids[this.selected]?.context, hasFocus = this.canvas.contains(document.activeElement);
    this.ids = [];
    this.rows = [];
    this.made.clear();
    this.canvas.replaceChildren();
    const all = (this.width = this.scroller.clientWidth), { tree } = this;
    const { from, end } = this.zooms.at(-1) ?? { from: tree.first[0], end: tree.end[0] };
    const callers = from < end ? tree.way(tree.parent[tree.order[from]]) : [];
    for (const context of callers) this.add({ context, count: 1, left: 0, width: all, passed: true });
    let lists = [{ from, end, left: 0 }];
    const scale = all / (tree.sum(from, end) || Infinity);
    while (lists.length) lists = this.addRow(lists, scale);
    this.canvas.style.height = this.rows.length * BOX_HEIGHT + "px";
    this.selected = this.ids.findIndex((box) => box.context === chosen);
    this.update();
    if (hasFocus) this.select(Math.max(0, this.selected));
    this.tellSelected();
  }

  add(box) {
    box.row = this.rows.length;
    this.rows.push(this.ids.length);
    this.ids.push(box);
  }

  // Adds the boxes of one row: those of several lists of siblings. Returns the lists of the row below.
  addRow(lists, scale) {
    const { order, width, first, end: ends } = this.tree, row = this.rows.length, begin = this.ids.length, below = [];
    for (const { from, end, left: start } of lists) {
      for (let place = from, left = start; place < end; ) {
        const box = { context: order[place], place, count: 0, row, left, width: 0 };
        do box.width += width[order[place++]] * scale;
        while (place < end && box.width < LEAST_WIDTH);
        box.count = place - box.place;
        left += box.width;
        if (box.width < LEAST_SEEN) continue;
        this.ids.push(box);
        if (box.count === 1) below.push({ from: first[box.context + 1], end: ends[box.context + 1], left: box.left });
      }
    }
    if (this.ids.length > begin) this.rows.push(begin);
    return below;
  }

  // ---- elements

  update() {
    if (!this.tree || !this.scroller.clientHeight) return;
    const top = Math.floor(this.scroller.scrollTop / BOX_HEIGHT);
    const bottom = top + Math.ceil(this.scroller.clientHeight / BOX_HEIGHT) + 1;
    const from = this.rows[Math.max(0, top - 1)] ?? 0, end = this.rows[bottom + 1] ?? this.ids.length;
    for (const [number, box] of this.made)
      if (number < from || number >= end) {
        box.remove();
        this.made.delete(number);
      }
    for (let number = from; number < end; number++) if (!this.made.has(number)) this.make(number);
  }

  make(number) {
    const box = this.ids[number], { tree } = this, made = element("button", "box");
    made.type = "button";
    made.number = number;
    made.style.left = box.left.toFixed(2) + "px";
    made.style.top = box.row * BOX_HEIGHT + "px";
    made.style.width = Math.max(1, box.width - 1).toFixed(2) + "px";
    made.style.setProperty("--hue", tree.hue[tree.function[box.context]]);
    made.classList.toggle("joined", box.count > 1);
    made.classList.toggle("passed", !!box.passed);
    made.classList.toggle("found", this.isFound(box));
    const told = this.told(box).map(plain);
    made.title = told.join("\n");
    made.setAttribute("aria-label", told.join(", "));
    if (box.width >= LEAST_TEXT) put(made, this.nameOf(box).slice(0, 300));
    this.made.set(number, made);
    this.mark(number);
    this.canvas.append(made);
  }

  mark(number) {
    const made = this.made.get(number), chosen = number === this.selected;
    if (!made) return;
    made.tabIndex = chosen || (this.selected < 0 && number === 0) ? 0 : -1;
    made.classList.toggle("selected", chosen);
  }

  nameOf(box) {
    return box.count > 1 ? `${count(box.count)} contexts` : functions[this.tree.function[box.context]][NAME];
  }

  // Returns what is told of a box, line by line, with exact numbers.
  told(box) {
    const { tree } = this, i = box.context, exactly = (ns) => `${time(ns)} (${count(ns)} ns)`;
    const number = (calls, what) => `${count(calls)} ${what}${calls === 1 ? "" : "s"}`;
    const share = (ns) => (tree.whole ? `, ${percent(ns, tree.whole)} %` : "");
    if (box.count > 1) {
      const sum = tree.sum(box.place, box.place + box.count);
      return [`${count(box.count)} contexts, each too narrow to be drawn`, `time ${exactly(sum)}${share(sum)}`];
    }
    const told = [functions[tree.function[i]][NAME], placeOf(tree.function[i]), this.calledFrom(i),
      `time ${exactly(tree.time[i])}${share(tree.time[i])}`, `self ${exactly(tree.self[i])}`,
      number(tree.calls[i], "call") + (tree.again[i] ? ` and ${number(tree.again[i], "recursive call")}` : "")];
    if (tree.increment) told.push(`increment ${size(tree.increment[i])} (${count(tree.increment[i])} bytes)`);
    return told;
  }

  calledFrom(i) {
    const { parent, function: of, line, through } = this.tree;
    if (parent[i] < 0) return "called from code that is not selected";
    return `called from ${callerName(of[parent[i]], line[i])}` + (through[i] ? ", through unselected code" : "");
  }

  // ---- the search

  // Finds the contexts whose function has the searched words, and those above one.
  find() {
    const { tree } = this, known = functions.map((_, i) => words.length > 0 && isSearched(i));
    this.found = Uint8Array.from(tree.function, (i) => known[i]);
    const all = this.found.length;
    amount("flame", words.length ? this.found.reduce((sum, one) => sum + one, 0) : all, all);
    this.foundBelow = Uint8Array.from(this.found);
    for (let i = tree.parent.length - 1; i >= 0; i--)
      if (this.foundBelow[i] && tree.parent[i] >= 0) this.foundBelow[tree.parent[i]] = 1;
  }

  isFound(box) {
    if (box.count === 1) return !!this.found[box.context];
    const { order } = this.tree;
    return order.subarray(box.place, box.place + box.count).some((i) => this.foundBelow[i]);
  }

  search() {
    if (!this.tree) return;
    this.find();
    for (const [number, made] of this.made) made.classList.toggle("found", this.isFound(this.ids[number]));
  }

  // ---- selecting, opening, zooming

  clicked(event) {
    const made = event.target.closest(".box");
    if (!made) return;
    this.select(made.number, event.detail === 0);
    const box = this.ids[made.number];
    if (box.count > 1) return this.zoom();
    this.open(this.tree.function[box.context], this.tree.callingLine(box.context));
    this.opened(event.detail === 0);
  }

  select(number, focus = true) {
    if (!this.ids.length) return;
    const before = this.selected;
    this.selected = Math.max(0, Math.min(this.ids.length - 1, number));
    this.reveal(this.ids[this.selected].row);
    this.mark(before);
    this.mark(0);
    this.mark(this.selected);
    this.tellSelected();
    if (focus) this.focus();
  }

  focus() {
    this.made.get(Math.max(0, this.selected))?.focus({ preventScroll: true });
  }

  reveal(row) {
    const top = row * BOX_HEIGHT, { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + BOX_HEIGHT > scrollTop + clientHeight) this.scroller.scrollTop = top + BOX_HEIGHT - clientHeight;
    this.update();
  }

  // Draws the selected box as wide as the whole.
  zoom() {
    const box = this.ids[this.selected];
    if (!box) return;
    const from = box.place ?? this.tree.place[box.context];
    const now = this.zooms.at(-1), end = from + box.count;
    if (now && now.from === from && now.end === end) return;
    this.zooms.push({ from, end });
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  zoomOut() {
    this.zooms.pop();
    this.arrange();
  }

  // Tells the way to the selected box, with a button for each caller, and its numbers.
  tellSelected() {
    const box = this.ids[this.selected], line = element("p", "steps");
    at("zoom-in").disabled = !box;
    at("zoom-out").disabled = !this.zooms.length;
    at("way").replaceChildren(line);
    if (!box) return void line.append("A click on a box opens its function, a double click zooms into it.");
    const way = box.count > 1 ? this.tree.way(this.tree.parent[box.context]) : this.tree.way(box.context);
    if (way.length > MOST_STEPS) line.append(".. › ");
    way.slice(-MOST_STEPS).forEach((i, place, shown) => {
      if (place) line.append(" › ");
      this.putStep(line, i, shown[place + 1] ?? (box.count > 1 ? box.context : undefined));
    });
    const told = this.told(box).slice(box.count > 1 ? 0 : 3);
    at("way").append(element("p", "numbers", told.join(" · ")));
  }

  // A step of the way: the context i, which calls the context `next` from one of its lines.
  putStep(line, i, next) {
    const of = this.tree.function[i], from = next === undefined ? 0 : this.tree.line[next];
    const button = element("button", "name");
    button.type = "button";
    put(button, callerName(of, from));
    button.addEventListener("click", (event) => {
      this.open(of, from || undefined);
      this.opened(event.detail === 0);
    });
    line.append(button);
  }

  // ---- the keyboard

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      ArrowDown: () => this.step(1), ArrowUp: () => this.step(-1), ArrowRight: () => this.sideways(1),
      ArrowLeft: () => this.sideways(-1), z: () => this.zoom(), Escape: this.zooms.length ? () => this.zoomOut() : null,
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // Selects the first box below, or the one above.
  step(down) {
    const box = this.ids[this.selected], row = box ? box.row + down : 0;
    const next = this.ids.findIndex((other) => other.row === row && other.left + other.width > (box?.left ?? 0) + 0.01);
    if (next >= 0 && (!box || this.ids[next].left < box.left + box.width - 0.01)) this.select(next);
  }

  sideways(by) {
    const next = this.ids[this.selected + by];
    if (next && next.row === this.ids[this.selected]?.row) this.select(this.selected + by);
  }
}
