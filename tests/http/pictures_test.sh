#!/bin/sh
# SPDX-License-Identifier: MIT
# Pictures in messages over all APIs: the same answer from each, another one for another picture, the tokens
# that they count, and what is refused. The model and its vision tower are random.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}
for library in PNG JPEG; do
	grep -q "^${library}_LIBS = ." "$build/Makefile" || {
		echo "SKIP: pictures_test: llamad was built without a library for $library"
		exit 77
	}
done

# two PNG files and a JPEG of 12 x 8 pixels
one=iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAIAAABChommAAAAG0lEQVR42mPUcGPgZGDHj1gYeNkZGAig4a0IAKn8A+MvoG14AAAAAElFTkSuQmCC
two=iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAIAAABChommAAAAG0lEQVR42mOsuMTAycCOH7Ew8LIzMBBAw1sRAKcDBL94oOw8AAAAAElFTkSuQmCC
photo=/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAIAAwDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCrHb+1Ti346UUVjEzpzdj/2Q==

mkdir "$dir/sees" "$dir/blind" "$dir/other" "$dir/short" || exit 99
"$build/tests/mktiny" full 5 "$dir/sees/model.gguf" || exit 99
"$build/tests/mktiny" tower:mlp 0 "$dir/sees/mmproj-model.gguf" || exit 99
cp "$dir/sees/model.gguf" "$dir/blind/model.gguf"
cp "$dir/sees/model.gguf" "$dir/other/model.gguf"
cp "$dir/sees/model.gguf" "$dir/short/model.gguf"
cp "$dir/sees/mmproj-model.gguf" "$dir/short/mmproj.gguf"
"$build/tests/mktiny" tower:mlp 0 "$dir/tower.gguf" || exit 99
cat >"$dir/conf" <<EOF2
[model sees]
template = chatml
temp = 0
[model blind]
template = chatml
[model other]
template = chatml
temp = 0
mmproj = $dir/tower.gguf
[model short]
template = chatml
temp = 0
EOF2
start_http
for m in sees blind other short; do
	ctl add $m "$dir/$m/model.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
done
u=http://$http

# what is said of a model that is not in memory: the tower that would be loaded with it
for m in sees other short; do
	fetch 200 '"capabilities":\["completion","vision"' -d "{\"model\":\"$m\"}" "$u/api/show"
	fetch 200 '"vision":true' "$u/props?model=$m"
done
fetch 200 '"vision":false' "$u/props?model=blind"

question='{"type":"text","text":"what is it?"}'
part() { # BASE64: a part of the chat completions API
	printf '{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}' "$1"
}
chat() { # MODEL PARTS
	printf '{"model":"%s","max_tokens":12,"ignore_eos":true,"messages":[{"role":"user","content":[%s]}]}' \
		"$1" "$2"
}
# ask FILE MODEL PARTS: stores the text of the answer, and prints the number of tokens of the prompt
ask() {
	chat "$2" "$3" >"$dir/body.json"
	fetch 200 '"content":"' -d "@$dir/body.json" "$u/v1/chat/completions"
	sed 's/.*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/' "$dir/body" >"$dir/$1"
	n_prompt=$(sed 's/.*"prompt_tokens":\([0-9]*\).*/\1/' "$dir/body")
}

ask plain sees "$question"
n_plain=$n_prompt
ask one sees "$(part "$one"),$question"
# 4 x 4 patches are 16 rows; a line feed between the parts of a message would be one more
holds "a picture is 16 tokens: $n_plain and $n_prompt" [ $((n_prompt - n_plain)) -eq 16 ]
ask two sees "$(part "$two"),$question"
ask again sees "$(part "$one"),$question"
holds "the prompt was in memory" grep -q "\"cached_tokens\":$((n_prompt - 1))" "$dir/body"
ask named other "$(part "$one"),$question"
ask mmproj short "$(part "$one"),$question"
ask both sees "$(part "$one"),$(part "$two"),$question"
holds "two pictures are 32 tokens" [ $((n_prompt - n_plain)) -eq 32 ]
ask after sees "$question,$(part "$one")"
ask photo sees "$(part "$photo"),$question"
holds "the same answer again" cmp -s "$dir/one" "$dir/again"
holds "the same answer with a tower that the configuration names" cmp -s "$dir/one" "$dir/named"
holds "the same answer with a tower in mmproj.gguf" cmp -s "$dir/one" "$dir/mmproj"
for f in plain two both after photo; do
	holds "$f: another answer" sh -c '! cmp -s "$1" "$2"' - "$dir/one" "$dir/$f"
done

