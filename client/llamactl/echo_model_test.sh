#!/bin/sh
# SPDX-License-Identifier: MIT
# The model of `debug echo-model` repeats what it is told, in the process and in a daemon.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

does debug echo-model "$dir/echo.gguf"
prints '"path": ".*/again.gguf"' debug echo-model "$dir/again.gguf" --json
holds "the file is always the same" cmp -s "$dir/echo.gguf" "$dir/again.gguf"
refused 1 'nowhere' debug echo-model "$dir/nowhere/x.gguf"

# echoes TEXT ARGUMENT...: the answer to the text is the text
echoes() {
	text=$1
	shift
	printf '%s\n' "$text" >"$dir/want"
	ctl "$@" -n 1100 -p "$text" >"$dir/got" 2>"$dir/err"
	holds "llamactl $*: '$(head -c 200 "$dir/got")', not '$text': $(cat "$dir/err")" \
		cmp -s "$dir/want" "$dir/got"
}

long=$(seq -s, 400 | head -c 1000)
same=$(printf '%0300db' 0)
for text in 'Hello' 'Grüße, мир 世界 😀!' 'a	b\n{"c": [1, 2]} <|3|> </s>' "$long" "$same"; do
	echoes "$text" run "$dir/echo.gguf"
done
echoes 'at any temperature' run "$dir/echo.gguf" --temp 5 --seed 9
echoes 'on the reference backend' run "$dir/echo.gguf" --backend ref
ctl run "$dir/echo.gguf" -n 1100 -p "${long}überall" >"$dir/got"
holds "a long message is cut at 1000 bytes" test "$(cat "$dir/got")" = "$long"
ctl run "$dir/echo.gguf" -p abc -n 10 --ignore-eos >"$dir/got"
holds "--ignore-eos: '$(cat "$dir/got")'" test "$(cat "$dir/got")" = abcabcab
ctl run "$dir/echo.gguf" --raw -p abc -n 4 >"$dir/got"
holds "a raw prompt: '$(cat "$dir/got")'" test "$(cat "$dir/got")" = cccc

start
does add echo "$dir/echo.gguf"
echoes 'in the daemon, wörd for wörd' generate echo
prints '"n_out": 5' generate echo -p 1234 --json
if [ -n "$python" ]; then
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$src/bindings/python" "$python" - "$url" >"$dir/out" 2>&1 <<'PY'
import sys
import llamad
said = '<think>hm</think>So.<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
with llamad.Client(sys.argv[1]) as c:
    a = c.chat("echo", said, parse_format="hermes", stream=False)
    assert (a.text, a.reasoning) == ("So.", "hm"), a
    assert a.tool_calls[0].name == "f" and a.tool_calls[0].parsed() == {"a": 1}, a
    assert a.usage.completion_tokens == len(said) + 1, a.usage
PY
	holds "reasoning and tool calls: $(cat "$dir/out")" [ $? -eq 0 ]
else
	skip "client in Python: Python 3.10 with msgpack is missing"
fi
stop
finish "the echo model"
