#!/bin/sh
# SPDX-License-Identifier: MIT
# The host's side of the GPU backend with many threads, on two emulated devices (also for ThreadSanitizer, make check-tsan):
# models that are loaded and computed with at the same time, memory that ends while a model is loaded, and a device
# that is lost while several models use it.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU
for n in 5 6 7; do
	"$build/tests/mktiny" full $n "$dir/model$n.gguf" || exit 99
done
printf '[engine]\nbackend = cuda\nactivations = f32\nisolation = off\ndraft_max = 0\n' >"$dir/conf"

# begin SETTINGS: a daemon with the three models
begin() {
	LLAMAD_FAKE_GPU=$1
	rm -rf "$dir/state"
	start --config "$dir/conf" --plugin-dir "$plugins"
	for model in 5 6 7; do does add m$model "$dir/model$model.gguf"; done
}
# text MODEL FILE: loads the model, each on devices of its own, and lets it go on with a text
text() {
	case $1 in
	5) on=cuda0 ;;
	6) on=cuda1 ;;
	*) on=cuda0,cuda1 ;;
	esac
	ctl load "m$1" --device $on >"$2" 2>"$2.err" || return
	ctl generate "m$1" -p "A B" -n 4 --temp 0 --ignore-eos >"$2" 2>"$2.err"
}

begin devices=2
for model in 5 6 7; do
	text $model "$dir/$model.txt"
	holds "$model alone: $(cat "$dir/$model.txt.err")" [ -s "$dir/$model.txt" ]
	does unload m$model
done
# all at once, while each of them is loaded
jobs=
for n in 1 2; do
	for model in 5 6 7; do
		text $model "$dir/$model.$n" &
		jobs="$jobs $!"
	done
done
for job in $jobs; do
	wait "$job"
	holds "a request beside others" [ $? -eq 0 ]
done
for n in 1 2; do
	for model in 5 6 7; do
		holds "$model beside others, $n: $(cat "$dir/$model.$n" "$dir/$model.$n.err")" \
			cmp -s "$dir/$model.txt" "$dir/$model.$n"
	done
done
# one is unloaded and loaded again while another one computes
text 5 "$dir/5.1" &
job=$!
does unload m6
does load m6 --device cuda1
wait "$job"
holds "a request beside a load: $(cat "$dir/5.1.err")" cmp -s "$dir/5.txt" "$dir/5.1"
stop

# Memory ends at the nth allocation of a load: the request fails and says so, and the next one works.
for n in 3; do
	begin devices=2,fail_alloc=$n
	text 5 "$dir/5.1" &
	job=$!
	text 6 "$dir/6.1"
	wait "$job"
	holds "allocation $n: one of two fails: $(cat "$dir/5.1.err" "$dir/6.1.err")" \
		grep -q "no [a-z]* *memory" "$dir/5.1.err" "$dir/6.1.err"
	for model in 5 6; do
		text $model "$dir/$model.1"
		holds "after allocation $n: $(cat "$dir/$model.1.err")" cmp -s "$dir/$model.txt" "$dir/$model.1"
	done
	stop
done

# The driver fails while all compute: a model that is idle holds its context until it is used again, so all are asked until
# all have come back.
begin devices=2,lose=600
for model in 5 6; do
	text $model "$dir/$model.1"
	ctl generate m$model -p "A B" -n 60 --temp 0 --ignore-eos >/dev/null 2>"$dir/$model.2.err" &
done
tries=0 back=
until [ "$back" = "5 6 " ] || [ $tries -gt 200 ]; do
	tries=$((tries + 1)) back=
	for model in 5 6; do
		text $model "$dir/$model.1" && cmp -s "$dir/$model.txt" "$dir/$model.1" && back="$back$model "
	done
	sleep 0.5 # asks again; nothing depends on its length
done
holds "after the loss: $back$(cat "$dir/5.1.err" "$dir/6.1.err")" [ "$back" = "5 6 " ]
holds "a device was lost: $(cat "$dir/log")" grep -q 'device lost; device=cuda[01]' "$dir/log"
stop
finish "threads of the GPU backend"
