// SPDX-License-Identifier: MIT
// Memory over time: the drawing (timeline.py makes it), in which a span of time can be chosen, and the list of the
// stays that lie in the span. A stay is the time from a function's call to its end.
"use strict";

const STAY_FUNCTION = 0, STAY_NAME = 1, ENTER = 2, LEAVE = 3, STAY_PID = 4; // of a stay
const LEAST_DRAG = 4; // pixels; less is a click
const STEP = 0.01, LONG_STEP = 0.1; // of the whole time, by key
const drawn = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);

class Timeline {
  // stays: a list for each stay. left, right, bottom: where the drawing's time begins and ends, and where its curves
  // end, in the units of the drawing. begin, end: those times.
  constructor(svg, { stays, begin, end, left, right, bottom }) {
    Object.assign(this, { svg, stays, begin, end, left, right, bottom });
    this.span = null; // [from, to] in nanoseconds
    this.table = new Table(at("stays"), "Stays in functions", "time", (id) => this.open(id), goToSource);
    at("stays").hidden = !stays.length;
    this.drawn = [...svg.querySelectorAll("[data-stay]")]; // in the order of `stays`; those that are deep are not drawn
    this.current = 0; // the drawn stay that has the focus
    svg.setAttribute("role", "group");
    this.addSpan();
    this.drawn.forEach((stay, place) => this.prepare(stay, place));
    svg.addEventListener("pointerdown", (event) => this.press(event));
    at("memory").addEventListener("keydown", (event) => this.pressed(event));
    at("whole-time").addEventListener("click", () => this.choose(null));
  }

  // Fills the table when it is first shown.
  read() {
    if (!this.table.columns && this.stays.length)
      this.table.show(stayColumns(this.stays), narrow.matches ? 18 : 24, this.within());
    this.tell();
  }

  // ---- the span

  // Adds the shade of the span and its two ends, which keys move.
  addSpan() {
    this.shade = this.svg.insertBefore(drawn("rect"), this.svg.firstChild);
    this.shade.setAttribute("class", "span");
    this.shade.setAttribute("height", this.svg.viewBox.baseVal.height);
    this.ends = ["Begin of the span", "End of the span"].map((label) => {
      const end = this.svg.appendChild(drawn("rect"));
      const is = { class: "end", width: 7, height: this.bottom, rx: 3, tabindex: 0, role: "slider", "aria-label": label,
        "aria-valuemin": 0, "aria-valuemax": 100 };
      for (const [name, value] of Object.entries(is)) end.setAttribute(name, value);
      return end;
    });
    this.drawSpan();
  }

  drawSpan() {
    const span = this.span ?? [this.begin, this.end], x = span.map((time) => this.xOf(time));
    this.shade.setAttribute("x", x[0]);
    this.shade.setAttribute("width", this.span ? Math.max(1, x[1] - x[0]) : 0);
    this.ends.forEach((end, place) => {
      end.setAttribute("x", x[place] - 3.5);
      end.setAttribute("aria-valuenow", Math.round(100 * (span[place] - this.begin) / (this.end - this.begin)));
      end.setAttribute("aria-valuetext", time(span[place]));
    });
    const within = new Set(this.within());
    for (const stay of this.drawn) stay.classList.toggle("outside", !within.has(Number(stay.dataset.stay)));
  }

  xOf(time) {
    return this.left + (this.right - this.left) * (time - this.begin) / (this.end - this.begin);
  }

  timeAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * this.svg.viewBox.baseVal.width;
    return this.inside(this.begin + (x - this.left) / (this.right - this.left) * (this.end - this.begin));
  }

  inside(time) {
    return Math.max(this.begin, Math.min(this.end, time));
  }

  // Chooses a span, or with null the whole time.
  choose(span) {
    this.span = span && (span[0] > span[1] ? [span[1], span[0]] : span);
    this.drawSpan();
    if (this.table.columns) this.table.setRows(this.within());
    this.tell();
  }

  // Returns the numbers of the stays that lie in the span, at least with a part.
  within() {
    const [from, to] = this.span ?? [-Infinity, Infinity];
    return Array.from(this.stays.keys()).filter((id) => this.stays[id][ENTER] <= to && this.stays[id][LEAVE] >= from);
  }

  tell() {
    const found = this.within().length, all = this.stays.length;
    at("whole-time").hidden = !this.span;
    at("memory").classList.toggle("chosen", !!this.span);
    at("span").textContent = this.span
      ? `From ${time(this.span[0])} to ${time(this.span[1])}: ${count(found)} of ${count(all)} stays`
      : all ? "Drag over the drawing, or move its ends with the arrow keys, to choose a span of time." : "";
  }

  // ---- the pointer

  press(event) {
    if (event.button) return;
    const start = event.clientX, from = this.timeAt(event), moved = this.ends.indexOf(event.target);
    const fixed = moved < 0 ? from : (this.span ?? [this.begin, this.end])[1 - moved];
    const pans = event.pointerType === "touch" && moved < 0; // the finger scrolls; only ends can be dragged
    let dragged = false;
    const move = (event) => {
      dragged ||= !pans && Math.abs(event.clientX - start) >= LEAST_DRAG;
      if (dragged) this.choose([fixed, this.timeAt(event)]);
    };
    const drop = (event) => {
      this.svg.removeEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel"]) this.svg.removeEventListener(name, drop);
      if (dragged) at("memory").focus({ preventScroll: true }); // for keys, such as Escape
      else if (event.type === "pointerup") this.click(document.elementFromPoint(event.clientX, event.clientY));
    };
    if (!pans) this.svg.setPointerCapture(event.pointerId);
    this.svg.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, drop);
  }

  // A click opens a stay; beside the stays it ends the choice.
  click(target) {
    const stay = target?.closest("[data-stay]");
    if (stay) this.open(Number(stay.dataset.stay));
    else if (!this.ends.includes(target)) this.choose(null);
  }

  open(id) {
    const of = this.stays[id][STAY_FUNCTION];
    if (of >= 0) open(of);
  }

  // ---- the keyboard

  prepare(stay, place) {
    stay.setAttribute("role", "button");
    stay.setAttribute("aria-label", stay.querySelector("title").textContent);
    stay.setAttribute("tabindex", place ? -1 : 0);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const end = this.ends.indexOf(event.target), stay = this.drawn.indexOf(event.target);
    const done = event.key === "Escape" ? this.span && (this.choose(null), true)
      : end >= 0 ? this.moveEnd(end, event) : stay >= 0 && this.moveStay(stay, event.key);
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  }

  moveEnd(end, { key, shiftKey }) {
    const span = [...(this.span ?? [this.begin, this.end])];
    const step = (this.end - this.begin) * (shiftKey ? LONG_STEP : STEP);
    const to = { ArrowLeft: span[end] - step, ArrowDown: span[end] - step, ArrowRight: span[end] + step,
      ArrowUp: span[end] + step, Home: this.begin, End: this.end }[key];
    if (to === undefined) return false;
    const [least, greatest] = end ? [span[0], this.end] : [this.begin, span[1]];
    span[end] = Math.max(least, Math.min(greatest, to));
    this.choose(span[0] > this.begin || span[1] < this.end ? span : null);
    return true;
  }

  // The arrow keys go from stay to stay in the order of time, or to the stay below or above.
  moveStay(place, key) {
    if (key === "Enter" || key === " ") {
      this.open(Number(this.drawn[place].dataset.stay));
      goToSource(true);
      return true;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
    const next = this.drawn[place + step];
    if (!step || !next) return !!step;
    this.drawn[place].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
    return true;
  }
}

function stayColumns(stays) {
  const moment = (key, title, of, hint) => ({
    key, title, width: 13, hint, value: (id) => of(stays[id]),
    fill: (cell, id) => void (cell.textContent = time(of(stays[id]))),
  });
  const columns = [
    {
      key: "name", title: "Function", text: true, value: (id) => stays[id][STAY_NAME],
      fill(cell, id) {
        const of = stays[id][STAY_FUNCTION];
        putButton(cell, stays[id][STAY_NAME], of < 0 ? "not in this profile" : placeOf(of));
      },
    },
    moment("enter", "From", (stay) => stay[ENTER], "Since the first process began"),
    moment("time", "Time", (stay) => stay[LEAVE] - stay[ENTER]),
  ];
  if (!narrow.matches) columns.splice(2, 0, moment("leave", "To", (stay) => stay[LEAVE]));
  if (new Set(stays.map((stay) => stay[STAY_PID])).size > 1)
    columns.push({
      key: "process", title: "Process", width: 11, value: (id) => stays[id][STAY_PID],
      fill: (cell, id) => void (cell.textContent = stays[id][STAY_PID]),
    });
  return columns;
}
