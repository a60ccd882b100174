#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl quantize from the outside: options, reports, errors, no files left over.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

"$build/tests/mktiny" full 5 "$dir/in.gguf" || exit 99

prints '^Q8_0: [0-9]* tensors, .* bits a weight) to ' quantize "$dir/in.gguf" "$dir/q8.gguf" Q8_0
prints ' q8_0 ' info "$dir/q8.gguf"
prints 'general.file_type  *7$' info "$dir/q8.gguf"
prints 'general.quantization_version  *2$' info "$dir/q8.gguf"
does quantize -t 2 "$dir/in.gguf" "$dir/q8b.gguf" q8_0
holds "the same bytes with two threads" cmp -s "$dir/q8.gguf" "$dir/q8b.gguf"
does quantize "$dir/in.gguf" "$dir/copy.gguf" COPY
prints '^tensor  *shape  *from  *to  *bytes  *bytes$' quantize --dry-run "$dir/in.gguf" "$dir/x" 15
prints 'nothing was written$' quantize --dry-run "$dir/in.gguf" "$dir/x" Q4_K
prints '^this would fail: .*allow-requantize' quantize --dry-run "$dir/q8.gguf" "$dir/x" Q4_0
holds "a dry run writes nothing" [ ! -e "$dir/x" ]
does quantize "$dir/in.gguf" "$dir/k.gguf" Q8_0 --override-kv general.name=str:new \
	--override-kv x.y=int:-3 --override-kv x.z=bool:true --override-kv x.f=float:0.5 \
	--tensor-type 'attn_[qk]\.weight=f16' --output-tensor-type bf16 --token-embedding-type f32
prints '^name  *new$' info "$dir/k.gguf"
prints '^  x.y  *-3$' info "$dir/k.gguf"
prints '^  x.z  *true$' info "$dir/k.gguf"
prints 'blk.0.attn_q.weight  *f16' info "$dir/k.gguf"
prints 'blk.0.attn_v.weight  *q8_0' info "$dir/k.gguf"
prints 'token_embd.weight  *f32' info "$dir/k.gguf"
does quantize "$dir/in.gguf" "$dir/p.gguf" F16 --prune-layers 0
holds "one layer fewer" [ "$(ctl info "$dir/p.gguf" | grep -c attn_norm)" -lt \
	"$(ctl info "$dir/in.gguf" | grep -c attn_norm)" ]

# the architecture says for which size of model attn_v gets more bits, unless each head has its own
big="$dir/in.gguf $dir/x Q3_K_S --dry-run --override-kv llama.block_count=int:80"
prints 'blk.0.attn_v.weight .* q4_0 ' quantize "$dir/in.gguf" "$dir/x" Q3_K_S --dry-run
# shellcheck disable=SC2086
prints 'blk.0.attn_v.weight .* q5_1 ' quantize $big
# shellcheck disable=SC2086
prints 'blk.0.attn_v.weight .* q4_0 ' quantize $big \
	--override-kv llama.attention.head_count_kv=int:4
# shellcheck disable=SC2086
prints 'blk.0.attn_v.weight .* q4_0 ' quantize $big --no-default-plugins

"$build/tests/mkfolder" "$dir/folder"
does quantize "$dir/folder" "$dir/folder.gguf" F16
prints 'attn_q.weight  *f16' info "$dir/folder.gguf"

does quantize --json "$dir/in.gguf" "$dir/j.gguf" Q5_K_M
if command -v python3 >/dev/null; then
	python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
assert j["type"] == "Q5_K_M" and not j["dry_run"] and len(j["files"]) == 1, j
assert sum(t["bytes"] for t in j["tensors"]) == j["bytes"], j
assert abs(j["bpw"] - 8 * j["bytes"] / j["elements"]) < 1e-9, j
assert {"name", "dims", "from", "to", "fallback", "lacks_imatrix"} <= j["tensors"][0].keys(), j
' "$dir/out"
	holds "quantize --json" [ $? -eq 0 ]
else
	echo "SKIP: quantize --json: no python3"
fi

