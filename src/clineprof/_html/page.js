// SPDX-License-Identifier: MIT
// The page: lists (functions, lines, the flame graph, leaks) above the source of the open function. The other
// parts come before it in the same script.
"use strict";

// ---- the source of the open function

// {function, line (undefined: none was chosen), members (functions), rows, columns, running, missed, shared (lines of
//  several functions), colours}: of the function, or of its whole file
let shown = null;
let wholeFiles = true;
const source = new Table(at("source"), "Source with measures", "line", pick, () => {});
source.descending = false;

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

// Returns where each line of the known text begins in the runs of colours: {line: [runs, run, offset in it]}.
function coloursOf(i) {
  const { runs, texts } = detailsOf(i), starts = new Map();
  if (!runs || !texts) return starts;
  let run = 0, offset = 0, number = functions[i][LINE];
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
  return { ...detailsOf(i), members: [i], rows: rowsOf(i), shared: new Set(), colours: coloursOf(i) };
}

function open(i, number) {
  shown = { ...linesOf(i), function: i, line: number };
  at("name").replaceChildren();
  put(at("name"), functions[i][NAME]);
  at("place").replaceChildren();
  put(at("place"), placeOf(i));
  tellSums(i);
  showSource();
  showEdges(i);
  document.body.classList.add("reading");
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
  if (!columns.some((column) => column.key === source.key))
    [source.key, source.descending] = ["line", false];
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

// ---- all lines

const KEYS_OF_LINES = ["time", "self", "hits", "increment"];
const lines = { function: [], number: [], text: [], lower: [] }; // one array for each property
for (const key of KEYS_OF_LINES) lines[key] = [];
let linesRead = 0; // the number of functions whose lines have been read

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
  return lines;
}

// Reads lines in idle time when a search is about to begin, so that the search need not wait.
function readLinesAhead(deadline) {
  while (linesRead < functions.length && deadline.timeRemaining() > 1) readLines(linesRead++);
  if (linesRead < functions.length) requestIdleCallback(readLinesAhead);
}

function lineListColumns() {
  const largest = most(allLines().increment);
  const number = (key, title, width, write, whole, kind) => ({
    key, title, width,
    value: (id) => lines[key][id],
    fill(cell, id) {
      if (!lines.hits[id] && !lines.time[id]) return;
      if (key === "increment" && !lines[key][id]) return;
      cell.textContent = write(lines[key][id]);
      bar(cell, lines[key][id], whole, kind);
    },
  });
  const columns = [number("time", "Time", 11, time, profile.whole, "of-time")];
  if (profile.self) columns.push(number("self", "Self", 11, time, profile.whole, "of-self"));
  if (profile.memory) columns.push(number("increment", "Increment", 14, size, largest, "of-memory"));
  columns.push(number("hits", "Hits", 13, count, 0));
  columns.push({
    key: "place", title: "Function", text: true, width: narrow.matches ? 14 : 28,
    value: (id) => functions[lines.function[id]][NAME] + ":" + String(lines.number[id]).padStart(10),
    fill(cell, id) {
      const i = lines.function[id];
      cell.title = plain(profile.files[functions[i][FILE]] + ":" + lines.number[id]);
      put(cell, functions[i][NAME] + ":" + lines.number[id]);
    },
  });
  columns.push({
    key: "source", title: "Source", text: true, value: (id) => lines.text[id],
    fill(cell, id) {
      const button = element("button", "code"), text = lines.text[id].slice(0, 500);
      button.type = "button";
      putFound(button, text || "(no source)");
      cell.append(button);
    },
  });
  return columns;
}

// ---- leaks

