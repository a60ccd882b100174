/* SPDX-License-Identifier: MIT
 *
 * generate_impl.h - a generation, shared by generate_create.c and generate.c. */
#ifndef LLAMAD_CORE_ENGINE_GENERATE_IMPL_H
#define LLAMAD_CORE_ENGINE_GENERATE_IMPL_H

#include "core/engine/constrain_impl.h"
#include "core/engine/generate.h"
#include "core/engine/logprobs.h"
#include "core/engine/sample.h"
#include "core/text/detok.h"
#include "core/text/stop_sequences.h"

struct lmi_engine_gen {
	struct lmi_sampler_chain *chain;
	struct lmi_engine_constraint *constraint; /* NULL: none */
	const struct lmi_tokenizer *tok;
	struct lmi_detok detok;
	struct lmi_stop_matcher *stop; /* NULL: no stop texts */
	lmd_token *shown;              /* control tokens whose text is output */
	char *raw;                     /* [lmi_detok_max_bytes] bytes of one token */
	char *text;                    /* [lmi_engine_gen_text_max] */
	int64_t n_predict;             /* < 0: no limit */
	lmd_token *stop_tokens;        /* [n_stop_tokens] */
	uint32_t n_stop_tokens;
	uint32_t n_min;
	/* [n_words], with n_min: the tokens that do not end it, and those of them that the
	 * constraint allows */
	uint64_t *goes_on, *allowed;
	uint32_t n_words;
	uint32_t flags;
	uint32_t n_prompt, n_out, n_forced;
	uint32_t n_resumed;         /* tokens of an earlier run */
	bool shifts;                /* a full context does not end it */
	uint32_t n_keep, n_discard; /* of a shift; n_discard 0: half of the tokens after n_keep */
	uint32_t n_shift;
	size_t n_skip;       /* bytes still to come that are not part of the answer */
	uint32_t n_logprobs; /* of each token; 0: none */
	/* [1 + LMI_ENGINE_DRAFT_MAX] of the chosen tokens; NULL without n_logprobs */
	struct lmi_engine_logprobs *logprobs;
	struct lmi_engine_speculation *speculation; /* NULL: none */
	/* chosen tokens that have not been taken: how many of them sampler and constraint know, and
	 * the index of the next one */
	uint32_t n_ahead, next_chosen;
	float *scratch; /* [lmi_engine_logprobs_scratch()]; NULL without n_logprobs */
	enum lmi_engine_finish finish;
	bool begun;
	uint64_t begin_ns, first_ns, last_ns;
};

#endif /* LLAMAD_CORE_ENGINE_GENERATE_IMPL_H */