# A run that could not write is resumed.  quantize: a limit on file sizes, half of what is needed,
# stands for a full disk.  convert loads plugins, whose checked copies have no place in that limit
# either: the first write that fails is moved on until some tensors are finished.
# resumes WHOLE COMMAND IN OUT...: OUT becomes equal to WHOLE.
preload=$build/tests/fault/.libs/preload.so
on_full_disk() {
	if [ "$1" = quantize ]; then
		(
			ulimit -f $(($(wc -c <"$whole") / 1024)) # blocks of 512
			trap '' XFSZ
			"$build/llamactl" "$@" >"$dir/out" 2>"$dir/err"
		)
		return
	fi
	n=20
	until LD_PRELOAD=$preload LMD_FAULT_LOG=$dir/faults LMD_FAULT=write:$n+ "$build/llamactl" "$@" >"$dir/out" 2>"$dir/err" ||
		grep -q 'tensors are kept' "$dir/err"; do
		rm -f "$3.partial" "$3.partial.journal"
		n=$((n + 6)) # each tensor is two writes, and its journal one
	done
}
resumes() {
	whole=$1
	shift
	on_full_disk "$@"
	holds "$1: finished tensors are kept" grep -q 'tensors are kept in .*the same command resumes' \
		"$dir/err"
	holds "$1: ... with a journal" [ -s "$3.partial.journal" ]
	call "$@"
	holds "$1: resumes" [ "$got" -eq 0 ]
	holds "$1: says so" grep -q 'resuming after [1-9][0-9]* of ' "$dir/err"
	holds "$1: leaves no other files" [ ! -e "$3.partial" -a ! -e "$3.partial.journal" ]
	holds "$1: the same file" cmp -s "$whole" "$3"
}
does quantize "$dir/in.gguf" "$dir/whole.gguf" F32
resumes "$dir/whole.gguf" quantize "$dir/in.gguf" "$dir/r.gguf" F32
echo old >"$dir/r.gguf.partial"
call quantize "$dir/in.gguf" "$dir/r.gguf" F32
holds "a partial file that does not fit is named" grep -q 'r.gguf.partial: .*; starting from the beginning$' "$dir/err"
holds "... and replaced" cmp -s "$dir/r.gguf" "$dir/whole.gguf"
echo old >"$dir/r.gguf.partial"
does quantize --no-resume "$dir/in.gguf" "$dir/r.gguf" F32
does convert --outtype f32 "$dir/folder" "$dir/whole.gguf"
if [ -n "${LMD_TEST_SAN:-}" ] || [ ! -f "$preload" ]; then
	skip "convert: resuming after a full disk (tests/fault/preload.so is missing, or does not fit)"
else
	resumes "$dir/whole.gguf" convert "$dir/folder" "$dir/c.gguf" --outtype f32
fi

refused 1 'allow-requantize' quantize "$dir/q8.gguf" "$dir/x" Q4_0
does quantize --allow-requantize "$dir/q8.gguf" "$dir/again.gguf" Q4_0
refused 1 'a file of the source model' quantize "$dir/in.gguf" "$dir/in.gguf" F16
refused 1 'missing.gguf' quantize "$dir/missing.gguf" "$dir/x" Q8_0
refused 1 'not a regular file' quantize "$dir/in.gguf" /dev/null Q8_0
refused 1 'nowhere' quantize "$dir/in.gguf" "$dir/nowhere/x" Q8_0
refused 1 'pattern "("' quantize --tensor-type '(=q8_0' "$dir/in.gguf" "$dir/x" Q8_0
refused 1 'no tensor type "q9"' quantize --tensor-type 'a=q9' "$dir/in.gguf" "$dir/x" Q8_0
refused 1 'weights cannot have type q8_k' quantize --output-tensor-type q8_k "$dir/in.gguf" \
	"$dir/x" Q8_0
refused 1 'layer 99' quantize --prune-layers 99 "$dir/in.gguf" "$dir/x" Q8_0
refused 1 'neither GGUF nor an importance matrix' quantize --imatrix "$0" "$dir/in.gguf" "$dir/x" Q8_0
refused 2 'no file type "Q9"' quantize "$dir/in.gguf" "$dir/x" Q9
refused 2 'REGEX=TYPE' quantize --tensor-type q8_0 "$dir/in.gguf" "$dir/x" Q8_0
refused 2 'KEY=TYPE:VALUE' quantize --override-kv a "$dir/in.gguf" "$dir/x" Q8_0
refused 2 'not one of int:N' quantize --override-kv a=b "$dir/in.gguf" "$dir/x" Q8_0
refused 2 'given twice' quantize --override-kv a=int:1 --override-kv a=int:2 "$dir/in.gguf" \
	"$dir/x" Q8_0
refused 2 'prune-layers' quantize --prune-layers 1,x "$dir/in.gguf" "$dir/x" Q8_0
refused 2 'TYPE' quantize "$dir/in.gguf" "$dir/x"
holds "a failed run leaves no file" [ -z "$(ls "$dir" | grep -e '^x$' -e part)" ]

finish "quantize"
