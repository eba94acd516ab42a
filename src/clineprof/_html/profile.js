// SPDX-License-Identifier: MIT
// What the page of a profile shows: the measures of functions and lines, which are read from the JSON in the page, and
// the columns. The lines of a function and the text of a file are read when the function is opened; those of all
// functions when lines are listed or searched. comparison.js defines the same names for the page of a comparison.
"use strict";

// ---- the profile

const TOTAL = 3, SELF = 4, HITS = 5, RSS = 6, INCREMENT = 7;
const COUNT = 8, RUNNING = 9, COMPILER = 10, OWN_INCREMENT = 11;
const FIRST_ORDER = { functions: "time", lines: profile.self ? "self" : "time" }; // the columns that sort at first
const HAS_FILES = true; // can whole files be shown?
const ownOf = (i) => functions[i][profile.self ? SELF : TOTAL];
const writeOwn = time;
const OWN = profile.self ? "self" : "time"; // the column of what a line itself took, as far as it is known
const opened = new Map();
const readDetails = linesOfJson("data-lines"), readFile = linesOfJson("data-files");

// Returns {numbers, columns, texts (null: not known), running, missed, runs (0: no colours)} of a function.
function detailsOf(i) {
  let found = opened.get(i);
  if (found) return found;
  const [numbers, columns, text, running, missed, runs] = readDetails(i);
  columns.increment = incrementOf(columns);
  found = { numbers, columns, texts: textsOf(i, text), running, missed: new Set(missed), runs };
  opened.set(i, found);
  return found;
}

// Returns the lines of a function's text, which is a number of lines where the text of the file is known.
function textsOf(i, text) {
  if (typeof text !== "number") return text === null ? null : text.split("\n");
  const first = functions[i][LINE] - 1;
  return wholeTextOf(functions[i][FILE]).texts.slice(first, first + text);
}

const wholeTexts = new Map(); // number of a file -> its text

// Returns {texts (null: not known), runs (0: no colours)} of a file.
function wholeTextOf(file) {
  if (!wholeTexts.has(file)) {
    const [text, runs] = readFile(file) ?? [null, 0];
    wholeTexts.set(file, { texts: text === null ? null : text.split("\n"), runs });
  }
  return wholeTexts.get(file);
}

function incrementOf({ grown, released }) {
  if (!grown && !released) return undefined;
  return (grown || released).map((_, i) => (grown ? grown[i] : 0) - (released ? released[i] : 0));
}

// Returns the rows of a function's table as one array for each property: number, text, and at, the index in the columns
// (-1: no data). Lines with data outside the known text stand before and after the text.
function rowsOf(i) {
  const { numbers, texts } = detailsOf(i), start = functions[i][LINE];
  const rows = { number: [], text: [], at: [] };
  const add = (number, text, at) => {
    rows.number.push(number);
    rows.text.push(text);
    rows.at.push(at);
  };
  let next = 0;
  const addLone = (end) => {
    for (; next < numbers.length && numbers[next] < end; next++) add(numbers[next], "", next);
  };
  addLone(start);
  for (let line = 0; texts && line < texts.length; line++) {
    const has = next < numbers.length && numbers[next] === start + line;
    add(start + line, texts[line], has ? next++ : -1);
  }
  addLone(Infinity);
  return rows;
}

// ---- columns

// Has the measure a column in the lists of functions and of files? On a phone only the most important ones have.
function isListed(key) {
  if (narrow.matches && ["share", "mem", "hits", "functions"].includes(key)) return false;
  return key === "self" ? profile.self : key === "mem" || key === "increment" ? profile.memory : true;
}

function functionColumns() {
  const number = (key, title, width, field, write, hint, bar) => ({
    key, title, width, hint, bar,
    value: (i) => functions[i][field],
    fill: (cell, i) => void (cell.textContent = write(functions[i][field])),
  });
  const columns = [
    { key: "name", title: "Function", text: true, value: (i) => functions[i][NAME], fill: putName },
    number("time", "Time", 11, TOTAL, time, "In the function, calls it makes included", narrow.matches && "of-time"),
    number("share", "Share %", 11, TOTAL, (total) => percent(total, profile.whole),
      "Of the time in all profiled functions", "of-time"),
    number("self", "Self", 10, SELF, time, "Without the profiled functions it calls", "of-self"),
    number("mem", "Mem usage", 13, RSS, size, "Resident memory after its lines, the largest"),
    number("increment", "Increment", 14, INCREMENT, size,
      "What its lines added to resident memory, less what they gave back", "of-memory"),
    number("hits", "Hits", 13, HITS, count, "Of all its lines together"),
  ].filter(({ key }) => isListed(key));
  if (!narrow.matches) columns.push(placeColumn);
  return columns;
}

