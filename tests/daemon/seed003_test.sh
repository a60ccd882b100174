#!/bin/sh
# SPDX-License-Identifier: MIT
# profiles/seed003.conf: each of its limits, at the bound and beyond, with the model that it is made for.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
export LLAMAD_CPU_REPACK=off # as the profile says
LLAMAD_CONFIG=$src/profiles/seed003.conf
"$build/tests/mkseed003" 1 1 "$dir/one.gguf" && "$build/tests/mkseed003" 6 1 "$dir/six.gguf" || exit 99

context() {
	ctl ps --json | tr -d ' \n' | grep -o '"n_ctx":[0-9]*' | head -n 1 | tr -dc 0-9
}
letters() {
	head -c "$1" /dev/zero | tr '\0' a
}

# 8 MB are for weights, KV cache and steps: the context is as long as fits, and one page more does not
start --config "$LLAMAD_CONFIG"
does add one "$dir/one.gguf"
does add six "$dir/six.gguf"
does load one
fits=$(context)
holds "a context of $fits" [ "$fits" -ge 1024 ]
prints . generate one --raw -p '!' -n 8 --temp 0
does generate one --raw -p a -n 512 --ignore-eos --temp 0
refused 1 'n: 513 tokens, the maximum is 512' generate one --raw -p a -n 513
does unload one
# six heads of keys leave no memory for 32 sequences
refused 1 'but only .* MiB are available' load six
stop
LLAMAD_CTX=$fits start --config "$LLAMAD_CONFIG"
does load one
stop
LLAMAD_CTX=$((fits + 32)) start --config "$LLAMAD_CONFIG"
refused 1 'needs .* MiB for keys, values and states, but only' load one
stop
LLAMAD_MAX_RUNNING=4 LLAMAD_BATCH=4 start --config "$LLAMAD_CONFIG"
does load six
holds "a context of $(context) with four sequences" [ "$(context)" -ge 256 ]
prints . generate six --raw -p '!' -n 8 --temp 0
stop

# prompts: with memory for them
LLAMAD_MEMORY=16M start --config "$LLAMAD_CONFIG"
does load one
does generate one --raw -p "$(letters 2048)" -n 2 --temp 0
refused 1 '2049 tokens exceeds .* prompt_max of 2048' generate one --raw -p "$(letters 2049)" -n 2

# 32 at a time: the next one waits
clients=
i=0
while [ $i -lt 33 ]; do
	ctl generate one --raw -p "$i" -n 512 --ignore-eos --temp 0 >/dev/null 2>&1 &
	clients="$clients $!"
	i=$((i + 1))
done
tries=0
until ctl stats | grep -q '^llamad_requests_waiting *1$' || [ $tries -gt 400 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
ctl stats >"$dir/out"
holds "32 run, one waits: $(grep requests_ "$dir/out" | tr '\n' ' ')" sh -c \
	'grep -q "^llamad_requests_running *32$" "$1" && grep -q "^llamad_requests_waiting *1$" "$1"' sh "$dir/out"
# shellcheck disable=SC2086
kill $clients
for client in $clients; do
	wait "$client" 2>/dev/null
done
# 30 seconds
does generate one --raw -p a -n 1 --timeout 30s
refused 1 'timeout_ms: 30001.*30000' generate one --raw -p a -n 1 --timeout 30001ms
stop
finish seed003
