// SPDX-License-Identifier: MIT
// The search: one box that finds functions, files and lines. The hottest of each are listed below the box, and each
// list shows only what was found.
"use strict";

const MOST_FOUND = 6; // of a kind, below the box
let words = [];
const matches = (text) => words.every((word) => text.includes(word));
const lowerFiles = profile.files.map((file) => file.toLowerCase());
const lowerFunctions = functions.map((row) => row[NAME].toLowerCase() + " " + lowerFiles[row[FILE]]);
const isSearched = (i) => matches(lowerFunctions[i]);

// Returns those of the ids that have the largest values, the largest first.
function largestOf(ids, value, count) {
  const found = [];
  for (const id of ids) {
    if (found.length === count && value(id) <= value(found.at(-1))) continue;
    const place = found.findIndex((other) => value(other) < value(id));
    found.splice(place < 0 ? found.length : place, 0, id);
    if (found.length > count) found.pop();
  }
  return found;
}

// ---- what is listed below the box

// A kind of thing that can be found: {name (of its tab), title, ids, own(id): its time, put(parent, id), place(id),
// open(id)}
function kindsFound() {
  const { files } = lists;
  const ofFiles = files && {
      name: "files", title: "Files", ids: files.ids.filter((id) => files.nodes[id].file !== undefined),
      own: (id) => files.nodes[id].self, text: (id) => profile.files[files.nodes[id].file], place: () => "",
      open: (id) => openFile(files.nodes[id].file),
  };
  return [
    ...(files ? [ofFiles] : []),
    {
      name: "functions", title: "Functions", ids: lists.functions.natural, own: ownOf,
      text: (i) => functions[i][NAME], place: shortPlaceOf, open,
    },
    {
      name: "lines", title: "Lines", ids: lists.lines.natural,
      own: (id) => lines[OWN][id], text: (id) => lines.text[id].slice(0, 200),
      place: (id) => shortPlaceOf(lines.function[id]).replace(/\d+$/, Math.abs(lines.number[id])),
      open: (id) => open(lines.function[id], lines.number[id]),
    },
  ];
}

function listFound() {
  const kinds = words.length ? kindsFound() : [];
  at("found").hidden = !words.length;
  at("found").replaceChildren(...kinds.map(groupOf));
  tellFound(kinds);
}

function tellFound(kinds) {
  const told = kinds.map(({ title, ids }) => `${title.toLowerCase()} ${count(ids.length)}`).join(", ");
  at("told").textContent = told && `Found: ${told}`;
}

function groupOf({ name, title, ids, own, text, place, open }) {
  const group = element("section"), list = element("ul");
  group.append(element("h2", "", `${title} `), list);
  group.firstChild.append(element("span", "amount", count(ids.length)));
  for (const id of largestOf(ids, own, MOST_FOUND)) {
    const button = addButton(list, () => open(id), goToSource);
    putFound(button.appendChild(element("span", "code")), text(id) || "(no source)");
    put(button.appendChild(element("span", "where")), place(id));
    button.append(element("span", "own", own(id) ? writeOwn(own(id)) : ""));
  }
  if (ids.length > MOST_FOUND) {
    const all = addButton(list, () => choose(name, true));
    all.className = "all";
    all.append(`All ${count(ids.length)} ${title.toLowerCase()}`);
  }
  return group;
}

function addButton(list, action, after = () => {}) {
  const button = list.appendChild(element("li")).appendChild(element("button"));
  button.type = "button";
  button.addEventListener("click", (event) => {
    at("found").hidden = true;
    action();
    after(event.detail === 0);
  });
  return button;
}

// What is listed, for the keys that move: as a Table.
const found = {
  get buttons() {
    return [...at("found").querySelectorAll("button")];
  },
  get selected() {
    return this.buttons.indexOf(document.activeElement);
  },
  select(place) {
    const { buttons } = this;
    (place < 0 ? at("search") : buttons[Math.min(place, buttons.length - 1)])?.focus();
  },
};

// Takes the list away when the focus goes elsewhere.
function leaveFound(event) {
  if (!event.currentTarget.contains(event.relatedTarget)) at("found").hidden = true;
}

// ---- the search itself

function search() {
  words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  filterFunctions();
  if (lists.files) filterFiles();
  if (words.length || lists.lines.columns) filterLines();
  lists.flame?.search();
  listFound();
  tellNothing();
}

function filterFunctions() {
  lists.functions.setRows(everyFunction.filter(isSearched));
  amount("functions", lists.functions.ids.length, functions.length);
}

function filterFiles() {
  const found = (file) => matches(lowerFiles[file]);
  lists.files.find(words.length ? found : undefined);
  amount("files", profile.files.filter((_, file) => found(file)).length, profile.files.length);
}

// Filters the list of lines. Reads all lines first, which may be many thousands, so it is called only when needed.
function filterLines() {
  const { lower } = allLines(), list = lists.lines;
  const found = Array.from(lower.keys()).filter((id) => matches(lower[id]));
  if (!list.columns) list.show(lineListColumns(), 60, Array.from(lower.keys()));
  if (words.length || list.natural.length < lower.length) list.setRows(found);
  amount("lines", found.length, lower.length);
}

function amount(name, found, all) {
  const text = found === all ? count(all) : `${count(found)} of ${count(all)}`;
  tabOf(name).querySelector(".amount").textContent = text;
}
