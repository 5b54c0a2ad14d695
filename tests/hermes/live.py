#!/usr/bin/env python3
"""Write a store as a running agent does: a message for each line of stdin, as it comes. A line that begins
with `!` is housekeeping: !compact, !checkpoint, !vacuum.

    PYTHONPATH=v22:lib HERMES_HOME=SCRATCH python3 live.py STATE.DB

Answers on stdout: the journal mode, then each line when it is committed.
"""

import logging
import sys
from pathlib import Path

from hermes_state import SessionDB

logging.disable(logging.CRITICAL)
db = SessionDB(Path(sys.argv[1]))
db.create_session("live_1", "cli")
print(db._conn.execute("PRAGMA journal_mode").fetchone()[0], flush=True)
housekeeping = {
    "!compact": lambda: db.archive_and_compact(
        "live_1", [{"role": "user", "content": "[CONTEXT COMPACTION - REFERENCE ONLY] so far"}]
    ),
    "!checkpoint": lambda: db._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall(),
    "!vacuum": db.vacuum,
}
for line in sys.stdin:
    text = line.rstrip("\n")
    if text in housekeeping:
        housekeeping[text]()
    else:
        db.append_message("live_1", "user", text)
    print(line, end="", flush=True)
db.close()
