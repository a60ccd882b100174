#!/bin/sh
# SPDX-License-Identifier: MIT
# sign and verify, and a program and a daemon that open signed models only.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
m=$dir/tiny.gguf

# change FILE AT: another byte there
change() {
	printf X | dd of="$1" bs=1 seek="$2" conv=notrunc 2>"$dir/dd" || exit 99
}

# -- keys --
prints 'private key' sign --new-key "$dir/own"
holds "the private key is private" [ "$(stat -c %a "$dir/own.key")" = 600 ]
refused 1 'exists already' sign --new-key "$dir/own"
prints '"public_key"' sign --new-key "$dir/foreign" --json
id=$(sed -n 's/.*"key": *"\([0-9a-f]*\)".*/\1/p' "$dir/out")
holds "an id has 16 digits" [ ${#id} = 16 ]
refused 2 'give a model and --key' sign "$m"
refused 2 'give a model and --key' sign --key "$dir/own.key"
refused 2 'neither a file nor' sign "$m" --new-key x
echo "no key" >"$dir/no.key"
chmod 600 "$dir/no.key"
refused 1 'no unencrypted private' sign "$m" --key "$dir/no.key"
refused 2 'power of two' sign "$m" --key "$dir/own.key" --chunk-size 100000
chmod 644 "$dir/foreign.key"
refused 1 'mode 0644' sign "$m" --key "$dir/foreign.key"
chmod 600 "$dir/foreign.key"

# -- one file --
refused 1 'is not signed' verify "$m" --key "$dir/own.pub"
prints 'tiny.gguf.sig: signed with the key' sign "$m" --key "$dir/own.key" --chunk-size 64K
prints '1 file, .* bytes, signed with the key' verify "$m" --key "$dir/own.pub"
prints '"state": *"valid"' verify "$m" --key "$dir/foreign.pub" --key "$dir/own.pub" --json
refused 2 'public key' verify "$m"
refused 1 'none of the 1 trusted keys' verify "$m" --key "$dir/foreign.pub"
call verify "$m" --key "$dir/foreign.pub" --json
holds "verify --json: exit status $got" [ $got -eq 1 ]
holds "verify --json: $(cat "$dir/out")" grep -q '"state": *"unknown-key"' "$dir/out"

# openssl and sha256sum agree
if command -v openssl >/dev/null; then
	sed '$d' "$m.sig" >"$dir/body"
	sed -n '$s/^signature //p' "$m.sig" | sed 's/../\\x&/g' >"$dir/hex"
	"$(command -v bash || echo printf)" -c 'printf "$(cat "$1")"' sh "$dir/hex" >"$dir/signature"
	holds "openssl accepts the signature" openssl pkeyutl -verify -pubin -inkey "$dir/own.pub" -rawin \
		-in "$dir/body" -sigfile "$dir/signature" >"$dir/openssl" 2>&1
else
	skip "no openssl"
fi
sum=$(head -c 65536 "$m" | sha256sum | cut -d ' ' -f 1)
holds "sha256sum agrees" [ "$(sed -n '5s/^sha256 //p' "$m.sig")" = "$sum" ]

# -- what this program opens --
refused 2 'needs --trusted-key' info "$m" --signatures require
prints . info "$m" --signatures require --trusted-key "$dir/own.pub"
prints . run "$m" -p Hello -n 2 --temp 0 --signatures require --trusted-key "$dir/own.pub"
cp "$m" "$dir/plain.gguf"
refused 1 'plain.gguf.sig: the model is not signed' info "$dir/plain.gguf" --signatures require \
	--trusted-key "$dir/own.pub"
refused 1 'is not signed' run "$dir/plain.gguf" -p Hello -n 2 --signatures require \
	--trusted-key "$dir/own.pub"
refused 1 'is not signed' quantize "$dir/plain.gguf" "$dir/q.gguf" q8_0 --signatures require \
	--trusted-key "$dir/own.pub"
call info "$dir/plain.gguf" --signatures warn --trusted-key "$dir/own.pub"
holds "a warning, and status 0: $got $(cat "$dir/err")" [ "$got $(grep -c 'not signed' "$dir/err")" = "0 1" ]
LLAMAD_SIGNATURES=require LLAMAD_TRUSTED_KEYS=$dir/own.pub
export LLAMAD_SIGNATURES LLAMAD_TRUSTED_KEYS
prints . info "$m"
refused 1 'is not signed' info "$dir/plain.gguf"
prints . info "$dir/plain.gguf" --signatures off
LLAMAD_SIGNATURES=on
refused 2 'must be off, warn or require' info "$m"
unset LLAMAD_SIGNATURES LLAMAD_TRUSTED_KEYS
cp "$m" "$dir/changed.gguf"
cp "$m.sig" "$dir/changed.gguf.sig"
change "$dir/changed.gguf" 70000
refused 1 'chunk 2 of .* has SHA-256 .* was signed with the key' verify "$dir/changed.gguf" --key "$dir/own.pub"
refused 1 'chunk 2 of' run "$dir/changed.gguf" -p Hello -n 2 --signatures require --trusted-key "$dir/own.pub"

# -- the daemon --
mkdir "$dir/keys"
cp "$dir/own.pub" "$dir/keys"
printf '[models]\nsignatures = require\ntrusted_keys = %s\n' "$dir/keys" >"$dir/conf"
start --config "$dir/conf"
does add good "$m"
prints . generate good -p Hello -n 2 --temp 0 --ignore-eos
refused 1 'is not signed' add plain "$dir/plain.gguf"
refused 1 'chunk 2 of' add changed "$dir/changed.gguf"
# a signature that goes away counts at the next load, not before
does unload good
mv "$m.sig" "$dir/kept.sig"
refused 1 'is not signed' load good
mv "$dir/kept.sig" "$m.sig"
does load good
# the settings can be changed while it runs
printf '[models]\nsignatures = warn\ntrusted_keys = %s\n' "$dir/keys" >"$dir/conf"
kill -HUP "$daemon"
tries=0
until grep -q 'configuration reloaded' "$dir/log" || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # looks again; nothing depends on its length
done
does add plain "$dir/plain.gguf"
holds "the log has the warning" grep -q 'warn: daemon: signatures: .*plain.gguf.sig' "$dir/log"
stop
printf '[models]\nsignatures = require\n' >"$dir/conf"
"$build/llamad" --socket "$url" --state-dir "$dir/state" --config "$dir/conf" 2>"$dir/log"
holds "no keys: exit status" [ $? -ne 0 ]
holds "no keys: $(cat "$dir/log")" grep -q 'trusted_keys' "$dir/log"
finish sign
