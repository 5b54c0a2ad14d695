#!/usr/bin/env bash
# Check every .curt file under a folder, two processes at a time. Prints the bad ones; fails if there is one.
# usage: check-tree.sh DIR
set -euo pipefail

find "$1" -name '*.curt' -type f -print0 | xargs -0r -P2 -n50 curt-check
