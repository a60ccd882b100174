#!/bin/sh
# SPDX-License-Identifier: MIT
# Slots of llama.cpp's server: saved, erased and restored as sessions.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99

# slot CODE PATTERN NUMBER ACTION BODY
slot() {
	fetch "$1" "$2" --unix-socket "$dir/http.sock" -d "$5" "http://localhost/slots/$3?action=$4"
}
# ask PATTERN SLOT PROMPT
ask() {
	fetch 200 "$1" --unix-socket "$dir/http.sock" -d \
		"{\"model\":\"tiny\",\"prompt\":\"$3\",\"n_predict\":4,\"temperature\":0,\"ignore_eos\":true,\"id_slot\":$2}" \
		http://localhost/completion
}

printf '[limits]\nsession_bytes = 64M\n' >"$dir/conf"
start_http
does add tiny "$dir/full.gguf"
ask '"cache_n":0,' 3 'the cat sat on'
prints 'slot-3 ' sessions list
slot 200 '^{"id_slot":3,"filename":"cat.bin","n_saved":17,"n_written":[1-9][0-9]*,"timings":{"save_ms":' 3 save \
	'{"filename":"cat.bin"}'
slot 200 '^{"id_slot":3,"n_erased":17}' 3 erase ''
slot 200 '^{"id_slot":3,"n_erased":0}' 3 erase ''
prints 'cat.bin ' sessions list
stop
start_http
# nothing is in memory: what is not computed comes from the file
slot 200 '^{"id_slot":5,"filename":"cat.bin","n_restored":17,"n_read":[1-9][0-9]*,"timings":{"restore_ms":' 5 \
	restore '{"filename":"cat.bin"}'
ask '"cache_n":1[0-9],' 5 'the cat sat on'
# errors
slot 404 'there is none of that name' 5 restore '{"filename":"dog.bin"}'
slot 400 'filename' 5 save '{}'
slot 400 'allowed are letters' 5 save '{"filename":"../x"}'
slot 400 'action' 5 move '{}'
slot 400 'id_slot' x save '{"filename":"a"}'
slot 400 'id_slot' 65536 save '{"filename":"a"}'
stop

# sessions are off: the number of a slot has no effect
printf '' >"$dir/conf"
start_http
ask '"cache_n":0,' 3 'the cat sat on'
slot 400 'sessions are off' 3 save '{"filename":"cat.bin"}'
stop
finish slots_test