function leakColumns() {
  const number = (key, title, field, write, hint) => ({
    key, title, hint, width: 13,
    value: (id) => profile.leaks[id][field],
    fill: (cell, id) => void (cell.textContent = write(profile.leaks[id][field])),
  });
  const text = (key, title, width, of) => ({
    key, title, width, text: true, value: of, fill: (cell, id) => put(cell, of(id)),
  });
  return [
    {
      ...text("source", "Line", 0, (id) => profile.leaks[id][8]),
      fill(cell, id) {
        const button = element("button", "code");
        button.type = "button";
        put(button, profile.leaks[id][8].trim() || "(no source)");
        cell.append(button);
      },
    },
    number("bytes", "Kept", 4, size, "Allocated there and not given back"),
    number("call", "Per epoch", 5, size),
    number("second", "Per second", 6, size),
    number("sure", "Sure %", 7, (share) => percent(share, 1)),
    text("function", "Function", 22, (id) => profile.leaks[id][2]),
    text("place", "Place", 26, (id) => `${profile.leaks[id][0]}:${profile.leaks[id][3]}`.replace(/^.*\//s, "")),
    text("holder", "Held by", 40, (id) => profile.leaks[id][9]),
  ];
}

function openLeak(id) {
  const [file, line, name, number] = profile.leaks[id];
  const i = functions.findIndex((row) =>
    profile.files[row[FILE]] === file && row[LINE] === line && row[NAME] === name);
  if (i >= 0) open(i, number);
}

// ---- the lists

const lists = {
  functions: new Table(at("functions"), "Functions", "time", open, goToSource),
  lines: new Table(at("lines"), "Lines", profile.self ? "self" : "time",
    (id) => open(lines.function[id], lines.number[id]), goToSource),
  leaks: new Table(at("leaks"), "Leaks", "bytes", openLeak, goToSource),
  flame: new Flame(at("boxes"), open, goToSource),
};
let current = lists.functions, words = [], tabShown = "functions";

function tabOf(name) {
  return at("tab-" + name);
}

function choose(name, focus) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    at(tab.getAttribute("aria-controls")).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  tabShown = name;
  current = lists[name] || current;
  if (name === "flame") lists.flame.read();
  if (name === "lines" && !lists.lines.columns) filterLines();
  if (lists[name]) current.update();
  tellNothing();
  tellAddress();
}

function amount(name, found, all) {
  const text = found === all ? count(all) : `${count(found)} of ${count(all)}`;
  tabOf(name).querySelector(".amount").textContent = text;
}

const matches = (text) => words.every((word) => text.includes(word));

// Filters the list of lines. Reads all lines first, which may be many thousands, so it is called only when needed.
function filterLines() {
  const { lower } = allLines(), found = [], list = lists.lines;
  for (let id = 0; id < lower.length; id++) if (matches(lower[id])) found.push(id);
  if (list.columns) list.setRows(found);
  else list.show(lineListColumns(), 60, found);
  amount("lines", found.length, lower.length);
}

function filterFunctions() {
  lists.functions.setRows(foundFunctions());
  amount("functions", lists.functions.ids.length, functions.length);
}

const isSearched = (i) =>
  matches((functions[i][NAME] + " " + profile.files[functions[i][FILE]]).toLowerCase());

function foundFunctions() {
  return everyFunction.filter(isSearched);
}

function search() {
  words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  filterFunctions();
  if (words.length || lists.lines.columns) filterLines();
  lists.flame.search();
  tellNothing();
}

function tellNothing() {
  const empty = current.columns && !current.ids.length && !at(currentName()).hidden;
  at("nothing").textContent = !empty ? "" : words.length ? "Nothing is found here."
    : functions.length ? "Nothing took time." : "No function was profiled.";
}

function currentName() {
  return Object.keys(lists).find((name) => lists[name] === current);
}

// ---- the address: the part of the URL behind # names the tab, the open function and the line

let following = false; // is the page being brought to where the address says?

// The text that names a function in an address: the same in another page, as long as the function stays in its place.
const keyOf = (i) => `${placeOf(i)}:${functions[i][NAME]}`;
const functionsByKey = new Map(everyFunction.map((i) => [keyOf(i), i]));

// Returns the address of a function, or of a line in it; without a tab it leaves the tab as it is.
function hashOf(i, line, tab) {
  const parts = new URLSearchParams();
  if (tab) parts.set("tab", tab);
  if (i !== undefined) parts.set("function", keyOf(i));
  if (line !== undefined) parts.set("line", line);
  return "#" + parts;
}

// Puts where the page is into the address. Some browsers refuse that to a page within a page; then only the browser's
// buttons for back and forward lack it.
function tellAddress(step = "pushState") {
  if (following) return;
  const isOpen = shown && (document.body.classList.contains("reading") || !narrow.matches);
  const hash = isOpen ? hashOf(shown.function, shown.line, tabShown) : hashOf(undefined, undefined, tabShown);
  try {
    if (hash !== location.hash) history[step](null, "", hash);
  } catch {}
}

// Brings the page to where the address says, as after the browser's button for back.
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1)), tab = asked.get("tab");
  const inSource = at("source").contains(document.activeElement);
  following = true;
  if (tab !== tabShown && at("tab-" + tab)?.hidden === false) choose(tab, false);
  openAsked(asked.get("function"), Number(asked.get("line")) || undefined);
  following = false;
  tellAddress("replaceState");
  if (inSource) at("source").focus({ preventScroll: true });
}

function openAsked(key, line) {
  const i = functionsByKey.get(key);
  if (i !== undefined) {
    const isOpen = shown?.function === i && shown.line === line && document.body.classList.contains("reading");
    if (!isOpen) open(i, line);
  } else if (key !== null && !shown) at("place").textContent = "The link names a function that this profile lacks.";
  else if (key === null && narrow.matches) document.body.classList.remove("reading");
  else if (key === null && functions.length) openHottest();
}

