#!/usr/bin/env python3
"""Tell as JSON what Hermes' own reader shows of stores, put as the table of curt-pack's mapping puts it.

    PYTHONPATH=v31:lib HERMES_HOME=SCRATCH python3 read.py STATE.DB…

A line for each, {"SESSION": [message, …]}, under the names of curt(5), but for toolCalls: how many. A session
that Hermes cannot read is null. Hermes migrates what it opens: give it a copy.
"""

import json
import logging
import math
import re
import sys
from pathlib import Path
from sqlite3 import OperationalError

from agent.tool_dispatch_helpers import make_tool_result_message
from hermes_state import SessionDB

logging.disable(logging.CRITICAL)

# What Hermes puts around a body of 40 letters: a line with the tag, a notice, and the closer.
wrapped = make_tool_result_message("web_search", "x" * 40, "id")["content"]
before, closer = wrapped.split("x" * 40)
tag = r"<untrusted_tool_result[^\n]*>\n"
notice = re.escape(before.partition("\n")[2])


def unwrapped(text):
    blocks = re.split(rf"(?<=\n)(?={tag}{notice})", text)
    for at, block in enumerate(blocks):
        body, found, rest = re.sub(rf"^{tag}(?:{notice})?", "", block).rpartition(closer)
        blocks[at] = body + rest if found else block
    return "".join(blocks)


class Number(str):
    """A number's own text."""


def unlike_any(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def refuse(constant):
    raise ValueError(constant)


def canonical(value):
    match value:
        case Number():
            return str(value)
        case dict():
            return "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in sorted(value)) + "}"
        case list():
            return "[" + ",".join(map(canonical, value)) + "]"
        case _:
            text = json.dumps(value, ensure_ascii=False)
            text.encode()  # half a surrogate pair is refused
            return text


def document(text):
    try:
        value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse,
                           object_pairs_hook=unlike_any)
        return canonical(value) if isinstance(value, (dict, list)) else text
    except ValueError:
        return text


def part(part):
    match part:
        case str():
            return part
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"type": "image_url" | "input_image", "image_url": str(url) | {"url": str(url)}}:
            return url
        case {"type": "image", "source": {"media_type": kind, "data": data}}:
            return f"data:{kind};base64,{data}"
    return json.dumps(part, separators=(",", ":"))


def said(role, content):
    match content:
        case None:
            return ""
        case bytes():
            return content.decode(errors="replace")
        case list():
            return "\n".join(map(part, content))
        case {"_multimodal": True, "content": list(parts)}:
            return said(role, parts)
        case str() if role == "tool" and re.match(tag, content):
            return unwrapped(content)
        case str():
            return document(content)
    return json.dumps(content)


def thought(row):
    """Both columns in one, and nothing twice."""
    first, second = [t if t and t.strip() else "" for t in (row["reasoning"], row["reasoning_content"])]
    if second in first or not first:
        return first or second
    return second if first in second else f"{first}\n\n{second}"


def calls(stored):
    """How many; old releases store a list as it came, in a string or alone."""
    stored = json.loads(stored) if isinstance(stored, str) else stored
    return sum(isinstance(call, dict) for call in ([stored] if isinstance(stored, dict) else stored))


def messages(db, id):
    # Hermes reads calls that are no JSON as none; their row stays all the same.
    odd = "SELECT id FROM messages WHERE session_id = ? AND trim(tool_calls) <> '' AND NOT json_valid(tool_calls)"
    odd = {row[0] for row in db._conn.execute(odd, (id,))}
    for row in db.get_messages(id, include_compacted=True):
        role, text = row["role"], said(row["role"], row["content"])
        hidden = row.get("display_kind") == "hidden" or row.get("_compressed_summary")
        if hidden or role not in ("user", "assistant", "tool"):
            continue
        message = {"role": role, "content": text, "timestamp": math.floor(row["timestamp"] * 1000 + 0.5)}
        if role == "assistant":
            message |= {"thinking": thought(row), "toolCalls": calls(row["tool_calls"] or [])}
        if role == "tool" or text.strip() or message.get("thinking") or message.get("toolCalls") or row["id"] in odd:
            yield message


def session(db, id):
    try:
        return list(messages(db, id))
    except OperationalError:  # bytes that are no UTF-8 end its reader
        return None


for path in sys.argv[1:]:
    db = SessionDB(Path(path))
    ids = [row[0] for row in db._conn.execute("SELECT id FROM sessions")]
    print(json.dumps({id: session(db, id) for id in ids}))
    db.close()
