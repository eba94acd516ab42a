// SPDX-License-Identifier: MIT
// The files of the profile as a tree of folders. Sums are of what the lines did by themselves, so nothing is counted
// twice, however the functions call each other.
"use strict";

const SUMS = { self: SELF, increment: OWN_INCREMENT, hits: HITS };

// A node: {name, file (its number; undefined: a folder), parts (of a folder: name -> node), depth, isOpen, functions
//          (their number), and the sums}
function makeNode(name, file) {
  return { name, file, parts: new Map(), depth: 0, isOpen: true, functions: 0, self: 0, increment: 0, hits: 0 };
}

// Returns the root of the tree, whose name is empty.
function treeOfFiles() {
  const root = makeNode("");
  for (const i of everyFunction) {
    let node = root;
    addSums(node, i);
    for (const [name, file] of stepsTo(functions[i][FILE])) {
      if (!node.parts.has(name)) node.parts.set(name, makeNode(name, file));
      node = node.parts.get(name);
      addSums(node, i);
    }
  }
  joinLone(root);
  return root;
}

// Returns the way to a file: [name of a folder, or of the file, its number or undefined].
function stepsTo(file) {
  const path = profile.files[file], end = path.startsWith("<") ? -1 : path.lastIndexOf("/");
  const folders = path.slice(0, end + 1).match(/\/?[^/]*\/+/g) ?? [];
  return [...folders.map((name) => [name]), [path.slice(end + 1), file]];
}

function addSums(node, i) {
  node.functions++;
  for (const [sum, field] of Object.entries(SUMS)) node[sum] += functions[i][field];
}

// Joins each folder with the only folder in it, and tells every node its depth.
function joinLone(node, depth = -1) {
  node.depth = depth;
  for (const [name, part] of node.parts) {
    while (part.parts.size === 1) {
      const [only] = part.parts.values();
      if (only.file !== undefined) break;
      part.name += only.name;
      part.parts = only.parts;
    }
    joinLone(part, depth + 1);
  }
}

class Tree extends Table {
  constructor(scroller, opened) {
    const key = profile.self ? "self" : "name";
    super(scroller, "Files and folders", key, (id) => this.openNode(this.nodes[id]), (byKeyboard) => {
      if (this.nodes[this.ids[this.selected]]?.file !== undefined) opened(byKeyboard);
    }, profile.self);
    this.root = treeOfFiles();
    this.nodes = []; // all but the root, by id
    this.number(this.root);
    this.isSearching = false;
    scroller.addEventListener("keydown", (event) => this.pressed(event));
  }

  number(node) {
    for (const part of node.parts.values()) {
      part.id = this.nodes.push(part) - 1;
      this.number(part);
    }
  }

  // Shows the files for which isFound(number of the file), and their folders. Without it, all files.
  find(isFound) {
    this.isSearching = isFound !== undefined;
    const has = (node) => (node.file === undefined ? [...node.parts.values()].some(has) : isFound(node.file));
    this.setRows(this.nodes.filter((node) => !isFound || has(node)).map((node) => node.id));
  }

  // Sorts each folder for itself, and leaves out what is in closed folders. During a search all folders are open.
  arrange() {
    const column = this.columns.find((column) => column.key === this.key), sign = this.descending ? -1 : 1;
    const given = new Set(this.natural), value = new Map(this.natural.map((id) => [id, column.value(id)]));
    const compare = (a, b) => (value.get(a) < value.get(b) ? -sign : value.get(a) > value.get(b) ? sign : a - b);
    this.ids = [];
    const add = (node) => {
      const parts = [...node.parts.values()].map((part) => part.id).filter((id) => given.has(id)).sort(compare);
      for (const id of parts) {
        this.ids.push(id);
        if (this.nodes[id].isOpen || this.isSearching) add(this.nodes[id]);
      }
    };
    add(this.root);
  }

  openNode(node) {
    if (node.file !== undefined) openFile(node.file);
    else this.turn(node, !node.isOpen);
  }

  // Opens or closes a folder.
  turn(node, isOpen) {
    const hasFocus = this.scroller.contains(document.activeElement);
    node.isOpen = isOpen;
    this.arrange();
    this.selected = this.ids.indexOf(node.id);
    this.rebuild();
    if (hasFocus) this.focus();
  }

  pressed(event) {
    const isOpen = { ArrowRight: true, ArrowLeft: false }[event.key], node = this.nodes[this.ids[this.selected]];
    if (isOpen === undefined || !node || event.ctrlKey || event.metaKey || event.altKey) return;
    if (node.file === undefined && node.isOpen !== isOpen) this.turn(node, isOpen);
    else if (!isOpen) this.select(this.folderOf(node));
    event.preventDefault();
  }

  // Returns the place of the folder that has the selected node.
  folderOf(node) {
    return this.ids.findLastIndex((id, at) => at < this.selected && this.nodes[id].depth < node.depth);
  }

  fillName(cell, node, row) {
    const button = element("button", "name"), isFolder = node.file === undefined;
    button.type = "button";
    cell.style.setProperty("--depth", node.depth);
    if (isFolder) button.setAttribute("aria-expanded", node.isOpen || this.isSearching);
    row.classList.toggle("folder", isFolder);
    putFound(button, node.name);
    cell.append(button);
  }
}

function fileColumns(tree) {
  const number = (key, title, width, write, hint, bar) => ({
    key, title, width, hint, bar,
    value: (id) => tree.nodes[id][key],
    fill: (cell, id) => void (cell.textContent = write(tree.nodes[id][key])),
  });
  const name = {
    key: "name", title: "File", text: true,
    value: (id) => tree.nodes[id].name,
    fill: (cell, id, row) => tree.fillName(cell, tree.nodes[id], row),
  };
  const share = (self) => percent(self, profile.whole);
  return [
    name,
    number("self", "Self", 11, time, "The sum of the functions' self times: no moment is counted twice", "of-self"),
    { ...number("self", "Share %", 11, share, "Of the time in all profiled functions"), key: "share" },
    number("increment", "Self incr.", 14, size, "The sum of what the lines added by themselves", "of-memory"),
    number("hits", "Hits", 13, count, "Of all lines together"),
    number("functions", "Functions", 13, count, "How many functions were profiled"),
  ].filter(({ key }) => isListed(key) && (key !== "share" || profile.self));
}

// Opens a file at its hottest line.
function openFile(file) {
  const found = hottestOf(everyFunction.filter((i) => functions[i][FILE] === file));
  open(found.function, found.line);
}

// Returns the line of these functions that took most time by itself: {function, line (undefined: none took time)}.
function hottestOf(several) {
  const found = { function: several[0], line: undefined, own: 0 };
  for (const i of several) {
    const { numbers, columns } = detailsOf(i);
    (columns[OWN] ?? []).forEach((own, at) => {
      if (own > found.own) Object.assign(found, { function: i, line: numbers[at], own });
    });
  }
  return found;
}
