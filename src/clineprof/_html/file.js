// SPDX-License-Identifier: MIT
// The whole file of a function: one listing of the lines of all profiled functions of the file, and of the file's whole
// text where that is known. A line of several functions (a lambda and the line that makes it) has the sum of their
// measures, less what the line calls on itself: that is in the time of the caller's line already.
// src/report/file_listing.c does the same for the terminal.
"use strict";

const MERGES = {
  sum: (a, b) => a + b,
  largest: (a, b) => Math.max(a, b),
  "furthest from 0": (a, b) => (Math.abs(b) > Math.abs(a) ? b : a),
};
const mergeOf = Object.fromEntries(profile.measures.map(([key, , , , merge]) => [key, MERGES[merge]]));
const listings = new Map(); // number of a file -> its listing

// Returns the listing that has the function, as rowsOf and detailsOf have it for one function: {members, rows, numbers,
// columns, running, missed, shared, colours}. Functions that were compiled from another text of the file are not in it.
function listingOf(i) {
  const file = functions[i][FILE];
  let found = listings.get(file);
  if (!found?.members.has(i)) {
    found = makeListing(i);
    if (!listings.has(file)) listings.set(file, found);
  }
  return found;
}

function makeListing(first) {
  const file = functions[first][FILE], isGenerated = profile.files[file].startsWith("<");
  const lines = new Map(), members = new Set();
  for (const i of [first, ...everyFunction]) {
    if (functions[i][FILE] !== file || members.has(i)) continue;
    const { texts } = detailsOf(i);
    if (i !== first && (texts ? !agrees(lines, functions[i][LINE], texts) : isGenerated)) continue;
    members.add(i);
    addMember(lines, i);
  }
  const whole = wholeTextOf(file);
  if (whole.texts && agrees(lines, 1, whole.texts)) addText(lines, 1, whole);
  return { members, ...arranged(lines, members) };
}

// Is the text, which begins at a line, what is known of its lines already?
function agrees(lines, first, texts) {
  return texts.every((text, place) => {
    const known = lines.get(first + place)?.text;
    return known === undefined || known === text;
  });
}

// Returns a line of a file: {text, parts: [function, index in its columns], running, missed, colours}.
function lineOf(lines, number) {
  if (!lines.has(number)) lines.set(number, { parts: [] });
  return lines.get(number);
}

// Adds a function to the lines of a file.
function addMember(lines, i) {
  const details = detailsOf(i);
  addText(lines, functions[i][LINE], details);
  details.numbers.forEach((number, place) => lineOf(lines, number).parts.push([i, place]));
  for (const number of details.running) lineOf(lines, number).running = true;
  for (const number of details.missed) lineOf(lines, number).missed = true;
}

function addText(lines, first, { texts, runs }) {
  (texts ?? []).forEach((text, place) => (lineOf(lines, first + place).text = text));
  for (const [number, colours] of coloursOf({ texts, runs }, first)) lineOf(lines, number).colours ??= colours;
}

// Puts the lines in order. Where lines between two others are not known, a row with a number between them stands for
// all of them.
function arranged(lines, members) {
  const rows = { number: [], text: [], at: [] }, numbers = [], parts = [];
  const made = { rows, numbers, running: [], missed: new Set(), shared: new Set(), colours: new Map() };
  let last = null;
  for (const number of [...lines.keys()].sort((a, b) => a - b)) {
    const line = lines.get(number);
    if (last !== null && number > last + 1) addRow(rows, number - 0.5, "", -1);
    addRow(rows, number, line.text ?? "", line.parts.length ? numbers.length : -1);
    if (line.parts.length) numbers.push(number), parts.push(line.parts);
    else if (line.missed) made.missed.add(number);
    if (line.running) made.running.push(number);
    if (line.parts.length > 1) made.shared.add(number);
    if (line.colours) made.colours.set(number, line.colours);
    last = number;
  }
  made.columns = columnsOf(parts, members);
  if (profile.calls && made.shared.size) takeOffCalls(made, members);
  made.columns.increment = incrementOf(made.columns);
  return made;
}

function addRow(rows, number, text, at) {
  rows.number.push(number);
  rows.text.push(text);
  rows.at.push(at);
}

// Merges the columns of the functions: parts[row] lists the [function, index] that the row is made of.
function columnsOf(parts, members) {
  const keys = new Set([...members].flatMap((i) => Object.keys(detailsOf(i).columns)));
  keys.delete("increment");
  return Object.fromEntries([...keys].map((key) => {
    const ofNames = key.endsWith("_in"), nothing = ofNames ? "" : 0;
    const merge = ofNames ? (one, other) => one || other : mergeOf[key] || MERGES.largest; // below_resolution
    return [key, parts.map((list) => list.map(([i, at]) => detailsOf(i).columns[key]?.[at] ?? nothing).reduce(merge))];
  }));
}

// Takes off shared lines what they call on themselves, in proportion to the time of the call.
function takeOffCalls({ numbers, columns, shared }, members) {
  const { caller, line, callee, time } = readEdges();
  const places = new Map(numbers.map((number, place) => [number, place]));
  caller.forEach((from, edge) => {
    const to = callee[edge];
    if (!shared.has(line[edge]) || !members.has(from) || !members.has(to)) return;
    const own = detailsOf(to), at = own.numbers.indexOf(line[edge]), place = places.get(line[edge]);
    if (at < 0) return;
    const share = functions[to][TOTAL] ? Math.min(1, time[edge] / functions[to][TOTAL]) : 1;
    const taken = { ...own.columns, time: own.columns.time?.map((time, i) => time + (own.columns.gc?.[i] ?? 0)) };
    for (const key of ["time", "grown", "released"])
      if (taken[key]) columns[key][place] = Math.max(0, columns[key][place] - share * taken[key][at]);
    if (columns.self && columns.time) columns.time[place] = Math.max(columns.time[place], columns.self[place]);
  });
}
