/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: encoding of any bytes with generated vocabularies.
 *
 * The first byte selects the kind, the second the flags and the pre-tokenizer, and the third the
 * number of tokens described by the bytes that follow (each a length and that many bytes); the rest
 * is the text.  Encoding, decoding and streaming must agree and stay within their bounds. */
#include <string.h>

#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/text/detok.h"
#include "tests/fuzz/target.h"

#define MAX_TOKENS 200

static struct lmd_host *host;
static struct lmi_registry *registry;

static const char *const kinds[] = {"llama", "gpt2", "gemma4", "whitespace", "hybriddna",
				    "bert",  "t5",   "rwkv",   "plamo2"};
static const char *const pres[] = {"gpt-2",      "llama-bpe", "qwen35",    "deepseek-llm",
				   "gpt-4o",     "tekken",    "tiny_aya",  "chameleon",
				   "superbpe",   "afmoe",     "kimi-k2",   "youtu",
				   "exaone-moe", "jais-2",    "poro-chat", "default"};

static bool start(void)
{
	/* the caller's folder, or that of the build */
	const char *dir = getenv("LMD_FUZZ_PLUGINS");
	struct lmi_registry_opts opts = {.dirs = &dir, .n_dirs = 1, .no_default_dirs = true};

	if (!dir)
		dir = "plugins/.libs";
	if (lmi_host_create(&host, UINT64_MAX) != LMD_OK)
		return false;
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	opts.host = host;
	return lmi_registry_create(&registry, &opts, NULL) == LMD_OK &&
	       lmi_factory_best(registry, LMD_KIND_TOKENIZER) != NULL;
}

static void check_text(const struct lmi_tokenizer *t, const char *s, size_t n, uint32_t flags)
{
	struct lmi_tokens ids = {0};
	struct lmi_text text = {0};
	struct lmi_detok d;
	size_t got = 0;
	char *out;

	if (lmi_tokenizer_encode(t, s, n, flags, &ids, NULL) == LMD_OK) {
		REQUIRE(lmi_tokenizer_decode(t, ids.id, ids.n, LMD_DECODE_UNPARSE_SPECIAL, &text,
					     NULL) == LMD_OK);
		out = malloc(ids.n * (lmi_detok_room(t) - 3) + 8);
		lmi_detok_init(&d, t, LMD_DECODE_UNPARSE_SPECIAL | LMI_DETOK_BEGIN);
		for (size_t i = 0; i < ids.n; i++)
			got += lmi_detok_add(&d, ids.id[i], out + got);
		got += lmi_detok_flush(&d, out + got);
		REQUIRE(lmi_tokenizer_info(t)->clean_spaces ||
			(got == text.n && !memcmp(out, text.p, got)));
		free(out);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct lmd_str merges[] = {
		{"a b", 3}, {"ab c", 4}, {"\xc4\xa0 a", 4}, {"a a", 3}};
	struct lmd_str text[MAX_TOKENS + 256];
	uint8_t type[MAX_TOKENS + 256];
	float score[MAX_TOKENS + 256];
	char bytes[256][8];
	struct lmd_tokspec spec;
	struct lmi_tokenizer *t;
	uint32_t n = 0, want;

	REQUIRE(registry || start());
	if (size < 4)
		return 0;
	memset(&spec, 0xff, sizeof(spec)); /* ids and flags absent */
	spec.struct_size = sizeof(spec);
	spec.kind = kinds[data[0] % LMD_LEN(kinds)];
	spec.pre = strcmp(spec.kind, "whitespace") ? pres[data[1] >> 4] : "whitespace";
	spec.text = text;
	spec.score = score;
	spec.type = type;
	spec.n_merges = LMD_LEN(merges);
	spec.merge = merges;
	spec.charsmap = spec.json = (struct lmd_str){NULL, 0};
	spec.arch = NULL;
	spec.step = NULL;
	spec.added = NULL;
	spec.merge_left = NULL;
	spec.n_step = spec.n_prefix = spec.n_suffix = 0;
	spec.model = data[1] & 4 ? "phi-3" : NULL;
	spec.add_bos = spec.add_eos = spec.add_sep = 0;
	want = data[2] % MAX_TOKENS;
	if (data[1] & 8) {
		for (unsigned b = 0; b < 256; b++) {
			memcpy(bytes[b], "<0x00>", 7);
			bytes[b][3] = "0123456789ABCDEF"[b >> 4];
			bytes[b][4] = "0123456789ABCDEF"[b & 15];
			text[n] = (struct lmd_str){bytes[b], 6};
			score[n] = -50;
			type[n++] = LMD_TOKEN_BYTE;
		}
	}
	data += 3;
	size -= 3;
	for (uint32_t i = 0; i < want && size > 1; i++) {
		size_t len = data[0] % 16 + 1u;

		if (len > size - 1)
			len = size - 1;
		text[n] = (struct lmd_str){(const char *)data + 1, len};
		type[n] = data[0] >> 5;
		score[n++] = -(float)(data[0] & 15);
		data += len + 1;
		size -= len + 1;
	}
	spec.n_tokens = n;
	if (lmi_tokenizer_open(&t, registry, host, &spec, NULL) != LMD_OK)
		return 0;
	for (uint32_t flags = 0; flags < 4; flags++)
		check_text(t, (const char *)data, size, flags);
	lmi_tokenizer_close(t);
	return 0;
}

/* Two seeds for each kind, with and without byte tokens, cycling through the pre-tokenizers. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	static const char *const tokens[] = {
		"a", "b", "ab", "abc", "\342\226\201", " ", "\304\240", "\304\240a", "hello", "<s>",
		"[UNK]", "\n", "##b",
	};
	static const char text[] = "abc hello  ab\n\tH\xc3\xa9llo <s> 12345 don't "
				   "\xf0\x9f\x99\x82\xe4\xbd\xa0\xff";
	size_t n = 0;

	if (k >= 2 * LMD_LEN(kinds))
		return false;
	out->p = malloc(512);
	REQUIRE(out->p);
	out->p[n++] = (uint8_t)(k / 2);
	out->p[n++] = (uint8_t)((k % LMD_LEN(pres)) << 4 | (k & 1) << 3);
	out->p[n++] = LMD_LEN(tokens);
	for (size_t i = 0; i < LMD_LEN(tokens); i++) {
		size_t len = strlen(tokens[i]);
		unsigned type = tokens[i][0] == '<' || tokens[i][0] == '[' ? LMD_TOKEN_CONTROL
									   : LMD_TOKEN_NORMAL;

		out->p[n++] = (uint8_t)(type << 5 | (len - 1));
		memcpy(out->p + n, tokens[i], len);
		n += len;
	}
	memcpy(out->p + n, text, sizeof(text) - 1);
	out->n = n + sizeof(text) - 1;
	return true;
}
