#!/usr/bin/env python3
"""Compare what an oracle expects with what a program gave, order of keys and text of numbers included.

    same.py curt WANT GOT       .curt lines (a cost is compared as a number: sums of floats depend on their order)
    same.py cc WANT GOT         Claude Code lines (minted ids are checked for shape, order and uniqueness)
    same.py counts WANT GOT     counts objects: every name of WANT must be in GOT with that value;
                                a missing one in GOT is 0, an empty object equals a missing one

Differences go to stdout, one a line, at most 40; the status is 1 when there are any.
"""

import re
import sys

from jsonx import MISSING, Arr, Num, Obj, parse, write

UUID = re.compile("^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


def short(value):
    text = "nothing" if value is MISSING else write(value)
    return text if len(text) <= 160 else text[:120] + "…" + text[-36:]


def differences(want, got, path):
    work = [(want, got, path)]
    while work:
        w, g, at = work.pop()
        if isinstance(w, Obj) and isinstance(g, Obj):
            wk, gk = [k for k, _ in w], [k for k, _ in g]
            if wk == gk:
                work.extend((a, b, f"{at}.{k}") for (k, a), (_, b) in reversed(list(zip(w, g))))
            elif sorted(wk) == sorted(gk):
                yield f"{at}: keys in order {wk}, got {gk}"
            else:
                for k in dict.fromkeys(wk + gk):
                    if write(w.get(k) if k in wk else None) != write(g.get(k) if k in gk else None) or (k in wk) != (
                        k in gk
                    ):
                        yield f"{at}.{k}: want {short(w.get(k))}, got {short(g.get(k))}"
        elif isinstance(w, Arr) and isinstance(g, Arr):
            if len(w) != len(g):
                first = next((n for n, (a, b) in enumerate(zip(w, g)) if write(a) != write(b)), min(len(w), len(g)))
                a, b = (short(v[first]) if first < len(v) else "nothing" for v in (w, g))
                yield f"{at}: want {len(w)} items, got {len(g)}; the first that differ, [{first}]: want {a}, got {b}"
                continue
            work.extend((a, b, f"{at}[{n}]") for n, (a, b) in reversed(list(enumerate(zip(w, g)))))
        elif (
            isinstance(w, Num)
            and isinstance(g, Num)
            and at.lower().endswith("costusd")
            and abs(float(w) - float(g)) <= 1e-12 * abs(float(w))
        ):
            pass
        elif type(w) is not type(g) or (w != g if not isinstance(w, list) else True):
            yield f"{at}: want {short(w)}, got {short(g)}"


def read(path):
    with open(path, "rb") as file:
        return [parse(line.decode("utf-8")) for line in file.read().split(b"\n") if line.strip()]


def set_member(box, key, value):
    for n, (k, _) in enumerate(box):
        if k == key:
            box[n] = (key, value)


def open_ids(want, got):
    """Put the oracle's placeholders into `got` wherever what stands there is as it should be."""
    uuids, messages, minted, counter = {}, set(), {}, 0
    for w, g in zip(want, got):
        if not isinstance(g, Obj):
            continue
        if w.get("parentUuid") is None:
            uuids, messages, minted, counter = {}, set(), {}, 0
        if g.get("parentUuid") in uuids:
            set_member(g, "parentUuid", uuids[g.get("parentUuid")])
        uuid = g.get("uuid")
        if type(uuid) is str and UUID.match(uuid) and uuid not in uuids:
            uuids[uuid] = f"uuid:{counter}"
            set_member(g, "uuid", f"uuid:{counter}")
        message = g.get("message")
        if isinstance(message, Obj):
            mid = message.get("id")
            if type(mid) is str and re.match("^msg_[0-9A-Za-z]{24}$", mid) and mid not in messages:
                messages.add(mid)
                set_member(message, "id", f"msg:{counter}")
            wanted = w.get("message").get("content") if isinstance(w.get("message"), Obj) else None
            if isinstance(wanted, Arr) and isinstance(message.get("content"), Arr):
                for a, b in zip(wanted, message.get("content")):
                    for key in ("id", "tool_use_id"):
                        one, other = a.get(key), b.get(key)
                        if (
                            type(one) is not str
                            or not one.startswith("toolu:")
                            or one in minted.values()
                            and other not in minted
                        ):
                            continue
                        if type(other) is str and re.match("^toolu_[0-9A-Za-z]{24}$", other):
                            set_member(b, key, minted.setdefault(other, one))
        counter += 1


def main():
    mode, want, got = sys.argv[1], read(sys.argv[2]), read(sys.argv[3])
    found = []
    if mode == "cc":
        open_ids(want, got)
    if mode == "counts":
        w, g = want[0], got[0]
        for key, value in w:
            other = g.get(key)
            if isinstance(value, Obj):
                other = Obj(sorted(other)) if isinstance(other, Obj) else Obj()
                if key == "redactedFields":  # the oracle does not know every column there is
                    other = Obj(kv for kv in other if value.get(kv[0]) is not MISSING)
                found += differences(Obj(sorted(value)), other, key)
            else:
                found += differences(value, Num("0") if other is MISSING else other, key)
    else:
        if len(want) != len(got):
            found.append(f"{len(want)} lines wanted, {len(got)} given")
        if mode == "curt":
            ids = [[body.get("conversation").get("id") for body in side] for side in (want, got)]
            if ids[0] != ids[1]:
                missing, more = [i for i in ids[0] if i not in ids[1]], [i for i in ids[1] if i not in ids[0]]
                found.append(f"ids: only wanted {missing[:5]}, only given {more[:5]}")
                by_id = dict(zip(ids[1], got))
                want = [body for body, i in zip(want, ids[0]) if i in by_id]
                got = [by_id[body.get("conversation").get("id")] for body in want]
        for n, (w, g) in enumerate(zip(want, got), 1):
            at = f"{n} {short(w.get('conversation').get('id') if mode == 'curt' else w.get('sessionId'))} "
            found += differences(w, g, at)
    for line in found[:40]:
        print(line)
    if len(found) > 40:
        print(f"… and {len(found) - 40} more")
    return 1 if found else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(main())
