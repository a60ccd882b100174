#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands that need nothing but files: info, debug dequant, debug quant.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

# bytes TEXT: writes TEXT; \NNN is a byte
bytes() {
	printf '%b' "$(printf '%s' "$1" | sed 's/\\\([0-7]\)/\\0\1/g')"
}

# repeat N COMMAND...: runs it N times
repeat() {
	n=$1
	shift
	while [ "$n" -gt 0 ]; do
		"$@"
		n=$((n - 1))
	done
}

# A model: architecture llama, one key, one f32 tensor t of 2 x 3.
{
	bytes 'GGUF\003\0\0\0\001\0\0\0\0\0\0\0\002\0\0\0\0\0\0\0'
	bytes '\024\0\0\0\0\0\0\0general.architecture\010\0\0\0\005\0\0\0\0\0\0\0llama'
	bytes '\001\0\0\0\0\0\0\0k\011\0\0\0\004\0\0\0\002\0\0\0\0\0\0\0\007\0\0\0\010\0\0\0'
	bytes '\001\0\0\0\0\0\0\0t\002\0\0\0\002\0\0\0\0\0\0\0\003\0\0\0\0\0\0\0\0\0\0\0'
	bytes '\0\0\0\0\0\0\0\0'
	bytes '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
	bytes '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
} >"$dir/m.gguf"
prints '^architecture  llama$' info "$dir/m.gguf"
prints '^  k  *2 of: 7, 8$' info "$dir/m.gguf"
prints '^  t  *f32 *2 x 3$' info "$dir/m.gguf"
prints '^  f32 *1 tensors *6 elements *24 bytes$' info "$dir/m.gguf"
prints '^memory  *24 bytes (' info "$dir/m.gguf"
prints '"weights": 24' info --json "$dir/m.gguf"
if command -v python3 >/dev/null; then
	ctl info --json "$dir/m.gguf" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["arch"] == "llama" and j["format"] == "gguf v3", j
assert j["keys"] == {"general.architecture": "llama", "k": [7, 8]}, j["keys"]
assert j["tensors"][0]["dims"] == [2, 3] and j["tensors"][0]["bytes"] == 24, j["tensors"]
assert j["types"] == [{"type": "f32", "tensors": 1, "elements": 6, "bytes": 24}], j["types"]
'
	holds "info --json" [ $? -eq 0 ]
else
	echo "SKIP: info --json: no python3"
fi
refused 1 'm.gguf/x' info "$dir/m.gguf/x"
refused 1 'missing.gguf' info "$dir/missing.gguf"
refused 1 'regular file' info /dev/null
refused 2 'FILE' info
head -c 100 "$dir/m.gguf" >"$dir/cut.gguf"
refused 1 'cut.gguf' info "$dir/cut.gguf"

# 32 values 1.0 become q8_0 and come back.
repeat 32 bytes '\0\0\200\077' >"$dir/in.f32"
does debug quant --type q8_0 --width 32 "$dir/in.f32" "$dir/q.blk"
holds "debug quant: size of a block" [ "$(wc -c <"$dir/q.blk")" -eq 34 ]
does debug dequant --type Q8_0 "$dir/q.blk" "$dir/out.f32"
does debug quant --type f32 --width 32 "$dir/out.f32" "$dir/copy.f32"
holds "debug quant to f32 is a copy" cmp -s "$dir/out.f32" "$dir/copy.f32"
does debug quant --type q4_0 --width 32 --imatrix "$dir/in.f32" "$dir/in.f32" "$dir/q4.blk"
holds "debug quant: size of a q4_0 block" [ "$(wc -c <"$dir/q4.blk")" -eq 18 ]
# Types whose rows have a header: 256 values of iq4_ks are 4 + 136 bytes.
repeat 8 cat "$dir/in.f32" >"$dir/in256.f32"
does debug quant --type iq4_ks --width 256 "$dir/in256.f32" "$dir/ks.blk"
holds "debug quant: a header and a block" [ "$(wc -c <"$dir/ks.blk")" -eq 140 ]
does debug dequant --type iq4_ks --width 256 "$dir/ks.blk" "$dir/ks.f32"
holds "debug dequant: all values" [ "$(wc -c <"$dir/ks.f32")" -eq 1024 ]
refused 1 'give the number of values in a row' debug dequant --type iq4_ks "$dir/ks.blk" "$dir/x"
refused 1 '140 bytes: not a multiple of 276' debug dequant --type iq4_ks --width 512 "$dir/ks.blk" \
	"$dir/x"
refused 1 'blocks of 256' debug dequant --type iq4_ks --width 32 "$dir/ks.blk" "$dir/x"
refused 1 'no tensor type "q9_9"' debug dequant --type q9_9 "$dir/q.blk" "$dir/x"
refused 1 '34 bytes: not a multiple of 18' debug dequant --type q4_0 "$dir/q.blk" "$dir/x"
refused 1 '34 bytes' debug quant --type q8_0 --width 32 "$dir/q.blk" "$dir/x"
refused 1 'blocks of 64' debug quant --type q2_0 --width 32 "$dir/in.f32" "$dir/x"
refused 1 'there is no encoder' debug quant --type i32 --width 32 "$dir/in.f32" "$dir/x"
refused 1 'a row of 64 columns' debug quant --type q4_0 --width 64 --imatrix "$dir/in.f32" \
	"$dir/in.f32" "$dir/x"
refused 1 'missing.blk' debug dequant --type q4_0 "$dir/missing.blk" "$dir/x"
refused 1 'a device' debug dequant --type q8_0 "$dir/q.blk" /dev/null
prints '"values": 32' debug dequant --type q8_0 --json "$dir/q.blk" "$dir/x"
holds "debug dequant --json: its size" grep -q '"bytes": 128' "$dir/out"
prints '"type": "q8_0"' debug quant --type q8_0 --width 32 --json "$dir/in.f32" "$dir/x"
holds "debug quant --json: its size" grep -q '"bytes": 34$' "$dir/out"
rm "$dir/x"
refused 1 "quant: $dir/no: cannot write there: No such file or directory" debug quant --type q8_0 \
	--width 32 "$dir/in.f32" "$dir/no/x"
refused 1 "m.gguf: is not a folder" debug quant --type q8_0 --width 32 \
	"$dir/in.f32" "$dir/m.gguf/x"
refused 2 '--type' debug dequant "$dir/q.blk" "$dir/x"
refused 2 '--width' debug quant --type q8_0 "$dir/in.f32" "$dir/x"
holds "/dev/null is still there" [ -c /dev/null ]
holds "a failed run leaves no file" [ -z "$(ls "$dir" | grep -e '^x$' -e part)" ]

finish "file commands"
