#!/usr/bin/env python3
"""`hermes sessions import --from claude FILE` for each file, and as JSON what stands in the store after it.

    PYTHONPATH=v31:lib HERMES_HOME=SCRATCH python3 import_files.py FILE.jsonl…

{"FOREIGN SESSION": {"id", "cwd", "messages": [[ROLE, TEXT], …]}}; a file that is refused is told on stderr by
Hermes itself.
"""

import contextlib
import json
import os
import sys
from pathlib import Path

from hermes_cli.main import main
from hermes_state import SessionDB

with contextlib.redirect_stdout(sys.stderr):
    for file in sys.argv[1:]:
        sys.argv = ["hermes", "sessions", "import", "--from", "claude", file]
        # A refusal ends the program with its status.
        with contextlib.suppress(SystemExit):
            main()

db = SessionDB(Path(os.environ["HERMES_HOME"], "state.db"))
imported = {}
for row in db._conn.execute("SELECT id, source, cwd, origin_json FROM sessions").fetchall():
    origin = json.loads(row["origin_json"])["imported_from"]
    assert row["source"] == origin["tool"] == "claude-code", origin
    messages = [[message["role"], message["content"]] for message in db.get_messages(row["id"])]
    imported[origin["foreign_session_id"]] = {"id": row["id"], "cwd": row["cwd"], "messages": messages}
db.close()
print(json.dumps(imported, indent=1))
