// SPDX-License-Identifier: MIT
// A small picture of all rows of a table beside it: where its text is, where it is hot, and which part is in view. Rows
// that fall on one pixel have the heat of the hottest of them.
"use strict";

const MOST_PIXELS = 3; // the height of a row
const CHARACTERS_WIDE = 100; // text beyond is cut off

class Minimap {
  // heat(id): the row's share of the largest, from 0 to 1. text(id): its text.
  constructor(svg, table, heat, text) {
    Object.assign(this, { svg, table, heat, text });
    this.scroller = table.scroller;
    this.scroller.addEventListener("scroll", () => this.tellView(), { passive: true });
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      this.goTo(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons & 1 && this.goTo(event));
    svg.addEventListener("wheel", (event) => void (this.scroller.scrollTop += event.deltaY), { passive: true });
    table.rearranged = () => this.draw();
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  draw() {
    const { table, svg } = this, room = this.scroller.clientHeight, rows = table.ids.length;
    if (!room || !svg.clientWidth) return;
    this.scale = Math.min(MOST_PIXELS, room / Math.max(1, rows));
    const thick = Math.max(1, this.scale - 1), width = svg.clientWidth - 4;
    const heats = [], texts = [];
    for (let at = 0; at < rows; at++) {
      const pixel = this.scale < 1 ? Math.floor(at * this.scale) : at, heat = this.heat(table.ids[at]);
      heats[pixel] = Math.max(heats[pixel] ?? 0, heat);
      texts[pixel] ||= this.text(table.ids[at]);
    }
    const y = (pixel) => (pixel * Math.max(1, this.scale) + thick / 2).toFixed(1);
    const paths = svg.querySelectorAll("path"), drawn = Array.from(paths, () => "");
    texts.forEach((text, pixel) => {
      const shown = text.slice(0, CHARACTERS_WIDE).trimEnd(), indent = shown.length - shown.trimStart().length;
      const step = width / CHARACTERS_WIDE;
      if (shown.length > indent)
        drawn[0] += `M${(2 + indent * step).toFixed(1)} ${y(pixel)}h${((shown.length - indent) * step).toFixed(1)}`;
    });
    heats.forEach((heat, pixel) => {
      if (heat > 0) drawn[heatOf(heat)] += `M2 ${y(pixel)}h${Math.max(3, heat * width).toFixed(1)}`;
    });
    paths.forEach((path, kind) => {
      path.setAttribute("d", drawn[kind]);
      path.setAttribute("stroke-width", kind ? Math.max(2, thick) : thick);
    });
    this.tellView();
  }

  tellView() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller, seen = this.svg.querySelector(".seen");
    if (!scrollHeight) return; // as in print
    const height = this.scale * this.table.ids.length || 0, part = Math.min(1, clientHeight / scrollHeight);
    seen.setAttribute("y", (height * scrollTop / scrollHeight).toFixed(1));
    seen.setAttribute("height", height && Math.max(4, height * part - 1).toFixed(1));
    seen.setAttribute("width", Math.max(0, this.svg.clientWidth - 1));
  }

  // Brings the row under the pointer into the middle of the view.
  goTo(event) {
    const y = event.clientY - this.svg.getBoundingClientRect().top;
    this.table.reveal(Math.max(0, Math.min(this.table.ids.length - 1, Math.floor(y / this.scale))), true);
    event.preventDefault();
  }
}
