/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a tokenizer.json (or a tokenizer.model) and a text.
 *
 * The input is the file up to the last byte 0xff, then the text; without such a byte all of it is
 * the file.  A tokenizer that opens must encode and decode within its bounds; otherwise there must
 * be an error message. */
#include <string.h>

#include "core/format/hf/hf.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/text/tokenizer.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

static struct lmd_host *host;
static struct lmi_registry *registry;

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
	const struct lmd_tok_info *f = lmi_tokenizer_info(t);
	struct lmi_tokens ids = {0};
	struct lmi_text text = {0};
	struct lmd_error err = {0};
	enum lmd_status st = lmi_tokenizer_encode(t, s, n, flags, &ids, &err);

	REQUIRE(st == LMD_OK || *err.text);
	for (size_t i = 0; st == LMD_OK && i < ids.n; i++) {
		REQUIRE(ids.id[i] >= 0 && (uint32_t)ids.id[i] < f->n_tokens);
		REQUIRE(lmi_tokenizer_piece(t, ids.id[i], LMD_DECODE_UNPARSE_SPECIAL, NULL, 0) <=
			f->max_piece_bytes);
	}
	if (st == LMD_OK)
		st = lmi_tokenizer_decode(t, ids.id, ids.n, flags, &text, &err);
	REQUIRE(st == LMD_OK || *err.text);
	lmi_tokens_fini(&ids);
	lmi_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memrchr(data, 0xff, size) : NULL;
	size_t n = cut ? (size_t)(cut - data) : size;
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *t;
	struct lmd_error err = {0};
	enum lmd_status st;

	REQUIRE(registry || start());
	st = lmi_hf_tokenizer_parse(&hf, (const char *)data, n, &err);
	REQUIRE(st == LMD_OK || *err.text);
	if (st != LMD_OK)
		return 0;
	st = lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(hf), &err);
	REQUIRE(st == LMD_OK || *err.text);
	if (st == LMD_OK) {
		for (uint32_t flags = 0; flags < 4; flags++)
			check_text(t, cut ? (const char *)cut + 1 : "", cut ? size - n - 1 : 0,
				   flags);
		lmi_tokenizer_close(t);
	}
	lmi_hf_tokenizer_close(hf);
	return 0;
}

#define ADDED                                                                                      \
	"\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true,\"rstrip\":true},"       \
	"{\"id\":10,\"content\":\"ab\",\"single_word\":true,\"lstrip\":true,\"normalized\":true}],"
#define TEXT "\xff" "H\xc3\xa9llo <s> ab  12 3\xe4\xbd\xa0\xe5\xa5\xbd can't\n"

static const char *const seeds[] = {
	"{" ADDED "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},"
	"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"},"
	"{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true},{\"type\":\"Nmt\"}]},"
	"\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
	"{\"Regex\":\"\\\\p{N}{1,3}|(?i:'s)| ?\\\\p{L}+\"},\"behavior\":\"Isolated\"},"
	"{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":true}]},"
	"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"
	"\"<s>\"}},{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[3]}}},"
	"\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,"
	"\"ab\":2,\"<s>\":3,\"\\u0120\":4,\"\\u0120a\":5},\"merges\":[\"a b\",[\"\\u0120\",\"a\"]]}}" TEXT,
	"{" ADDED "\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},\"pre_tokenizer\":"
	"{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\",\"split\":true},\"decoder\":"
	"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
	"\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":"
	"\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":{\"type\":\"Unigram\","
	"\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"<unk>\",0],[\"\\u2581\",-1.5],[\"a\",-2],"
	"[\"l\",-3.25],[\"lo\",-2.5],[\"<0xC3>\",0],[\"<0xA9>\",0]]}}" TEXT,
	"{" ADDED "\"normalizer\":{\"type\":\"BertNormalizer\",\"strip_accents\":null},"
	"\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":{\"type\":"
	"\"BertProcessing\",\"sep\":[\"b\",1],\"cls\":[\"a\",0]},\"decoder\":{\"type\":\"WordPiece\","
	"\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"a\","
	"\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0,"
	"\"b\":1,\"##l\":2,\"he\":3,\"##o\":4}}}" TEXT,
	"{" ADDED "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
	"\"UnicodeScripts\"},{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":"
	"\"Punctuation\",\"behavior\":\"MergedWithNext\"},{\"type\":\"FixedLength\",\"length\":2},"
	"{\"type\":\"CharDelimiterSplit\",\"delimiter\":\" \"}]},\"decoder\":{\"type\":\"CTC\","
	"\"pad_token\":\"a\",\"word_delimiter_token\":\"|\",\"cleanup\":true},\"model\":{\"type\":"
	"\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"He\":1,\"12\":2}}}" TEXT,
	"{\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"decoder\":{\"type\":\"BPEDecoder\","
	"\"suffix\":\"</w>\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"fuse_unk\":true,"
	"\"end_of_word_suffix\":\"</w>\",\"continuing_subword_prefix\":\"##\",\"vocab\":{\"?\":0,"
	"\"H\":1,\"##l\":2,\"##lo</w>\":3,\"##o</w>\":4},\"merges\":[\"##l ##o</w>\"]}}" TEXT,
	"\n\x0e\n\x05<unk>\x15"
	"AAAA\x18\x02\n\x0a\n\x01"
	"a\x15\x01\x01\x80\xbf\x18\x01\x12\x02\x18\x02" TEXT,
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(seeds))
		return false;
	out->n = strlen(seeds[k]);
	out->p = malloc(out->n + 1);
	REQUIRE(out->p);
	memcpy(out->p, seeds[k], out->n);
	return true;
}
