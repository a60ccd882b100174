/* SPDX-License-Identifier: MIT
 *
 * constrain_impl.h - internals of a constraint, shared by constrain.c and jump_forward.c. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H

#include "core/engine/constrain.h"
#include "core/grammar/grammar.h"
#include "core/text/token_healing.h"
#include "core/text/tokenizer.h"

/* Tokens of forced text that are planned and not yet taken. */
struct lmi_engine_planned_tokens {
	lmd_token token[LMI_ENGINE_JUMP_MAX];
	uint32_t n, at;
};

struct lmi_engine_constraint {
	struct lmi_engine *e;
	const struct lmi_tokenizer *tok;
	struct lmi_engine_grammar_lease lease; /* entry NULL: no grammar */
	struct lmi_grammar_state *state;       /* NULL: no grammar */
	uint32_t n_vocab;
	enum lmi_engine_jump jump;
	struct lmi_token_healing heal;
	uint64_t *heal_mask; /* for position heal_at, while healing; NULL: nothing was healed */
	size_t heal_at;
	struct lmi_engine_planned_tokens ahead;
};

/* Plans the tokens of forced text into c->ahead, or none if no token is certain; see
 * jump_forward.c. */
enum lmd_status lmi_engine_jump_forward_plan(struct lmi_engine_constraint *c,
					     const struct lmi_grammar_vocab *v,
					     const lmd_token *before, uint32_t n_before);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H */
