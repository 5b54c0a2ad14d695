#!/usr/bin/env python3
"""Write zips of every kind for tests, by Python's zipfile and, where that refuses, by hand.

zips.py DIR: the body is on stdin; each zip becomes DIR/NAME.zip.
"""

import io
import struct
import sys
import warnings
import zipfile

BODY = sys.stdin.buffer.read()
INTO = sys.argv[1]
DATE = (2026, 12, 1, 0, 0, 0)


def info(name, method=zipfile.ZIP_DEFLATED):
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = method
    return entry


def made(*entries, method=zipfile.ZIP_DEFLATED, sink=None):
    """The bytes of a zip of (name, data) pairs."""
    out = io.BytesIO()
    with zipfile.ZipFile(sink(out) if sink else out, "w") as zip:
        for name, data in entries:
            zip.writestr(info(name, method), data)
    return bytearray(out.getvalue())


def keep(name, data):
    with open(f"{INTO}/{name}.zip", "wb") as file:
        file.write(data)


def central(data, nth=0):
    """Where the nth header of the directory begins."""
    at = data.index(b"PK\x01\x02")
    for _ in range(nth):
        at = data.index(b"PK\x01\x02", at + 4)
    return at


class Pipe(io.RawIOBase):
    """A sink that cannot seek: zipfile then writes data descriptors."""

    def __init__(self, out):
        self.out = out

    def writable(self):
        return True

    def write(self, data):
        return self.out.write(data)


with open(f"{INTO}/one.line", "wb") as line:
    line.write(b"12345678\n")

GOOD = [("one.curt", BODY), ("two.curt", BODY)]

keep("plain", made(*GOOD))
keep("stored", made(*GOOD, method=zipfile.ZIP_STORED))
keep("folders", made(("a/", b""), ("a/one.curt", BODY), ("a/b/", b""), ("a/b/two.curt", BODY)))
keep("empty", made())
keep("mixed", made(("one.curt", BODY), ("bad.curt", b"{}"), ("note.txt", b"hello"), ("none.curt", b""), ("two.curt", BODY)))
keep("descriptors", made(*GOOD, sink=Pipe))
keep("descriptors-stored", made(*GOOD, method=zipfile.ZIP_STORED, sink=Pipe))
keep("nested", made(("one.curt", BODY), ("more.zip", bytes(made(*GOOD))), ("two.curt", BODY)))
keep("names", made(("../../up.curt", b""), ("/etc/root.curt", b""), ("a\nb\x1b[2J.curt", b""), ("日本.curt", b"")))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that names come twice
    keep("twice", made(("one.curt", BODY), ("one.curt", b"{}"), ("one.curt", BODY)))

# A name in an old code page, without the flag that says UTF-8.
data = made(("one.curt", b""))
keep("bytes", data.replace(b"one.curt", b"\x81ne.curt"))

out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip:
    zip.comment = b"a comment"
    for name, body in GOOD:
        with zip.open(info(name), "w", force_zip64=True) as entry:
            entry.write(body)
keep("zip64", out.getvalue())

# More entries than the old directory can count.
keep("many", made(*((f"{n}.curt", BODY) for n in range(66_000)), method=zipfile.ZIP_STORED))

keep("bzip2", made(("one.curt", BODY), method=zipfile.ZIP_BZIP2))
keep("lzma", made(("one.curt", BODY), method=zipfile.ZIP_LZMA))
data = made(*GOOD)
data[central(data) + 10 : central(data) + 12] = struct.pack("<H", 4711)
keep("unknown", data)

data = made(*GOOD)
data[central(data) + 8] |= 1
keep("encrypted", data)

# The checksum, then the sizes, of the first entry's directory header.
for name, field, value in [("checksum", 16, 7), ("shorter", 24, len(BODY) - 1), ("longer", 24, len(BODY) + 1)]:
    data = made(*GOOD)
    data[central(data) + field : central(data) + field + 4] = struct.pack("<I", value)
    keep(name, data)

# Its data: 1s where deflate has no such block, or one byte of stored data.
data = made(*GOOD)
at = data.index(b"one.curt") + len(b"one.curt")
data[at : at + 4] = b"\xff\xff\xff\xff"
keep("corrupt", data)
data = made(*GOOD, method=zipfile.ZIP_STORED)
at = data.index(b"one.curt") + len(b"one.curt")
data[data.index(b"title", at) + 10] ^= 1
keep("flipped", data)

data = made(*GOOD)
keep("cut", data[: len(data) // 2])
keep("head", b"PK\x03\x04")
data = made(*GOOD)
data[central(data, 1)] ^= 1
keep("directory", data)

# The second entry's header leads to the first one's data, or beyond the end.
data = made(*GOOD)
data[central(data, 1) + 42 : central(data, 1) + 46] = struct.pack("<I", 0x7FFFFFFF)
keep("beyond", data)
data = made(("a.curt", BODY * 500), method=zipfile.ZIP_STORED)
at, end = central(data), data.index(b"PK\x05\x06")
header = bytes(data[at:end])
overlapping = data[:end] + header * 9 + data[end:]
overlapping[-22 + 8 : -22 + 16] = struct.pack("<HHI", 10, 10, 10 * len(header))
keep("overlapping", overlapping)

# 64 MiB of white space in 64 KiB.
keep("bomb", made(("one.curt", BODY), ("bomb.curt", b" " * (64 << 20)), ("two.curt", BODY)))
