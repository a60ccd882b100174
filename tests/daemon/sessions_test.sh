#!/bin/sh
# SPDX-License-Identifier: MIT
# Sessions of a daemon: over a restart, copies, files for another daemon, limits, and a daemon that is
# killed while it saves: the old session is there or the new one, whole.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
printf '[limits]\nsession_bytes = 100M\nsession_number = 4\n' >"$dir/llamad.conf"

# number MEMBER: of the JSON in $dir/out
number() {
	sed -n "s/.*\"$1\": *\([0-9][0-9]*\).*/\1/p" "$dir/out" | head -n 1
}

# ask PROMPT OPTION...
ask() {
	prompt=$1
	shift
	does generate one -p "$prompt" --raw -n 8 --temp 0 --ignore-eos --json "$@"
}

begin() {
	start --config "$dir/llamad.conf"
}

# killed: by SIGKILL
killed() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}

# ---- over a restart ----
begin
does add one "$dir/full.gguf"
answer=$(ctl generate one -p 'it was a dark and' --raw -n 8 --temp 0 --ignore-eos --session chat)
prints '^chat  *one  *24 ' sessions list
stop
begin
ask "it was a dark and$answer, or not" --session chat
holds "the restored tokens are not computed again: $(number n_cached)" [ "$(number n_cached)" = 24 ]
restored=$(sed -n 's/.*"text": *"\(.*\)",*$/\1/p' "$dir/out")
stop
start
ask "it was a dark and$answer, or not"
holds "the answer is the same" [ "$restored" = "$(sed -n 's/.*"text": *"\(.*\)",*$/\1/p' "$dir/out")" ]
holds "nothing is restored without a session" [ "$(number n_cached)" = 0 ]
refused 1 'sessions are off on this server (limit session_bytes is 0)' sessions list
refused 1 'sessions are off on this server' generate one -p x --session chat
stop

# ---- conversations ----
XDG_STATE_HOME=$dir/xdg
export XDG_STATE_HOME
messages=$XDG_STATE_HOME/llamactl/sessions/work.json
# talk OPTION...: each line is a message; the counts of each answer are in $dir/counts
talk() {
	ctl chat one --template chatml -n 8 --temp 0 --ignore-eos --verbose "$@" 2>"$dir/counts"
}
start
printf 'first\nsecond\n' | talk >"$dir/whole"
stop
begin
echo first | talk --session work >"$dir/parts"
stop
begin
echo second | talk --session work >>"$dir/parts"
holds "a conversation goes on after a restart: $(cat "$dir/parts")" cmp "$dir/whole" "$dir/parts"
holds "its beginning is not computed again: $(cat "$dir/counts")" grep -q ' [1-9][0-9]* of them cached' "$dir/counts"
holds "the file of its messages" [ "$(stat -c %a "$messages")" = 600 ]
holds "its messages" [ "$(grep -c '"role": "user"' "$messages")" = 2 ]
does sessions rm work
holds "they are removed with the session" [ ! -e "$messages" ]
stop

# ---- copies, files, limits ----
begin
does sessions fork chat other
prints '"name": "other"' sessions list --json
does sessions export other "$dir/other.session"
does sessions rm other
refused 1 "there is no session 'other'" sessions rm other
does sessions import back "$dir/other.session"
holds "an imported session is the exported one" \
	cmp "$dir/other.session" "$dir/state/sessions/uid-$(id -u)/back.session"
head -c 1000 "$dir/other.session" >"$dir/cut.session"
refused 1 'bad.part: its length is not the one that its head announces' sessions import bad \
	"$dir/cut.session"
refused 1 'session: byte 1 of the name' sessions import ../bad "$dir/other.session"
refused 1 'session none: there is none of that name' sessions export none "$dir/none"
holds "a failed export leaves no file" [ ! -e "$dir/none" ]
does sessions fork chat third
does sessions fork chat fourth
refused 1 'session fifth: you have 4 others, the limit session_number is 4' sessions fork chat fifth
call generate one -p abc --raw -n 2 --temp 0 --session fifth
holds "an answer that is not saved is an answer" [ $got -eq 0 ] && [ -s "$dir/out" ]
holds "the reason is told: $(cat "$dir/err")" \
	grep -q 'the session was not saved: session fifth: you have 4 others' "$dir/err"
holds "files are private" [ "$(stat -c %a "$dir/state/sessions/uid-$(id -u)/chat.session")" = 600 ]
XDG_STATE_HOME=$dir/nobody does sessions rm third
holds "sessions rm creates no folder" [ ! -e "$dir/nobody" ]
does sessions rm fourth
does sessions rm back
stop

# ---- killed while saving ----
old=0 new=0 i=0 n_kill=7 looks_each=11
[ -z "${LMD_TEST_LONG:-}" ] || n_kill=20 looks_each=4
while [ $i -lt $n_kill ]; do
	begin
	ask "number $i" --session chat
	before=$("$build/llamactl" --socket "$url" sessions export chat "$dir/before" &&
		cksum <"$dir/before")
	ctl generate one -p "another number that is longer, $i" --raw -n 8 --temp 0 --ignore-eos \
		--session chat >/dev/null 2>&1 &
	client=$!
	# at another moment each time: after so many looks at the folder, or when it changes
	looks=0
	while [ $looks -lt $((i * looks_each)) ] && [ "$(cksum <"$dir/state/sessions/uid-$(id -u)/chat.session")" = "$before" ]; do
		looks=$((looks + 1))
	done
	killed
	wait $client 2>/dev/null
	begin
	prints '^chat  *one  *[0-9]' sessions list
	does sessions export chat "$dir/after"
	does sessions import check "$dir/after"
	if [ "$(cksum <"$dir/after")" = "$before" ]; then old=$((old + 1)); else new=$((new + 1)); fi
	holds "no leftovers" [ "$(find "$dir/state/sessions/uid-$(id -u)" -mindepth 1 | wc -l)" = 2 ]
	killed
	i=$((i + 1))
done
echo "killed while saving: $old old sessions, $new new ones"
finish "sessions"
