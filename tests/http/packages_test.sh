#!/bin/sh
# SPDX-License-Identifier: MIT
# The HTTP APIs as their client packages see them: openai, anthropic and ollama for Python, where
# `scripts/deps clients` has installed them, with the small model of `scripts/fetch-model smollm2`.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

packages=${XDG_CACHE_HOME:-$HOME/.cache}/llamad/clients/bin/python3
model=$("$src/scripts/fetch-model" --folder)/SmolLM2-135M-Instruct.Q4_1.gguf
[ -x "$packages" ] || {
	echo "SKIP: packages_test: the client packages are not installed; scripts/deps clients does it"
	exit 77
}
[ -f "$model" ] || {
	echo "SKIP: packages_test: there is no $model; scripts/fetch-model smollm2 fetches it"
	exit 77
}

start_for_packages "$model"
PYTHONDONTWRITEBYTECODE=1 "$packages" "$src/tests/http/packages.py" "http://$http" smollm2 "$key" "$poor"
holds "the packages" [ $? -eq 0 ]
# the administrator's endpoints, over the unix socket
fetch 200 '' --unix-socket "$dir/http.sock" -d '{"source":"smollm2","destination":"other"}' \
	http://localhost/api/copy
fetch 200 '"id":"smollm2"' --unix-socket "$dir/http.sock" http://localhost/v1/models/other
fetch 200 '' --unix-socket "$dir/http.sock" -X DELETE -d '{"model":"other"}' \
	http://localhost/api/delete
fetch 404 not_found --unix-socket "$dir/http.sock" http://localhost/v1/models/other
fetch 403 . -X DELETE -H "x-api-key: $key" -d '{"model":"smollm2"}' "http://$http/api/delete"
fetch 200 '"done_reason":"unload"' --unix-socket "$dir/http.sock" \
	-d '{"model":"smollm2","keep_alive":0}' http://localhost/api/generate
holds "nothing is left of the responses" [ -z "$(find "$dir/state/http" -type f)" ]
stop
finish packages_test
