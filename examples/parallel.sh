#!/usr/bin/env bash
# Convert a big store on two cores: a row is a whole session, so rows can be dealt out in blocks. With -k
# the lines come back in the order of the store, the same as from one process.
# usage: parallel.sh STATE.DB >ALL.ndjson
set -euo pipefail

hermes-dump "$1" | parallel -k -j2 --pipe --block 4M curt-pack
