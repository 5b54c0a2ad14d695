#!/usr/bin/env bash
# Keep the sessions of Claude Code, which deletes them after 30 days, as checked .curt files.
# usage: bash examples/claude-code.sh [PROJECTS [DIR]]
set -euo pipefail
projects=${1:-$HOME/.claude/projects}
archive=${2:-claude-code}

# Status 1 is a line that could not be read: it was named, and the rest is kept.
{ cc-dump "$projects" || test $? = 1; } | curt-pack -o "$archive" --print
find "$archive" -name '*.curt' -print0 | curt-check --files0-from -
