// The reference: JSON.parse, then the predicates of the specification.
import { readFileSync } from "node:fs";
const text = (v) => typeof v === "string", number = (v) => typeof v === "number";
const roles = ["user", "assistant", "system", "tool"];
const message = (m) => m && text(m.id) && roles.includes(m.role) && text(m.content) && number(m.timestamp);
const decoder = new TextDecoder("utf-8", { fatal: true });
for (const file of process.argv.slice(2)) {
	const { curt, version, conversation: c } = JSON.parse(decoder.decode(readFileSync(file)));
	const ok = curt === "curtis-conversation" && version === 1 && text(c.id) && text(c.title)
		&& number(c.createdAt) && number(c.updatedAt) && Array.isArray(c.messages) && c.messages.every(message);
	if (!ok) throw new Error(file);
}
