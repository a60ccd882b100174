#!/bin/sh
# SPDX-License-Identifier: MIT
# Two models on one device of lavapipe, which is used by a thread for each of them.  Both generate at the same time,
# and one is loaded again meanwhile: the answers are those that each of them gives alone, and the validation layers,
# which check that no object is used by two threads at once, have nothing to say.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
# the reader of the layers' log ends when this one has closed the pipe
trap 'stop_listening; [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; wait; rm -rf "$dir"' EXIT
"$build/tests/mktiny" full 5 "$dir/one.gguf" && "$build/tests/mktiny" full 6 "$dir/two.gguf" || exit 99
GALLIVM_PERF=nopt
export GALLIVM_PERF

# answer MODEL: 24 tokens
answer() {
	ctl generate "$1" --raw -p "hello there" -n 24 --temp 0 --ignore-eos 2>&1
}
# same_as_alone MODEL FILE
same_as_alone() {
	holds "$1 beside another model: $(cat "$2") instead of $(cat "$dir/$1.alone")" cmp -s "$dir/$1.alone" "$2"
}

with_layers
start
for model in one two; do
	does add $model "$dir/$model.gguf"
	does load $model --device vulkan0 --isolation off
	answer $model >"$dir/$model.alone"
done
prints "two .* vulkan " ps
for round in 1 2 3; do
	answer one >"$dir/one.$round" &
	asked=$!
	answer two >"$dir/two.$round"
	wait $asked
	same_as_alone one "$dir/one.$round"
	same_as_alone two "$dir/two.$round"
done
# a model is loaded beside the steps of another one
(
	for round in 1 2 3 4; do
		answer one
	done >"$dir/one.loads"
) &
asked=$!
does unload two
does load two --device vulkan0 --isolation off
answer two >"$dir/two.loads"
wait $asked
for round in 1 2 3 4; do
	cat "$dir/one.alone"
done >"$dir/one.four"
holds "one while two is loaded: $(cat "$dir/one.loads")" cmp -s "$dir/one.four" "$dir/one.loads"
same_as_alone two "$dir/two.loads"
stop
silent "two models"
stop_listening
finish "vulkan, two models"
