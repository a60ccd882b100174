/* SPDX-License-Identifier: MIT
 *
 * constrain_impl.h - the inside of a constraint, shared by constrain.c and jump.c. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H

#include "core/engine/constrain.h"
#include "core/grammar/grammar.h"
#include "core/text/heal.h"
#include "core/text/tokenizer.h"

/* Tokens of forced text that were planned and not taken yet. */
struct lmi_ahead {
	lmd_token token[LMI_JUMP_MAX];
	uint32_t n, at;
};

struct lmi_constraint {
	struct lmi_engine *e;
	const struct lmi_tokenizer *tok;
	struct lmi_lent lent;     /* entry NULL: no grammar */
	struct lmi_gstate *state; /* likewise */
	uint32_t n_vocab;
	enum lmi_jump jump;
	struct lmi_heal heal;
	uint64_t *heal_mask; /* while it heals, at heal_at; NULL: it never did */
	size_t heal_at;
	struct lmi_ahead ahead;
};

/* Plans the tokens of forced text into c->ahead, none when there is nothing to be sure of;
 * jump.c. */
enum lmd_status lmi_jump_plan(struct lmi_constraint *c, const struct lmi_gvocab *v,
			      const lmd_token *before, uint32_t n_before);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H */
