#!/usr/bin/env python3
"""What cc-chain-check --json says of graphs, a second time, for tests: by sets and recursion-free searches over whole
objects, one file an operand. Prints the same counts, a line of JSON a file; with --table, the rows of tests/data/graphs.tsv.
"""

import json
import sys
from collections import defaultdict


def records(path):
    """(line, object, its text) of what can be read."""
    decoder = json.JSONDecoder()
    with open(path, "rb") as file:
        data = file.read()
    lines = data.split(b"\n")
    if lines and lines[-1] == b"":
        lines.pop()
    found, broken = [], []
    for number, raw in enumerate(lines, 1):
        text = raw.decode("utf-8", "replace").removeprefix("\ufeff").strip(" \t\r\n")
        while text:
            try:
                value, end = decoder.raw_decode(text)
            except ValueError:
                broken.append(number)
                break
            if not text[end:] or (isinstance(value, dict) and text[end:].startswith("{")):
                if isinstance(value, dict):
                    found.append((number, value, text[:end]))
                text = text[end:]
            else:
                broken += [number] if text[end:] else []
                break
    # Half a line at the end is where a writer was stopped.
    return len(lines), found, any(number < len(lines) for number in broken)


def blocks(record):
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def word(value):
    return value if isinstance(value, str) and value else None


def place(record):
    kind, subtype = record.get("type"), record.get("subtype")
    if kind == "user":
        if record.get("isMeta") is True:
            return "meta"
        return "toolResult" if any(block.get("type") == "tool_result" for block in blocks(record)) else "prompt"
    if kind == "system":
        return {"compact_boundary": "compactBoundary", "local_command": "localCommand"}.get(subtype, "system")
    return kind if kind in ("assistant", "attachment", "progress") else "other"


def kept(record):
    """What a compaction kept, which may stand again below its boundary."""
    part = lambda value, key: value.get(key) if isinstance(value, dict) else None
    data = record.get("compactMetadata")
    segment = part(data, "preservedSegment")
    uuids = part(part(data, "preservedMessages"), "uuids")
    uuids = uuids if isinstance(uuids, list) else []
    return {uuid for uuid in [part(segment, "headUuid"), part(segment, "tailUuid"), *uuids] if word(uuid)}


SPOKEN = {"prompt", "meta", "toolResult", "assistant"}


def graph(path):
    lines, found, broken = records(path)
    nodes, copies, outside, forward = {}, 0, 0, 0
    call_of, mates, last_of_message = {}, defaultdict(set), {}
    for line, record, text in found:
        uuid = word(record.get("uuid"))
        kinds = ("user", "assistant", "system", "attachment", "progress")
        is_node = uuid and ("parentUuid" in record or record.get("type") in kinds)
        mate = None
        if record.get("type") in ("user", "assistant"):
            for block in blocks(record):
                if block.get("type") == "tool_use" and record["type"] == "assistant" and word(block.get("id")):
                    call_of.setdefault(block["id"], uuid if is_node else None)
                elif block.get("type") == "tool_result":
                    mate = call_of.get(word(block.get("tool_use_id"))) or mate
        if not is_node:
            outside += 1
            continue
        if uuid in nodes:
            copies += nodes[uuid]["text"] == text
            broken |= nodes[uuid]["text"] != text
            continue
        parent = word(record.get("parentUuid"))
        logical = None if parent else word(record.get("logicalParentUuid"))
        if logical and logical not in nodes and logical in kept(record):
            above = [uuid for uuid in nodes if uuid in kept(record)]
            logical = above[-1] if above else None
        if record.get("type") == "assistant" and isinstance(record.get("message"), dict):
            message = word(record["message"].get("id"))
            if message:
                mate = mate or last_of_message.get(message)
                last_of_message[message] = uuid
        forward += bool(parent) and parent not in nodes
        nodes[uuid] = {
            "line": line, "text": text, "parent": parent or logical, "logical": bool(logical), "place": place(record),
            "side": record.get("isSidechain") is True, "time": record.get("timestamp"), "mate": mate,
        }  # fmt: skip
        if mate:
            mates[mate].add(uuid)
    return lines, nodes, copies, outside, forward, mates, broken or not nodes


