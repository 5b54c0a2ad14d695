#!/usr/bin/env python3
"""The mapping of .curt to Claude Code lines a second time, for tests. Reads .curt lines on stdin and
writes the lines curt2cc should, with what is minted left open: `uuid` and `parentUuid` as
`uuid:N` (N-th line of the conversation), `message.id` as `msg:N`, made-up tool ids as `toolu:N`.
`same.py cc` compares. An operand is the version that lines carry.
"""

import math
import re
import sys

from jsonx import MISSING, Arr, Num, Obj, parse, write

VERSION = sys.argv[1] if len(sys.argv) > 1 else "0.1.0"


def text(value):
    return value if type(value) is str else None


def number(value):
    return float(value) if isinstance(value, Num) else None


def iso(ms):
    """What Date.prototype.toISOString prints, cut toward zero; None where the year has not four digits."""
    if ms is None or not math.isfinite(ms):
        return None
    ms = math.trunc(ms)
    if not -62_167_219_200_000 <= ms < 253_402_300_800_000:  # a year of other than four digits
        return None
    days, rest = divmod(ms, 86_400_000)
    # Civil date from days, by whole 400-year cycles of the proleptic Gregorian calendar.
    z = days + 719_468
    era, doe = divmod(z, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    day, month = doy - (153 * mp + 2) // 5 + 1, mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (month <= 2)
    return (
        f"{year:04}-{month:02}-{day:02}T{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:"
        f"{rest // 1000 % 60:02}.{rest % 1000:03}Z"
    )


def either(message, *names):
    for name in names:
        value = message.get(name)
        if value is not MISSING and value is not None:
            return value
    return MISSING


IMAGE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")


def said(text):
    """A string, or blocks where a whole line of it is an image: no block may be blank."""
    found = [IMAGE.fullmatch(line) for line in text.split("\n")]
    found = [m if m and len(m[2]) % 4 == 0 else None for m in found]
    if not any(found):
        return text
    out, pending = Arr(), []

    def flush():
        if pending:
            out.append(Obj([("type", "text"), ("text", "\n".join(pending))]))
            pending.clear()

    for line, image in zip(text.split("\n"), found):
        if image:
            flush()
            source = Obj([("type", "base64"), ("media_type", image[1]), ("data", image[2])])
            out.append(Obj([("type", "image"), ("source", source)]))
        else:
            pending.append(line)
    flush()
    blank = any(block.get("type") == "text" and not block.get("text").strip(" \t\n\r\f") for block in out)
    return text if blank else out


def once(value):
    """Of members with one name the last, in the place of the first, as JSON.parse has it."""
    work = [value]
    while work:
        v = work.pop()
        if isinstance(v, Obj):
            v[:] = list(dict(v).items())
            work += [x for _, x in v]
        elif isinstance(v, Arr):
            work += v
    return value


class Tools:
    """The ids of one conversation's calls. What cannot keep its own gets `toolu:N`."""

    def __init__(self):
        self.minted, self.used, self.rows = 0, set(), []

    def mint(self):
        self.minted += 1
        return f"toolu:{self.minted}"

    def row(self, ids):
        """An assistant message calls by these stored ids (None for a missing one)."""
        out = []
        for stored in ids:
            emitted = stored if stored is not None and stored not in self.used else self.mint()
            self.used.add(stored)
            out.append([stored, emitted, False])
        self.rows.append(out)
        return [emitted for _, emitted, _ in out]

    def result(self, stored):
        """The nearest earlier row with an unanswered call of that id; in it, the first."""
        if stored is None:
            return self.mint()
        for row in reversed(self.rows):
            for call in row:
                if call[0] == stored and not call[2]:
                    call[2] = True
                    return call[1]
        return stored


def blocks(message, tools):
    out = Arr()
    thought = text(message.get("thinking"))
    if thought:
        out.append(Obj([("type", "thinking"), ("thinking", thought), ("signature", "")]))
    if message.get("content"):
        out.append(Obj([("type", "text"), ("text", message.get("content"))]))
    calls = either(message, "toolCalls", "tool_calls")
    calls = [c for c in calls if isinstance(c, Obj)] if isinstance(calls, Arr) else []
    for call, emitted in zip(calls, tools.row([text(c.get("id")) or None for c in calls])):
        given = call.get("arguments")
        if given is MISSING:
            given = Obj()
        out.append(
            Obj(
                [
                    ("type", "tool_use"),
                    ("id", emitted),
                    ("name", text(call.get("name")) or "unknown"),
                    ("input", once(given) if isinstance(given, Obj) else Obj([("_raw", once(given))])),
                ]
            )
        )
    return out or Arr([Obj([("type", "text"), ("text", "")])])


def usage(message):
    tokens = message.get("tokens")
    tokens = tokens if isinstance(tokens, Obj) else Obj()

    def count(value):
        if not isinstance(value, Num):
            return None
        if value.isdigit():
            return value
        n = float(value)
        return Num(str(int(n))) if 0 <= n < 2**53 and n.is_integer() else None

    def first(*names):
        return next((c for c in map(count, map(tokens.get, names)) if c is not None), 0)

    return Obj([("input_tokens", first("promptTokens")), ("output_tokens", first("completionTokens", "totalTokens"))])


def lines(body):
    conversation = body.get("conversation")
    sid = conversation.get("id")
    tools = Tools()
    for n, message in enumerate(conversation.get("messages")):
        role = message.get("role")
        line = Obj(
            [
                ("parentUuid", f"uuid:{n - 1}" if n else None),
                ("isSidechain", False),
                ("userType", "external"),
                ("cwd", ""),
                ("sessionId", sid),
                ("version", VERSION),
                ("gitBranch", ""),
                ("type", "user" if role == "tool" else role),
            ]
        )
        if role == "system":
            line += [("subtype", "informational"), ("level", "info"), ("content", message.get("content"))]
        elif role == "user":
            line.append(("message", Obj([("role", "user"), ("content", said(message.get("content")))])))
        elif role == "tool":
            block = Obj(
                [
                    ("type", "tool_result"),
                    ("tool_use_id", tools.result(text(either(message, "toolCallId", "tool_call_id")) or None)),
                    ("content", said(message.get("content"))),
                ]
            )
            failed = either(message, "isError", "tool_error")
            if isinstance(failed, bool):
                block.append(("is_error", failed))
            line.append(("message", Obj([("role", "user"), ("content", Arr([block]))])))
        else:
            model = text(message.get("model")) or text(conversation.get("model")) or "unknown"
            line.append(
                (
                    "message",
                    Obj(
                        [
                            ("id", f"msg:{n}"),
                            ("type", "message"),
                            ("role", "assistant"),
                            ("model", model),
                            ("content", blocks(message, tools)),
                            ("stop_reason", text(message.get("stopReason"))),
                            ("stop_sequence", None),
                            ("usage", usage(message)),
                        ]
                    ),
                )
            )
        when = iso(number(message.get("timestamp"))) or iso(number(conversation.get("createdAt"))) or iso(0.0)
        line += [("uuid", f"uuid:{n}"), ("timestamp", when)]
        yield line


def main():
    for text_line in sys.stdin.buffer.read().split(b"\n"):
        if text_line.strip():
            for line in lines(parse(text_line.decode("utf-8"))):
                sys.stdout.write(write(line) + "\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
