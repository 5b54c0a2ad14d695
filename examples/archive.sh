#!/usr/bin/env bash
# A Hermes store to checked .curt files and checked Claude Code files. Run it again whenever you like:
# what has not changed is left alone.
# usage: archive.sh STATE.DB DIR
set -euo pipefail
store=$1 dir=$2

hermes-dump "$store" | curt-pack -v -o "$dir/curt"
curt2cc -v -o "$dir/claude-code" "$dir"/curt/*.curt

curt-check -v "$dir"/curt/*.curt
# -v also warns of what is only unusual, such as an agent's own words for why it stopped.
cc-chain-check -v --strict "$dir"/claude-code/*.jsonl | grep -v ': warning: '
