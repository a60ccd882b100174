#!/bin/sh
# SPDX-License-Identifier: MIT
# The registry of a daemon: backups while it runs, damage at rest, rights of the state folder.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start

# ---- backup and restore ----
does add one "$dir/full.gguf"
prints 'state/now.backup, ' registry backup now.backup
refused 1 'now.backup: exists already' registry backup now.backup
refused 1 'the name of a backup must' registry backup ../now.backup
refused 1 'the name of a backup must' registry backup registry.db
prints 'registry-.*Z.backup' registry backup
holds "a copy is private" [ "$(stat -c %a "$dir/state/now.backup")" = 600 ]
does rm one
does add two "$dir/full.gguf"
prints 'models: 1, keys: 0' registry restore now.backup
prints '^one ' list
refused 1 'missing.backup: No such file' registry restore missing.backup
head -c 5000 "$dir/state/now.backup" >"$dir/state/cut.backup"
refused 1 'cut.backup' registry restore cut.backup
prints '^one ' list
prints . generate one -p Hello -n 4 --temp 0 --ignore-eos
i=0
while [ $i -lt 60 ]; do
	ctl alias one "one-$i" >/dev/null || bad "alias one-$i"
	i=$((i + 1))
done
stop

# ---- damage after a clean end ----
# the pages of an index: the rows themselves can all be read
size=$(stat -c %s "$dir/state/registry.db")
at=$((size - 4096))
head -c 4096 /dev/zero | tr '\0' '\245' |
	dd of="$dir/state/registry.db" bs=4096 seek=$((at / 4096)) conv=notrunc 2>/dev/null
start
holds "the log names the damage: $(cat "$dir/log")" \
	grep -q 'the registry was damaged and has been replaced.*rows could be read' "$dir/log"
prints '^notice  *the registry was damaged' status
prints '"notice": "the registry was damaged' status --json
does list
stop
start
does status
holds "the next start is clean: $(cat "$dir/out")" [ -z "$(grep notice "$dir/out")" ]
stop

# ---- rights of the state folder ----
chmod 0770 "$dir/state"
"$build/llamad" --socket "$url" --state-dir "$dir/state" 2>"$dir/err"
holds "a folder that others may write: status $?" [ $? -eq 1 ]
holds "names the mode: $(cat "$dir/err")" grep -q 'mode 0770 of the state folder' "$dir/err"
finish registry
