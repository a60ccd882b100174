#!/bin/sh
# SPDX-License-Identifier: MIT
# Streams that a client resumes after its connection was lost.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99

# with LINE...: a daemon with these limits and two keys
with() {
	printf '[limits]\nidle = 1h\nstream_bytes = 64M\n' >"$dir/conf"
	printf '%s\n' "$@" >>"$dir/conf"
	start_http
}
resume() {
	test=$1
	shift
	/usr/bin/env python3 "$src/tests/http/resume.py" "$test" "$http" "$dir/http.sock" "$ann" "$bob" "$@" \
		>"$dir/out" 2>&1
	holds "resume.py $test: $(cat "$dir/out")" [ $? -eq 0 ]
}

with 'http_resume = 64M' 'http_resume_time = 1h'
ctl add tiny "$dir/full.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
for who in ann bob; do
	prints . key add $who
	eval "$who=\$(tail -n 1 \"\$dir/out\")"
done
resume bytes
resume ids
resume owner
resume key "$build/llamactl" --socket "$url"
prints . key add ann
ann=$(tail -n 1 "$dir/out")
resume bytes
# a key is removed, and the daemon ends, while streams are kept
does key rm ann
stop

with 'http_resume = 64K' 'http_resume_time = 1h' 'http_resume_number = 2'
prints . key add ann
ann=$(tail -n 1 "$dir/out")
resume bounds
stop

with 'http_resume = 64K' 'http_resume_time = 100ms'
resume time
resume time_running
stop

with 'http_resume = 64K' 'http_resume_time = 1h' 'http_resume_number = 200'
prints . key add eve
resume all "$(tail -n 1 "$dir/out")"
stop

with 'http_resume = 0'
resume off
stop
finish resume_test
