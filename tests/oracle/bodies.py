#!/usr/bin/env python3
"""Write .curt lines that other writers may make, for tests; the same seed gives the same lines.

bodies.py --seed N [--bodies N]
"""

import argparse
import json
import sys

from mutate import IDS, STRINGS, Maker

TIMES = [
    "0", "1", "-1", "-0.5", "0.9", "-0", "1790000000000", "1790000000000.7", "1e3", "1E+2", "1.79e12", "1e400", "-1e400",
    "8.64e15", "8640000000000000.5", "9007199254740993",
    "253402300799999", "253402300800000", "-62167219200000", "-62167219200001", "-62135596800000",
]  # fmt: skip
COUNTS = ["0", "5", "12", "-1", "2.5", "null", '"7"', "9007199254740993", "5.0", "12e2"]


class Bodies(Maker):
    def quoted(self, text):
        return json.dumps(text, ensure_ascii=self.chance(50))

    def pictures(self):
        uri = "data:image/png;base64,iVBORw0KGgo="
        kinds = [uri, uri, uri, uri.replace("png", "webp"), uri + "=", "see " + uri, uri.replace("png", "bmp"), "a b", "", " "]
        return "\n".join(self.pick(kinds) for _ in range(self.r.randrange(1, 5)))

    def call(self):
        members = []
        if self.chance(90):
            members.append('"id": ' + self.pick([self.quoted(self.pick(IDS))] * 8 + ["null", "7", '""']))
        if self.chance(90):
            members.append('"name": ' + self.pick(['"terminal"'] * 6 + ['""', "null", "3", self.pick(STRINGS)]))
        if self.chance(90):
            given = [self.doc(2, "o"), self.doc(2), '"{\\"a\\": 1}"', "null"]
            members.append('"arguments": ' + self.pick(given))
        if self.chance(5):
            members.append('"id": "late"')
        return "{" + ", ".join(members) + "}"

    def calls(self):
        items = (self.pick(["7", "null", '"x"']) if self.chance(5) else self.call() for _ in range(self.r.randrange(4)))
        return self.pick(["[" + ", ".join(items) + "]"] * 8 + ["null", "{}", '"x"', "7"])

    def tokens(self):
        names = ("promptTokens", "completionTokens", "totalTokens", "cachedTokens")
        members = (f'"{name}": {self.pick(COUNTS)}' for name in names if self.chance(60))
        return self.pick(["{" + ", ".join(members) + "}"] * 6 + ["null", "[]", "5"])

    def message(self, n):
        role = self.pick(["user"] * 4 + ["assistant"] * 6 + ["tool"] * 5 + ["system"])
        content = self.pick([self.pick(STRINGS), self.quoted(self.words()), '""', '" "', self.quoted(self.pictures())])
        members = [
            self.pick([f'"id": "m{n}"'] * 9 + ['"\\u0069d": "m"']), f'"role": "{role}"', f'"content": {content}',
            f'"timestamp": {self.pick(TIMES)}',
        ]  # fmt: skip
        if self.chance(20):
            members.append('"model": ' + self.pick(['"gpt"', '""', "null", "7", self.pick(STRINGS)]))
        if self.chance(40):
            thought = [self.quoted(self.words()), '""', '" "', "null", "{}", self.pick(STRINGS)]
            members.append('"thinking": ' + self.pick(thought))
        if role == "assistant" or self.chance(10):
            if self.chance(60):
                members.append(self.pick(['"toolCalls": '] * 3 + ['"tool_calls": ']) + self.calls())
            if self.chance(50):
                members.append('"tokens": ' + self.tokens())
            if self.chance(50):
                members.append('"stopReason": ' + self.pick(['"stop"', '""', "null", "7", self.pick(STRINGS)]))
        if role == "tool" or self.chance(10):
            if self.chance(90):
                stored = self.pick([self.quoted(self.pick(IDS))] * 8 + ["null", "7"])
                members.append(self.pick(['"toolCallId": '] * 3 + ['"tool_call_id": ']) + stored)
            if self.chance(40):
                failed = self.pick(["true", "false", "null", "1", '"x"'])
                members.append(self.pick(['"isError": ', '"tool_error": ']) + failed)
        if self.chance(10):
            members.append('"extra": ' + self.doc(2))
        if self.chance(5):
            members.append('"role": "user"')
        if self.chance(10):
            self.r.shuffle(members)
        return "{" + ", ".join(members) + "}"

    def body(self, n):
        messages = ", ".join(self.message(m) for m in range(self.r.randrange(1, 14)))
        members = [
            '"id": ' + self.pick([f'"c{n}"', f'"c {n}/é"', f'"\\ud83d{n}"']), '"title": "t"',
            f'"createdAt": {self.pick(TIMES)}', '"updatedAt": 5', f'"messages": [{messages}]',
        ]  # fmt: skip
        if self.chance(50):
            members.insert(4, '"model": ' + self.pick(['"conv-model"', '""', "null", "7"]))
        if self.chance(20):
            self.r.shuffle(members)
        conversation = ", ".join(members).replace("\n", " ").replace("\r", " ")  # it is to be a line
        return '{"curt":"curtis-conversation","version":1,"conversation":{' + conversation + "}}"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--seed", type=int, required=True)
    args.add_argument("--bodies", type=int, default=60)
    options = args.parse_args()
    make = Bodies(options.seed)
    for n in range(options.bodies):
        print(make.body(n))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
