#!/bin/sh
# SPDX-License-Identifier: MIT
# The first key: it is written into the state folder before the daemon has run, which then listens on
# the network at its first start.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
unset LLAMAD_KEY

refused 1 'state: No such file or directory; .*sudo install -d' key add first --state-dir "$dir/state"
mkdir -m 700 "$dir/state"
does key add first --state-dir "$dir/state"
first=$(cat "$dir/out")
prints '"role": "admin"' key add boss --state-dir "$dir/state" --role admin --expires 1h --json
# a secret of the operator's own choosing, which is not shown
printf 'sk-chosen\n' >"$dir/chosen"
refused 1 'chosen: other users can read this key' key add own --state-dir "$dir/state" --secret-file "$dir/chosen"
chmod 600 "$dir/chosen"
: >"$dir/secret" && chmod 600 "$dir/secret"
does key add own --state-dir "$dir/state" --secret-file "$dir/chosen"
holds "it is not printed: $(cat "$dir/out")" [ ! -s "$dir/out" ]
secret_of() {
	printf "%0$1d\n" 0 >"$dir/secret"
}
secret_of 7
refused 1 'the secret has 7 characters, allowed are 8 to 256' key add more --state-dir "$dir/state" --secret-file "$dir/secret"
secret_of 257
refused 1 'the secret has 257 characters' key add more --state-dir "$dir/state" --secret-file "$dir/secret"
printf 'two words\n' >"$dir/secret"
refused 1 'character 4 of the secret is not a printable' key add more --state-dir "$dir/state" --secret-file "$dir/secret"
for n in 8 256; do
	secret_of $n
	does key add "length-$n" --state-dir "$dir/state" --secret-file "$dir/secret"
done
refused 1 'first' key add first --state-dir "$dir/state"
start --listen tcp://127.0.0.1:0
at=$(sed -n 's/.*listening on \(tcp:.*\)/\1/p' "$dir/log")
LLAMAD_KEY=$first "$build/llamactl" --socket "$at" list >"$dir/out" 2>"$dir/err" || bad "list: $(cat "$dir/err")"
"$build/llamactl" --socket "$at" list >"$dir/out" 2>"$dir/err" && bad "a client without a key"
for file in chosen secret; do
	"$build/llamactl" --socket "$at" --key-file "$dir/$file" list >"$dir/out" 2>"$dir/err" ||
		bad "a chosen key: $(cat "$dir/err")"
done
# the address from the environment, for all commands that may have one, and --socket before it
LLAMAD_SOCKET=$at LLAMAD_KEY=$first "$build/llamactl" list >"$dir/out" 2>"$dir/err" || bad "LLAMAD_SOCKET: $(cat "$dir/err")"
LLAMAD_SOCKET=tcp://127.0.0.1:1 "$build/llamactl" list >"$dir/out" 2>"$dir/err" && bad "LLAMAD_SOCKET is not used"
holds "its address is named: $(cat "$dir/err")" grep -q 'tcp://127.0.0.1:1: no server is listening' "$dir/err"
LLAMAD_SOCKET=tcp://127.0.0.1:1 "$build/llamactl" doctor >"$dir/out" 2>&1
holds "doctor asks there: $(cat "$dir/out")" grep -q '^FAIL *daemon *tcp://127.0.0.1:1: ' "$dir/out"
LLAMAD_SOCKET=tcp://127.0.0.1:1
export LLAMAD_SOCKET
prints '^first  *user ' key list
unset LLAMAD_SOCKET
prints '^first  *user .* never ' key list
prints '^boss  *admin .* good' key list
refused 1 'a daemon uses .*leave --state-dir out' key add third --state-dir "$dir/state"
stop

# root leaves files that belong to the owner of the folder
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$dir/other" && chown 65534:65534 "$dir/other" && chmod 711 "$dir"
	does key add first --state-dir "$dir/other"
	holds "owner of the registry" [ "$(stat -c %u "$dir/other/registry.db")" = 65534 ]
fi
finish "first key"
