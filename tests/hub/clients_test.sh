#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that others wrote use the stand-ins for servers of models: huggingface_hub, skopeo and the program
# of Ollama. What they push is pulled by llamactl, and the other way round.
if ! command -v python3 >/dev/null; then
	echo "SKIP: clients of hubs: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
python3 "$src/tests/hub/clients_test.py" "$build" "$src" "$dir" "$dir/tiny.gguf"
holds "clients of hubs" [ $? -eq 0 ]
finish "clients of hubs"
