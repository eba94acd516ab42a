// SPDX-License-Identifier: MIT
// Formats numbers for people. texts.py formats numbers in the same way.
"use strict";

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

function grouped(digits) {
  return digits.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
}

// Formats a value with three digits, in the largest unit in which it is at least 1.
function scaled(value, units) {
  const [size, unit] = units.find(([size]) => Math.abs(value) >= size * 0.9995 || size === 1);
  const amount = value / size;
  const whole = size === 1 && Number.isInteger(value);
  const digits = whole || Math.abs(amount) >= 99.95 ? 0 : Math.abs(amount) >= 9.995 ? 1 : 2;
  return grouped(amount.toFixed(digits)) + " " + unit;
}

const time = (nanoseconds) => (nanoseconds ? scaled(nanoseconds, TIMES) : "0");

const size = (bytes) => (bytes ? scaled(bytes, SIZES) : "0");

const count = (number) => (number < 1e12 ? grouped(String(number)) : number.toExponential(2));

const percent = (part, whole) => (whole ? (100 * Math.min(part / whole, 1)).toFixed(1) : "");
