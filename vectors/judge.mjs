#!/usr/bin/env node
// Hold the vectors against JavaScript: its UTF-8 decoder, its JSON.parse, the predicates of the specification
// written out, and the file names of the bulk convention. No code of this project is involved.
//
//   node judge.mjs [FILE.ndjson]     exit status 0 when every vector says what JavaScript says
//
// Another implementation is judged the same way: see README.md.
import { readFileSync } from "node:fs";

const ROLES = ["user", "assistant", "system", "tool"];
const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

/** The rule that the fields of an object break first: each is [name, kind, test]. */
function broken(object, fields) {
  for (const [name, wanted, test] of fields) {
    if (!Object.hasOwn(object, name)) return "missing-field";
    if (kind(object[name]) !== wanted || !(test?.(object[name]) ?? true)) return "wrong-field";
  }
  return null;
}

const CONVERSATION = [
  ["id", "string"],
  ["title", "string"],
  ["createdAt", "number"],
  ["updatedAt", "number"],
  ["messages", "array"],
];
const MESSAGE = [
  ["id", "string"],
  ["role", "string", (role) => ROLES.includes(role)],
  ["content", "string"],
  ["timestamp", "number"],
];

/** The body's value, or the rule it breaks as a text. */
function parsed(body) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text;
  try {
    text = decoder.decode(body);
  } catch {
    return { rule: "not-utf8" };
  }
  try {
    // At most one byte-order mark.
    return { value: JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text) };
  } catch {
    return { rule: "not-json" };
  }
}

function rule(value) {
  if (kind(value) !== "object") return "not-object";
  if (value.curt !== "curtis-conversation") return "wrong-magic";
  if (value.version !== 1) return "wrong-version";
  const top = broken(value, [["conversation", "object"]]) ?? broken(value.conversation, CONVERSATION);
  if (top !== null) return top;
  for (const message of value.conversation.messages) {
    const bad = kind(message) === "object" ? broken(message, MESSAGE) : "wrong-field";
    if (bad !== null) return bad;
  }
  return null;
}

// File names. Where a cut would leave half of a surrogate pair, the half goes: no file name can hold it.
const splits = (text, at) => /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "");

function fileName({ id, title, createdAt }) {
  const time = new Date(createdAt);
  const date = Number.isNaN(time.getTime()) ? "1970-01-01" : time.toISOString().split("T")[0];
  const words = (title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join("-");
  const slug = words.slice(0, splits(words, 50) ? 49 : 50).replace(/-+$/, "") || "untitled";
  const after = id.slice(id.lastIndexOf("_") + 1);
  const start = Math.max(0, id.length - 8);
  const suffix = id.includes("_") && after !== "" ? after : id.slice(splits(id, start) ? start + 1 : start);
  return `${date} ${slug} ${suffix}.curt`.replace(/\p{Cs}/gu, "\ufffd");
}

let count = 0;
let wrong = 0;
for (const line of readFileSync(process.argv[2] ?? 0, "utf8").split("\n").filter(Boolean)) {
  const vector = JSON.parse(line);
  const body = vector.body === undefined ? Buffer.from(vector.body_base64, "base64") : Buffer.from(vector.body);
  const { value, rule: text } = parsed(body);
  const broke = text ?? rule(value);
  const told = broke === null ? { accept: true, file_name: fileName(value.conversation) } : { accept: false, rule: broke };
  for (const field of ["accept", "rule", "file_name"]) {
    if (vector[field] !== told[field]) {
      console.log(`${vector.name}: ${field} is ${JSON.stringify(told[field])}, the vector says ${JSON.stringify(vector[field])}`);
      wrong += 1;
    }
  }
  count += 1;
}
if (wrong === 0) console.log(`${count} vectors hold`);
process.exitCode = wrong === 0 && count > 0 ? 0 : 1;
