#!/usr/bin/env python3
"""What a JSON Schema says of each value: stdin holds one JSON text a line in base64, stdout says valid or not.

validate.py SCHEMA
"""

import base64
import json
import sys
import threading

import jsonschema


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for line in sys.stdin:
        text = base64.b64decode(line).decode()
        print("valid" if validator.is_valid(json.loads(text)) else "invalid")


# A thread may have the stack that deep nesting takes.
sys.setrecursionlimit(200_000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
