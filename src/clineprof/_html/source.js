// SPDX-License-Identifier: MIT
// The source of the open function, or of its whole file.
"use strict";

// {function, line (undefined: none was chosen), members (functions), rows, columns, running, missed, shared (lines of
//  several functions), colours, hottest (the most that a line took by itself)}: of the function, or of its whole file
let shown = null;
let wholeFiles = true;
const source = new Table(at("source"), "Source with measures", "line", pick, () => {}, false);
new Minimap(at("minimap"), source,
  (row) => (shown.rows.at[row] < 0 ? 0 : (shown.columns[OWN]?.[shown.rows.at[row]] ?? 0) / (shown.hottest || 1)),
  (row) => shown.rows.text[row]);

function putSource(cell, row, tr) {
  const { rows, running, shared, colours } = shown, number = rows.number[row];
  const code = element("code"), text = rows.text[row];
  cell.classList.add("code");
  tr.classList.toggle("within", wholeFiles && isWithin(shown.function, number));
  if (running.includes(number)) {
    tr.classList.add("running");
    code.append(element("b", "", "> "), element("span", "unseen", "running: "));
  }
  if (shared.has(number)) tr.title = "The sum of several functions that share the line";
  if (colours.has(number)) putColoured(code, text, colours.get(number));
  else put(code, text.slice(0, MOST_CHARACTERS));
  if (text.length > MOST_CHARACTERS)
    code.append(element("span", "note", `${count(text.length - MOST_CHARACTERS)} more characters`));
  cell.append(code);
}

// Is the line part of the function's text?
function isWithin(i, number) {
  const first = functions[i][LINE], { texts } = detailsOf(i);
  return number >= first && number < first + (texts?.length ?? 0);
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

// Returns where each line of a text begins in the runs of colours: {line: [runs, run, offset in it]}.
function coloursOf({ runs, texts }, first) {
  const starts = new Map();
  if (!runs || !texts) return starts;
  let run = 0, offset = 0, number = first;
  for (const text of texts) {
    starts.set(number++, [runs, run, offset]);
    offset += text.length + 1;
    while (run < runs.length && offset >= runs[run]) {
      offset -= runs[run];
      run += 2;
    }
  }
  return starts;
}

// What stands in the source: the function's own lines, or those of its whole file.
function linesOf(i) {
  if (wholeFiles) return listingOf(i);
  const details = detailsOf(i), colours = coloursOf(details, functions[i][LINE]);
  return { ...details, members: [i], rows: rowsOf(i), shared: new Set(), colours };
}

function open(i, number) {
  document.body.classList.add("reading"); // first, because on a phone tables have a height only then
  shown = { ...linesOf(i), function: i, line: number };
  shown.hottest = most(shown.columns[OWN] ?? []);
  at("name").replaceChildren();
  put(at("name"), functions[i][NAME]);
  at("place").replaceChildren();
  put(at("place"), placeOf(i));
  tellSums(i);
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
  shown.line = shown.rows.number[row];
  tellAddress("replaceState");
}

function showSource() {
  const { function: i, rows } = shown;
  const longest = Math.min(rows.text.reduce((most, text) => Math.max(most, text.length), 0), 500);
  const columns = lineColumns(shown, wholeFiles ? profile.whole : functions[i][TOTAL]);
  source.show(columns, Math.max(30, longest * 0.93 + 4), rows.number.map((_, row) => row));
  at("all-columns").hidden = false;
  at("all-columns").setAttribute("aria-pressed", allColumns);
  at("whole-file").hidden = false;
  at("whole-file").setAttribute("aria-pressed", wholeFiles);
}

function tellSums(i) {
  const row = functions[i], said = [`Time ${time(row[TOTAL])}`];
  if (profile.whole) said.push(`${percent(row[TOTAL], profile.whole)} % of the profiled time`);
  if (profile.self) said.push(`self ${time(row[SELF])}`);
  if (profile.memory) said.push(`increment ${size(row[INCREMENT])}`);
  said.push(`${count(row[HITS])} hits of ${count(row[COUNT])} lines`);
  at("sums").textContent = said.join(" · ");
  const { texts, runs } = detailsOf(i), notes = [];
  if (texts === null) notes.push("The source is not known.");
  else if (!runs && profile.coloured >= 0)
    notes.push(`Only the hottest functions (${count(profile.coloured)}) have colours, and this is none of them.`);
  if (row[RUNNING]) notes.push("Lines marked > were running when the profile was taken.");
  if (row[COMPILER]) notes.push(`Compiled by ${row[COMPILER]}; calls of the compiled code are not counted.`);
  at("notes").textContent = notes.join(" ");
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
