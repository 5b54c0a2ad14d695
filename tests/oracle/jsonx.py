"""JSON read and written exactly, for the oracles: number text, key order, duplicate keys and lone
surrogates are kept, and no input is too deep (nothing here recurses).

A value is: Obj (list of (key, value) pairs in order of appearance), Arr (list), Num (str: the
number's own text), str (may hold lone surrogates), True, False or None.
"""

import re


class Obj(list):
    raw = None  # its own text, where it was parsed

    def get(self, key):
        """The value of the last member of that name, or MISSING."""
        found = MISSING
        for k, v in self:
            if k == key:
                found = v
        return found


class Arr(list):
    raw = None


class Num(str):
    pass


class Bad(ValueError):
    pass


MISSING = type("Missing", (), {"__bool__": lambda self: False, "__repr__": lambda self: "MISSING"})()
SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
HEX4 = re.compile(r"[0-9a-fA-F]{4}")
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _string(s, i):
    """s[i] is the opening quote; gives (text, index after the closing quote)."""
    out, i = [], i + 1
    while True:
        m = PLAIN.match(s, i)
        out.append(m.group())
        i = m.end()
        c = s[i : i + 1]
        if c == '"':
            return "".join(out), i + 1
        if c != "\\":
            raise Bad("string")
        c = s[i + 1 : i + 2]
        if c in SHORT and c:
            out.append(SHORT[c])
            i += 2
        elif c == "u":
            m = HEX4.match(s, i + 2)
            if not m:
                raise Bad("\\u")
            unit, i = int(m.group(), 16), i + 6
            if 0xD800 <= unit < 0xDC00 and s[i : i + 2] == "\\u":
                m = HEX4.match(s, i + 2)
                if m and 0xDC00 <= int(m.group(), 16) < 0xE000:
                    unit = 0x10000 + ((unit - 0xD800) << 10) + int(m.group(), 16) - 0xDC00
                    i += 6
            out.append(chr(unit))
        else:
            raise Bad("escape")


def parse(s, python=False, keep_raw=False):
    """The value of the text `s`; `python`: NaN, Infinity and -Infinity are numbers too."""

    def skip(i):
        return SPACE.match(s, i).end()

    stack, i = [], skip(0)  # open containers: (container, pending key, where it begins)
    while True:
        c = s[i : i + 1]
        if c == "{":
            start, i = i, skip(i + 1)
            if s[i : i + 1] == "}":
                value, i = Obj(), i + 1
                value.raw = s[start:i] if keep_raw else None
            else:
                if s[i : i + 1] != '"':
                    raise Bad("key")
                key, i = _string(s, i)
                i = skip(i)
                if s[i : i + 1] != ":":
                    raise Bad(":")
                i = skip(i + 1)
                stack.append((Obj(), key, start))
                continue
        elif c == "[":
            start, i = i, skip(i + 1)
            if s[i : i + 1] == "]":
                value, i = Arr(), i + 1
                value.raw = s[start:i] if keep_raw else None
            else:
                stack.append((Arr(), None, start))
                continue
        elif c == '"':
            value, i = _string(s, i)
        elif s.startswith("true", i):
            value, i = True, i + 4
        elif s.startswith("false", i):
            value, i = False, i + 5
        elif s.startswith("null", i):
            value, i = None, i + 4
        elif python and (m := re.compile("NaN|-?Infinity").match(s, i)):
            value, i = Num(m.group()), m.end()
        else:
            m = NUMBER.match(s, i)
            if not m:
                raise Bad("value")
            value, i = Num(m.group()), m.end()
        while True:  # a value is complete: hand it to what is open
            i = skip(i)
            if not stack:
                if i != len(s):
                    raise Bad("trailing")
                return value
            box, key, start = stack.pop()
            box.append((key, value) if isinstance(box, Obj) else value)
            c = s[i : i + 1]
            if c == ("}" if isinstance(box, Obj) else "]"):
                value, i = box, i + 1
                box.raw = s[start:i] if keep_raw else None
                continue
            if c != ",":
                raise Bad(",")
            i = skip(i + 1)
            if isinstance(box, Obj):
                if s[i : i + 1] != '"':
                    raise Bad("key")
                key, i = _string(s, i)
                i = skip(i)
                if s[i : i + 1] != ":":
                    raise Bad(":")
                i = skip(i + 1)
            stack.append((box, key, start))
            break


ESCAPE = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
NEEDS = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')


def quote(text):
    """As JSON.stringify writes a string."""
    return '"' + NEEDS.sub(lambda m: ESCAPE.get(m.group()) or "\\u%04x" % ord(m.group()), text) + '"'


def write(value, sort=False):
    """Compact text; `sort`: members by key, in code point order, at every level."""
    out, work = [], [value]  # work: what is still to be written, last first; a tuple is literal text
    while work:
        v = work.pop()
        if isinstance(v, tuple):
            out.append(v[0])
        elif isinstance(v, Obj):
            members = sorted(v, key=lambda kv: kv[0]) if sort else list(v)
            out.append("{")
            work.append(("}",))
            for n in range(len(members) - 1, -1, -1):
                work.append(members[n][1])
                work.append((("," if n else "") + quote(members[n][0]) + ":",))
        elif isinstance(v, list):
            out.append("[")
            work.append(("]",))
            for n in range(len(v) - 1, -1, -1):
                work.append(v[n])
                if n:
                    work.append((",",))
        elif isinstance(v, Num):
            out.append(str(v))
        elif isinstance(v, str):
            out.append(quote(v))
        elif v is None:
            out.append("null")
        elif isinstance(v, bool):
            out.append("true" if v else "false")
        elif isinstance(v, int):
            out.append(str(v))
        elif isinstance(v, float):
            out.append(repr(v))
        else:
            raise TypeError(type(v))
    return "".join(out)


def walk(value):
    """Every value inside, this one too."""
    work = [value]
    while work:
        v = work.pop()
        yield v
        if isinstance(v, Obj):
            work.extend(x for _, x in v)
        elif isinstance(v, list):
            work.extend(v)


def lone(text):
    return any(0xD800 <= ord(c) < 0xE000 for c in text)


def has_duplicates(value):
    return any(isinstance(v, Obj) and len({k for k, _ in v}) < len(v) for v in walk(value))


def has_lone(value):
    for v in walk(value):
        if isinstance(v, Obj) and any(lone(k) for k, _ in v):
            return True
        if isinstance(v, str) and lone(v):
            return True
    return False
