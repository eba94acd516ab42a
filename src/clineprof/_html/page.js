// SPDX-License-Identifier: MIT
// The page: lists (functions, files, lines, the flame graph, leaks) above the source of the open function. The other
// parts come before it in the same script.
"use strict";

// ---- the lists

const lists = {
  functions: new Table(at("functions"), "Functions", FIRST_ORDER.functions, open, goToSource),
  ...(HAS_FILES ? { files: new Tree(at("files"), goToSource) } : {}),
  lines: new Table(at("lines"), "Lines", FIRST_ORDER.lines,
    (id) => open(lines.function[id], lines.number[id]), goToSource),
  ...(profile.limits?.length
    ? { limits: new Table(at("limits"), "Broken limits", "after", openLimit, goToSource) } : {}),
  ...(profile.leaks.length ? { leaks: new Table(at("leaks"), "Leaks", "bytes", openLeak, goToSource) } : {}),
  ...(profile.calls ? { flame: new Flame(at("boxes"), open, goToSource) } : {}),
};
let current = lists.functions, tabShown = "functions", timeline = null;

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
  if (narrow.matches) document.body.classList.remove("reading");
  if (name === "flame") lists.flame.read();
  if (name === "memory") timeline.read();
  if (name === "lines" && !lists.lines.columns) filterLines();
  if (lists[name]) current.update();
  tellNothing();
  tellAddress();
}

function tellNothing() {
  const empty = current.columns && !current.ids.length && !at(currentName()).hidden;
  at("nothing").textContent = !empty ? "" : words.length ? "Nothing is found here."
    : functions.length ? "Nothing took time." : profile.nothing;
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
  else if (key === null && narrow.matches && location.hash) document.body.classList.remove("reading");
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
  const box = at("search"), focused = document.activeElement;
  if (at("found").contains(focused)) box.focus();
  else if (focused === box && box.value) {
    box.value = "";
    search();
  } else close();
}

// The list in which keys move: the one with the focus (the box of the search has what it found), else that of the tab.
function listAtHand() {
  const focused = document.activeElement;
  if (!at("found").hidden && at("searching").contains(focused)) return found;
  return [callers, callees].find((table) => table.scroller.contains(focused)) || current;
}

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
  d: () => lists.files && choose("files", true),
  l: () => choose("lines", true),
  g: () => tabOf("flame").hidden || choose("flame", true),
  c: goToCalls,
  h: openHottest,
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
    searchNow();
    return void listAtHand().select(0);
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
  at("memory").prepend(at("timeline"));
  tabOf("memory").hidden = !profile.timeline;
  if (profile.timeline) timeline = new Timeline(at("timeline").firstElementChild, profile.timeline);
  if (profile.timeline?.stays.length) lists.memory = timeline.table;
  tabOf("limits").hidden = !lists.limits;
  tabOf("leaks").hidden = !lists.leaks;
  tabOf("flame").hidden = !lists.flame;
  tabOf("files").hidden = !lists.files;
  showLists();
  tellHottest();
  at("lists").classList.toggle("few", functions.length <= 8);
  follow();
  tellNothing();
}

function openHottest() {
  if (functions.length) open(...(profile.hottest ?? [0]));
}

// Adds the hottest line to the strip on top.
function tellHottest() {
  if (!profile.hottest) return;
  const [i, line] = profile.hottest, { numbers, columns } = detailsOf(i), own = columns[OWN][numbers.indexOf(line)];
  const fact = at("times").firstElementChild.appendChild(element("div"));
  const told = element("dd"), link = element("a", "name");
  fact.append(element("dt", "", "Hottest line"), told);
  link.href = hashOf(i, line);
  put(link, `${lastPart(profile.files[functions[i][FILE]])}:${line}`);
  told.append(link, ` ${time(own)} · ${percent(own, profile.whole)} %`);
  bar(fact, own, profile.whole, "of-self");
}

function showLists() {
  lists.functions.show(functionColumns(), leastForNames(), everyFunction);
  lists.files?.show(fileColumns(lists.files), leastForNames(), lists.files.nodes.map((node) => node.id));
  filterFunctions();
  if (lists.files) filterFiles();
  if (lists.lines.columns) {
    lists.lines.columns = null; // its columns are made anew
    filterLines();
  }
  lists.limits?.show(limitColumns(), leastForNames(), profile.limits.map((_, id) => id));
  if (lists.limits) amount("limits", profile.limits.length, profile.limits.length);
  lists.leaks?.show(leakColumns(), 30, profile.leaks.map((_, id) => id));
  amount("leaks", profile.leaks.length, profile.leaks.length);
}

let typing = 0;

function searchSoon() {
  clearTimeout(typing);
  typing = setTimeout(searchNow, 60);
}

function searchNow() {
  if (typing) search();
  clearTimeout(typing);
  typing = 0;
}

at("search").addEventListener("input", searchSoon);
at("search").addEventListener("focus", () => (at("found").hidden = !words.length));
at("search").addEventListener("focus", () => {
  if (window.requestIdleCallback) requestIdleCallback(readLinesAhead);
}, { once: true });
at("searching").addEventListener("focusout", leaveFound);
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