function putName(cell, i) {
  const button = element("button", "name");
  button.type = "button";
  putFound(button, functions[i][NAME]);
  cell.append(button);
  if (functions[i][RUNNING]) cell.append(element("span", "note", "running"));
  markLeaking(cell, i);
}

// The columns of a line: its measures, and the time per hit and in percent.
const WRITTEN = { count, ns: time, bytes: size };
const LINE_COLUMNS = profile.measures.flatMap(([key, title, unit, needs, merge, page, about]) => {
  const column = {
    key, title, page, needs, width: Math.max(unit === "ns" ? 10 : 11, title.length + 4), write: WRITTEN[unit],
    hint: about[0].toUpperCase() + about.slice(1),
    estimated: unit === "ns" && key !== "await",
    change: unit === "bytes" && merge !== "largest", // a change of memory: 0 is shown as an empty cell
  };
  if (key !== "time") return [column];
  const form = { ...column, page: 1, width: 10 };
  return [
    column,
    { ...form, key: "per-hit", title: "Per hit", hint: "Time of one execution" },
    { ...form, key: "percent", title: "% Time", write: null, width: 9,
      hint: "Of the function's time; in a whole file, of the time of all functions" },
  ];
});
const OF_BLOCKS = ["allocated", "heap", "native"]; // what measures of blocks need
const ESTIMATE = "An estimate: the line is so short that what the profiler itself cost is larger";
const BARS = { time: "of-time", self: "of-self", increment: "of-memory" };
let allColumns = false;

// Returns the measure of a line; null (an empty cell) where the line never ran, or where memory was not read.
function measureOf(columns, { key, needs }, at) {
  const get = (name) => (columns[name] ? columns[name][at] : 0);
  if (at < 0 || (!get("hits") && !get("time"))) return null;
  if (key === "per-hit") return get("hits") ? get("time") / get("hits") : null;
  if (needs === "memory" && !get("rss")) return null;
  if (OF_BLOCKS.includes(needs) && !get("rss") && !get(key)) return null;
  return get(key === "percent" ? "time" : key);
}

// Has the measure a column? The usual measures have one if the profile has them, the others if the function has some.
function isKnown(columns, { key, needs, page }) {
  if (needs === "memory") return profile.memory && (page < 2 || key in columns);
  if (OF_BLOCKS.includes(needs)) return (profile.memory && page < 2) || key in columns;
  if (needs !== "times") return key in columns;
  return key === "self" ? profile.self : ["await", "gc", "gc_runs"].includes(key) ? key in columns : true;
}

function putMissed(cell) {
  cell.classList.add("missed");
  cell.textContent = "0";
  cell.title = "The line holds code and never ran";
}

// Returns the columns of the lines of one or more functions.
function lineColumns({ function: i, members, rows, columns, missed }) {
  const total = wholeFiles ? profile.whole : functions[i][TOTAL];
  const level = allColumns ? 2 : narrow.matches ? 0 : 1;
  const wanted = LINE_COLUMNS.filter((column) => column.page <= level && isKnown(columns, column));
  return [
    {
      key: "line", title: "Line", width: 8, value: (row) => rows.number[row],
      fill(cell, row) {
        const number = rows.number[row];
        cell.textContent = Number.isInteger(number) ? number : number === Infinity ? "" : "…";
      },
    },
    ...wanted.map((column) => ({
      key: column.key, title: column.title, width: column.width, hint: column.hint, bar: BARS[column.key],
      value: (row) => measureOf(columns, column, rows.at[row]) ?? -Infinity,
      fill(cell, row) {
        const value = measureOf(columns, column, rows.at[row]);
        if (column.key === "hits" && missed.has(rows.number[row])) return putMissed(cell);
        if (value === null || (value === 0 && column.change)) return;
        cell.textContent = column.write ? column.write(value) : percent(value, total);
        const callee = columns[`${column.key}_in`]?.[rows.at[row]];
        if (callee) cell.title = `Most of it in ${callee}`;
        if (column.estimated && columns.below_resolution?.[rows.at[row]]) {
          cell.classList.add("estimate");
          cell.title = ESTIMATE;
        }
      },
    })),
    ...calledColumns(members, rows),
    { key: "source", title: "Source", text: true, value: (row) => rows.text[row], fill: putSource },
  ];
}

