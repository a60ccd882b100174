#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon with files that change or are not models: a model file that shrinks while it is loaded or in
# use, invalid paths.  Generations get an error; the daemon and other models are not affected.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

# Two models of one kind: one is damaged, the other keeps working.
"$build/tests/mktiny" full 5 "$dir/small.gguf" || exit 99
cp "$dir/small.gguf" "$dir/big.gguf"
start

alive() {
	holds "$1: the daemon lives" kill -0 "$daemon"
	does ping
	prints . generate small -p Hello -n 4 --temp 0 --ignore-eos
}

does add small "$dir/small.gguf"
does add big "$dir/big.gguf"
does load small
does load big
prints . generate big -p Hello -n 4 --temp 0 --ignore-eos
alive "before"

# loaded and idle
cp "$dir/big.gguf" "$dir/keep"
truncate -s 8192 "$dir/big.gguf"
call generate big -p Hello -n 8 --temp 0 --ignore-eos
holds "a model that shrank: status $got" [ $got -eq 1 ]
holds "a model that shrank: says so: $(cat "$dir/err")" grep -q 'truncated\|changed' "$dir/err"
alive "a model that shrank"

# restored, then truncated while a client reads
prints '^big .* failed ' list
cat "$dir/keep" >"$dir/big.gguf"
call load big
if [ $got -eq 0 ]; then
	ctl generate big -p Hello -n 250 --temp 0 --ignore-eos --hold 0ms >"$dir/answer" \
		2>"$dir/answer.err" &
	asked=$!
	truncate -s 8192 "$dir/big.gguf"
	wait $asked
	got=$?
	# depending on timing: a complete answer, or an error
	holds "cut while it answers: status $got" [ $got -le 1 ]
	alive "cut while it answers"
else # a file with another modification time counts as another model
	holds "the registry says that it changed: $(cat "$dir/err")" grep -q 'big' "$dir/err"
fi

# a model that opens but cannot run fails to load, not later
LC_ALL=C sed 's/blk\.0\.attn_q\.weight/blk.0.attn_z.weight/' "$dir/small.gguf" >"$dir/part.gguf"
does add part "$dir/part.gguf"
refused 1 'blk.0.attn_q.weight: the file has no such tensor' load part
prints '^part .* failed ' list

# a model that killed the daemon twice while it was loaded: notes as such a daemon leaves them
does unload small
digest=$(printf small | sha256sum | cut -d ' ' -f 1)
holds "no note is left behind" [ -z "$(ls "$dir/state/loading")" ]
printf 'L 1 %s\nsmall\n' "$(date +%s)" >"$dir/state/loading/$digest"
call generate small -p Hello -n 4
holds "quarantine: status $got: $(cat "$dir/err")" grep -q 'in quarantine: llamad died 2 times' "$dir/err"
does load small
prints . generate small -p Hello -n 4 --temp 0 --ignore-eos
does unload small
prints . generate small -p Hello -n 4 --temp 0 --ignore-eos

# files that are not models
mkfifo "$dir/fifo.gguf"
mkdir "$dir/folder.gguf"
ln -s "$dir/loop.gguf" "$dir/loop.gguf"
ln -s /dev/zero "$dir/zero.gguf"
head -c 36 "$dir/small.gguf" >"$dir/short.gguf"
: >"$dir/empty.gguf"
for name in fifo folder loop zero short empty nothing; do
	call add "x-$name" "$dir/$name.gguf"
	holds "add $name: status $got: $(cat "$dir/err")" [ $got -eq 1 ]
	holds "add $name: names it: $(cat "$dir/err")" grep -q "$name" "$dir/err"
done
alive "paths that lead nowhere"
kill "$daemon"
ended
finish "files under a daemon"
