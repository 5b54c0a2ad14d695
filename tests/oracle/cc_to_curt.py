#!/usr/bin/env python3
"""Claude Code session files to .curt a second time, for tests: it reads the files itself and shares no line
with the programs. One .curt body a line on stdout, in the order of the operands.

    cc_to_curt.py [--branches all] [--counts FILE] [--version X.Y.Z] FILE...

`--counts` writes what was dropped and folded, by the names that curt-pack's --summary-json uses.
"""

import argparse
import collections
import datetime
import os
import re
import sys

from jsonx import MISSING, Arr, Bad, Num, Obj, parse, write

WHITE = "\t\n\x0b\x0c\r \xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
SPACES = re.compile("[" + WHITE + "]+")
STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))$")
EPOCH = datetime.date(1970, 1, 1).toordinal()
# What a person sees of the lines that have a type of their own.
SYSTEM_SHOWN = {"informational", "local_command", "away_summary", "model_refusal_fallback"}
WRAPPERS = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "<task-notification>",
    "Caveat: ",
    "[Request interrupted by user",
)


def is_text(value):
    return type(value) is str


def blank(text):
    return text.strip(WHITE) == ""


def get(value, key):
    found = value.get(key) if isinstance(value, Obj) else MISSING
    return None if found is MISSING else found


def one_line(text):
    return SPACES.sub(" ", text).strip(" ")[:60].rstrip(" ")


