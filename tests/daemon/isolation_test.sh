#!/bin/sh
# SPDX-License-Identifier: MIT
# Models whose backend is in a process of its own (isolation = process): the same answers; the end of
# that process ends the requests of one model, which comes back; no process is left behind.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
cp "$dir/full.gguf" "$dir/other.gguf"
printf '[engine]\nbackend = cpu\nthreads = 1\n[model iso]\nisolation = process\n[model eye]\nisolation = process\n' \
	>"$dir/conf"
start --config "$dir/conf"
does add iso "$dir/full.gguf"
does add plain "$dir/other.gguf"

# worker MODEL: leaves the number of its process in $pid
worker() {
	ctl ps --json >"$dir/ps"
	pid=$("$python" -c 'import json, sys
for m in json.load(open(sys.argv[1])):
    if m["model"] == sys.argv[2]:
        print(m.get("placement", [{}])[0].get("pid", 0))' "$dir/ps" "$1")
}

# gone PID: the process ends soon; one that nobody waits for may stay in the list
gone() {
	tries=0
	while [ -d "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -gt 600 ] && return 1
		sleep 0.05 # asks again; nothing depends on its length
	done
	return 0
}

# back: generates with the model until it answers
back() {
	tries=0
	until ctl generate iso -p "A B" -n 3 --temp 0 --ignore-eos >"$dir/out" 2>"$dir/err" ||
		[ $tries -gt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05 # asks again; nothing depends on its length
	done
	holds "it comes back: $(cat "$dir/err")" cmp -s "$dir/before" "$dir/out"
}

[ -n "$python" ] || { echo "SKIP: no Python with msgpack"; exit 77; }
does generate plain -p "A B" -n 3 --temp 0 --ignore-eos
cp "$dir/out" "$dir/before"
does generate iso -p "A B" -n 3 --temp 0 --ignore-eos
holds "the same answer" cmp -s "$dir/before" "$dir/out"
worker plain
holds "a model without a process of its own: $pid" [ "$pid" = 0 ]
worker iso
holds "a process of its own: $pid" [ "$pid" -gt 0 ]
holds "it is not the daemon" [ "$pid" != "$daemon" ]
does ps
holds "ps shows it: $(cat "$dir/out")" grep -q "cpu0@iso .*, in process $pid\$" "$dir/out"

# killed while it has nothing to do: it is reaped, and the model comes back without a request
kill -9 "$pid"
tries=0
while [ -d "/proc/$pid" ] && [ $tries -lt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "no zombie: $(grep State "/proc/$pid/status" 2>/dev/null)" [ ! -d "/proc/$pid" ]
does generate plain -p "A B" -n 3 --temp 0 --ignore-eos
holds "the other model goes on" cmp -s "$dir/before" "$dir/out"
first=$pid
tries=0
until worker iso && [ "${pid:-0}" -gt 0 ] && [ "$pid" != "$first" ] || [ $tries -gt 600 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "a new process: $pid" [ "$pid" -gt 0 ]
holds "the log tells it: $(cat "$dir/log")" \
	grep -q "device lost; device=cpu0@iso losses=1 .*worker process $first ended by signal 9" "$dir/log"
back

# crashed in the middle of a request, which does not end by itself
worker iso
ctl generate iso -p "A B" -n 1000000000 --context-shift --hold 0ms --temp 0 --ignore-eos >"$dir/answer" \
	2>"$dir/answer.err" &
asked=$!
until [ -s "$dir/answer" ] || ! kill -0 $asked 2>/dev/null; do
	sleep 0.05 # asks again; nothing depends on its length
done
kill -SEGV "$pid"
wait $asked
holds "status $?: $(cat "$dir/answer.err")" \
	grep -q "worker process $pid ended by signal 11" "$dir/answer.err"
does generate plain -p "A B" -n 3 --temp 0 --ignore-eos
back

# by an option of load
does unload plain
does load plain --isolation process
worker plain
holds "load --isolation process: $pid" [ "$pid" -gt 0 ]
does unload plain
holds "it ends with its model" gone "$pid"
# a device with memory of its own
does load plain --isolation process --backend emu
worker plain
holds "load --backend emu: $pid" [ "$pid" -gt 0 ]
does generate plain -p "A B" -n 3 --temp 0 --ignore-eos
does unload plain

# A vision tower has a process of its own; when that is lost, the model waits for its device and comes back.
mkdir "$dir/eye"
cp "$dir/full.gguf" "$dir/eye/full.gguf"
"$build/tests/mktiny" tower:mlp 0 "$dir/eye/mmproj-full.gguf" || exit 99
does add eye "$dir/eye/full.gguf"
does generate eye -p "A B" -n 3 --temp 0 --ignore-eos
pid=
for child in $(cat /proc/$daemon/task/*/children); do
	tr '\0' ' ' <"/proc/$child/cmdline" | grep -q ' eye-mmproj $' && pid=$child
done
holds "a process for the tower" [ -n "$pid" ]
kill -9 "$pid"
tries=0
until grep -q 'model lost.*model=eye' "$dir/log" || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "its loss is that of its device: $(cat "$dir/log")" \
	grep -q 'model lost, it will be loaded again with its device; model=eye' "$dir/log"
tries=0
until ctl generate eye -p "A B" -n 3 --temp 0 --ignore-eos >"$dir/out" 2>"$dir/err" || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "the model comes back: $(cat "$dir/err")" cmp -s "$dir/before" "$dir/out"
does unload eye

# The end of the daemon is that of its workers.
worker iso
stop
holds "after a stop" gone "$pid"
start --config "$dir/conf"
does generate iso -p "A B" -n 3 --temp 0 --ignore-eos
worker iso
kill -9 "$daemon"
wait "$daemon"
daemon=
holds "after the daemon was killed" gone "$pid"
"$build/llamad" --worker=3 2>"$dir/err"
holds "it is no command for users: $(cat "$dir/err")" grep -q 'processes that llamad starts itself' "$dir/err"
finish "models in processes of their own"
