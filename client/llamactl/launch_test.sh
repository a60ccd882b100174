#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl launch: the programs are stand-ins that print how they were started.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
unset LLAMAD_KEY

mkdir "$dir/bin"
cat >"$dir/bin/tool" <<'EOF'
#!/bin/sh
printf 'program %s\n' "${0##*/}"
printf 'argument <%s>\n' "$@"
env | grep -e '^ANTHROPIC_' -e '^LLAMAD_KEY=' -e '^OPENAI_' -e '^OPENCODE_' | LC_ALL=C sort
exit 7
EOF
chmod +x "$dir/bin/tool"
for name in codex claude opencode aider; do
	ln -s tool "$dir/bin/$name"
done
PATH=$dir/bin:$PATH

# launched TOOL ARGUMENT...: the stand-in ran, and its status is that of llamactl
launched() {
	call launch "$@"
	holds "launch $*: status $got: $(cat "$dir/err")" [ $got -eq 7 ]
	holds "launch $*: another program" grep -qx "program $1" "$dir/out"
}

# has LINE: the stand-in printed it
has() {
	holds "no line '$1' in: $(cat "$dir/out")" grep -qxF -e "$1" "$dir/out"
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start
does add one "$dir/full.gguf"
refused 1 "codex needs HTTP over TCP, .* HTTP only at unix:$dir/sock-http.sock: start llamad with --http" launch codex
stop
start --http off
refused 1 'codex needs HTTP over TCP, and the daemon serves HTTP nowhere' launch codex
does rm one
stop
start --http 127.0.0.1:0

refused 1 'llamactl pull' launch codex
does add one "$dir/full.gguf"
http=http://$(sed -n 's|.*ready on http://||p' "$dir/log")
launched codex
has 'argument <-m>'
has 'argument <one>'
has "argument <model_providers.llamad={name='llamad', base_url='$http/v1', wire_api='responses', env_key='LLAMAD_KEY'}>"
has 'LLAMAD_KEY=none'
does add two "$dir/full.gguf"
refused 2 '2 models: choose one with --model' launch codex
refused 1 "'three' does not exist" launch codex --model three
refused 2 "'vim' is not" launch vim

LLAMAD_KEY=secret
export LLAMAD_KEY
launched claude --model two --url http://gpu:9000/ -- -p '{model} stays'
has 'argument <two>'
has 'argument <-p>'
has 'argument <{model} stays>'
has 'ANTHROPIC_BASE_URL=http://gpu:9000'
has 'ANTHROPIC_AUTH_TOKEN=secret'
launched aider -m one
has 'argument <openai/one>'
has 'OPENAI_API_KEY=secret'
launched opencode -m one
sed -n 's/^OPENCODE_CONFIG_CONTENT=//p' "$dir/out" >"$dir/config"
has 'LLAMAD_KEY=secret'
holds "no configuration" [ -s "$dir/config" ]
if command -v python3 >/dev/null; then
	holds "not JSON: $(cat "$dir/config")" python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))
p = c["provider"]["llamad"]
sys.exit(not (c["model"] == "llamad/one" and p["options"]["apiKey"] == "{env:LLAMAD_KEY}" and "one" in p["models"]))' \
		"$dir/config"
fi

# what is printed can be typed
prints "^LLAMAD_KEY=secret codex -m one " launch codex -m one --print -- exec "it's"
sh "$dir/out" >"$dir/ran"
holds "a quoted word" grep -qxF "argument <it's>" "$dir/ran"
unset LLAMAD_KEY
rm "$dir/bin/codex"
if ! command -v codex >/dev/null; then
	refused 1 'npm install -g @openai/codex' launch codex -m one
fi
stop
finish "launch"
