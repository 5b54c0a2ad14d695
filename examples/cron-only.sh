#!/usr/bin/env bash
# Archive only some sessions: anything that jq can say about a row.
# usage: cron-only.sh STATE.DB DIR
#
# jq reads numbers and text its own way: before 1.7 it rounds integers beyond 2^53, and at half of a
# surrogate pair it gives up. What the store can pick itself, such as `--source cron`, hermes-dump picks
# without touching a byte.
set -euo pipefail

hermes-dump "$1" | jq -c 'select(.source == "cron")' | curt-pack -o "$2"
