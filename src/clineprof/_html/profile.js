// SPDX-License-Identifier: MIT
// What the page shows: the profile, which is read from the JSON in the page, and the columns. The lines of a function
// and the text of a file are read when the function is opened; those of all functions when lines are listed or
// searched. The program's text is put into the page only as text nodes.
"use strict";

const at = (id) => document.getElementById(id);
const profile = JSON.parse(at("data").textContent);
const HIDDEN = new RegExp("([" + profile.hidden + "])", "u");
const MOST_CHARACTERS = 5000; // shown of one line
const narrow = matchMedia("(max-width: 720px)");

// ---- the profile

const FILE = 0, LINE = 1, NAME = 2, TOTAL = 3, SELF = 4, HITS = 5, RSS = 6, INCREMENT = 7;
const COUNT = 8, RUNNING = 9, COMPILER = 10, OWN_INCREMENT = 11;
const functions = profile.rows;
const OWN = profile.self ? "self" : "time"; // the column of what a line itself took, as far as it is known
const everyFunction = functions.map((_, i) => i);
const opened = new Map();
const linesOfJson = (id) => {
  let found = null;
  return (line) => JSON.parse((found = found || at(id).textContent.split("\n"))[line]);
};
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

// ---- text of the program

const codeOf = (character) =>
  "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// Returns the program's text with visible hidden characters, for a tooltip, which has no markup.
const plain = (text) => text.split(HIDDEN).map((part, i) => (i % 2 ? codeOf(part) : part)).join("");

function put(parent, text) {
  if (!HIDDEN.test(text)) return void parent.append(text);
  text.split(HIDDEN).forEach((part, i) => {
    if (i % 2 === 0) return void (part && parent.append(part));
    const mark = element("span", "hidden-character", codeOf(part));
    mark.title = "a character that is not seen";
    parent.append(mark);
  });
}

// Appends the program's text as `put` does, with the searched words marked.
function putFound(parent, text) {
  if (!words.length) return put(parent, text);
  const pattern = words.map((word) => word.replace(/[^\p{L}\p{N}_ ]/gu, "\\$&")).join("|");
  text.split(new RegExp("(" + pattern + ")", "i")).forEach((part, i) => {
    if (!part) return;
    put(i % 2 ? parent.appendChild(element("mark")) : parent, part);
  });
}

function placeOf(i) {
  return profile.files[functions[i][FILE]] + ":" + functions[i][LINE];
}

const lastPart = (place) => place.replace(/^.*\//s, "");
const shortPlaceOf = (i) => lastPart(placeOf(i));

// ---- columns

const HEATS = 4; // the colours of the scale of heat, from the coolest to the hottest

// Returns where a share stands on the scale of heat: from 1 to HEATS, 0 for nothing.
const heatOf = (share) => Math.min(HEATS, Math.ceil(share * HEATS));

// Draws a bar below the number that shows the number's share of the whole. Bars of time have the colour of their heat.
function bar(cell, part, whole, kind) {
  const share = whole > 0 ? Math.min(Math.abs(part) / whole, 1) : 0;
  if (!(share > 0)) return;
  cell.classList.add("bar", kind);
  if (kind !== "of-memory") cell.classList.add("heat" + heatOf(share));
  cell.style.setProperty("--w", (100 * share).toFixed(1) + "%");
}

// Returns the largest number, whatever its sign. -Infinity stands for an empty cell.
const most = (list) => list.reduce((most, value) => (value === -Infinity ? most : Math.max(most, Math.abs(value))), 0);

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
  if (!narrow.matches)
    columns.push({
      key: "place", title: "Place", text: true, width: 26, value: placeOf,
      fill(cell, i) {
        cell.classList.add("place");
        cell.title = plain(placeOf(i));
        putFound(cell, shortPlaceOf(i));
      },
    });
  return columns;
}

function putName(cell, i) {
  const button = element("button", "name");
  button.type = "button";
  putFound(button, functions[i][NAME]);
  cell.append(button);
  if (functions[i][RUNNING]) cell.append(element("span", "note", "running"));
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
const ESTIMATE = "An estimate: the line is so short that what the profiler itself cost is larger";
const BARS = { time: "of-time", self: "of-self", increment: "of-memory" };
let allColumns = false;

// Returns the measure of a line; null (an empty cell) where the line never ran, or where memory was not read.
function measureOf(columns, { key, needs }, at) {
  const get = (name) => (columns[name] ? columns[name][at] : 0);
  if (at < 0 || (!get("hits") && !get("time"))) return null;
  if (key === "per-hit") return get("hits") ? get("time") / get("hits") : null;
  if (needs !== "times" && !get("rss")) return null;
  return get(key === "percent" ? "time" : key);
}

// Has the measure a column? The usual measures have one if the profile has them, the others if the function has some.
function isKnown(columns, { key, needs, page }) {
  if (needs !== "times") return profile.memory && (page < 2 || key in columns);
  return key === "self" ? profile.self : key === "await" ? key in columns : true;
}

function putMissed(cell) {
  cell.classList.add("missed");
  cell.textContent = "0";
  cell.title = "The line holds code and never ran";
}

// Returns the columns of the lines of one or more functions; `total` is the time of which they are shares.
function lineColumns({ members, rows, columns, missed }, total) {
  const level = allColumns ? 2 : narrow.matches ? 0 : 1;
  const wanted = LINE_COLUMNS.filter((column) => column.page <= level && isKnown(columns, column));
  return [
    {
      key: "line", title: "Line", width: 8, value: (row) => rows.number[row],
      fill: (cell, row) => void (cell.textContent = Number.isInteger(rows.number[row]) ? rows.number[row] : "…"),
    },
    ...wanted.map((column) => ({
      key: column.key, title: column.title, width: column.width, hint: column.hint, bar: BARS[column.key],
      value: (row) => measureOf(columns, column, rows.at[row]) ?? -Infinity,
      fill(cell, row) {
        const value = measureOf(columns, column, rows.at[row]);
        if (column.key === "hits" && missed.has(rows.number[row])) return putMissed(cell);
        if (value === null || (value === 0 && column.change)) return;
        cell.textContent = column.write ? column.write(value) : percent(value, total);
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
