#!/usr/bin/env python3
"""Claude Code session files with everything rare, for tests: records of real files put together anew.

    mutate_cc.py --seed N --files N --out DIR FILE...

Ids, parents, times, kinds and contents are exchanged, repeated, removed or made odd.
"""

import argparse
import json
import os
import random

ODD = [None, "", " ", 0, 12, True, False, [], {}, "text", "2026-01-01T00:00:00.000Z", 1767225601000, "é😀\u2028", "\ud83d"]
KINDS = "user assistant system attachment progress summary queue-operation cost-state ai-title custom-title of-tomorrow".split()
BLOCKS = [
    {"type": "text", "text": "words"},
    {"type": "text", "text": ""},
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"a": 1.0}},
    {"type": "tool_use", "id": "t2", "name": "Read", "input": {"_raw": "x"}},
    {"type": "tool_use", "name": 7, "input": None},
    {"type": "server_tool_use", "id": "t3", "name": "web", "input": {"_raw": {"x": 1}}},
    {"type": "web_search_tool_result", "tool_use_id": "t3", "content": [{"type": "x", "url": "u"}]},
    {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True},
    {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"type": "tool_result", "tool_use_id": "t9", "is_error": "true"},
    {"type": "tool_result"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
    {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    {"type": "image", "source": {"type": "file"}},
    {"type": "document", "source": {"type": "text", "data": "d"}},
    "bare",
    7,
    None,
]
TEXTS = ["hello", "hello again", " ", "<command-name>/x</command-name>", "[Request interrupted by user]", "<task-notification>x"]


def content(dice):
    return dice.choice(TEXTS) if dice.random() < 0.4 else dice.choices(BLOCKS, k=dice.randint(0, 3))


def fresh(dice, names, n):
    """A record of the usual form."""
    kind = dice.choices(KINDS, [30, 30, 6, 6, 6, 3, 6, 2, 2, 2, 1])[0]
    record = {"type": kind, "sessionId": "s", "timestamp": "2026-01-01T%02d:%02d:%02d.%03dZ" % (n % 24, dice.randint(0, 59), dice.randint(0, 59), dice.randint(0, 999))}
    if kind in ("user", "assistant", "system", "attachment", "progress"):
        record["uuid"] = f"u{n}"
        record["parentUuid"] = dice.choice(names[-3:] + names[-1:] * 4) if names else None
        if dice.random() < 0.1 and names:
            record["parentUuid"] = dice.choice(names)
        record["isSidechain"] = False
        names.append(record["uuid"])
    if kind == "user":
        record["message"] = {"role": "user", "content": content(dice)}
        for flag in ("isMeta", "isCompactSummary", "isSidechain"):
            if dice.random() < 0.06:
                record[flag] = True
    elif kind == "assistant":
        record["message"] = {"id": f"m{n // dice.randint(1, 4)}", "role": "assistant", "model": dice.choice(["opus", "haiku", "<synthetic>", "unknown"]), "content": content(dice)}
        record["message"]["stop_reason"] = dice.choice([None, "end_turn", ""])
        record["message"]["usage"] = {"input_tokens": dice.randint(0, 3), "output_tokens": dice.randint(0, 3), "cache_read_input_tokens": dice.choice([0, 0, 5])}
        if dice.random() < 0.05:
            record["isApiErrorMessage"] = True
    elif kind == "system":
        record["subtype"] = dice.choice(["compact_boundary", "informational", "turn_duration", "local_command", None])
        record["content"] = dice.choice(TEXTS)
        if record["subtype"] == "compact_boundary":
            record.update(logicalParentUuid=record["parentUuid"], parentUuid=None, compactMetadata={"trigger": "auto", "preTokens": 7, "x": 1})
    elif kind == "attachment":
        record["attachment"] = {"type": dice.choice(["queued_command", "file"]), "prompt": content(dice), "commandMode": dice.choice(["prompt", "task-notification"])}
    elif kind == "queue-operation":
        record.update(operation=dice.choice(["enqueue", "enqueue", "remove"]), content=dice.choice(TEXTS))
    elif kind == "summary":
        record.update(summary="A summary", leafUuid=dice.choice(names + ["elsewhere"]))
    elif kind == "ai-title":
        record["aiTitle"] = dice.choice(["A title", " "])
    elif kind == "custom-title":
        record["customTitle"] = dice.choice(["Mine", ""])
    elif kind == "cost-state":
        record.update(totalCostUSD=0.25, modelUsage={"opus": {"inputTokens": 1, "costUSD": 0.5}})
    return record


def spoil(dice, record):
    """One thing that is not as it should be."""
    where = record
    while dice.random() < 0.5:
        inner = [value for value in where.values() if isinstance(value, dict) and value]
        if not inner:
            break
        where = dice.choice(inner)
    key = dice.choice(list(where) or ["x"])
    if dice.random() < 0.3:
        where.pop(key, None)
    else:
        where[key] = dice.choice(ODD)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--files", type=int, required=True)
    options.add_argument("--out", required=True)
    options.add_argument("real", nargs="*")
    options = options.parse_args()
    dice = random.Random(options.seed)
    real = []
    for path in options.real:
        for line in open(path, "rb").read().decode("utf-8", "replace").split("\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and len(line) < 4000:
                real.append(record)
    os.makedirs(options.out, exist_ok=True)
    for nth in range(options.files):
        names, records = [], []
        for n in range(dice.randint(1, 40)):
            record = json.loads(json.dumps(dice.choice(real))) if real and dice.random() < 0.1 else fresh(dice, names, n)
            if dice.random() < 0.15:
                spoil(dice, record)
            records.append(record)
        if dice.random() < 0.2:
            dice.shuffle(records)
        if dice.random() < 0.2:
            records += dice.choices(records, k=2)
        for record in records:
            if isinstance(record.get("sessionId"), str):
                record["sessionId"] = f"session-{nth:04}"
        with open(os.path.join(options.out, f"{nth:04}.jsonl"), "w", encoding="utf-8") as file:
            for record in records:
                line = json.dumps(record, ensure_ascii=dice.random() < 0.5 or "\\ud83d" in json.dumps(record))
                file.write(line + ("" if dice.random() < 0.01 else "\n"))


if __name__ == "__main__":
    main()
