// The bulk convention in JavaScript: stdin holds `ID TITLE CREATED_AT` a line, strings as four hexadecimal
// digits a UTF-16 unit after a `u`, the number as JSON; stdout holds the file name as units. `?` for a line
// with a character that this node does not know yet: what it is depends on the version of Unicode.
import { readFileSync } from "node:fs";

const text = (hex) => String.fromCharCode(...(hex.slice(1).match(/.{4}/g) ?? []).map((unit) => parseInt(unit, 16)));
const units = (text) => "u" + [...Array(text.length).keys()].map((i) => text.charCodeAt(i).toString(16).padStart(4, "0")).join("");

// Half a surrogate pair at a cut is left out.
const isHigh = (unit) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit) => unit >= 0xdc00 && unit < 0xe000;
const splits = (text, at) => isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));

function slug(title) {
  const joined = (title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join("-");
  const cut = joined.slice(0, splits(joined, 50) ? 49 : 50);
  return cut.replace(/-+$/, "") || "untitled";
}

function suffix(id) {
  const after = id.slice(id.lastIndexOf("_") + 1);
  if (id.includes("_") && after !== "") return after;
  const start = Math.max(0, id.length - 8);
  return id.slice(splits(id, start) ? start + 1 : start);
}

function date(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "1970-01-01" : date.toISOString().split("T")[0];
}

const lines = readFileSync(0, "latin1").split("\n").slice(0, -1);
const names = lines.map((line) => {
  const [id, title, createdAt] = line.split(" ");
  if (/\p{Cn}/u.test(text(title))) return "?";
  // As a file name is written: what is no character is U+FFFD.
  return units(`${date(JSON.parse(createdAt))} ${slug(text(title))} ${suffix(text(id))}.curt`.replace(/\p{Cs}/gu, "\uFFFD"));
});
process.stdout.write(names.map((name) => name + "\n").join(""));
