#!/bin/sh
# SPDX-License-Identifier: MIT
# perplexity: its results compared with an independent computation, its files, its errors.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
model=$dir/m.gguf
"$build/tests/mktiny" full 5 "$model" && "$build/tests/mktiny" full 6 "$dir/other.gguf" || exit 99

if command -v python3 >/dev/null; then
	python3 "$src/client/llamactl/perplexity_test.py" "$build/llamactl" "$model" \
		"$dir/other.gguf" "$dir"
	holds "figures" [ $? -eq 0 ]
else
	echo "SKIP: figures of perplexity: no python3"
fi

i=0
while [ $i -lt 20 ]; do
	printf 'the quick brown fox jumps over the lazy dog '
	i=$((i + 1))
done >"$dir/text"
does perplexity "$model" --text "$dir/text" --ctx 32 --save-logits "$dir/base"
prints '^mean KL divergence ' perplexity "$dir/other.gguf" --kl-base "$dir/base"
refused 2 'exclude each other' perplexity "$model" --text "$dir/text" --plain --stride 4
refused 2 'give only one of' perplexity "$model" --text "$dir/text" --kl-base "$dir/base"
refused 2 'require --text' perplexity "$model" --kl-base "$dir/base" --plain
refused 2 'windows of 32' perplexity "$model" --kl-base "$dir/base" --ctx 64
refused 1 'must be below' perplexity "$model" --text "$dir/text" --ctx 32 --stride 32
refused 1 'not a file written by --save-logits' perplexity "$model" --kl-base "$dir/text"
head -c 1000 "$dir/base" >"$dir/cut"
refused 1 '1000 bytes, ' perplexity "$model" --kl-base "$dir/cut"
{
	head -c 8 "$dir/base"
	printf '\002\0\0\0\0\0\0\0\001\0\0\0'
} >"$dir/cut"
refused 1 'out of range' perplexity "$model" --kl-base "$dir/cut"
printf 'a\n4\nb\nc\nd\ne\n' >"$dir/tasks"
refused 1 'task 1: the second line' perplexity "$model" --hellaswag "$dir/tasks"
printf 'a\n1\nb\nc\n' >"$dir/tasks"
refused 1 'fewer than four' perplexity "$model" --hellaswag "$dir/tasks"
printf '\n\n' >"$dir/tasks"
refused 1 'contains no task' perplexity "$model" --hellaswag "$dir/tasks"
printf '1,no gap,a,b,1\n' >"$dir/tasks"
refused 1 'no gap' perplexity "$model" --winogrande "$dir/tasks"
printf 'title\n1,"open,a,b,1\n' >"$dir/tasks"
refused 1 'task 1: the line is not' perplexity "$model" --winogrande "$dir/tasks"
printf '\377\377\377\377' >"$dir/tasks"
refused 1 'not a file of tasks' perplexity "$model" --multiple-choice "$dir/tasks"

finish "perplexity"