// ---- the source

function putSource(cell, row, tr) {
  const { members, rows, running, shared, colours } = shown, number = rows.number[row];
  const code = element("code");
  cell.classList.add("code");
  tr.classList.toggle("within", wholeFiles && isWithin(shown.function, number));
  if (running.includes(number)) {
    tr.classList.add("running");
    code.append(element("b", "", "> "), element("span", "unseen", "running: "));
  }
  if (shared.has(number)) tr.title = "The sum of several functions that share the line";
  putText(code, rows.text[row], colours.get(number));
  cell.append(code);
  markLeaks(cell, tr, members, number);
}

// Is the line part of the function's text?
function isWithin(i, number) {
  const first = functions[i][LINE], { texts } = detailsOf(i);
  return number >= first && number < first + (texts?.length ?? 0);
}

// Returns where each line of a text begins in the runs of colours: {line: as putColoured takes it}.
function coloursOf({ runs, texts }, first) {
  return new Map(startsOf(runs ? texts ?? [] : [], runs).map((start, line) => [first + line, start]));
}

// What stands in the source: the function's own lines, or those of its whole file.
function linesOf(i) {
  if (wholeFiles) return withCollections(listingOf(i));
  const details = detailsOf(i), colours = coloursOf(details, functions[i][LINE]);
  return withCollections({ ...details, members: new Set([i]), rows: rowsOf(i), shared: new Set(), colours });
}

// Adds a row of all garbage collections below the lines, which are without them. It has no number.
function withCollections(listing) {
  const { rows, numbers, columns } = listing;
  const sum = (key) => (columns[key] ?? []).reduce((a, b) => a + b, 0), runs = sum("gc_runs"), gc = sum("gc");
  if (!runs) return listing;
  const wait = sum("gc_wait"), queue = sum("gc_queue");
  const own = {
    hits: runs, gc_runs: runs, time: gc, self: gc, gc, cpu: gc - wait, wait, gc_wait: wait, queue, gc_queue: queue,
  };
  const longer = Object.entries(columns).map(([key, column]) => [key, column && [...column, own[key] ?? 0]]);
  return {
    ...listing, columns: Object.fromEntries(longer),
    rows: {
      number: [...rows.number, Infinity], text: [...rows.text, "garbage collection"], at: [...rows.at, numbers.length],
    },
  };
}

// Returns what stands above the source of a function.
function sumsOf(i) {
  const row = functions[i], said = [`Time ${time(row[TOTAL])}`];
  if (profile.whole) said.push(`${percent(row[TOTAL], profile.whole)} % of the profiled time`);
  if (profile.self) said.push(`self ${time(row[SELF])}`);
  if (profile.memory) said.push(`increment ${size(row[INCREMENT])}`);
  said.push(`${count(row[HITS])} hits of ${count(row[COUNT])} lines`);
  return said;
}

// Returns what stands below it.
function notesOf(i) {
  const row = functions[i];
  const { texts, runs } = detailsOf(i), notes = [];
  if (texts === null) notes.push("The source is not known.");
  else if (!runs && profile.coloured >= 0)
    notes.push(`Only the hottest functions (${count(profile.coloured)}) have colours, and this is none of them.`);
  if (detailsOf(i).columns.gc) notes.push("Times of lines are without garbage collection, which has the last row.");
  if (row[RUNNING]) notes.push("Lines marked > were running when the profile was taken.");
  if (row[COMPILER]) notes.push(`Compiled by ${row[COMPILER]}.`);
  return [...notes, ...leaksToldOf(i)];
}

// ---- all lines

const KEYS_OF_LINES = ["time", "self", "hits", "increment"];
const hasRun = (id) => lines.hits[id] || lines.time[id];

function lineListColumns() {
  allLines();
  const number = (key, title, width, write, bar) => ({
    key, title, width, bar,
    value: (id) => lines[key][id],
    fill(cell, id) {
      if (!hasRun(id)) return;
      if (key === "increment" && !lines[key][id]) return;
      cell.textContent = write(lines[key][id]);
    },
  });
  const columns = [number("time", "Time", 11, time, "of-time")];
  if (profile.self) columns.push(number("self", "Self", 11, time, "of-self"));
  if (profile.memory) columns.push(number("increment", "Increment", 14, size, "of-memory"));
  columns.push(number("hits", "Hits", 13, count));
  return [...columns, ...textsOfLines()];
}
