// SPDX-License-Identifier: MIT
// The source of the open function, or of its whole file. profile.js and comparison.js say what stands in it.
"use strict";

// {function, line (undefined: none was chosen), members (functions), rows, columns, running, missed, shared (lines of
//  several functions), colours, hottest (the most that a line took by itself)}: of the function, or of its whole file
let shown = null;
let wholeFiles = true;
const source = new Table(at("source"), "Source with measures", "line", pick, () => {}, false);
new Minimap(at("minimap"), source,
  (row) => (shown.rows.at[row] < 0 ? 0 : (shown.columns[OWN]?.[shown.rows.at[row]] ?? 0) / (shown.hottest || 1)),
  (row) => shown.rows.text[row]);

function putText(code, text, colours) {
  if (colours) putColoured(code, text, colours);
  else put(code, text.slice(0, MOST_CHARACTERS));
  if (text.length > MOST_CHARACTERS)
    code.append(element("span", "note", `${count(text.length - MOST_CHARACTERS)} more characters`));
}

function putColoured(code, text, [runs, run, offset]) {
  let left = Math.min(text.length, MOST_CHARACTERS), from = 0;
  while (left > 0 && run < runs.length) {
    const length = Math.min(left, runs[run] - offset), kind = profile.kinds[runs[run + 1]];
    put(kind ? code.appendChild(element("span", kind)) : code, text.slice(from, from + length));
    from += length;
    left -= length;
    run += 2;
    offset = 0;
  }
  if (left > 0) put(code, text.slice(from, from + left));
}

// Returns where each line of a text begins in the runs of its colours, as putColoured takes it. A line that is null is
// not in the text.
function startsOf(texts, runs) {
  let run = 0, offset = 0;
  return texts.map((text) => {
    if (!runs || text === null) return undefined;
    const start = [runs, run, offset];
    offset += text.length + 1;
    while (run < runs.length && offset >= runs[run]) {
      offset -= runs[run];
      run += 2;
    }
    return start;
  });
}

function open(i, number) {
  document.body.classList.add("reading"); // first, because on a phone tables have a height only then
  shown = { ...linesOf(i), function: i, line: number };
  shown.hottest = most(shown.columns[OWN] ?? []);
  at("name").replaceChildren();
  put(at("name"), functions[i][NAME]);
  at("place").replaceChildren();
  put(at("place"), placeOf(i));
  at("sums").textContent = sumsOf(i).join(" · ");
  at("notes").textContent = notesOf(i).join(" ");
  showSource();
  showEdges(i);
  if (number !== undefined) goTo(number);
  else if (wholeFiles) source.reveal(source.ids.indexOf(shown.rows.number.indexOf(functions[i][LINE])), true);
  const place = lists.functions.ids.indexOf(i);
  if (place >= 0) lists.functions.select(place, false);
  tellAddress();
}

// Chooses a line of the open function, so that the address names it.
function pick(row) {
  shown.line = Number.isFinite(shown.rows.number[row]) ? shown.rows.number[row] : undefined;
  tellAddress("replaceState");
}

function showSource() {
  const { rows } = shown;
  const longest = Math.min(most(rows.text.map((text, row) => text.length + markLength(rows.number[row]))), 500);
  const columns = lineColumns(shown);
  source.show(columns, Math.max(30, longest * 0.93 + 4), rows.number.map((_, row) => row));
  at("all-columns").hidden = false;
  at("all-columns").setAttribute("aria-pressed", allColumns);
  at("whole-file").hidden = !HAS_FILES;
  at("whole-file").setAttribute("aria-pressed", wholeFiles);
}

function goTo(number) {
  const place = source.ids.findIndex((row) => shown.rows.number[row] === number);
  if (place < 0) return;
  source.select(place, false);
  source.reveal(place, true);
}

// Moves the focus to the source: after a choice by keyboard, and on a narrow screen, which shows only the source.
function goToSource(byKeyboard) {
  if (byKeyboard || narrow.matches) at("source").focus({ preventScroll: true });
}

function close() {
  document.body.classList.remove("reading");
  tellAddress();
  if (current.selected < 0) current.select(0);
  else current.focus();
}
