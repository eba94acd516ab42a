// SPDX-License-Identifier: MIT
// What the page of a comparison shows: both sides of functions, lines and calls, which are read from the JSON in the
// page. All numbers, marks and verdicts are those of `clineprof diff`; nothing is compared here. The names that
// source.js, lines.js and page.js use are the same in profile.js and calls.js.
"use strict";

// ---- the comparison

const VERDICTS = 3, ELSEWHERE = 4, SIDES = 5, CHANGES = 6; // of a function's row; ELSEWHERE: where it was, if elsewhere
const BEFORE = 0, AFTER = 1, CHANGE = 2, MARGIN = 3, PERCENT = 4; // of a change; of noise only the first two
const OLD = 0, NEW = 1;
const counted = (number) => count(Number.isInteger(number) ? number : Number(number.toFixed(1))); // may be an average
const WRITTEN = { count: counted, ns: time, bytes: size };
const MEASURES = profile.measures.map(([title, unit]) => ({ title, write: WRITTEN[unit], isSize: unit === "bytes" }));
const HITS = MEASURES.length - 1; // the place of hits, which are the last measure
const FIRST_ORDER = { functions: "change0", lines: "change0" }; // the columns that sort at first
const HAS_FILES = false; // can whole files be shown?
const OWN = "change"; // the column by which the minimap and the search rank lines: the size of the change
const ownOf = (i) => sizeOf(functions[i][CHANGES][0]);
const writeOwn = (size) => MEASURES[0].write(size);
const opened = new Map();
const readDetails = linesOfJson("data-lines");

// Returns {changes: a list for each measure; ran (1: before, 2: after, 3: both), verdicts: of each line of the
// comparison; columns, rows, colours}. The rows are those of the table: an edited line has two, what it was and what it
// is. The number of a row is unique: that of a line that is gone is negative.
function detailsOf(i) {
  let found = opened.get(i);
  if (found) return found;
  const [old, now, oldTexts, newTexts, marks, ran, verdicts, changes, runs] = readDetails(i);
  const rows = { number: [], old: [], new: [], text: [], mark: [], at: [] }, colours = new Map();
  const starts = [startsOf(oldTexts, runs[OLD]), startsOf(newTexts, runs[NEW])];
  const add = (line, from, to, mark, at) => {
    const isGone = to === null, number = isGone ? -from : to;
    rows.number.push(number);
    rows.old.push(from);
    rows.new.push(to);
    rows.text.push((isGone ? oldTexts : newTexts)[line] ?? "");
    rows.mark.push(mark);
    rows.at.push(at);
    colours.set(number, starts[isGone ? OLD : NEW][line]);
  };
  [...marks].forEach((mark, line) => {
    if (mark === "~") add(line, old[line], null, "-", -1);
    add(line, mark === "~" ? null : old[line], now[line], mark, line);
  });
  found = { changes, ran, verdicts, rows, colours,
    columns: { place: verdicts.map((_, line) => line + 1), change: changes[0].map(sizeOf) } };
  opened.set(i, found);
  return found;
}

// Returns the size of a change that is more than noise. A line that did not run has no change.
const sizeOf = (change) => Math.abs(change?.[CHANGE] ?? 0);

const rowsOf = (i) => detailsOf(i).rows;
const linesOf = (i) => detailsOf(i);
const numberOf = ([from, to]) => to ?? (from === null ? undefined : -from);

// ---- columns of a change

const signed = (value, write) => (value > 0 ? "+" : "") + write(value);
const isReal = (change) => change?.[CHANGE] !== undefined; // is it more than noise?
const percentOf = ({ [PERCENT]: share }) =>
  (share === null ? "" : signed(share, () => grouped(share.toFixed(Math.abs(share) < 1000 ? 1 : 0))));

// Tells a change in words: "20.1 ms → 40.3 ms, +20.2 ms (+100.5 %)".
function told(change, write) {
  const sides = `${write(change[BEFORE])} → ${write(change[AFTER])}`;
  if (!isReal(change)) return sides;
  const share = percentOf(change);
  return `${sides}, ${signed(change[CHANGE], write)}${share && ` (${share} %)`}`;
}

