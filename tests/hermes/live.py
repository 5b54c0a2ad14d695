#!/usr/bin/env python3
"""Write a store as a running agent does: a message for each line of stdin, as it comes.

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
for line in sys.stdin:
    db.append_message("live_1", "user", line.rstrip("\n"))
    print(line, end="", flush=True)
db.close()
