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
top_build=$(cd "$build" && pwd)
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
	(
		cd "$dir/$name" || exit 99
		HOME=$dir/$name/home DISABLE_AUTOUPDATER=1 OPENCODE_DISABLE_MODELS_FETCH=1
		AIDER_ANALYTICS=false
		export HOME DISABLE_AUTOUPDATER OPENCODE_DISABLE_MODELS_FETCH AIDER_ANALYTICS
		"$@"
	) >"$dir/transcript" 2>&1 </dev/null
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

# launch TOOL ARGUMENT...: as a user starts it
launch() {
	tool=$1
	shift
	env LLAMAD_KEY="$key" timeout -s KILL 300 "$top_build/llamactl" --socket "$url" launch "$tool" --model "$tool" \
		--url "http://$http" -- "$@"
}

agent codex 2 launch codex exec --json --skip-git-repo-check -s danger-full-access "$task"
agent claude 2 launch claude -p "$task" --allowedTools Bash --output-format stream-json --verbose
agent opencode 2 launch opencode run --format json "$task"
# aider has no tools: it asks for the whole file in the answer
agent aider 1 launch aider --edit-format whole --no-git --yes-always --no-check-update \
	--no-show-release-notes --no-pretty --message "$task" out.txt
stop
finish agents_test