// Returns the columns of one measure. changeOf(id) is the change, 0 where the line did not run; has(id, side): did it
// run on the side? verdictOf(id) has the words "new" and "gone", which stand in place of a percentage. The titles name
// the measure, unless it is the first one.
function changeColumns({ title, write, isSize }, place, { ids, changeOf, has, verdictOf }) {
  const largest = most(ids.map((id) => sizeOf(changeOf(id)))), isFirst = place === 0;
  const only = (id) => (isReal(changeOf(id)) ? changeOf(id) : null);
  const isShown = (id) => changeOf(id) && !(isSize && !changeOf(id)[BEFORE] && !changeOf(id)[AFTER]);
  const column = (name, title, width, value, text, paint = () => {}, hint) => ({
    key: name + place, title, width: Math.max(width, title.length + 4), hint, value,
    fill(cell, id) {
      cell.textContent = text(id);
      if (cell.textContent) paint(cell, id);
    },
  });
  const side = (name, field, side) => column(name, `${title} ${name}`, 13,
    (id) => (changeOf(id) && has(id, side) ? changeOf(id)[field] : -Infinity),
    (id) => (isShown(id) && has(id, side) ? write(changeOf(id)[field]) : ""));
  const sense = (id) => (write === counted ? "hits" : only(id)[CHANGE] > 0 ? "worse" : "better");
  return {
    before: side("before", BEFORE, OLD),
    after: side("after", AFTER, NEW),
    change: column("change", isFirst ? "Change" : title, 13, (id) => sizeOf(changeOf(id)),
      (id) => (only(id) ? signed(only(id)[CHANGE], write) : ""),
      (cell, id) => {
        cell.title = `${title} ${told(only(id), write)}`;
        cell.classList.add(sense(id));
        bar(cell, only(id)[CHANGE], largest, "of-" + sense(id));
      }, "After less before, where it is more than noise. Sorted by size"),
    margin: column("margin", isFirst ? "±" : `${title} ±`, 11, (id) => only(id)?.[MARGIN] ?? -Infinity,
      (id) => (only(id) ? write(only(id)[MARGIN]) : ""), undefined, "The true change is within this margin"),
    percent: column("percent", isFirst ? "%" : `${title} %`, 10,
      (id) => only(id)?.[PERCENT] ?? (only(id) ? Math.sign(only(id)[CHANGE]) * Infinity : 0),
      (id) => (only(id) ? verdictOf(id).match(/\b(new|gone)\b/)?.[0] ?? percentOf(only(id)) : ""),
      (cell, id) => cell.classList.add(sense(id)), "The change, relative to before"),
  };
}

// Returns the columns of a measure in their order. Margins are known only with a confidence.
const knownOf = ({ before, after, change, margin, percent }) =>
  [before, after, change, ...(profile.confidence ? [margin] : []), percent];

// Returns those columns of a measure for which there is room: of the first measure all, of others the change.
function chosenOf(columns, place) {
  if (place > 0) return [columns.change];
  return narrow.matches ? [columns.change, columns.percent] : knownOf(columns);
}

// ---- functions

function functionColumns() {
  const of = (place) => changeColumns(MEASURES[place], place, {
    ids: everyFunction,
    changeOf: (i) => functions[i][CHANGES][place],
    has: (i, side) => !!functions[i][SIDES][side],
    verdictOf: (i) => functions[i][VERDICTS],
  });
  const text = (key, title, width, of) => ({
    key, title, width, text: true, value: of, fill: (cell, i) => put(cell, of(i)),
  });
  return [
    { key: "name", title: "Function", text: true, value: (i) => functions[i][NAME], fill: putName },
    ...chosenOf(of(0), 0),
    ...(narrow.matches ? [] : MEASURES.slice(1, HITS).map((_, place) => of(place + 1).change)),
    ...(narrow.matches ? [] : [text("verdicts", "Verdict", 18, (i) => functions[i][VERDICTS] || "changed within")]),
    ...(narrow.matches ? [] : [placeColumn]),
  ];
}

function putName(cell, i) {
  const button = element("button", "name");
  button.type = "button";
  putFound(button, functions[i][NAME]);
  cell.append(button);
}

