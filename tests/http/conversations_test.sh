#!/bin/sh
# SPDX-License-Identifier: MIT
# Sixty conversations through each HTTP API, and through the clients in C, Python and Go on the
# socket and in one process: the same text, tokens and reason of the end.  make check does a tenth.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
[ -n "$python" ] || {
	echo "SKIP: conversations_test: Python 3.10 with msgpack is missing"
	exit 77
}
every=10
[ "${LMD_TEST_LONG:-0}" != 1 ] || every=1

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
does debug echo-model "$dir/echo.gguf"
{
	echo "{%- set replies = ['<think>Where?</think>I look.<tool_call>{\"name\": \"weather\", \
\"arguments\": {\"place\": \"Bern\"}}</tool_call>', 'It rains.'] -%}"
	cat "$src/tests/http/script.jinja"
} >"$dir/echo.gguf.jinja"
printf '[model scripted]\ntemplate_file = %s\n' "$dir/echo.gguf.jinja" >"$dir/conf"
for t in chatml llama3 gemma zephyr mistral-v3; do
	printf '[model tiny-%s]\ntemplate = %s\n' $t $t >>"$dir/conf"
done
start_http
does add scripted "$dir/echo.gguf"
does add tiny "$dir/full.gguf"
for t in chatml llama3 gemma zephyr mistral-v3; do
	does alias tiny tiny-$t
done

set -- "embedded=$build/tests/http/embedded_driver" "C=$build/tests/client_conformance/driver" \
	"Python=PYTHONPATH=$src/bindings/python $python $src/bindings/python/tests/conformance.py sync"
if go_has ./internal/conformance &&
	(cd "$src/bindings/go" && go build -o "$dir/driver" ./internal/conformance); then
	set -- "$@" "Go=$dir/driver"
else
	skip "client in Go: go is missing, or its module cannot be fetched"
fi
PYTHONDONTWRITEBYTECODE=1 "$python" "$src/tests/http/conversations.py" "http://$http" "$url" \
	"$dir/full.gguf" "$dir/echo.gguf" "$build/plugins/.libs" "$every" "$@"
holds "the conversations" [ $? -eq 0 ]
stop
finish conversations_test
