/* SPDX-License-Identifier: MIT
 *
 * split.h - traversal of the pre-tokenizers of kind hf. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_SPLIT_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_SPLIT_H

#include "tokenizer/hf/hf_kind.h"

#define HF_ALONE 100 /* class of characters that are words of their own */

/* One traversal. Each level has its own memory, because the levels above it are still reading
 * theirs. */
struct hf_split {
	const struct hf_state *h;
	struct tok_encode_job *job;
	struct tok_regex_run run[HF_MAX_STEPS];
	struct tok_buf text[HF_MAX_STEPS], space[HF_MAX_STEPS];
};

/* Iterates over the matches of a step's pattern; initialise next to the start and the rest to
 * zero. */
struct hf_match {
	const char *from, *to;
	const char *next, *last;
};
bool hf_next_match(const struct hf_step *s, struct tok_regex_run *run, struct hf_match *at);

/* Passes a piece to a level; level n_split is the model. zero: the piece starts where the whole
 * text does. */
enum lmd_status hf_split_give(struct hf_split *c, uint32_t level, const char *s, const char *end,
			      bool zero);

enum lmd_status hf_split_pattern(struct hf_split *c, uint32_t level, const char *s, const char *end,
				 bool zero);
enum lmd_status hf_split_byte_level(struct hf_split *c, uint32_t level, const char *s,
				    const char *end, bool zero);
enum lmd_status hf_split_metaspace(struct hf_split *c, uint32_t level, const char *s,
				   const char *end, bool zero);
enum lmd_status hf_split_words(struct hf_split *c, uint32_t level, const char *s, const char *end,
			       bool zero);
enum lmd_status hf_split_bert(struct hf_split *c, uint32_t level, const char *s, const char *end,
			      bool zero);
enum lmd_status hf_split_class(struct hf_split *c, uint32_t level, const char *s, const char *end,
			       bool zero);
enum lmd_status hf_split_length(struct hf_split *c, uint32_t level, const char *s, const char *end,
				bool zero);
enum lmd_status hf_split_scripts(struct hf_split *c, uint32_t level, const char *s, const char *end,
				 bool zero);

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_SPLIT_H */