// Returns what stands above the source of a function, and below it.
function sumsOf(i) {
  const row = functions[i];
  const said = MEASURES.slice(0, HITS).flatMap(({ title, write, isSize }, place) => {
    const change = row[CHANGES][place];
    return isSize && !isReal(change) ? [] : [`${title} ${told(change, write)}`];
  });
  if (row[VERDICTS]) said.push(row[VERDICTS]);
  if (row[ELSEWHERE]) said.push(`before at ${plain(row[ELSEWHERE])}`);
  return said;
}

const notesOf = (i) =>
  rowsOf(i).text.some(Boolean) ? [] : ["The source is not known: lines of both sides match by their place."];

// ---- the source

let allColumns = false;

// Returns the columns of a function's lines: of the first measure always, of the others where they changed.
function lineColumns({ function: i, rows, changes, ran, verdicts, colours }) {
  const ids = rows.number.map((_, row) => row);
  const of = (place) => changeColumns(MEASURES[place], place, {
    ids,
    changeOf: (row) => (rows.at[row] < 0 ? 0 : changes[place][rows.at[row]]),
    has: (row, side) => !!(ran[rows.at[row]] & (1 << side)),
    verdictOf: (row) => verdicts[rows.at[row]],
  });
  const changed = (place) => changes[place].some(isReal);
  const wanted = MEASURES.map((_, place) => place).filter((place) =>
    allColumns || place === 0 || (!narrow.matches && changed(place)));
  const number = (key, title, list) => ({
    key, title, width: narrow.matches ? 9 : 8, value: (row) => list[row] ?? -Infinity,
    fill: (cell, row) => void (cell.textContent = list[row] ?? ""),
  });
  const columnsOf = (place) => (allColumns ? knownOf(of(place)) : chosenOf(of(place), place));
  return [
    ...(narrow.matches ? [] : [number("old", "Old", rows.old)]),
    { ...number("line", "New", rows.new), value: (row) => row },
    ...wanted.flatMap(columnsOf),
    {
      key: "source", title: "Source", text: true, value: (row) => rows.text[row],
      fill: (cell, row, tr) => putSides(cell, rows.text[row], rows.mark[row], colours.get(rows.number[row]), tr),
    },
  ];
}

const markLength = () => 0; // of marks behind the text: there are none

const MARKS = { "+": "added", "-": "removed", "~": "edited" };

function putSides(cell, text, mark, colours, tr) {
  const code = element("code");
  cell.classList.add("code");
  code.append(element("b", "side", mark));
  if (MARKS[mark]) {
    tr.classList.add(MARKS[mark]);
    code.append(element("span", "unseen", MARKS[mark] + ": "));
  }
  putText(code, text, colours);
  cell.append(code);
}

// ---- all lines

const KEYS_OF_LINES = ["place", "change"]; // place: in the comparison, from 1 on; 0: what an edited line was
const hasRun = (id) => lines.place[id] && detailsOf(lines.function[id]).ran[lines.place[id] - 1] > 0;

function lineListColumns() {
  const { place, function: of } = allLines();
  const detail = (id, name) => (place[id] ? detailsOf(of[id])[name][place[id] - 1] : null);
  const columns = changeColumns(MEASURES[0], 0, {
    ids: Array.from(place.keys()),
    changeOf: (id) => (place[id] ? detailsOf(of[id]).changes[0][place[id] - 1] : 0),
    has: (id, side) => !!(detail(id, "ran") & (1 << side)),
    verdictOf: (id) => detail(id, "verdicts"),
  });
  return [...chosenOf(columns, 0), ...textsOfLines()];
}

// ---- broken limits

const [LIMITED, LIMITED_LINE, LIMITED_NAME, LIMITED_PLACE, LIMIT, MEASURE, UNIT, BREACH, LIMITED_TEXT] =
  [0, 1, 2, 3, 4, 5, 6, 7, 8];

