// SPDX-License-Identifier: MIT
// Leaks: the list of the lines that leak, and their marks in the source and in the list of functions.
"use strict";

const LEAK_FUNCTION = 0, LEAK_LINE = 1, KEPT = 2, PER_EPOCH = 3, PER_SECOND = 4, SURE = 5,
  LEAK_TEXT = 6, HELD_BY = 7, AT_END = 8, EPOCH = 9;
const leaks = profile.leaks;
const leaksByLine = Map.groupBy(leaks, (leak) => leak[LEAK_LINE]);
const leaksOf = (i) => leaks.filter((leak) => leak[LEAK_FUNCTION] === i);

// ---- the list

function leakColumns() {
  const number = (key, title, field, write, hint) => ({
    key, title, hint, width: 13,
    value: (id) => leaks[id][field],
    fill: (cell, id) => void (cell.textContent = write(leaks[id][field])),
  });
  const text = (key, title, width, of) => ({
    key, title, width, text: true, value: of, fill: (cell, id) => put(cell, of(id)),
  });
  return [
    {
      ...text("source", "Line", 0, (id) => leaks[id][LEAK_TEXT]),
      fill(cell, id) {
        const button = element("button", "code");
        button.type = "button";
        put(button, leaks[id][LEAK_TEXT].trim() || "(no source)");
        cell.append(button);
      },
    },
    number("bytes", "Kept", KEPT, size, "Allocated there and not given back"),
    number("call", "Per epoch", PER_EPOCH, size),
    number("second", "Per second", PER_SECOND, size),
    number("sure", "Sure %", SURE, (share) => percent(share, 1)),
    text("function", "Function", 22, (id) => functions[leaks[id][LEAK_FUNCTION]][NAME]),
    text("place", "Place", 26, (id) => shortPlaceOf(leaks[id][LEAK_FUNCTION]).replace(/\d+$/, leaks[id][LEAK_LINE])),
    text("holder", "Held by", 40, (id) => leaks[id][HELD_BY]),
  ];
}

const openLeak = (id) => open(leaks[id][LEAK_FUNCTION], leaks[id][LEAK_LINE]);

// ---- marks

// Returns what is told of a leak: what it keeps, how it grows, who holds it.
function toldOfLeak(leak) {
  const told = [`kept ${size(leak[KEPT])}`, `${size(leak[PER_EPOCH])} per ${leak[EPOCH]}`];
  if (leak[PER_SECOND]) told.push(`${size(leak[PER_SECOND])} per second`);
  told.push(`sure ${percent(leak[SURE], 1)} %`);
  if (leak[AT_END]) told.push("freed only at the end of the program");
  return leak[HELD_BY] ? [...told, `held by ${leak[HELD_BY]}`] : told;
}

// Adds a mark that tells the leak, and leads to the list of leaks.
function putLeak(cell, leak) {
  const mark = cell.appendChild(element("a", "leak"));
  mark.href = hashOf(leak[LEAK_FUNCTION], leak[LEAK_LINE], "leaks");
  mark.title = toldOfLeak(leak).map(plain).join("\n");
  put(mark, shortlyToldOf(leak));
}

const shortlyToldOf = (leak) =>
  toldOfLeak(leak).filter((_, place, told) => place < 2 || (leak[HELD_BY] && place === told.length - 1)).join(", ");

// Returns how much room the marks of a line in the source take, in characters of its text.
const markLength = (number) =>
  leaksAt(shown.members, number).reduce((sum, leak) => sum + shortlyToldOf(leak).length + 4, 0);

// Returns the leaks of a function in full, for the notes below its source.
const leaksToldOf = (i) =>
  leaksOf(i).map((leak) => `Line ${leak[LEAK_LINE]} ${toldOfLeak(leak).map(plain).join(", ")}.`);

// Returns the leaks of a line of the source. `members` are the functions in the source.
const leaksAt = (members, number) =>
  (leaksByLine.get(number) ?? []).filter((leak) => members.has(leak[LEAK_FUNCTION]));

// Marks the line of the source, if it leaks.
function markLeaks(cell, row, members, number) {
  const found = leaksAt(members, number);
  row.classList.toggle("leaks", found.length > 0);
  for (const leak of found) putLeak(cell, leak);
}

// Marks a function in a list with what its lines leak together.
function markLeaking(cell, i) {
  const found = leaksOf(i);
  if (!found.length) return;
  const sum = found.reduce((sum, leak) => sum + leak[KEPT], 0);
  const mark = cell.appendChild(element("span", "leak", narrow.matches ? "leaks" : `leaks ${size(sum)}`));
  mark.title = found.map((leak) => `line ${leak[LEAK_LINE]}: ${toldOfLeak(leak).map(plain).join(", ")}`).join("\n");
}