def millis(value):
    """Whole epoch milliseconds, cut toward the past."""
    if isinstance(value, Num):
        ms = float(value)
        return int(ms // 1) if abs(ms) <= 8.64e15 else None
    match = STAMP.match(value) if is_text(value) else None
    if not match:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        days = datetime.date(year, month, day).toordinal() - EPOCH
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset = 0
    if match[9]:
        offset = (int(match[10]) * 60 + int(match[11])) * (-1 if match[9] == "-" else 1)
    fraction = int(((match[7] or "0") + "000")[:3])
    return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + fraction


# ---------------------------------------------------------------- a file


def records(path):
    """(objects of the file in order, names of what was wrong, lines of which something is lost)"""
    found, wrong, lost = [], set(), 0
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    for number, line in enumerate(lines):
        if not line.strip(b" \t\r"):
            continue
        if line.startswith(b"\xef\xbb\xbf"):
            wrong.add("byte_order_mark")
            line = line[3:]
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            wrong.add("not_utf8")
            text = line.decode("utf-8", "replace")
        pieces, bad = objects(text)
        if len(pieces) > 1 or pieces and bad == "joined":
            wrong.add("joined")
        if bad == "json":
            wrong.add("not_json")
            lost += 1
        odd = [piece for piece in pieces if not isinstance(piece, Obj)]
        if odd:
            wrong.add("not_object")
            lost += 1
        found += [piece for piece in pieces if isinstance(piece, Obj)]
    return found, wrong, lost


def objects(text):
    """The value of a line, or the objects that stand on it one after the other, and what follows them."""
    try:
        return [parse(text)], None
    except Bad:
        pass
    pieces, rest = [], text
    while True:
        end = first_object(rest)
        if end is None or not rest[end:].startswith("{"):
            break
        pieces.append(parse(rest[:end]))
        rest = rest[end:]
        try:
            pieces.append(parse(rest))
            return pieces, "joined"
        except Bad:
            continue
    return pieces, "json"


def first_object(text):
    """Where the object at the front ends, by its brackets; None when it is none."""
    depth, quoted, at = 0, False, 0
    if not text.lstrip(" \t\r").startswith("{"):
        return None
    while at < len(text):
        c = text[at]
        if quoted:
            if c == "\\":
                at += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
            if depth == 0:
                try:
                    parse(text[: at + 1])
                except Bad:
                    return None
                return at + 1
        at += 1
    return None


# ---------------------------------------------------------------- what a record is


class Record:
    def __init__(self, raw, sidechain_file):
        self.raw = raw
        self.type = get(raw, "type")
        self.uuid = get(raw, "uuid")
        self.uuid = self.uuid if is_text(self.uuid) and self.uuid else None
        always = self.type in ("user", "assistant", "system", "attachment", "progress")
        if not always and raw.get("parentUuid") is MISSING:
            self.uuid = None
        self.time = millis(get(raw, "timestamp"))
        self.message = get(raw, "message")
        self.content = self.message if is_text(self.message) else get(self.message, "content")
        if not (is_text(self.content) or isinstance(self.content, Arr)):
            self.content = None
        self.summary = get(raw, "isCompactSummary") is True
        self.aside = get(raw, "isSidechain") is True and not sidechain_file
        self.meta = get(raw, "isMeta") is True
        self.kind = self.classify()

    def parts(self):
        return [self.content] if is_text(self.content) else list(self.content or [])

    def classify(self):
        if self.aside or (self.meta and not self.summary):
            return None
        if self.type == "user" and self.content is not None:
            blocks = self.parts()
            results = not is_text(self.content) and blocks and all(get(b, "type") == "tool_result" for b in blocks)
            return "results" if results else "prompt"
        if self.type == "assistant" and self.content is not None:
            return "assistant"
        if self.type == "system":
            text, subtype = get(self.raw, "content"), get(self.raw, "subtype")
            said = is_text(text) and not blank(text)
            known = is_text(subtype) and subtype in SYSTEM_SHOWN
            if subtype == "compact_boundary" or (said and (subtype is None or known)):
                return "system"
            return None
        return "queued" if self.queued() is not None else None

    def queued(self):
        prompt = None
        if self.type == "attachment":
            attachment = get(self.raw, "attachment")
            if get(attachment, "type") == "queued_command" and get(attachment, "commandMode") != "task-notification":
                prompt = get(attachment, "prompt")
        elif self.type == "queue-operation" and get(self.raw, "operation") == "enqueue":
            prompt = get(self.raw, "content")
        if not (is_text(prompt) or isinstance(prompt, Arr)):
            return None
        return None if words(prompt).startswith("<task-notification>") else prompt

    def counted_as(self):
        if self.aside:
            return "sidechain"
        if self.meta:
            return "meta"
        name = self.type if is_text(self.type) else ""
        subtype = get(self.raw, "subtype")
        name = f"{name}.{subtype}" if is_text(self.type) and is_text(subtype) else name
        return name if re.match(r"^[A-Za-z0-9_.-]{1,40}$", name) else "other"

    def is_alternative(self):
        if self.kind != "prompt" or self.summary:
            return False
        return not words(self.content).startswith(
            ("[Request interrupted by user", "<local-command-stdout", "<bash-std")
        )


def plain(part):
    if is_text(part):
        return part
    text = get(part, "text")
    return text if get(part, "type") == "text" and is_text(text) else None


def shown(part):
    text = plain(part)
    if text is not None:
        return text
    if get(part, "type") == "image":
        source = get(part, "source")
        if is_text(get(source, "url")):
            return get(source, "url")
        if is_text(get(source, "media_type")) and is_text(get(source, "data")):
            return f"data:{get(source, 'media_type')};base64,{get(source, 'data')}"
    return write(part)


def words(content):
    return "\n".join(map(shown, [content] if is_text(content) else content))


def silent(parts):
    return all(plain(part) is not None and blank(plain(part)) for part in parts)


# ---------------------------------------------------------------- the graph


def abandoned(all_records):
    """The records behind prompts that were replaced: by place."""
    place = {}
    for n, record in enumerate(all_records):
        if record.uuid is not None:
            place[record.uuid] = n
    name = lambda record, key: place.get(get(record.raw, key)) if is_text(get(record.raw, key)) else None
    parent = [name(record, "parentUuid") for record in all_records]
    joined = [p if p is not None else name(r, "logicalParentUuid") for r, p in zip(all_records, parent)]
    passed = lambda n: all_records[n].kind in (None, "queued")

    def above(n):
        met, at = set(), parent[n]
        while at is not None and passed(at) and at not in met:
            met.add(at)
            at = parent[at]
        return None if at is None or passed(at) else at

    groups = collections.defaultdict(list)
    for n, record in enumerate(all_records):
        if record.is_alternative() and above(n) is not None:
            groups[above(n)].append(n)
    fork_of = {n: fork for fork, several in groups.items() for n in several}
    chosen, met = {}, set()
    for start in reversed([n for n in range(len(all_records)) if not passed(n)]):
        at = start
        while at is not None and at not in met:
            met.add(at)
            if at in fork_of:
                chosen.setdefault(fork_of[at], at)
            at = joined[at]
    exact = lambda n: get(all_records[n].raw, "timestamp")
    roots = {
        n for fork, several in groups.items() for n in several if fork in chosen and n != chosen[fork] and exact(n) != exact(chosen[fork])
    }
    gone = set()
    for n in range(len(all_records)):
        at, path = n, set()
        while at is not None and at not in path:
            if at in roots:
                gone.add(n)
                break
            path.add(at)
            at = joined[at]
    last = [n for n in range(len(all_records)) if not passed(n)]
    return (set() if last and last[-1] in gone else gone), parent, above


def in_order(parent):
    """File order, but parents first; those of a circle as they stand."""
    order, done = [], set()
    for start in range(len(parent)):
        path, at = [], start
        while at is not None and at not in done:
            path.append(at)
            done.add(at)
            at = parent[at]
        order += sorted(path) if at in path else reversed(path)
    return order


# ---------------------------------------------------------------- messages


class Turn:
    def __init__(self, time):
        self.time, self.thoughts, self.parts, self.calls = time, [], [], []
        self.model = self.stop = self.usage = None
        self.note = None


def number(value):
    """An integer that is written as one."""
    return int(value) if isinstance(value, Num) and re.match(r"^-?\d+$", value) else None


def output_tokens(usage):
    value = get(usage, "output_tokens")
    return float(value) if isinstance(value, Num) else 0.0


def tokens(turn):
    count = lambda key: max(number(get(turn.usage, key)) or 0, 0)
    given, made, cached = map(count, ("input_tokens", "output_tokens", "cache_read_input_tokens"))
    if given + made + cached == 0:
        return None
    fields = [("promptTokens", given), ("completionTokens", made), ("totalTokens", given + made)]
    fields += [("cachedTokens", cached)] if cached else []
    return Obj((k, Num(str(v))) for k, v in fields)


def convert(path, branches, counts):
    raws, wrong, lost = records(path)
    if not raws:
        return None
    counts["malformedCells"].update(wrong)
    named = [raw for raw in raws if is_text(get(raw, "uuid")) and get(raw, "uuid")]
    sidechain = bool(named) and all(get(raw, "isSidechain") is True for raw in named)
    last = lambda key: next((get(r, key) for r in reversed(raws) if is_text(get(r, key)) and get(r, key)), None)
    agent, session = last("agentId") if sidechain else None, last("sessionId")
    stem = os.path.splitext(os.path.basename(path))[0]
    session_id = f"{session or stem}-agent-{agent}" if agent else session or stem

    kept, seen = [], set()
    for raw in raws:
        record = Record(raw, sidechain)
        if record.uuid in seen:
            counts["foldedRows"] += 1
            continue
        seen |= {record.uuid} - {None}
        kept.append(record)
    gone, parent, above = abandoned(kept)
    gone = set() if branches == "all" else gone

    texts = [words(r.content) for r in kept if r.kind == "prompt"]
    attached = [words(r.queued()) for r in kept if r.kind == "queued" and r.type == "attachment"]
    used = collections.Counter(texts) + collections.Counter(t for t in attached if t not in texts)

    said, groups = [], {}
    for n in in_order(parent):
        record = kept[n]
        if record.kind is None:
            counts["skippedRecords"][record.counted_as()] += 1
            continue
        if n in gone:
            counts["rewoundRows"] += 1
            continue
        if record.kind == "assistant":
            message_id = get(record.message, "id")
            message_id = message_id if is_text(message_id) and message_id else None
            over = above(n)
            after = over is not None and kept[over].kind in ("prompt", "results")
            turn = groups.get(message_id) if message_id and not after else None
            if turn is None:
                turn = Turn(record.time)
                turn.note = Obj([("kind", "api_error")]) if get(record.raw, "isApiErrorMessage") is True else None
                said.append(("assistant", turn))
            if message_id:
                groups[message_id] = turn
            for part in record.parts():
                kind = get(part, "type")
                kind = kind if is_text(kind) else ""
                if kind == "thinking":
                    turn.thoughts += [get(part, "thinking")] if is_text(get(part, "thinking")) and get(part, "thinking") else []
                elif kind == "redacted_thinking":
                    pass
                elif kind == "text":
                    turn.parts += [part] if is_text(get(part, "text")) and get(part, "text") else []
                elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                    turn.calls.append(part)
                elif kind.endswith("_tool_result"):
                    said.append(("tool", (record.time, part)))
                elif part != "":
                    turn.parts.append(part)
            named_text = lambda key: get(record.message, key) if is_text(get(record.message, key)) and get(record.message, key) else None
            turn.model = turn.model or named_text("model")
            turn.stop = named_text("stop_reason") or turn.stop
            usage = get(record.message, "usage")
            if isinstance(usage, Obj) and (turn.usage is None or output_tokens(usage) >= output_tokens(turn.usage)):
                turn.usage = usage
        elif record.kind == "system":
            text, subtype = get(record.raw, "content"), get(record.raw, "subtype")
            note = None
            if is_text(subtype) and subtype != "informational":
                note = Obj([("kind", subtype)])
                for key in ("trigger", "preTokens", "postTokens"):
                    value = get(get(record.raw, "compactMetadata"), key)
                    if is_text(value) or isinstance(value, Num):
                        note.append((key, value))
            said.append(("system", (record.time, text if is_text(text) else "", note)))
        elif record.kind == "queued":
            prompt = record.queued()
            text = words(prompt)
            if record.type == "attachment":
                new = text not in texts
            elif used[text] > 0:
                used[text] -= 1
                new = False
            else:
                new = not blank(text)
            if not new:
                counts["skippedRecords"][record.counted_as()] += 1
                continue
            counts["queuedPrompts"] += 1
            parts = [prompt] if is_text(prompt) else list(prompt)
            if not silent(parts):
                said.append(("user", (record.time, parts, Obj([("kind", "queued_prompt")]))))
        else:
            if record.kind == "prompt":
                groups = {}
            note = Obj([("kind", "compact_summary")]) if record.summary else None
            run = []
            for part in record.parts() + [MISSING]:
                if part is MISSING or get(part, "type") == "tool_result":
                    if not silent(run):
                        said.append(("user", (record.time, run, note)))
                    elif part is MISSING and record.kind == "prompt":
                        counts["emptyDropped"] += 1
                    run = []
                    if part is not MISSING:
                        said.append(("tool", (record.time, part)))
                else:
                    run.append(part)

    turns = [turn for role, turn in said if role == "assistant"]
    empty = {id(t) for t in turns if not t.thoughts and not t.calls and silent(t.parts)}
    counts["emptyDropped"] += len(empty)
    said = [(role, what) for role, what in said if not (role == "assistant" and id(what) in empty)]
    if not said:
        counts["empty"] += 1
        return None
    counts["converted"] += 1
    turns = [turn for turn in turns if id(turn) not in empty]
    times = [t for t in (what.time if role == "assistant" else what[0] for role, what in said) if t is not None]
    created = min(times, default=0)
    usual = next((t.model for t in turns if t.model and t.model not in ("<synthetic>", "unknown")), None)

    body = [("id", session_id), ("title", title_of(raws, kept, said)), ("createdAt", created), ("updatedAt", max(times + [0, created]))]
    body += [("model", usual)] if usual else []
    origin = [("agentId", agent), ("parentSessionId", session if agent else None), ("lostLines", lost or None)]
    origin = Obj((k, Num(str(v)) if isinstance(v, int) else v) for k, v in origin if v)
    body += [("claudeCode", origin)] if origin else []
    names = ("inputTokens", "input_tokens"), ("outputTokens", "output_tokens")
    names += ("cacheReadTokens", "cache_read_input_tokens"), ("cacheWriteTokens", "cache_creation_input_tokens")
    sums = [(name, sum(max(number(get(t.usage, key)) or 0, 0) for t in turns)) for name, key in names]
    if sums[2][1] or sums[3][1]:
        body.append(("claudeCodeTokens", Obj((k, Num(str(v))) for k, v in sums)))
    cost = next((raw for raw in reversed(raws) if get(raw, "type") == "cost-state"), None)
    if isinstance(get(cost, "totalCostUSD"), Num):
        body.append(("claudeCodeCostUsd", get(cost, "totalCostUSD")))
    usage = get(cost, "modelUsage")
    if isinstance(usage, Obj) and usage:
        fields = ("inputTokens", "inputTokens"), ("outputTokens", "outputTokens"), ("cacheReadTokens", "cacheReadInputTokens")
        fields += ("cacheWriteTokens", "cacheCreationInputTokens"), ("reasoningTokens", "thinkingTokens"), ("estimatedCostUsd", "costUSD")
        one = lambda model, of: Obj([("model", model)] + [(k, get(of, key)) for k, key in fields if isinstance(get(of, key), Num)])
        body.append(("claudeCodeModelUsage", Arr(one(model, of) for model, of in usage)))

    messages, answered, calls, time = Arr(), set(), {}, created
    nameless = 0
    for n, (role, what) in enumerate(said, 1):
        time = (what.time if role == "assistant" else what[0]) if (what.time if role == "assistant" else what[0]) is not None else time
        message, extras = [("id", f"{session_id}-{n}"), ("role", role)], []
        if role == "user":
            content, extras = words(Arr(what[1])), [("claudeCode", what[2])]
        elif role == "system":
            content, extras = what[1], [("claudeCode", what[2])]
        elif role == "tool":
            block = what[1]
            inner = get(block, "content")
            content = words(inner) if is_text(inner) or isinstance(inner, Arr) else ""
            call = get(block, "tool_use_id")
            extras = [("toolCallId", call if is_text(call) else None)]
            if is_text(call) and call in calls:
                answered.add(call)
                extras.append(("toolName", calls[call]))
            else:
                counts["unmatchedToolResults"] += 1
            flag = get(block, "is_error")
            extras.append(("isError", flag if flag is True or flag is False else None))
        else:
            content = words(Arr(what.parts))
            differs = what.model != usual if usual else what.model != "unknown"
            extras.append(("model", what.model if what.model and differs else None))
            extras.append(("thinking", "\n\n".join(what.thoughts) or None))
            listed = Arr()
            for call in what.calls:
                entry = [(key, get(call, key)) for key in ("id", "name") if is_text(get(call, key))]
                given = call.get("input")
                given = Obj() if given is MISSING else given
                if isinstance(given, Obj) and len(given) == 1 and given[0][0] == "_raw" and not isinstance(given[0][1], Obj):
                    given = given[0][1]
                listed.append(Obj(entry + [("arguments", given)]))
                if is_text(get(call, "id")) and get(call, "id"):
                    calls[get(call, "id")] = get(call, "name") if is_text(get(call, "name")) else None
                    answered.discard(get(call, "id"))
                else:
                    nameless += 1
            extras += [("toolCalls", listed or None), ("tokens", tokens(what)), ("stopReason", what.stop), ("claudeCode", what.note)]
        message += [("content", content), ("timestamp", Num(str(time)))]
        messages.append(Obj(message + [(k, v) for k, v in extras if v is not None]))
    counts["messages"] += len(messages)
    counts["unmatchedToolCalls"] += nameless + len(set(calls) - answered)
    body = Obj((k, Num(str(v)) if isinstance(v, int) else v) for k, v in body)
    body.append(("messages", messages))
    declared = any(tokens(turn) for turn in turns)
    return body, declared


def title_of(raws, kept, said):
    def last(kind, key, also=lambda raw: True):
        good = (get(r, key) for r in reversed(raws) if get(r, "type") == kind and is_text(get(r, key)) and not blank(get(r, key)) and also(r))
        return next(good, None)

    uuids = {get(r.raw, "uuid") for r in kept if is_text(get(r.raw, "uuid"))}
    leaf = lambda raw: not (is_text(get(raw, "leafUuid")) and get(raw, "leafUuid")) or get(raw, "leafUuid") in uuids
    stored = last("custom-title", "customTitle") or last("ai-title", "aiTitle") or last("summary", "summary", leaf)
    if stored:
        return stored
    prompts = [what for role, what in said if role == "user" and not (what[2] and what[2].get("kind") == "compact_summary")]
    lines = [one_line(words(Arr(part for part in what[1] if plain(part) is not None or is_a_text(part)))) for what in prompts]
    lines = [line for line in lines if line]
    return next((line for line in lines if not line.startswith(WRAPPERS)), lines[0] if lines else "")


def is_a_text(part):
    return get(part, "type") == "text"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--branches", default="newest")
    options.add_argument("--counts")
    options.add_argument("--version", default="0.0.0")
    options.add_argument("files", nargs="+")
    options = options.parse_args()
    counts = collections.Counter()
    names = "skippedRecords", "malformedCells"
    counts.update({name: collections.Counter() for name in names})
    sums = "converted empty messages emptyDropped rewoundRows foldedRows queuedPrompts unmatchedToolCalls unmatchedToolResults"
    counts.update({name: 0 for name in sums.split()})
    for path in options.files:
        made = convert(path, options.branches, counts)
        if made is None:
            continue
        body, declared = made
        top = [("curt", "curtis-conversation"), ("version", Num("1")), ("generator", f"curt-tools@{options.version}")]
        top += [("extensions", Arr(["usage-metadata"]))] if declared else []
        sys.stdout.write(write(Obj(top + [("conversation", body)])) + "\n")
    if options.counts:
        plain_of = lambda v: Obj((k, Num(str(n))) for k, n in sorted(v.items())) if isinstance(v, dict) else Num(str(v))
        with open(options.counts, "w") as file:
            file.write(write(Obj((name, plain_of(value)) for name, value in counts.items())) + "\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    main()
