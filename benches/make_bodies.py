"""Bodies to check, the same each time, in the shapes that cost a checker most differently.

small/    2,000 files of some 20 KB, as a writer lays them out
large/    20 files of 20 MB of text, an escape every 30 bytes, some of it not ASCII
images    one file of 500 MB, 5 MB images in it
tiny      800,000 messages of two letters
escapes   text in which every character is \\uXXXX
deep      a million nested arrays in an unknown field
usage: make_bodies.py DIRECTORY
"""
import json
import os
import random
import sys

dice = random.Random(20261201)
WORDS = """the quick brown fox jumps over a lazy dog error warning file path src main rs function returns value request
response test failed passed because line number and with from this that should when "quoted" C:\\path\\to é für 你好 🙂""".split()


def text(size, escape_every):
    parts, length, since = [], 0, 0
    while length < size:
        word = dice.choice(WORDS)
        since += len(word) + 1
        if since > escape_every:
            word, since = word + "\n", 0
        parts.append(word)
        length += len(word) + 1
    return " ".join(parts)[:size]


def message(n, content):
    return {"id": f"c_1-{n}", "role": "assistant" if n % 2 else "user", "content": content, "timestamp": 1700000000000 + n}


def write(path, contents, **how):
    head = {"curt": "curtis-conversation", "version": 1, "generator": "bench@1"}
    conversation = {"id": "c_1", "title": "T", "createdAt": 1700000000000, "updatedAt": 1700000000000}
    conversation["messages"] = [message(n, content) for n, content in enumerate(contents)]
    with open(path, "w") as file:
        json.dump(head | {"conversation": conversation}, file, **({"ensure_ascii": False, "indent": "\t"} | how))


os.chdir(sys.argv[1])
os.makedirs("small")
os.makedirs("large")
for n in range(2000):
    write(f"small/{n:04}.curt", [text(900, 60) for _ in range(20)])
pool = text(2_000_000, 30)
for n in range(20):
    starts = [dice.randrange(len(pool) - 4000) for _ in range(5000)]
    write(f"large/{n:02}.curt", [pool[start : start + 4000] for start in starts])
image = "data:image/png;base64," + "".join(dice.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=5_000_000))
write("images.curt", [image if n % 2 else pool[:2000] for n in range(200)])
write("tiny.curt", ["ok"] * 800_000)
write("escapes.curt", ["你好" * 20_000] * 400, ensure_ascii=True)
with open("deep.curt", "w") as file:
    file.write('{"x":' + "[" * 1_000_000 + "]" * 1_000_000 + ',"curt":"curtis-conversation","version":1,"conversation":{"id":"c","title":"","createdAt":0,"updatedAt":0,"messages":[]}}')
