# SPDX-License-Identifier: MIT
# For scripts that use packages as a new user does; $top is the checkout.

# start_hub FOLDER: a stand-in for Hugging Face, with the repository new/model of the model smollm2. Sets hub to
# its address and hub_pid.
start_hub() {
	hub_model=$("$top/scripts/fetch-model" smollm2) || return
	mkdir -p "$1/hub/hf/new/model"
	ln "$hub_model" "$1/hub/hf/new/model/SmolLM2-Q4_1.gguf" 2>/dev/null ||
		cp "$hub_model" "$1/hub/hf/new/model/SmolLM2-Q4_1.gguf"
	python3 "$top/tests/hub/hub.py" "$1/hub" "$1/port" >/dev/null 2>"$1/hub.log" &
	hub_pid=$!
	until [ -s "$1/port" ]; do
		kill -0 $hub_pid || { cat "$1/hub.log" >&2; return 1; }
		sleep 0.05
	done
	hub=http://127.0.0.1:$(cat "$1/port")
}
