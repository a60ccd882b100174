#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs examples/agent and examples/retrieval, with a model that follows a script.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v python3 >/dev/null || {
	echo "SKIP: examples_test: there is no python3"
	exit 77
}
mkdir -p "$dir/texts/folder.md"
printf 'one\ntwo\nthree\n' >"$dir/texts/notes.txt"
printf 'aaaa\n\nThe bear of Bern.\n\nzzzz\n\nqqqq qqqq\n' >"$dir/texts/more.md"
# The agent's answer depends on what the tool said, and the other's on the texts in the prompt.
cat >"$dir/agent.jinja" <<'EOF'
{%- set replies = ['<tool_call>{"name": "count_lines", "arguments": {"path": "../secret"}}</tool_call>',
	'<tool_call>{"name": "count_lines", "arguments": {"path": "notes.txt"}}</tool_call>',
	'It has ' ~ messages[-1].content ~ ' lines.'] -%}
EOF
cat >"$dir/retrieval.jinja" <<'EOF'
{%- set replies = ['yes' if 'The bear of Bern.' in messages[0].content else 'no'] -%}
EOF
printf '' >"$dir/conf"
for name in agent retrieval; do
	cat "$src/tests/http/script.jinja" >>"$dir/$name.jinja"
	printf '[model %s]\ntemplate_file = %s\n' $name "$dir/$name.jinja" >>"$dir/conf"
done
does debug echo-model "$dir/echo.gguf"
start_http
does add agent "$dir/echo.gguf"
does alias agent retrieval
top=$(cd "$src" && pwd)
LLAMAD_URL=http://$http
export LLAMAD_URL

(cd "$dir/texts" && python3 "$top/examples/agent/agent.py" agent "How many lines?") \
	>"$dir/said" 2>"$dir/steps"
holds "the agent: $(cat "$dir/said" "$dir/steps")" [ "$(cat "$dir/said")" = "It has 3 lines." ]
holds "two calls: $(cat "$dir/steps")" [ "$(grep -c '^count_lines({' "$dir/steps")" = 2 ]

python3 "$top/examples/retrieval/retrieval.py" retrieval "$dir/texts" "The bear of Bern." \
	>"$dir/said" 2>"$dir/steps"
holds "the retrieval: $(cat "$dir/said" "$dir/steps")" [ "$(cat "$dir/said")" = yes ]
holds "three texts: $(cat "$dir/steps")" [ "$(grep -c '^from .*/texts/' "$dir/steps")" = 3 ]
stop
LLAMAD_URL=http://127.0.0.1:1 python3 "$top/examples/agent/agent.py" agent "Hello" 2>"$dir/steps"
holds "no server: $(cat "$dir/steps")" grep -q 'start llamad with --http' "$dir/steps"
finish examples_test