# the other APIs
fetch 200 '"content":"' -d "{\"model\":\"sees\",\"stream\":false,\"options\":{\"num_predict\":12,\"ignore_eos\":true},
	\"messages\":[{\"role\":\"user\",\"content\":\"what is it?\",\"images\":[\"$one\"]}]}" "$u/api/chat"
sed 's/.*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/' "$dir/body" >"$dir/ollama"
holds "ollama: the same answer" cmp -s "$dir/one" "$dir/ollama"
fetch 200 '"response":"' -d "{\"model\":\"sees\",\"stream\":false,\"options\":{\"num_predict\":12,\"ignore_eos\":true},
	\"prompt\":\"what is it?\",\"images\":[\"$one\"]}" "$u/api/generate"
sed 's/.*"response":"\(\([^"\\]\|\\.\)*\)".*/\1/' "$dir/body" >"$dir/generate"
holds "ollama, generate: the same answer" cmp -s "$dir/one" "$dir/generate"
fetch 200 '"text":"' -H 'anthropic-version: 2023-06-01' -d "{\"model\":\"sees\",\"max_tokens\":12,
	\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",
	\"media_type\":\"image/png\",\"data\":\"$one\"}},$question]}]}" "$u/v1/messages"
sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/' "$dir/body" >"$dir/anthropic"
# it may end by itself
holds "anthropic: the same answer" sh -c 'case $(cat "$1") in "$(cat "$2")"*) ;; *) false ;; esac' - \
	"$dir/one" "$dir/anthropic"

fetch 200 '"text":"' -d "{\"model\":\"sees\",\"max_output_tokens\":12,\"input\":[{\"role\":\"user\",\"content\":[
	{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,$one\"},
	{\"type\":\"input_text\",\"text\":\"what is it?\"}]}]}" "$u/v1/responses"
sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/' "$dir/body" >"$dir/responses"
holds "responses: the same answer" sh -c 'case $(cat "$1") in "$(cat "$2")"*) ;; *) false ;; esac' - \
	"$dir/one" "$dir/responses"

# what is only counted: the same number of tokens
ask one sees "$(part "$one"),$question"
said='{"type":"input_text","text":"what is it?"}'
fetch 200 "\"input_tokens\":$n_prompt" -d "{\"model\":\"sees\",\"input\":[{\"role\":\"user\",\"content\":[
	{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,$one\"},$said]}]}" "$u/v1/responses/input_tokens"
fetch 200 "\"input_tokens\":$n_prompt" -H 'anthropic-version: 2023-06-01' -d "{\"model\":\"sees\",
	\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",
	\"media_type\":\"image/png\",\"data\":\"$one\"}},$question]}]}" "$u/v1/messages/count_tokens"
chat sees "$question,$(part "$one")" >"$dir/body.json"
fetch 200 '"prompt":".*what is it?<picture>' -d "@$dir/body.json" "$u/apply-template"
chat blind "$(part "$one"),$question" >"$dir/body.json"
fetch 400 '1 pictures, but .* cannot read pictures' -d "@$dir/body.json" "$u/apply-template"
chat sees "$(part iVBORw0KGgoAAAAN),$question" >"$dir/body.json"
fetch 400 'picture 1: the PNG file is damaged' -d "@$dir/body.json" "$u/apply-template"

# what is said of models in memory
fetch 200 '"capabilities":\["completion","vision"' -d '{"model":"sees"}' "$u/api/show"
fetch 200 '"vision":true' "$u/props?model=sees"

# what is refused
refuse() { # CODE PATTERN MODEL PARTS
	chat "$3" "$4" >"$dir/body.json"
	fetch "$1" "$2" -d "@$dir/body.json" "$u/v1/chat/completions"
}
refuse 400 'messages: 1 pictures, but .* cannot read pictures: it has no vision tower' blind "$(part "$one"),$question"
fetch 200 '"vision":false' "$u/props?model=blind"
refuse 400 'messages\[0\], picture 1: .*neither a PNG or JPEG file nor base64' sees "$(part '!!!'),$question"
refuse 400 'picture 1: 2 bytes are no picture in a known format' sees "$(part aGk=),$question"
refuse 400 'picture 1: the PNG file is damaged' sees "$(part iVBORw0KGgoAAAAN),$question"
refuse 400 'picture 1: an address is not fetched' sees \
	"{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://example.org/a.png\"}},$question"
many=$question
for i in 1 2 3 4 5 6 7 8; do many="$many,$(part "$one"),$(part "$two")"; done
refuse 400 'pictures take 272 tokens, which exceeds the available context size of 256' sees "$many,$(part "$one")"
fetch 200 '"content":"' -d '{"model":"sees","max_tokens":2,"messages":[{"role":"user","content":"still here"}]}' \
	"$u/v1/chat/completions"
stop
finish pictures_test
