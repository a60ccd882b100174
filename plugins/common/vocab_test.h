/* SPDX-License-Identifier: MIT
 *
 * vocab_test.h - small artificial vocabularies for tests. */
#ifndef LLAMAD_PLUGINS_COMMON_VOCAB_TEST_H
#define LLAMAD_PLUGINS_COMMON_VOCAB_TEST_H

#include <string.h>

#include "llamad/model.h"

#define SPEC_MAX 4096

/* A spec with its arrays; texts are borrowed. */
struct test_spec {
	struct lmd_tokspec spec;
	struct lmd_str text[SPEC_MAX], merge[SPEC_MAX];
	float score[SPEC_MAX];
	uint8_t type[SPEC_MAX];
};

static inline void spec_init(struct test_spec *t, const char *kind, const char *pre)
{
	memset(t, 0, sizeof(*t));
	t->spec = (struct lmd_tokspec){
		.struct_size = sizeof(t->spec), .kind = kind, .pre = pre,
		.text = t->text, .score = t->score, .type = t->type, .merge = t->merge,
		.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .sep = -1, .pad = -1,
		.cls = -1, .mask = -1, .fim_pre = -1, .fim_suf = -1, .fim_mid = -1, .fim_pad = -1,
		.fim_rep = -1, .fim_sep = -1, .add_bos = -1, .add_eos = -1, .add_sep = -1,
		.add_space_prefix = -1, .remove_extra_whitespaces = -1, .escape_whitespaces = -1,
		.treat_whitespace_as_suffix = -1, .ignore_merges = -1, .clean_spaces = -1,
		.lowercase = -1, .strip_accents = -1,
	};
}

static inline uint32_t spec_addn(struct test_spec *t, const char *s, size_t n, int type,
				 float score)
{
	uint32_t i = t->spec.n_tokens++;

	t->text[i] = (struct lmd_str){s, n};
	t->type[i] = (uint8_t)type;
	t->score[i] = score;
	return i;
}

static inline uint32_t spec_add(struct test_spec *t, const char *s, int type, float score)
{
	return spec_addn(t, s, strlen(s), type, score);
}

static inline void spec_merge(struct test_spec *t, const char *s)
{
	t->merge[t->spec.n_merges++] = (struct lmd_str){s, strlen(s)};
}

/* Adds <0x00> .. <0xFF> from the next id on. */
static inline void spec_add_bytes(struct test_spec *t)
{
	static char text[256][8];

	for (unsigned b = 0; b < 256; b++) {
		static const char hex[] = "0123456789ABCDEF";

		memcpy(text[b], "<0x00>", 7);
		text[b][3] = hex[b >> 4];
		text[b][4] = hex[b & 15];
		spec_add(t, text[b], LMD_TOKEN_BYTE, -100.0f);
	}
}

#endif /* LLAMAD_PLUGINS_COMMON_VOCAB_TEST_H */
