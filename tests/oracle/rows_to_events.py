#!/usr/bin/env python3
"""Write the events of a Hermes store, one a line, without their ids: the rules of lake-pack a second time, from SQL.

rows_to_events.py DB          the events
rows_to_events.py --same A B  whether two files hold the same events, whatever their ids
"""

import datetime
import hashlib
import json
import math
import re
import sqlite3
import sys

from hermes_to_curt import SENTINEL, decoded

COUNTERS = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]


def sha(text):
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def usable(t):
    return isinstance(t, (int, float)) and math.isfinite(t) and 0 <= t <= 4_200_000_000


def stamp(t):
    ms = math.floor(t * 1000 + 0.5)
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)
    return day.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (ms % 1000)


def words(cell):
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        return cell


def text(cell):
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return str(cell)


def said(cell):
    """What is behind the sentinel is decoded, as the other oracle does it."""
    cell = text(cell)
    if cell is None or not cell.startswith(SENTINEL):
        return cell
    lines = decoded(cell[len(SENTINEL) :])
    return cell if lines is None else "\n".join(line for line, _ in lines)


def scalar(value):
    """No surrogate travels: each of its three bytes is U+FFFD."""
    if isinstance(value, dict):
        return {key: scalar(item) for key, item in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def calls(cell):
    for _ in range(2):
        if isinstance(cell, str):
            try:
                cell = json.loads(cell)
            except ValueError:
                return []
    if isinstance(cell, dict):
        cell = [cell]
    return [call for call in cell if isinstance(call, dict)] if isinstance(cell, list) else []


def names(call):
    found = set()
    for key in ("id", "call_id"):
        if call.get(key):
            found |= {str(call[key]), str(call[key]).split("|")[0]}
    return found - {""}


def asked(call):
    """The call as an event's tool."""
    function = call.get("function") if isinstance(call.get("function"), dict) else {}
    name = call.get("name") or call.get("tool_name") or function.get("name") or ""
    given = next((v for v in [function.get("arguments"), *(call.get(k) for k in ("arguments", "input", "args"))] if v is not None), None)
    if given is not None and not isinstance(given, str):
        # Half of a pair is an escape in JSON.
        given = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
        given = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", given)
    return name, given


def path(given):
    try:
        value = json.loads(given or "")
    except ValueError:
        return []
    if not isinstance(value, dict):
        return []
    return [value[key] for key in ("file_path", "path", "filePath", "file") if isinstance(value.get(key), str)][:1]


def tool(name, given, result):
    given = scalar(given)
    made = {"name": name or "unknown", "input": given, "input_hash": sha(given or ""), "result": result, "paths": path(given)}
    return {key: value for key, value in made.items() if value is not None and value != []}


def cost(row):
    for column in ("actual_cost_usd", "estimated_cost_usd"):
        if isinstance(row.get(column), (int, float)) and row[column] > 0:
            return row[column]
    return 0.0 if row.get("cost_status") == "included" else None


def usage(session, models):
    def count(value):
        return max(value, 0) if isinstance(value, int) else 0

    own = cost(session)
    rows = models or [session]
    made = {c: sum(count(row.get(c)) for row in rows) for c in COUNTERS}
    if models:
        known = [c for c in map(cost, models) if c is not None]
        price = sum(known) if known else own
        used = {row.get("model") for row in models} - {None, ""}
        model = used.pop() if len(used) == 1 else None
    else:
        price, model = own, session.get("model") or None
        if price is None and not any(made.values()):
            return None
    made |= {"model": model} if model else {}
    return made | ({"cost_usd": price} if price is not None else {})


def is_summary(row):
    opening = str(row["content"] or "")
    flagged = row.get("_compressed_summary") == 1
    return flagged or row["role"] in ("user", "assistant") and opening.startswith(("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"))


def pair(rows):
    """Which call each tool row answers, as (row, call), and which calls a person's next words closed."""
    waiting, answers, closed = [], {}, set()
    for place, row in enumerate(rows):
        hidden = row.get("display_kind") == "hidden" or row.get("_compressed_summary") == 1
        if row["role"] == "user" and not hidden:
            closed |= {at for at, _ in waiting}
            waiting = []
        elif row["role"] == "assistant":
            # Results come in the order of the calls.
            waiting += [((place, n), names(c)) for n, c in reversed(list(enumerate(calls(row["tool_calls"]))))]
        elif row["role"] == "tool" and row["tool_call_id"] is not None:
            wanted = {str(row["tool_call_id"]), str(row["tool_call_id"]).split("|")[0]}
            found = next((w for w in reversed(waiting) if w[1] & wanted), None)
            if found:
                waiting.remove(found)
                answers[place] = found[0]
    return answers, closed


def events(session, rows, models, newest):
    if not rows:
        return
    base = {"schema_version": 1, "fleet_id": "f", "agent_id": "a", "runtime": "hermes", "host_id": "h", "session_id": scalar(text(session["id"]))}

    def event(kind, at, message=None, content=None, **more):
        content, more = scalar(content), scalar(more)
        made = base | {"emitted_at": stamp(at), "event_type": kind, "message_id": message, "content": content}
        made |= {"content_hash": sha(content or ""), "redaction": {}, "imported": True} | more
        return {key: value for key, value in made.items() if value is not None}

    times = [row["timestamp"] for row in rows if usable(row["timestamp"])]
    at = times[0] if times else session["started_at"] if usable(session["started_at"]) else 0
    ended = usable(session.get("ended_at")) or max(times, default=at) + 86400 <= newest
    yield event("session_start", at, content=said(session.get("title")) or None)
    answers, closed = pair(rows)
    answered = set(answers.values())
    for place, row in enumerate(rows):
        at = row["timestamp"] if usable(row["timestamp"]) else at
        mid = str(row["id"])
        if row["role"] in ("user", "assistant"):
            kind = {"user": "prompt"}.get(row["role"], "assistant")
            yield event(kind, at, mid, said(row["content"]), role=row["role"])
        if row["role"] == "assistant":
            for n, call in enumerate(calls(row["tool_calls"])):
                if (place, n) not in answered and (ended or (place, n) in closed):
                    yield event("tool_call", at, mid, parent_message_id=mid, tool=tool(*asked(call), None))
        if row["role"] == "tool":
            by, (name, given) = None, ("", None)
            if place in answers:
                asker, n = answers[place]
                by, (name, given) = str(rows[asker]["id"]), asked(calls(rows[asker]["tool_calls"])[n])
            made = tool(text(row["tool_name"]) or name, given, said(row["content"]))
            yield event("tool_call", at, mid, parent_message_id=by, tool=made)
        after = rows[place + 1] if place + 1 < len(rows) else None
        if row.get("compacted") and not (after and after.get("compacted") and not is_summary(after)):
            yield event("compact", at, mid)
    if ended:
        yield event("session_end", at, usage=usage(session, models))


def main(db):
    store = sqlite3.connect(db)
    store.row_factory = sqlite3.Row
    # A text that is no UTF-8 is bytes.
    store.text_factory = words

    def rows(sql, *args):
        return [dict(row) for row in store.execute(sql, args)]

    newest = max((r["timestamp"] for r in rows("select timestamp from messages") if usable(r["timestamp"])), default=0)
    has_models = rows("select 1 from sqlite_master where name = 'session_model_usage'")
    for session in rows("select * from sessions order by started_at, id"):
        messages = rows("select * from messages where session_id = ? order by id", session["id"])
        models = rows("select * from session_model_usage where session_id = ?", session["id"]) if has_models else []
        for event in events(session, messages, models, newest):
            print(json.dumps(event))


def same(a, b):
    def read(name):
        made = [json.loads(line) for line in open(name, encoding="utf-8")]
        for event in made:
            event.pop("event_id", None)
            # The order in which prices are summed is nobody's rule.
            if "cost_usd" in event.get("usage", {}):
                event["usage"]["cost_usd"] = round(event["usage"]["cost_usd"], 9)
        return made

    a, b = read(a), read(b)
    for number, (one, other) in enumerate(zip(a, b), 1):
        if one != other:
            sys.exit(f"event {number}:\n{one}\n{other}")
    if len(a) != len(b) or not a:
        sys.exit(f"{len(a)} and {len(b)} events")


if sys.argv[1] == "--same":
    same(*sys.argv[2:])
else:
    main(sys.argv[1])
