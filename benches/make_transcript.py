"""A session file as Claude Code writes one, the same each time: prompts, calls with their results, thoughts, and texts of
all lengths with a line end every hundred bytes.

usage: make_transcript.py FILE MEBIBYTES
"""
import json
import random
import sys
import uuid

dice = random.Random(20261201)
WORDS = """the quick brown fox jumps over a lazy dog error warning file path src main rs function returns value request
response test failed passed because line number and with from this that should when "quoted" C:\\path\\to é für 你好 🙂""".split()


def text(size):
    parts, length, since = [], 0, 0
    while length < size:
        word = dice.choice(WORDS)
        since += len(word) + 1
        if since > 100:
            word, since = word + "\n", 0
        parts.append(word)
        length += len(word) + 1
    return " ".join(parts)[:size]


pool = text(2_000_000)


def said(longest):
    start = dice.randrange(len(pool) - longest)
    return pool[start : start + dice.randrange(20, longest)]


def envelope(kind, message, parent, n):
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/me/src", "version": "2.1.144",
        "sessionId": "0f8fad5b-d9cb-469f-a165-70867728950e", "gitBranch": "main", "type": kind, "message": message,
        "uuid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
        "timestamp": f"2026-01-{1 + n // 1_000_000:02}T{n // 36_000 % 24:02}:{n // 600 % 60:02}:{n // 10 % 60:02}.{n % 10}00Z",
    }  # fmt: skip


size, n, parent = int(sys.argv[2]) << 20, 0, None
with open(sys.argv[1], "w") as file:
    while file.tell() < size:
        call, reply = f"toolu_{n:024}", {"id": f"msg_{n:024}", "type": "message", "role": "assistant", "model": "claude-opus"}
        reply |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": n, "output_tokens": 7}}
        content = [
            ("user", {"role": "user", "content": said(600)}),
            ("assistant", reply | {"content": [{"type": "thinking", "thinking": said(900), "signature": "c2ln"}]}),
            ("assistant", reply | {"content": [{"type": "text", "text": said(2000)}]}),
            ("assistant", reply | {"content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": said(200)}}]}),
            ("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": said(9000)}]}),
        ]
        for kind, message in content:
            record = envelope(kind, message, parent, n)
            json.dump(record, file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
            parent, n = record["uuid"], n + 1
