/* SPDX-License-Identifier: MIT
 *
 * generate.h - one generation: from a row of logits to a token, to text, to the decision
 * whether to go on. */
#ifndef LLAMAD_CORE_ENGINE_GENERATE_H
#define LLAMAD_CORE_ENGINE_GENERATE_H

#include "core/engine/session.h"
#include "core/text/tokenizer.h"

struct lmi_constraint;
struct lmi_engine;
struct lmi_gen;

/* What generations of one engine share: its vocabulary as samplers see it. */
struct lmi_gen_vocab {
	const struct lmi_tokenizer *tok;
	struct lmd_sample_vocab view;
};
/* `v` stays where it is: samplers keep pointers into it. */
enum lmd_status lmi_gen_vocab_init(struct lmi_gen_vocab *v, const struct lmi_tokenizer *tok,
				   struct lmd_error *err);

/* A session that generates, with its chain, which has seen the prompt.  The thread that
 * submits. */
enum lmd_status lmi_session_generate(struct lmi_session **out, const struct lmi_inst *inst,
				     const struct lmi_gen_vocab *vocab,
				     const struct lmi_generate *cmd, struct lmd_error *err);
/* NULL allowed. */
void lmi_gen_destroy(struct lmi_gen *g);

/* What it must be, its own from now on, or NULL; what it had is the caller's again. */
void lmi_gen_constrain(struct lmi_gen *g, struct lmi_constraint *own_c);

/* Bytes of text that one token can set free, at most. */
size_t lmi_gen_text_max(const struct lmi_tokenizer *tok);

/* The engine's thread, no allocation.  Its first step begins now. */
void lmi_gen_begin(struct lmi_gen *g, uint64_t now_ns);

/* What a row of logits led to. */
struct lmi_gen_step {
	lmd_token token;
	const char *text; /* set free by it; lives until the next call */
	size_t n_text;
	enum lmi_finish finish; /* NONE: go on */
};
/* Chooses a token and takes it to the sequence's tokens.  room: one more row can be
 * computed. */
enum lmd_status lmi_gen_next(struct lmi_gen *g, struct lmi_seq *q, const float *logits,
			     uint32_t n_logits, bool room, uint64_t now_ns,
			     struct lmi_gen_step *out);
/* Takes the next token when it comes without a choice; out->token -1: it does not.  After a step
 * that did not finish. */
enum lmd_status lmi_gen_forced(struct lmi_gen *g, struct lmi_seq *q, uint32_t n_logits, bool room,
			       uint64_t now_ns, struct lmi_gen_step *out);
/* Counts and times, for the final event. */
void lmi_gen_report(const struct lmi_gen *g, struct lmi_event *ev);

#endif /* LLAMAD_CORE_ENGINE_GENERATE_H */
