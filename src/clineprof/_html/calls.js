// SPDX-License-Identifier: MIT
// Who calls the open function, and what it calls. The edges, and the tree of calls that flame.js draws, are read from
// the JSON in the page when they are first needed.
"use strict";

const NOBODY = -1; // the caller where no selected function called; the callee where contexts were joined
const [readEdges, readTree] = [0, 1].map((line) => {
  let found = null;
  return () => (found = found || JSON.parse(at("data-calls").textContent.split("\n")[line]));
});
let edgesOfFunctions = null;

// Returns the edges of a function, the longest first: {callers: numbers of edges, callees: numbers of edges}.
function edgesOf(i) {
  if (!edgesOfFunctions) {
    const { caller, callee, time } = readEdges();
    edgesOfFunctions = functions.map(() => ({ callers: [], callees: [] }));
    for (const edge of Uint32Array.from(time.keys()).sort((a, b) => time[b] - time[a])) {
      edgesOfFunctions[callee[edge]]?.callers.push(edge);
      edgesOfFunctions[caller[edge]]?.callees.push(edge);
    }
  }
  return edgesOfFunctions[i];
}

// ---- the tables

const callers = new Table(at("callers"), "Who calls it", "time", openCaller, goToSource);
const callees = new Table(at("callees"), "What it calls", "time", openCallee, goToSource);

function openCaller(edge) {
  const { caller, line } = readEdges();
  if (caller[edge] !== NOBODY) open(caller[edge], line[edge] || undefined);
}

function openCallee(edge) {
  const { callee } = readEdges();
  if (callee[edge] !== NOBODY) open(callee[edge]);
}

// Returns a function's name with the line in it that calls, if that line is known.
const callerName = (i, line) => functions[i][NAME] + (line ? ":" + line : "");

function textOfLine(i, line) {
  const { texts } = detailsOf(i);
  return texts?.[line - functions[i][LINE]]?.trim().slice(0, 300) ?? "";
}

function putNotes(cell, edge) {
  const { caller, callee, through } = readEdges();
  if (caller[edge] === callee[edge]) cell.append(element("span", "note", "recursion"));
  if (!through[edge] || caller[edge] === NOBODY) return;
  const note = cell.appendChild(element("span", "note", "through unselected code"));
  note.title = "The line called code that is not selected, which then called the function";
}

function putCaller(cell, edge) {
  const i = readEdges().caller[edge], line = readEdges().line[edge];
  if (i === NOBODY) return void cell.append(element("span", "note", "code that is not selected"));
  putButton(cell, callerName(i, line), `${profile.files[functions[i][FILE]]}:${line || functions[i][LINE]}`);
  putNotes(cell, edge);
  put(cell.appendChild(element("span", "code said")), textOfLine(i, line));
}

function putCallee(cell, edge) {
  const i = readEdges().callee[edge];
  if (i === NOBODY) return void cell.append(element("span", "note", "more contexts than a profile keeps"));
  putButton(cell, functions[i][NAME], placeOf(i));
  putNotes(cell, edge);
}

// Returns the columns with the numbers of edges.
function edgeColumns() {
  const { calls, time: times, increment } = readEdges();
  const number = (key, title, width, hint, values, write, bar) => ({
    key, title, width, hint, bar,
    value: (edge) => values[edge],
    fill: (cell, edge) => void (cell.textContent = write(values[edge])),
  });
  const columns = [
    number("calls", "Calls", 11, "A generator that is resumed makes no call", calls, count),
    number("time", "Time", 11, "Of the calls with all that they called; recursion counts once", times, time, "of-time"),
  ];
  if (increment && !narrow.matches)
    columns.push(number("increment", "Increment", 13, "What the calls added to resident memory", increment, size,
      "of-memory"));
  return columns;
}

function showEdges(i) {
  at("calls").hidden = !profile.calls;
  at("calls-note").textContent = notesOnCalls(i).join(" ");
  if (!profile.calls) return;
  const found = edgesOf(i), { caller, line, callee } = readEdges();
  const nameOf = (of) => (of === NOBODY ? "" : functions[of][NAME]);
  const text = (key, title, value, fill) => ({ key, title, text: true, value, fill });
  callers.scroller.hidden = !found.callers.length;
  callees.scroller.hidden = !found.callees.length;
  const least = leastForNames();
  callers.show([
    text("name", "Called from", (edge) => nameOf(caller[edge]) + String(line[edge]).padStart(11), putCaller),
    ...edgeColumns(),
  ], least, found.callers);
  callees.show([
    {
      key: "line", title: "Line", width: 8, value: (edge) => line[edge],
      fill: (cell, edge) => void (cell.textContent = line[edge] || ""),
    },
    text("name", "Calls to", (edge) => nameOf(callee[edge]), putCallee),
    ...edgeColumns(),
  ], least, found.callees);
}

function noteOnJoined() {
  const { cut } = readEdges();
  return !cut ? [] : [`Of ${count(cut)} more calls it is not known who was called: ` +
    "they have more contexts than a profile keeps."];
}

function notesOnCalls(i) {
  if (!profile.calls)
    return functions.length
      ? ["Who calls whom is not known: files of line_profiler and of an older clineprof have no calls."] : [];
  const { callers, callees } = edgesOf(i), notes = noteOnJoined();
  if (!callers.length) notes.push("Who called it is not known.");
  if (!callees.length) notes.push("Its lines call no selected function.");
  if (profile.raw) notes.push("Times of calls are without the cost of profiling.");
  return notes;
}

// ---- links in the source

// Returns a column with the functions that each line calls, if the functions call any. `members` are their numbers.
function calledColumns(members, rows) {
  const edges = !profile.calls || narrow.matches ? [] : [...members].flatMap((i) => edgesOf(i).callees);
  if (!edges.length) return [];
  const { line, callee, time: times } = readEdges(), called = new Map();
  for (const edge of edges) {
    if (callee[edge] === NOBODY) continue;
    if (!called.has(line[edge])) called.set(line[edge], new Map());
    const ofLine = called.get(line[edge]);
    ofLine.set(callee[edge], (ofLine.get(callee[edge]) ?? 0) + times[edge]);
  }
  return [{
    key: "called", title: "Calls to", width: 16, text: true, hint: "The selected functions that the line calls",
    value: (row) => [...(called.get(rows.number[row])?.keys() ?? [])].map((to) => functions[to][NAME]).join(),
    fill: (cell, row) => void putLinks(cell, called.get(rows.number[row])),
  }];
}

const MOST_LINKS = 10; // of one line; the table below the source has all

function putLinks(cell, called) {
  const links = [...(called ?? [])];
  links.slice(0, MOST_LINKS).forEach(([i, nanoseconds], place) => {
    if (place) cell.append(", ");
    const link = element("a", "name");
    link.href = hashOf(i);
    link.title = plain(`${functions[i][NAME]}, ${placeOf(i)}: ${time(nanoseconds)}`);
    put(link, functions[i][NAME]);
    cell.append(link);
  });
  if (links.length > MOST_LINKS) cell.append(", ..");
}
