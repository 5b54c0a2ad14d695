#!/usr/bin/env bash
# What is in a bundle, and all of it for Claude Code. Bad entries are named; the others are carried on.
# usage: bundle.sh BUNDLE.ZIP DIR
set -euo pipefail
bundle=$1 dir=$2

curt-cat "$bundle" | jq -r '.conversation | "\(.messages | length) messages: \(.title)"'
curt-cat "$bundle" | curt2cc -o "$dir"
