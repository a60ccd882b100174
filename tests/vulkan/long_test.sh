#!/bin/sh
# SPDX-License-Identifier: MIT
# All conformance cases, and a real model alone on lavapipe and with half of its layers on the cpu.
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
cases " "
with_layers
model=${XDG_CACHE_HOME:-$HOME/.cache}/llamad/models/SmolLM2-135M-Instruct.Q4_1.gguf
if [ -f "$model" ]; then
	on_device "$model"
	same "$model" "The capital of France is" 8 --device vulkan0
	same "$model" "The capital of France is" 8 --device vulkan0 -ngl 15
	silent "a real model"
else
	skip "$model is missing (scripts/fetch-model)"
fi
finish "vulkan, long"
