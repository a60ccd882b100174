#!/bin/sh
# SPDX-License-Identifier: MIT
# Spans of answers, sent to a collector of OpenTelemetry that the test has made.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
collector=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; [ -z "$collector" ] || kill "$collector"; wait; rm -rf "$dir"' EXIT

"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
/usr/bin/env python3 "$src/tests/http/collector.py" "$dir/port" "$dir/spans" 2>"$dir/collector.err" &
collector=$!
until [ -s "$dir/port" ]; do
	kill -0 $collector || { cat "$dir/collector.err"; exit 1; }
	sleep 0.05
done
# spans N: waits until the collector has them
spans() {
	tries=0
	until [ "$(cat "$dir/spans" 2>/dev/null | wc -l)" -ge "$1" ] || [ $tries -gt 400 ]; do
		tries=$((tries + 1))
		sleep 0.05 # asks again; nothing depends on its length
	done
	holds "$(cat "$dir/spans" | wc -l) spans, not $1: $(tail -n 3 "$dir/log")" \
		[ "$(cat "$dir/spans" | wc -l)" = "$1" ]
}
ask='{"model":"tiny","prompt":"ab","max_tokens":5,"ignore_eos":true,"temperature":0}'

printf '[daemon]\ntraces_url = http://127.0.0.1:%s/\n[model tiny]\ntemplate = chatml\n' "$(cat "$dir/port")" >"$dir/conf"
start_http
does add tiny "$dir/tiny.gguf"
u=http://$http
fetch 200 . -d "$ask" "$u/v1/completions"
spans 1
holds "a trace of its own" sh -c '! grep -q parentSpanId "$1"' sh "$dir/spans"
trace=0af7651916cd43dd8448eb211c80319c parent=b7ad6b7169203331
fetch 200 . -H "traceparent: 00-$trace-$parent-01" -d "$ask" "$u/v1/completions"
spans 2
holds "the trace of the client: $(tail -n 1 "$dir/spans")" \
	grep -q "\"traceId\": \"$trace\".*\"parentSpanId\": \"$parent\"" "$dir/spans"
# one that is not sampled, and then ones that are malformed and get traces of their own
fetch 200 . -H "traceparent: 00-$trace-$parent-00" -d "$ask" "$u/v1/completions"
for wrong in "00-$trace-$parent" "ff-$trace-$parent-01" "00-$trace-0000000000000000-01" x \
	"00-00000000000000000000000000000000-$parent-01" "00-$trace-$parent-01-more"; do
	fetch 200 . -H "traceparent: $wrong" -d "$ask" "$u/v1/completions"
done
spans 8
holds "malformed headers" [ "$(grep -c "$trace" "$dir/spans")" = 1 ]
# a stream; the query is no part of the path
fetch 200 'data: \[DONE\]' -d "${ask%?},\"stream\":true}" "$u/v1/completions?key=secret"
spans 9
chat='{"model":"tiny","messages":[{"role":"user","content":"ab"}],"max_tokens":5,"ignore_eos":true,"temperature":0}'
fetch 200 . -d "$chat" "$u/v1/chat/completions"
spans 10
holds "$(/usr/bin/env python3 "$src/tests/http/collector.py" --check "$dir/spans" 2>&1)" \
	/usr/bin/env python3 "$src/tests/http/collector.py" --check "$dir/spans"
stop

# a collector that fails, and one that is not there, hold up nothing
for bad in "http://user:secret@127.0.0.1:$(cat "$dir/port")/fail" http://user:secret@127.0.0.1:9; do
	printf '[daemon]\ntraces_url = %s\n' "$bad" >"$dir/conf"
	start_http
	fetch 200 . -d "$ask" "http://$http/v1/completions"
	tries=0
	until grep -q 'traces are lost' "$dir/log" || [ $tries -gt 400 ]; do
		tries=$((tries + 1))
		sleep 0.05
	done
	holds "the log names the loss: $(tail -n 2 "$dir/log")" grep -q 'traces are lost: ' "$dir/log"
	holds "the log has the password" sh -c '! grep -q secret "$1"' sh "$dir/log"
	stop
done
printf '[daemon]\ntraces_url = 127.0.0.1:4318\n' >"$dir/conf"
"$build/llamad" --config "$dir/conf" --socket "$url" --state-dir "$dir/state" 2>"$dir/err"
holds "traces_url without a scheme" grep -q 'traces_url: 127.0.0.1:4318 is not http' "$dir/err"
finish traces
