// How curt-cat must print accepted bodies: stdin holds one a line in base64, stdout for each the line it
// becomes and, where JSON.stringify writes the same tokens, its tab-indented form, else `-`; in base64.
import { readFileSync } from "node:fs";

const STRING_OR_SPACE = /("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+/gs;

function layout(body) {
  // A byte-order mark is no part of it; one character a byte keeps every byte.
  const bytes = body.toString("latin1").replace(/^\xef\xbb\xbf/, "");
  const line = Buffer.from(bytes.replace(STRING_OR_SPACE, "$1"), "latin1");
  const value = JSON.parse(line.toString("utf8"));
  const isCanonical = JSON.stringify(value) === line.toString("utf8");
  // Deeper than 32 levels nothing is indented.
  const pretty = isCanonical ? JSON.stringify(value, null, "\t") : "";
  const told = isCanonical && !pretty.includes("\n" + "\t".repeat(33)) ? Buffer.from(pretty).toString("base64") : "-";
  return `${line.toString("base64")} ${told}\n`;
}

const lines = readFileSync(0, "latin1").split("\n").slice(0, -1);
process.stdout.write(lines.map((line) => layout(Buffer.from(line, "base64"))).join(""));
