// Judge .curt bodies as the reference would: stdin holds one body a line in base64, stdout one verdict
// a line: `utf8`, `syntax`, `shape`, or `ok` with id and title as UTF-16 units and the two times as the
// bits of a double, all in hexadecimal.
import { readFileSync } from "node:fs";

const isString = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number";
const isObject = (value) => typeof value === "object" && value !== null;

const isMessage = (m) =>
  isObject(m) &&
  isString(m.id) &&
  ["user", "assistant", "system", "tool"].includes(m.role) &&
  isString(m.content) &&
  isNumber(m.timestamp);

const isConversation = (c) =>
  isObject(c) &&
  isString(c.id) &&
  isString(c.title) &&
  isNumber(c.createdAt) &&
  isNumber(c.updatedAt) &&
  Array.isArray(c.messages) &&
  c.messages.every(isMessage);

const units = (text) => [...Array(text.length).keys()].map((i) => text.charCodeAt(i).toString(16).padStart(4, "0")).join("");

function bits(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
}

// The decoder must not take a byte-order mark: exactly one is ours to take.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function judge(body) {
  let text, value;
  try {
    text = decoder.decode(body);
  } catch {
    return "utf8";
  }
  try {
    value = JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch {
    return "syntax";
  }
  if (!isObject(value) || value.curt !== "curtis-conversation" || value.version !== 1 || !isConversation(value.conversation)) {
    return "shape";
  }
  const { id, title, createdAt, updatedAt } = value.conversation;
  return `ok ${units(id)} ${units(title)} ${bits(createdAt)} ${bits(updatedAt)}`;
}

const lines = readFileSync(0, "latin1").split("\n").slice(0, -1);
process.stdout.write(lines.map((line) => judge(Buffer.from(line, "base64")) + "\n").join(""));
