#!/bin/sh
# SPDX-License-Identifier: MIT
# Coding agents, without a person, against a model that follows a script: each has to write a file,
# by one call of its tool for commands where it has one.  `scripts/deps all-clients` must have
# installed them.  The output of this test has the transcripts.  Part of make check-long.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
if [ "${LMD_TEST_LONG:-0}" != 1 ]; then
	echo "SKIP: agents_test is part of make check-long"
	exit 77
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llamad
agents=$cache/agents-js/node_modules/.bin
# a package that is not installed is a failure here
for f in "$agents/codex" "$agents/claude" "$agents/opencode" "$cache/agents-aider/bin/aider"; do
	holds "there is no $f: run scripts/deps all-clients" [ -x "$f" ]
done
PATH=$cache/clients-js/node_modules/node/bin:$agents:$cache/agents-aider/bin:$PATH
top=$(cd "$src" && pwd)
task="Write hello into out.txt"

# script NAME REPLIES: a name of the model that answers with a list of replies
script() {
	{
		printf '{%%- set replies = %s -%%}\n' "$2"
		cat "$top/tests/http/script.jinja"
	} >"$dir/$1.jinja"
	printf '[model %s]\ntemplate_file = %s\n' "$1" "$dir/$1.jinja" >>"$dir/conf"
}
# tool_script TOOL ARGUMENTS: the script of a call that writes the file
tool_script() {
	echo "['<tool_call>{\"name\": \"$1\", \"arguments\": $2}</tool_call>', 'Done.']"
}
printf '[limits]\nconnections_per_user = 100\n' >"$dir/conf"
script codex "$(tool_script exec_command '{"cmd": "echo hello >out.txt"}')"
script claude "$(tool_script Bash '{"command": "echo hello >out.txt", "description": "Write the file"}')"
script opencode "$(tool_script bash '{"command": "echo hello >out.txt", "description": "Write the file"}')"
script aider "['out.txt\n\`\`\`\nhello\n\`\`\`\n']"

does debug echo-model "$dir/echo.gguf"
start_http
prints . key add client
key=$(tail -n 1 "$dir/out")
for name in codex claude opencode aider; do
	does add "$name" "$dir/echo.gguf"
done

# agent NAME N COMMAND...: it writes the file with N requests or more, none of which fails
agent() {
	name=$1 n=$2
	shift 2
	mkdir -p "$dir/$name/home"
	before=$(wc -l <"$dir/log")
	(cd "$dir/$name" && env HOME="$dir/$name/home" timeout -s KILL 300 "$@") \
		>"$dir/transcript" 2>&1 </dev/null
	rc=$?
	echo "---- $name"
	cut -c 1-2000 "$dir/transcript"
	sed -n "$((before + 1)),\$p" "$dir/log" | grep 'http: ' >"$dir/requests"
	cat "$dir/requests"
	holds "$name: its status is $rc" [ $rc -eq 0 ]
	holds "$name: there is no out.txt, or other words" [ "$(cat "$dir/$name/out.txt")" = hello ]
	got=$(grep -c "POST .*status=200 model=$name" "$dir/requests")
	holds "$name: $got requests" [ "$got" -ge "$n" ]
	holds "$name: requests fail" [ -z "$(grep 'POST .*status=[45]' "$dir/requests")" ]
}

agent codex 2 env LLAMAD_KEY="$key" codex exec --json --skip-git-repo-check -s danger-full-access \
	-m codex -c model_provider=llamad -c "model_providers.llamad={name='llamad', \
base_url='http://$http/v1', wire_api='responses', env_key='LLAMAD_KEY'}" "$task"

agent claude 2 env ANTHROPIC_BASE_URL="http://$http" ANTHROPIC_AUTH_TOKEN="$key" \
	CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 \
	claude -p "$task" --model claude --allowedTools Bash --output-format stream-json --verbose

mkdir -p "$dir/opencode"
cat >"$dir/opencode/opencode.json" <<EOF
{"model": "llamad/opencode", "small_model": "llamad/opencode", "autoupdate": false,
 "provider": {"llamad": {
   "npm": "@ai-sdk/openai-compatible",
   "options": {"baseURL": "http://$http/v1", "apiKey": "$key"},
   "models": {"opencode": {}}}}}
EOF
agent opencode 2 env OPENCODE_DISABLE_MODELS_FETCH=1 opencode run --format json "$task"

# aider has no tools: it asks for the whole file in the answer
agent aider 1 env OPENAI_API_KEY="$key" LITELLM_LOCAL_MODEL_COST_MAP=True AIDER_ANALYTICS=false \
	aider --model openai/aider --openai-api-base "http://$http/v1" --edit-format whole --no-git \
	--yes-always --no-check-update --no-show-release-notes --no-show-model-warnings \
	--no-pretty --message "$task" out.txt
stop
finish agents_test
