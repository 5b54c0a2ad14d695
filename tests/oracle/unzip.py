#!/usr/bin/env python3
"""What Python's zipfile finds in a zip: a line for each entry with its mode, time and name, or all its bytes.

unzip.py ZIP [DIR]: with DIR, each entry becomes a file there.
"""

import pathlib
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as zip:
    assert zip.testzip() is None
    for entry in zip.infolist():
        year, month, day, hour, minute, second = entry.date_time
        print(f"{entry.external_attr >> 16:o} {year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} {entry.filename}")
        if len(sys.argv) > 2:
            (pathlib.Path(sys.argv[2]) / entry.filename).write_bytes(zip.read(entry))
