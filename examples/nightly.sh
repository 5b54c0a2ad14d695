#!/usr/bin/env bash
# Archive a store that its agent is using, from cron: silent when all is well, else a message and a status.
# usage: nightly.sh STATE.DB DIR
set -euo pipefail
store=$1 dir=$2

mkdir -p -m 700 "$dir"
exec 9>"$dir/.lock"
flock -n 9 || { echo "nightly.sh: the last run is still going on" >&2; exit 1; }

hermes-dump "$store" | curt-pack -o "$dir/curt"
curt-check "$dir"/curt/*.curt
