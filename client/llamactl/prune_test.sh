#!/bin/sh
# SPDX-License-Identifier: MIT
# What `llamactl prune` removes, and what it keeps.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

state=$dir/state
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start
does add --import full "$dir/full.gguf"
does add kept "$dir/full.gguf"
refused 1 'is in use: end the daemon first' prune --state-dir "$state"
stop
kept=$(ls "$state/models")
holds "one file is imported: $kept" [ "$(echo "$kept" | wc -l)" -eq 1 ]

prints '^0 files removed: 0' prune --state-dir "$state"
lost=$state/models/sha256-$(printf %064d 7)
echo lost >"$lost"
mkdir -p "$state/downloads/one" "$state/downloads/two"
echo part >"$state/downloads/one/m.gguf.partial"
echo part >"$state/downloads/one/m.gguf.partial.journal"
echo "not ours" >"$state/models/readme"
prints '^3 files can be removed: ' prune --state-dir "$state" --dry-run
holds "a dry run removes nothing" [ -f "$lost" ]
prints '"path": "models/sha256-0*7"' prune --state-dir "$state" --dry-run --json
prints ' downloads/one/m.gguf.partial$' prune --state-dir "$state"
holds "the sum: $(cat "$dir/out")" grep -q '^3 files removed: ' "$dir/out"
holds "the lost file is there" [ ! -e "$lost" ]
holds "the downloads are there: $(ls "$state/downloads")" [ -z "$(ls "$state/downloads")" ]
holds "the imported file is gone" [ -f "$state/models/$kept" ]
holds "another's file is gone" [ -f "$state/models/readme" ]
holds "the file of the user is gone" [ -f "$dir/full.gguf" ]
refused 1 'none: No such file' prune --state-dir "$dir/none"

start
does load full
stop
finish prune
