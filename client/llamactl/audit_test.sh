#!/bin/sh
# SPDX-License-Identifier: MIT
# The audit log as an operator sees it: what is recorded, and that a change is found.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99

start
does add tiny "$dir/tiny.gguf"
prints . key add laptop --rpm 1
secret=$(tail -n 1 "$dir/out")
does key set laptop --rpm 2
does load tiny
does unload tiny
does key rm laptop
refused 1 'does not exist' rm nothing
echo "no model" >"$dir/broken.gguf"
refused 1 . add broken "$dir/broken.gguf"
refused 1 'does not exist' load nothing
# a client that is refused all the time does not fill the log
i=0
while [ $i -lt 40 ]; do
	refused 1 'does not exist' unload nobody
	i=$((i + 1))
done
stop

prints 'records, none changed or missing' audit verify --state-dir "$dir/state"
prints '"records"' audit verify --json --state-dir "$dir/state"
prints . audit export --state-dir "$dir/state"
cp "$dir/out" "$dir/log.jsonl"
me=uid:$(id -u)
has() {
	holds "the audit log has no '$1'" grep -q -e "$1" "$dir/log.jsonl"
}
has '"event": *"daemon_start", *"principal": *"daemon"'
has "\"event\": *\"key_add\", *\"principal\": *\"$me\", *\"subject\": *\"laptop\", *\"detail\": *\"ok\""
has '"event": *"key_set"'
has '"event": *"key_rm"'
has '"event": *"add",.*"subject": *"tiny"'
has '"event": *"model_loaded", *"principal": *"daemon", *"subject": *"tiny", *"detail": *"ok"'
has '"event": *"model_unloaded"'
has '"event": *"add",.*"subject": *"tiny", *"detail": *"started"'
has '"event": *"add",.*"subject": *"tiny", *"detail": *"ok"'
has '"event": *"load",.*"subject": *"tiny", *"detail": *"ok"'
has '"event": *"unload",.*"subject": *"tiny", *"detail": *"ok"'
has '"event": *"add",.*"subject": *"broken", *"detail": *"started"'
has '"event": *"add",.*"subject": *"broken", *"detail": *".*broken.gguf'
has '"event": *"load",.*"subject": *"nothing", *"detail": *"model .nothing. does not exist'
holds "refused requests fill the log" [ "$(grep -c -e '"subject": *"nobody"' "$dir/log.jsonl")" -lt 40 ]
has '"event": *"records_dropped".*refused requests have no record'
has '"event": *"rm",.*"subject": *"nothing", *"detail": *"model .nothing. does not exist'
has '"event": *"daemon_stop"'
holds "the secret is in the audit log" sh -c '! grep -q -e "$1" "$2"' sh "$secret" "$dir/log.jsonl"
prints 'Z  daemon_stop *daemon  ' audit tail -n 1 --state-dir "$dir/state"
holds "audit tail -n 1 prints titles and a row" [ "$(wc -l <"$dir/out")" = 2 ]
prints '"hash": ' audit tail -n 1 --json --state-dir "$dir/state"

# the chain goes on after a restart, and a change is found
start
stop
prints 'none changed' audit verify --state-dir "$dir/state"
sed 's/laptop/desktop/' "$dir/state/audit.log" >"$dir/changed"
cat "$dir/changed" >"$dir/state/audit.log"
refused 1 'was changed' audit verify --state-dir "$dir/state"
call audit tail --state-dir "$dir/state"
holds "audit tail of a changed log fails" [ $got -eq 1 ]
holds "it says why" grep -q 'was changed' "$dir/err"
holds "it prints the records before the change" grep -q daemon_start "$dir/out"

# with a key, which the daemon makes, nobody else can make the log
rm -r "$dir/state"
mkdir "$dir/keys"
printf '[daemon]\naudit_key = %s\n' "$dir/keys/audit.key" >"$dir/key.conf"
start --config "$dir/key.conf"
does add tiny "$dir/tiny.gguf"
stop
holds "the mode of the key" [ "$(stat -c %a "$dir/keys/audit.key")" = 600 ]
holds "the daemon's log does not name the last record" grep -q 'audit log: ended with record 5; hash=' "$dir/log"
prints 'records, none changed or missing' audit verify --key "$dir/keys/audit.key" --state-dir "$dir/state"
prints '"without_key": *0' audit verify --json --key "$dir/keys/audit.key" --state-dir "$dir/state"
refused 1 'made with a key.*give --key' audit verify --state-dir "$dir/state"
ctl audit tail -n 1 --state-dir "$dir/state" >"$dir/out" 2>"$dir/err"
holds "tail without the key" grep -q daemon_stop "$dir/out"
holds "no warning" grep -q 'were not checked' "$dir/err"
printf '%064d\n' 7 >"$dir/other.key"
chmod 600 "$dir/other.key"
refused 1 'another one' audit verify --key "$dir/other.key" --state-dir "$dir/state"
not_started() { # TEXT CONFIG-VALUE
	printf '[daemon]\naudit_key = %s\n' "$2" >"$dir/bad.conf"
	"$build/llamad" --config "$dir/bad.conf" --socket "$url" --state-dir "$dir/state" 2>"$dir/err"
	holds "a daemon with audit_key = $2 starts" [ $? -eq 1 ]
	holds "the error is not '$1'" grep -q -e "$1" "$dir/err"
}
not_started 'lies in the state folder' "$dir/state/audit.key"
not_started 'audit_key is another one' "$dir/other.key"
not_started 'not an absolute path' audit.key
not_started 'does not exist' "$dir/no/audit.key"
"$build/llamad" --socket "$url" --state-dir "$dir/state" 2>"$dir/err"
holds "a daemon without the key starts" [ $? -eq 1 ]
holds "the error does not say what to do" grep -q 'set audit_key' "$dir/err"
start --config "$dir/key.conf"
stop
prints 'none changed' audit verify --key "$dir/keys/audit.key" --state-dir "$dir/state"
finish audit
