#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl imatrix: its sums compared with an independent pass, adding up, both formats, errors.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

"$build/tests/mktiny" full 5 "$dir/m.gguf" || exit 99
i=0
while [ $i -lt 40 ]; do
	echo "line $i of a text that is long enough for some windows"
	i=$((i + 1))
done >"$dir/text"

prints '^[0-9]* tensors, 3 windows of 16 tokens$' imatrix "$dir/m.gguf" --text "$dir/text" \
	--ctx 16 --chunks 3 -o "$dir/a.gguf"
does imatrix "$dir/m.gguf" --text "$dir/text" --ctx 16 --chunks 2 --from-chunk 3 -o "$dir/b.gguf"
does imatrix "$dir/m.gguf" --text "$dir/text" --ctx 16 --chunks 5 -o "$dir/ab.gguf"
prints 'tensors, 5 windows of 16' imatrix --in-file "$dir/a.gguf" --in-file "$dir/b.gguf" \
	-o "$dir/sum.gguf"
does imatrix "$dir/m.gguf" --text "$dir/text" --ctx 16 --chunks 2 --from-chunk 3 \
	--in-file "$dir/a.gguf" -o "$dir/on.gguf"
does imatrix --in-file "$dir/a.gguf" --format dat -o "$dir/a.dat"
prints '^tensor .* cosine$' imatrix --in-file "$dir/a.dat" --show-statistics
prints '^blk.0.attn_q.weight .* -$' imatrix --in-file "$dir/a.gguf" --show-statistics
prints '"entropy_share"' imatrix --in-file "$dir/a.gguf" --show-statistics --json
does quantize --imatrix "$dir/a.gguf" "$dir/m.gguf" "$dir/q.gguf" Q4_0
prints 'quantize.imatrix.chunks_count  *3$' info "$dir/q.gguf"
does quantize --imatrix "$dir/a.dat" "$dir/m.gguf" "$dir/q2.gguf" Q4_0

if command -v python3 >/dev/null; then
	python3 -B "$src/tests/interop/imatrix_test.py" "$build/llamactl" >"$dir/out" 2>&1
	holds "sums of an independent pass: $(cat "$dir/out")" [ $? -eq 0 ]
	python3 -B - "$src/tests/interop" "$dir" <<'END'
import sys, struct
sys.path.insert(0, sys.argv[1])
from gguf_file import File
ab, *others = (File.read(f"{sys.argv[2]}/{n}.gguf", data=True) for n in ("ab", "sum", "on"))
for other in others:
    assert other.tensors.keys() == ab.tensors.keys()
    for name, (dims, kind, data) in ab.tensors.items():
        x, y = (struct.unpack(f"<{len(d) // 4}f", d) for d in (data, other.tensors[name][2]))
        top = max(map(abs, x))
        assert all(abs(a - b) <= 1e-5 * top for a, b in zip(x, y)), name
END
	holds "two parts of a text add up to the whole" [ $? -eq 0 ]
else
	echo "SKIP: sums of a pass of its own: no python3"
fi

refused 2 'must be given together' imatrix "$dir/m.gguf" -o "$dir/x"
refused 2 'must be given together' imatrix --text "$dir/text" -o "$dir/x"
refused 2 'give MODEL' imatrix -o "$dir/x"
refused 2 'give --output' imatrix --in-file "$dir/a.gguf"
refused 1 'no window remains after --from-chunk 9999' imatrix "$dir/m.gguf" --text "$dir/text" --ctx 16 \
	--from-chunk 9999 -o "$dir/x"
refused 1 'missing' imatrix "$dir/m.gguf" --text "$dir/missing" -o "$dir/x"
refused 1 'not an importance matrix' imatrix --in-file "$dir/m.gguf" -o "$dir/x"
refused 1 'neither GGUF nor an importance matrix' imatrix --in-file "$dir/text" -o "$dir/x"
head -c 200 "$dir/a.dat" >"$dir/cut.dat"
refused 1 'cut.dat' imatrix --in-file "$dir/cut.dat" -o "$dir/x"
refused 1 'nowhere' imatrix --in-file "$dir/a.dat" -o "$dir/nowhere/x"
holds "a failed run leaves no file" [ -z "$(ls "$dir" | grep -e '^x$' -e part)" ]

finish "imatrix"
