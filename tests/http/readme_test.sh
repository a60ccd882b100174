#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the programs of README.md that use HTTP, as they stand there but for the port: with curl, and
# with the packages openai where `scripts/deps all-clients` has installed them.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/llamad
model=$("$src/scripts/fetch-model" --folder)/SmolLM2-135M-Instruct.Q4_1.gguf
[ -f "$model" ] || {
	echo "SKIP: readme_test: there is no $model; scripts/fetch-model smollm2 fetches it"
	exit 77
}
: >"$dir/conf"
start_http
ctl add mine "$model" >/dev/null || { cat "$dir/log"; exit 1; }

# block LANGUAGE FILE: writes the blocks of that language that name the port
block() {
	awk -v begin="^\`\`\`$1\$" '$0 ~ begin { on = 1; text = ""; next }
		/^```$/ { if (on && text ~ /127.0.0.1:8080/) printf "%s", text; on = 0; next }
		on { text = text $0 "\n" }' "$src/README.md" | sed "s,127.0.0.1:8080,$http," >"$2"
	holds "README.md has a program in $1" [ -s "$2" ]
}

block sh "$dir/program.sh"
sh "$dir/program.sh" >"$dir/said" 2>/dev/null
holds "the answer to curl: $(head -c 200 "$dir/said")" grep -q '"role":"assistant","content":"[^"]' "$dir/said"
block python "$dir/program.py"
if [ -x "$cache/clients/bin/python3" ]; then
	"$cache/clients/bin/python3" "$dir/program.py" >"$dir/said" 2>&1
	holds "the program in Python: $(head -c 200 "$dir/said")" [ $? -eq 0 ]
fi
block js "$dir/program.mjs"
node=$cache/clients-js/node_modules/node/bin/node
if [ -x "$node" ]; then
	ln -s "$cache/clients-js/node_modules" "$dir/node_modules"
	"$node" "$dir/program.mjs" >"$dir/said" 2>&1
	holds "the program in JavaScript: $(head -c 200 "$dir/said")" [ $? -eq 0 ]
fi
stop
finish readme_test
