/* SPDX-License-Identifier: MIT
 *
 * generation_fixture.h - for tests of generations: a tiny model in a file, engines for it, and the
 * text and tokens of each generation collected from its events. */
#ifndef LLAMAD_TESTS_GENERATION_FIXTURE_H
#define LLAMAD_TESTS_GENERATION_FIXTURE_H

#include "tests/engine_fixture.h"
#include "tests/tiny_model.h"

#define STORY_MODELS 16

/* The model and the plugins of a program; name: name of the seed and of the file. */
struct story_env {
	struct lmt_env env;
	char path[256];
	uint64_t seed;
	char models[STORY_MODELS][280]; /* [n_model] of story_model */
	uint32_t n_model;
};
void story_env_init(struct story_env *s, const char *name);
void story_env_fini(struct story_env *s);
/* Writes one more tiny model, with the keys of lmt_tiny_keys. Returns its path; story_env_fini removes it. */
const char *story_model(struct story_env *s, enum lmt_tiny kind);

/* Options with a tokenizer and n_seq concurrent sequences. */
struct lmi_engine_opts story_opts(const struct story_env *s, uint32_t n_seq);
struct lmi_engine *story_engine(const struct lmi_engine_opts *o);
/* Expects that opening an engine with a draft model of this kind and these keys fails with a message that has this
 * text and names the draft model's file. */
void story_expect_unfit(struct story_env *s, struct lmi_engine_opts o, enum lmt_tiny kind,
			const struct lmt_tiny_key *keys, const char *text);
/* Expects that nothing runs or waits in an engine and that all its pages are free. Returns its figures. */
struct lmi_engine_stats story_check_idle(struct lmi_engine *e);

struct story {
	char text[2048];
	lmd_token tokens[512];
	struct lmi_engine_logprobs logprobs[64]; /* of the first tokens */
	uint32_t n_text, n_tokens, n_logprobs, n_final;
	enum lmi_engine_event_kind end;
	struct lmi_engine_event last;
};

/* Adds an event; an event after the final one fails the test. */
void story_tell(struct story *s, const struct lmi_engine_event *ev);
/* Runs steps until nothing is left to do; adds events of id 1..n to s[id - 1]. */
void story_run(struct lmi_engine *e, struct story *s, uint32_t n);

void story_random_tokens(lmd_token *v, uint32_t n, uint64_t *rnd);
static const lmd_token hello[] = {40, 69, 76, 76, 79};

/* A greedy generation that ignores end-of-generation tokens. */
struct lmi_engine_generate story_command(uint64_t id, const lmd_token *v, uint32_t n,
					 int64_t n_predict);
/* Runs a command with id 1 until its final event. */
struct story story_generate(struct lmi_engine *e, const struct lmi_engine_generate *cmd);

#endif /* LLAMAD_TESTS_GENERATION_FIXTURE_H */