// ---- dark and light

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function tellTheme() {
  at("theme").textContent = isDark() ? "Light" : "Dark";
  at("theme").setAttribute("aria-label", isDark() ? "Change to light" : "Change to dark");
}

// Calls action(localStorage). Some browsers refuse storage to a page from a file; then a choice lasts only as long as
// the page is open.
function remembered(action) {
  try {
    return action(localStorage);
  } catch {
    return null;
  }
}

function turnTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remembered((storage) => storage.setItem("clineprof-theme", document.documentElement.dataset.theme));
  tellTheme();
}

// ---- the keyboard

function turnColumns() {
  allColumns = !allColumns;
  if (shown) showSource();
}

function turnFiles() {
  wholeFiles = !wholeFiles;
  if (shown) open(shown.function, shown.line);
}

function escape() {
  if (document.activeElement === at("search") && at("search").value) {
    at("search").value = "";
    search();
  } else close();
}

// The list in which keys move: the one with the focus, else that of the tab.
const listAtHand = () =>
  [callers, callees].find((table) => table.scroller.contains(document.activeElement)) || current;

function move(step) {
  const list = listAtHand();
  list.select(list.selected + step);
}

// Moves the focus to the callers of the open function; from there to what it calls.
function goToCalls() {
  const tables = [callers, callees].filter((table) => !table.scroller.hidden && table.ids.length);
  const next = tables.indexOf(listAtHand()) + 1, table = tables[next] || tables[0];
  table?.select(Math.max(0, table.selected));
}

const KEYS = {
  "/": () => at("search").select(),
  "?": () => at("keys").showModal(),
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Home: () => listAtHand().select(0),
  End: () => listAtHand().select(Infinity),
  f: () => choose("functions", true),
  l: () => choose("lines", true),
  g: () => tabOf("flame").hidden || choose("flame", true),
  c: goToCalls,
  a: turnColumns,
  w: turnFiles,
  t: turnTheme,
  Escape: escape,
};

// Does the focused element use this key itself, because it scrolls or holds text?
function isTakenBy(focused, key) {
  if (focused.id === "search") return !["ArrowDown", "Escape", "Enter"].includes(key);
  return focused.id === "source" && /^(Arrow|Home|End)/.test(key);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
  const focused = document.activeElement;
  if (focused.id === "search" && event.key === "Enter") {
    event.preventDefault();
    return void current.select(0);
  }
  const action = KEYS[event.key];
  if (!action || isTakenBy(focused, event.key)) return;
  event.preventDefault();
  action();
}

function turnTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
  const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  choose(next.id.slice("tab-".length), true);
}

// ---- the start

function start() {
  const theme = remembered((storage) => storage.getItem("clineprof-theme"));
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  tellTheme();
  document.documentElement.classList.add("js");
  at("app").hidden = false;
  at("memory").append(at("timeline"));
  tabOf("memory").hidden = !at("timeline").firstElementChild;
  tabOf("leaks").hidden = !profile.leaks.length;
  tabOf("flame").hidden = !profile.calls;
  showLists();
  at("lists").classList.toggle("few", functions.length <= 8);
  follow();
  tellNothing();
}

function openHottest() {
  const own = (i) => functions[i][SELF] || functions[i][TOTAL];
  const hottest = everyFunction.reduce((most, i) => (own(i) > own(most) ? i : most));
  open(hottest);
}

function showLists() {
  lists.functions.show(functionColumns(), narrow.matches ? 18 : 24, foundFunctions());
  amount("functions", lists.functions.ids.length, functions.length);
  if (lists.lines.columns) lists.lines.show(lineListColumns(), 60, lists.lines.natural);
  lists.leaks.show(leakColumns(), 30, profile.leaks.map((_, id) => id));
  amount("leaks", profile.leaks.length, profile.leaks.length);
}

let typing = 0;
at("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, 60);
});
at("search").addEventListener("focus", () => {
  if (window.requestIdleCallback) requestIdleCallback(readLinesAhead);
}, { once: true });
for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => choose(tab.id.slice("tab-".length), false));
  tab.addEventListener("keydown", turnTab);
}
at("theme").addEventListener("click", turnTheme);
at("help").addEventListener("click", () => at("keys").showModal());
at("all-columns").addEventListener("click", turnColumns);
at("whole-file").addEventListener("click", turnFiles);
at("back").addEventListener("click", close);
document.addEventListener("keydown", pressed);
narrow.addEventListener("change", () => {
  showLists();
  if (shown) showSource();
  if (shown) showEdges(shown.function);
});
addEventListener("hashchange", follow);
at("zoom-in").addEventListener("click", () => lists.flame.zoom());
at("zoom-out").addEventListener("click", () => lists.flame.zoomOut());
start();
