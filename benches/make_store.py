#!/usr/bin/env python3
"""Make a Hermes store of any size, the same each time. usage: make_store.py OUT.db [SESSIONS [MESSAGES]]

Columns as in schema 31 as far as the programs read them; all content is made up. Sessions are skewed
(a few hold most messages) and their rows interleaved, as those of a running agent are. Nothing of Hermes
is needed.
"""
import json
import random
import sqlite3
import sys

out, sessions, messages = sys.argv[1], int((sys.argv[2:3] or ["8602"])[0]), int((sys.argv[3:4] or ["157870"])[0])
rng = random.Random(20261130)
words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 10))) for _ in range(4000)]
odd = ["\n", "\t", '"quoted"', "C:\\path\\x", "日本語", "🦀", "https://example.invalid/a?b=c"]


def text(size):
    parts = []
    while size > 0:
        word = rng.choice(odd) if rng.random() < 0.03 else rng.choice(words)
        parts.append(word)
        size -= len(word) + 1
    return " ".join(parts)


db = sqlite3.connect(out)
db.executescript("""
PRAGMA journal_mode = delete; PRAGMA synchronous = off;
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (31);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, started_at REAL NOT NULL,
  ended_at REAL, end_reason TEXT, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  estimated_cost_usd REAL, title TEXT, chat_type TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT,
  reasoning TEXT, reasoning_content TEXT, observed INTEGER DEFAULT 0, active INTEGER NOT NULL DEFAULT 1,
  compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT, message_uid TEXT);
CREATE INDEX idx_messages_session_id ON messages(session_id, id);
""")
ids = [f"2026{1 + n // 28 % 12:02}{1 + n % 28:02}_{n % 240000:06}_{rng.getrandbits(32):08x}" for n in range(sessions)]
for n, sid in enumerate(ids):
    start = 1764000000 + n * 3000 + rng.random()
    db.execute("INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
               (sid, rng.choice(["cli", "cron", "discord"]), "u", "model-a", start, start + 900, "cli_close",
                rng.randint(0, 9000), rng.randint(0, 900), 0.01, text(30) if n % 3 == 0 else None, None))
turn = [0] * sessions
for n in range(messages):
    # The first rows give every session two; then eight live sessions at a time, some much longer.
    at = n // 2 if n < 2 * sessions else int(sessions * rng.random() ** 4) // 8 * 8 % sessions + n % 8
    at = min(at, sessions - 1)
    step, when = turn[at] % 4, 1764000000 + at * 3000 + turn[at] + rng.random()
    turn[at] += 1
    size = 50000 if rng.random() < 0.004 else int(rng.expovariate(1 / 1900)) + 20
    call = f"call_{at}_{turn[at] // 4}"
    row = [ids[at], "user", text(size // 4), None, None, None, when, None, None]
    if step == 1:
        calls = json.dumps([{"id": call, "call_id": call, "type": "function",
                             "function": {"name": "terminal", "arguments": json.dumps({"command": text(60)})}}])
        row = [ids[at], "assistant", None, None, calls, None, when, text(size // 3), "tool_calls"]
    elif step == 2:
        row = [ids[at], "tool", json.dumps({"output": text(size), "exit_code": 0}), call, None, "terminal", when, None, None]
    elif step == 3:
        row = [ids[at], "assistant", text(size // 2), None, None, None, when, text(size // 3), "stop"]
    db.execute("INSERT INTO messages (session_id,role,content,tool_call_id,tool_calls,tool_name,timestamp,reasoning,"
               "finish_reason,message_uid) VALUES (?,?,?,?,?,?,?,?,?,?)", row + [f"uid-{n}"])
db.commit()