def shown(node):
    return node["place"] in SPOKEN and not node["side"]


def describe(path):
    lines, nodes, copies, outside, forward, mates, broken = graph(path)
    roots, children = defaultdict(int), defaultdict(list)
    orphans = dict(firstLine=0, message=0, other=0, logical=0, elsewhere=0)
    for number, (uuid, node) in enumerate(nodes.items()):
        if node["parent"] is None or node["logical"]:
            roots["sidechain" if node["side"] else node["place"]] += 1
        if node["parent"] in nodes:
            children[node["parent"]].append(node | {"uuid": uuid})
        elif node["parent"] is not None:
            spoken = "message" if node["place"] in SPOKEN else "other"
            orphans["logical" if node["logical"] else "firstLine" if number == 0 else spoken] += 1
    forks = dict(parallel=0, side=0, replay=0, rewind=0)
    for group in children.values():
        if len(group) < 2:
            continue
        prompts = {child["time"] for child in group if child["place"] == "prompt" and not child["side"]}
        turns = [(child["time"], child["place"]) for child in group if child["place"] in SPOKEN]
        if len(prompts) > 1:
            forks["rewind"] += 1
        elif len(turns) < 2:
            forks["side"] += 1
        elif len(set(turns)) < len(turns):
            forks["replay"] += 1
        else:
            forks["parallel"] += 1

    leaves = [uuid for uuid, node in nodes.items() if shown(node) and uuid not in children]
    leaves = leaves or [uuid for uuid, node in nodes.items() if shown(node)]
    leaf = max(leaves, key=lambda uuid: nodes[uuid]["line"], default=None)
    walk, at = set(), leaf
    while at in nodes and at not in walk:
        walk.add(at)
        at = None if nodes[at]["logical"] else nodes[at]["parent"]
    reached, todo = set(), [leaf]
    while todo:
        at = todo.pop()
        if at not in nodes or at in reached:
            continue
        reached.add(at)
        node = nodes[at]
        todo += [node["parent"], node["mate"], *mates[at]]
        todo += [c["uuid"] for c in children.get(node["parent"], []) if (c["time"], c["place"]) == (node["time"], node["place"])]

    # Depths from the roots down; a record in or below a cycle has none.
    depth = {uuid: 1 for uuid, node in nodes.items() if node["parent"] not in nodes}
    todo = list(depth)
    while todo:
        at = todo.pop()
        for child in children.get(at, []):
            depth[child["uuid"]] = depth[at] + 1
            todo.append(child["uuid"])
    longest = max(depth.values(), default=0) if len(depth) == len(nodes) else 0
    count = lambda uuids: sum(shown(nodes[uuid]) for uuid in uuids)
    return {
        "file": path, "lines": lines, "records": len(nodes), "roots": dict(sorted(roots.items())), "forks": forks,
        "orphans": orphans, "reach": {"of": count(nodes), "naive": count(walk), "bridged": count(reached)},
        "longest": longest, "copies": copies, "forward": forward, "outside": outside,
        "ok": not broken and len(depth) == len(nodes),
    }  # fmt: skip


def cells(of):
    """A row of the table of all files: what is 0 is left out."""
    some = lambda counts: " ".join(f"{kind} {count}" for kind, count in counts.items() if count) or "-"
    reach = of["reach"]
    share = lambda met: f"{100 * met // reach['of']} %" if reach["of"] else "-"
    return [
        of["file"], of["lines"], of["records"], some(of["roots"]), some(of["forks"]), some(of["orphans"]),
        share(reach["naive"]), share(reach["bridged"]), "ok" if of["ok"] else "broken",
    ]  # fmt: skip


operands = sys.argv[1:]
if operands[:1] == ["--table"]:
    print("file", "lines", "nodes", "roots", "forks", "orphans", "naive reach", "bridged reach", "verdict", sep="\t")
    for operand in operands[1:]:
        print(*cells(describe(operand)), sep="\t")
else:
    for operand in operands:
        print(json.dumps(describe(operand), separators=(",", ":")))
