// SPDX-License-Identifier: MIT
// The list of all lines. Lines are read when they are first listed or searched.
"use strict";

const lines = { function: [], number: [], text: [], lower: [] }; // one array for each property
for (const key of KEYS_OF_LINES) lines[key] = [];
let linesRead = 0; // the number of functions whose lines have been read
let areComplete = false;

function readLines(i) {
  const rows = rowsOf(i), { columns } = detailsOf(i);
  for (let row = 0; row < rows.number.length; row++) {
    lines.function.push(i);
    lines.number.push(rows.number[row]);
    lines.text.push(rows.text[row].trim());
    lines.lower.push(rows.text[row].toLowerCase());
  }
  for (const key of KEYS_OF_LINES)
    for (const at of rows.at) lines[key].push(at < 0 || !columns[key] ? 0 : columns[key][at]);
}

function allLines() {
  while (linesRead < functions.length) readLines(linesRead++);
  if (!areComplete) leaveOutRepeated();
  areComplete = true;
  return lines;
}

// Leaves out lines that did not run where another function has the same line: a module has the text of its functions.
function leaveOutRepeated() {
  const { number, text } = lines;
  const placeOf = (id) => functions[lines.function[id]][FILE] * 2 ** 32 + number[id];
  const all = Array.from(number.keys()), known = new Map();
  const isNew = (id) => known.get(placeOf(id)) !== text[id] && known.set(placeOf(id), text[id]);
  for (const id of all) if (hasRun(id)) known.set(placeOf(id), text[id]);
  const kept = all.filter((id) => hasRun(id) || isNew(id));
  for (const key of Object.keys(lines)) lines[key] = kept.map((id) => lines[key][id]);
}

// Reads lines in idle time when a search is about to begin, so that the search need not wait.
function readLinesAhead(deadline) {
  while (linesRead < functions.length && deadline.timeRemaining() > 1) readLines(linesRead++);
  if (linesRead < functions.length) requestIdleCallback(readLinesAhead);
}

// Returns the columns that name the function and the text of a line.
function textsOfLines() {
  return [{
    key: "place", title: "Function", text: true, width: narrow.matches ? 14 : 28,
    value: (id) => functions[lines.function[id]][NAME] + ":" + String(lines.number[id]).padStart(10),
    fill(cell, id) {
      const i = lines.function[id];
      const line = ":" + Math.abs(lines.number[id]); // comparison.js has negative numbers
      cell.title = plain(profile.files[functions[i][FILE]] + line);
      put(cell, functions[i][NAME] + line);
    },
  }, {
    key: "source", title: "Source", text: true, value: (id) => lines.text[id],
    fill(cell, id) {
      const button = element("button", "code"), text = lines.text[id].slice(0, 500);
      button.type = "button";
      putFound(button, text || "(no source)");
      cell.append(button);
    },
  }];
}
