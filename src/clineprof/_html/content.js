// SPDX-License-Identifier: MIT
// What every page has: functions in files, from the JSON in the page; the program's text, which is put into the page
// only as text nodes; bars.
"use strict";

const at = (id) => document.getElementById(id);
const profile = JSON.parse(at("data").textContent);
const HIDDEN = new RegExp("([" + profile.hidden + "])", "u");
// Returns a function that reads a line of the JSON in this element.
const linesOfJson = (id) => {
  let found = null;
  return (line) => JSON.parse((found = found || at(id).textContent.split("\n"))[line]);
};
const MOST_CHARACTERS = 5000; // shown of one line
const narrow = matchMedia("(max-width: 720px)");
const leastForNames = () => (narrow.matches ? 15 : 24); // the least width of the column of names in a list

const FILE = 0, LINE = 1, NAME = 2; // the rest of a function's row is read by profile.js or comparison.js
const functions = profile.rows;
const everyFunction = functions.map((_, i) => i);

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

const placeColumn = {
  key: "place", title: "Place", text: true, width: 26, value: placeOf,
  fill(cell, i) {
    cell.classList.add("place");
    cell.title = plain(placeOf(i));
    putFound(cell, shortPlaceOf(i));
  },
};

// Puts a button with a name into a cell, which opens the row.
function putButton(cell, text, hint) {
  const button = element("button", "name");
  button.type = "button";
  button.title = plain(hint);
  put(button, text);
  cell.append(button);
}

// ---- bars

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
