# What the scripts of this project share; sourced under `set -euo pipefail`.

fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

step() {
	printf '\n== %s\n' "$*"
}

# Run a command that needs the network, again when it fails, with growing pauses.
retry() {
	local pause
	for pause in 5 15 45 0; do
		"$@" && return
		[ "$pause" = 0 ] && break
		printf '%s: failed, once more in %s s: %s\n' "${0##*/}" "$pause" "$1" >&2
		sleep "$pause"
	done
	fail "gave up: $*"
}
