#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl generate --durable: the daemon is killed and started again while the command runs.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
LLAMAD_NULL_STEP_US=2000 # the answer takes two seconds
export LLAMAD_NULL_STEP_US
begin() {
	start --backend null --ctx 2048 "$@"
}

begin
does add tiny "$dir/full.gguf"
prints . generate tiny -p '!' -n 1000 --temp 0 --ignore-eos
cp "$dir/out" "$dir/whole"
# what happened so far
prints '^[-0-9]* [0-9:]*Z  load  *tiny$' events
prints '^[-0-9]* [0-9:]*Z  end  *tiny  uid:[0-9]*  1 + 1000 tokens  length$' events
prints '"kind": *"start"' events --json
: >"$dir/answer"
ctl generate tiny -p '!' -n 1000 --temp 0 --ignore-eos --durable --hold 0ms >"$dir/answer" 2>"$dir/err2" &
client=$!
for kill in 1 2 3; do
	size=$(stat -c %s "$dir/answer")
	tries=0
	while [ "$(stat -c %s "$dir/answer")" -lt $((size + 50)) ] && [ $tries -lt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05 # looks again; nothing depends on its length
	done
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	begin
done
wait "$client"
holds "the client: $? $(cat "$dir/err2")" [ -s "$dir/answer" ]
holds "the answer is that of an undisturbed run" cmp "$dir/answer" "$dir/whole"
stop

# switched off
printf '[limits]\ndurable_streams = 0\n' >"$dir/off.conf"
start --backend null --config "$dir/off.conf"
refused 1 'durable: this server has no durable streams' generate tiny -p x -n 1 --durable
stop
finish durable
