#!/bin/sh
# SPDX-License-Identifier: MIT
# explain and debug plan on small models.
parity=$LLAMAD_PARITY_DIR/arch

if [ ! -f "$parity/make_models.py" ] || ! command -v python3 >/dev/null; then
	echo "SKIP: explain, debug plan: no parity pack (LLAMAD_PARITY_DIR) or no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

ctl() {
	"$build/llamactl" --no-default-plugins --plugin-dir "$build/plugins/.libs" "$@"
}

python3 "$parity/make_models.py" "$dir" llama-tied t5 glm4moe-mtp deepseek3-mtp qwen35-mtp >"$dir/log" ||
	{ cat "$dir/log"; exit 1; }
m=$dir/llama-tied.gguf

# misfit PATTERN ARGUMENT...: the pattern on stdout, and status 1
misfit() {
	pattern=$1
	shift
	call "$@"
	holds "llamactl $*: exit status $got, not 1" [ $got -eq 1 ]
	holds "llamactl $*: stdout lacks '$pattern'" grep -q -e "$pattern" "$dir/out"
}

prints '^[0-9]* tensors used$' explain "$m"
prints '^  token_embd.weight  *f32 ' explain --all "$m"
prints '"fit": "used"' explain --json "$m"
ctl explain --json "$m" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["arch"] == "llama" and j["count"]["missing"] == 0 and j["count"]["unknown"] == 0
assert len(j["tensors"]) == sum(j["count"].values()) and j["layers"] > 0
assert all(t["found"] for t in j["tensors"])
' >"$dir/out" 2>"$dir/err"
holds 'explain --json' [ $? -eq 0 ]

# a renamed tensor is missing under its old name and unknown under its new one
LC_ALL=C sed 's/blk\.1\.ffn_up/blk.1.ffn_UP/' "$m" >"$dir/renamed.gguf"
misfit '^1 tensor missing:$' explain "$dir/renamed.gguf"
misfit '^1 tensor unknown to the architecture:$' explain "$dir/renamed.gguf"
holds 'the sentence of a missing tensor' grep -q \
	'renamed.gguf: tensor blk.1.ffn_up.weight is missing, expected \[[0-9]*, [0-9]*\]$' "$dir/err"
misfit '"fit": "missing", "expected": \[[0-9]*, [0-9]*\]' explain --json "$dir/renamed.gguf"
refused 1 'renamed.gguf: .*blk.1.ffn_up.weight' debug plan "$dir/renamed.gguf"
LC_ALL=C sed 's/llama\.block_count/llama.block_COUNT/' "$m" >"$dir/key.gguf"
refused 1 'key.gguf: .*llama.block_count' explain "$dir/key.gguf"

prints '^plan forward logits$' debug plan "$m"
prints '^plan forward embed pooling=1$' debug plan --pooling mean "$m"
prints ' lora_site=' debug plan --lora "$m"
prints '^output logits ' debug plan "$m"
prints '^scratch [0-9]* bytes for 16 rows$' debug plan --memory --rows 16 "$m"
prints '^plan encode$' debug plan --kind encode "$dir/t5.gguf"
prints '^plan encode$' debug plan --every "$dir/t5.gguf"
for name in glm4moe deepseek3 qwen35; do # their draft layers
	prints 'nextn.eh_proj.weight' debug plan --kind draft "$dir/$name-mtp.gguf"
done
refused 1 'plan kind 2' debug plan --kind draft "$m"
refused 1 'plan kind 3' debug plan --kind tail "$m"
refused 2 "option '--kind'" debug plan --kind nonsense "$m"
refused 1 'no-such-file' debug plan "$dir/no-such-file"
prints '^glu\|^ew' debug plan --lower "$m"
holds 'debug plan --lower' [ "$(grep -c '^ffn\|^head' "$dir/out")" -eq 0 ]
ctl debug plan --json "$m" | python3 -c '
import json, sys
plans = json.load(sys.stdin)
assert len(plans) == 1 and plans[0]["scratch_bytes"] > 0 and plans[0]["rows"] == 512, plans
lines = plans[0]["lines"]
assert lines[0] == {"item": "plan", "words": ["forward", "logits"], "set": {}}, lines[0]
assert any(i["item"] == "weight" and "token_embd.weight" in i["words"] for i in lines)
assert any("freq" in i["set"] for i in lines if i["item"] == "rope")
' >"$dir/out" 2>"$dir/err"
holds "debug plan --json: $(cat "$dir/err")" [ $? -eq 0 ]
holds 'debug plan --every --json' \
	[ "$(ctl debug plan --every --json "$dir/t5.gguf" | grep -c '"scratch_bytes"')" -ge 2 ]
refused 1 'plan kind 3' debug plan --kind tail --json "$m"
ctl debug plan "$m" >"$dir/once"
does debug plan "$m"
holds 'the same plan twice' cmp -s "$dir/once" "$dir/out"

finish "explain, debug plan"
