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
echo "its vision tower" >"$lost.mmproj"
echo "not ours" >"$lost.mmproj.more"
echo "a vision tower" >"$state/models/$kept.mmproj"
mkdir -p "$state/downloads/one" "$state/downloads/two"
echo part >"$state/downloads/one/m.gguf.partial"
echo part >"$state/downloads/one/m.gguf.partial.journal"
echo "not ours" >"$state/models/readme"
folder() {
	(cd "$state" && find . -printf '%p %s %m %T@\n' | sort && cat registry.*)
}
folder >"$dir/before"
prints '^4 files can be removed: ' prune --state-dir "$state" --dry-run
folder >"$dir/after"
holds "a dry run changes the folder: $(diff "$dir/before" "$dir/after")" cmp -s "$dir/before" "$dir/after"
holds "a dry run removes nothing" [ -f "$lost" ]
prints '"path": "models/sha256-0*7"' prune --state-dir "$state" --dry-run --json
prints ' downloads/one/m.gguf.partial$' prune --state-dir "$state"
holds "the sum: $(cat "$dir/out")" grep -q '^4 files removed: ' "$dir/out"
holds "the lost file is there" [ ! -e "$lost" ]
holds "its vision tower is there" [ ! -e "$lost.mmproj" ]
holds "the vision tower of the imported file is gone" [ -f "$state/models/$kept.mmproj" ]
rm "$state/models/$kept.mmproj" "$lost.mmproj.more"
holds "the downloads are there: $(ls "$state/downloads")" [ -z "$(ls "$state/downloads")" ]
holds "the imported file is gone" [ -f "$state/models/$kept" ]
holds "another's file is gone" [ -f "$state/models/readme" ]
holds "the file of the user is gone" [ -f "$dir/full.gguf" ]
refused 1 'none: No such file' prune --state-dir "$dir/none"

# the user's own folder, before the first use
(unset STATE_DIRECTORY; HOME=$dir/new XDG_STATE_HOME=$dir/new/state "$build/llamactl" prune) >"$dir/out" 2>&1
holds "no folder: $(cat "$dir/out")" grep -q '^0 files removed' "$dir/out"

# a registry that is gone, or is another one, uses no file: nothing is removed
mkdir "$dir/away"
mv "$state"/registry.db* "$dir/away"
refused 1 'has no registry.db: prune would remove every model file' prune --state-dir "$state"
holds "the imported file is gone" [ -f "$state/models/$kept" ]
holds "prune created a registry" [ ! -e "$state/registry.db" ]
does key add first --state-dir "$state"
for option in "" --dry-run; do
	# shellcheck disable=SC2086 # options
	refused 1 'the registry has no model: all files in models, 1, would be removed; .*--all' \
		prune --state-dir "$state" $option
done
holds "the imported file is gone" [ -f "$state/models/$kept" ]
prints '^1 file can be removed' prune --state-dir "$state" --all --dry-run
rm "$state"/registry.db*
mv "$dir/away"/registry.db* "$state"

# a file of models/ that was added in place, also if its digest is another now
start
does rm full
holds "rm keeps the file" [ ! -e "$state/models/$kept" ]
cp "$dir/full.gguf" "$state/models/$kept"
does add full "$state/models/$kept"
stop
prints '^0 files removed: 0' prune --state-dir "$state"
holds "the file that was added in place is gone" [ -f "$state/models/$kept" ]

# a file that cannot be removed is an error, and the others are removed
if [ "$(id -u)" != 0 ]; then
	mkdir -p "$state/downloads/one" "$state/downloads/two"
	echo part >"$state/downloads/one/m.gguf.partial"
	echo part >"$state/downloads/two/m.gguf.partial"
	chmod 500 "$state/downloads/one"
	"$build/llamactl" prune --state-dir "$state" >"$dir/out" 2>"$dir/err"
	holds "status of a failure" [ $? -eq 1 ]
	holds "the failure: $(cat "$dir/err")" \
		grep -q 'downloads/one/m.gguf.partial: cannot be removed: Permission denied' "$dir/err"
	holds "the other download is there" [ ! -e "$state/downloads/two" ]
	chmod 700 "$state/downloads/one"
fi
rm -rf "$state/downloads"
ln -s nowhere "$state/downloads"
refused 1 'downloads: cannot be opened: ' prune --state-dir "$state"
rm "$state/downloads"

start
does load full
stop
finish prune