function limitColumns() {
  const { limits } = profile;
  const text = (key, title, width, of) => ({
    key, title, width, text: true, value: of, fill: (cell, id) => put(cell, of(id)),
  });
  const breach = (key, title, width, of) => ({
    key, title, width, value: (id) => limits[id][BREACH][of] ?? -Infinity,
    fill: (cell, id) => void (cell.textContent = WRITTEN[limits[id][UNIT]](limits[id][BREACH][of])),
  });
  return [
    {
      ...text("name", "Function", 0, (id) => limits[id][LIMITED_NAME]),
      fill: (cell, id) => putButton(cell, limits[id][LIMITED_NAME], limits[id][LIMITED_PLACE]),
    },
    text("limit", "Limit", 18, (id) => limits[id][LIMIT]),
    text("measure", "Measure", 12, (id) => limits[id][MEASURE]),
    breach("before", "Before", 12, BEFORE),
    breach("after", "After", 12, AFTER),
    text("place", "Place", 24, (id) => lastPart(limits[id][LIMITED_PLACE])),
    text("source", "Source", 40, (id) => limits[id][LIMITED_TEXT].trim()),
  ].filter(({ key }) => !narrow.matches || ["name", "limit", "after"].includes(key));
}

function openLimit(id) {
  const [place, line] = profile.limits[id];
  if (place >= 0) open(place, line ?? undefined);
}

// ---- calls

const [CALLER, CALLER_NAME, CALLEE, FROM, TO, CALLS, TIME] = [0, 1, 2, 3, 4, 5, 6]; // of an edge
const TIME_MEASURE = { title: "Time", write: time };
const edges = JSON.parse(at("data-calls").textContent);
const callers = new Table(at("callers"), "Who calls it", "change0", openCaller, goToSource);
const callees = new Table(at("callees"), "What it calls", "change0", openCallee, goToSource);

function openCaller(edge) {
  const row = edges[edge];
  if (row[CALLER] >= 0) open(row[CALLER], numberOf([row[FROM], row[TO]]));
}

function openCallee(edge) {
  open(edges[edge][CALLEE]);
}

function putCaller(cell, edge) {
  const row = edges[edge], line = row[TO] ?? row[FROM];
  const name = row[CALLER_NAME] === null ? "code that is not selected" : row[CALLER_NAME] + (line ? ":" + line : "");
  if (row[CALLER] < 0) put(cell.appendChild(element("span", "note")), name);
  else putButton(cell, name, placeOf(row[CALLER]));
}

// Returns the columns of calls. Both sides share a cell, because two tables stand side by side.
function edgeColumns(ids) {
  const { change, percent } = changeColumns(TIME_MEASURE, 0, {
    ids, changeOf: (edge) => edges[edge][TIME], has: () => true, verdictOf: () => "",
  });
  const sides = (key, title, width, field, write) => ({
    key, title, width, value: (edge) => edges[edge][field][AFTER],
    fill(cell, edge) {
      const both = [BEFORE, AFTER].map((side) => write(edges[edge][field][side]));
      cell.textContent = [...new Set(both)].join(" → ");
    },
  });
  const both = [sides("calls", "Calls", 15, CALLS, counted), sides("time", "Time", 20, TIME, time)];
  return [...(narrow.matches ? [] : both), change, percent];
}

function showEdges(i) {
  const those = (end) => [...edges.keys()].filter((edge) => edges[edge][end] === i);
  const of = { callers: those(CALLEE), callees: those(CALLER) };
  const least = narrow.matches ? 18 : 13;
  const text = (key, title, value, fill) => ({ key, title, text: true, value, fill });
  callers.scroller.hidden = !of.callers.length;
  callees.scroller.hidden = !of.callees.length;
  at("calls").hidden = callers.scroller.hidden && callees.scroller.hidden;
  callers.show([
    text("name", "Called from", (edge) => edges[edge][CALLER_NAME] ?? "", putCaller), ...edgeColumns(of.callers),
  ], least, of.callers);
  callees.show([
    text("name", "Calls to", (edge) => functions[edges[edge][CALLEE]][NAME],
      (cell, edge) => putButton(cell, functions[edges[edge][CALLEE]][NAME], placeOf(edges[edge][CALLEE]))),
    ...edgeColumns(of.callees),
  ], least, of.callees);
}
