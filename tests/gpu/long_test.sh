#!/bin/sh
# SPDX-License-Identifier: MIT
# All conformance cases, with the matrix instructions of each vendor, and tiny models of many architectures on an
# emulated device, some also in exact arithmetic; then which kernels have run, and which never.  Products of many rows are sums of two
# 16-bit floats, so a few models differ more than the parity pack allows: LMD_TEST_NMSE bounds those.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU
architectures=llama-tied,deci-per-layer,internlm2,baichuan-7b,smollm3,minicpm,granite,ernie4_5,refact,\
chatglm,phi3,qwen,qwen2-tied,qwen3-tied,apertus,openelm,glm4-image,gemma,gemma2,gemma3,\
gemma3n,gemma4,olmo2,exaone4,falcon-7b,gptneox-parallel,phi2,stablelm,command-r,plamo,\
gpt2,starcoder2,bloom,mpt,jais,nemotron,olmo,llama4,grok,dbrx,olmoe,qwen2moe,qwen3moe,\
phimoe,arctic,deepseek,bailingmoe,hunyuan-moe,gpt-oss,deepseek2,minicpm3,deepseek32,\
deepseek4,minimax-m3-dense,mamba,mamba2,rwkv6,rwkv7,arwkv7,jamba,falcon-h1,lfm2,qwen3next,kimi-linear,\
bert-mean,nomic-bert,t5
for device in warp=32 warp=64 warp=32,mma=2; do
	LLAMAD_FAKE_GPU=devices=4,$device,count=$dir/count
	does plugins test "$plugins/backend-cuda.so"
	grep -v -e '^pass' -e '^[0-9]* passed' "$dir/out" >"$dir/other"
	holds "$device: $(head -n 3 "$dir/other")" [ ! -s "$dir/other" ]
	echo "conformance, $device: $(grep '^[0-9]* passed' "$dir/out")"
done
# Prompts of more rows than a block takes: its warps do not share outputs then, as they do in the cases.  Activations
# that are close to a half are rounded to either side, so block types differ more.
many_rows() {
	LLAMAD_FAKE_GPU=$1,count=$dir/count
	for type in $2; do
		case $type in *f16) nmse=1e-6 ;; *) nmse=1e-3 ;; esac
		[ -f "$dir/$type.gguf" ] || python3 "$src/bench/make_model" "$dir/$type.gguf" --type $type --layers 1 \
			--width 256 --ffn 256 --heads 4 --kv-heads 1 --vocab 300 >"$dir/out" 2>&1 || exit 99
		call debug diff "$dir/$type.gguf" --tokens "$(seq -s , 70)" --backend cuda --against ref --nmse $nmse \
			--plugin-dir "$plugins"
		holds "$1, $type: values of 70 rows: $(cat "$dir/err")" test $got -eq 0
	done
}
if command -v python3 >/dev/null; then
	for device in warp=32 warp=64 warp=32,mma=2; do
		many_rows $device "q4_0 q8_0 q4_k q5_k q6_k iq4_nl iq4_xs mxfp4 f16 bf16"
	done
	# a single row: heads of 128 and 256 columns that share no keys, and rows of F16 that are no whole vectors
	LLAMAD_FAKE_GPU=count=$dir/count
	for shape in "256 --heads 2 --kv-heads 2" "256 --heads 1 --kv-heads 1" "100 --heads 1 --kv-heads 1"; do
		# shellcheck disable=SC2086 # options
		python3 "$src/bench/make_model" "$dir/row.gguf" --type f16 --layers 1 --vocab 300 --ffn 100 \
			--width $shape >"$dir/out" 2>&1 || exit 99
		call debug diff "$dir/row.gguf" --tokens 5 --backend cuda --against ref --nmse 1e-6 \
			--plugin-dir "$plugins"
		holds "width $shape: values of a row: $(cat "$dir/err")" test $got -eq 0
	done
	LLAMAD_GPU=wgmma=1
	export LLAMAD_GPU
	many_rows warp=32 "f16 bf16"
	unset LLAMAD_GPU
fi
if [ -x "$build/tests/parity/arch_test" ] && [ -n "${LLAMAD_PARITY_DIR:-}" ]; then
	LLAMAD_FAKE_GPU=count=$dir/count
	LMD_TEST_CASES=$architectures LMD_TEST_NMSE=1e-7 LMD_TEST_BACKEND=cuda LMD_TEST_PLUGIN_DIR=$plugins LMD_TEST_LONG='' \
		CK_RUN_CASE=architectures CK_FORK=no \
		"$build/tests/parity/arch_test" >"$dir/out" 2>&1 && ok || bad "architectures: $(tail -n 5 "$dir/out")"
	grep '^CASES' "$dir/out"
	models=$(sed -n 's/^CASES: architectures: \([0-9]*\) passed.*/\1/p' "$dir/out")
	holds "$models runs of architectures, at least 40" test "${models:-0}" -ge 40
else
	skip "tests/parity/arch_test is not built, or there is no parity pack"
fi
# norms, biases, activations, positions and windows that the model of exact_test.sh does not have
if [ -n "${LLAMAD_PARITY_DIR:-}" ] && command -v python3 >/dev/null; then
	LLAMAD_FAKE_GPU=
	for name in llama-bias phi3-long qwen3 gemma3 gpt2 bloom-8heads mpt-clamp falcon-40b gptneox-serial stablelm-qknorm \
		cohere2 glm4-mrope starcoder2 bitnet; do
		python3 "$LLAMAD_PARITY_DIR/arch/make_models.py" "$dir" $name >"$dir/out" 2>&1 || exit 99
		does quantize --pure "$dir/$name.gguf" "$dir/exact.gguf" Q8_0
		for backend in cpu cuda; do
			does debug logits "$dir/exact.gguf" --tokens "$(seq -s , 40)" --all --backend $backend \
				--plugin-dir "$plugins" --deterministic exact --out "$dir/$backend.bin"
		done
		holds "$name: exact logits differ" cmp -s "$dir/cpu.bin" "$dir/cuda.bin"
		rm -f "$dir/cpu.bin" "$dir/cuda.bin" "$dir/exact.gguf"
	done
else
	skip "exact arithmetic: there is no parity pack, or no python3"
fi
awk '{ n[$2] += $1 } END { for (k in n) print n[k], k }' "$dir/count" | sort -k 2 >"$dir/kernels"
echo "kernels: $(grep -vc '^0 ' "$dir/kernels") executed, $(grep -c '^0 ' "$dir/kernels") never executed:" \
	$(sed -n 's/^0 //p' "$dir/kernels")
for unit in tile mfma wmma wgmma flash_64 flash_256; do
	holds "kernels gpu_$unit that ran" grep -q "^[1-9][0-9]* gpu_$unit" "$dir/kernels"
	holds "kernels gpu_$unit that never ran" [ "$(grep -c "^0 gpu_$unit" "$dir/kernels")" = 0 ]
done
finish "GPU, long"
