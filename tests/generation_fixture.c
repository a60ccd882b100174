/* SPDX-License-Identifier: MIT */
#include "tests/generation_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/sample.h"
#include "tests/lmd_check.h"

void story_env_init(struct story_env *s, const char *name)
{
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&s->env, &err) == LMD_OK, "%s", err.text);
	s->seed = lmd_seed(name, 7);
	snprintf(s->path, sizeof(s->path), "%s/core/engine/%s.%d.gguf", lmd_build_dir(), name,
		 (int)getpid());
	lmt_tiny_write(LMT_FULL, s->seed, s->path);
	s->n_model = 0;
}

const char *story_model(struct story_env *s, enum lmt_tiny kind)
{
	char *path = s->models[s->n_model];

	ck_assert_uint_lt(s->n_model, STORY_MODELS);
	snprintf(path, sizeof(s->models[0]), "%s.%u", s->path, s->n_model++);
	lmt_tiny_write(kind, s->seed, path);
	return path;
}

void story_env_fini(struct story_env *s)
{
	(void)remove(s->path);
	for (uint32_t i = 0; i < s->n_model; i++)
		(void)remove(s->models[i]);
	lmt_env_fini(&s->env);
}

struct lmi_engine_opts story_opts(const struct story_env *s, uint32_t n_seq)
{
	struct lmi_engine_opts o = lmt_opts(&s->env, s->path);

	o.no_tokenizer = false;
	o.inst.n_seq = n_seq;
	return o;
}

struct lmi_engine *story_engine(const struct lmi_engine_opts *o)
{
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_open(&e, o, &err) == LMD_OK, "%s", err.text);
	return e;
}

void story_expect_unfit(struct story_env *s, struct lmi_engine_opts o, enum lmt_tiny kind,
			const struct lmt_tiny_key *keys, const char *text)
{
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	lmt_tiny_keys = keys;
	o.inst.draft_path = story_model(s, kind);
	lmt_tiny_keys = NULL;
	ck_assert_int_ne(lmi_engine_open(&e, &o, &err), LMD_OK);
	(void)remove(o.inst.draft_path); /* the test may run in a process of its own */
	ck_assert_msg(strstr(err.text, text) && strstr(err.text, strrchr(o.inst.draft_path, '/')), "%s",
		      err.text);
}

struct lmi_engine_stats story_check_idle(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_active + st.n_waiting, 0);
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		ck_assert_uint_eq(st.n_free[g], st.n_page[g]);
	return st;
}

void story_tell(struct story *s, const struct lmi_engine_event *ev)
{
	ck_assert_uint_eq(s->n_final, 0); /* no event may follow the final one */
	switch (ev->kind) {
	case LMI_ENGINE_EV_LOGPROBS:
		ck_assert_uint_eq(s->n_logprobs, s->n_tokens); /* they precede their token */
		ck_assert_uint_lt(s->n_logprobs, LMD_LEN(s->logprobs));
		s->logprobs[s->n_logprobs++] = ev->u.logprobs;
		break;
	case LMI_ENGINE_EV_TOKEN:
		s->tokens[s->n_tokens++] = ev->u.text.token;
		/* fall through */
	case LMI_ENGINE_EV_TEXT:
		ck_assert_uint_lt(s->n_text + ev->u.text.n, sizeof(s->text));
		memcpy(s->text + s->n_text, ev->u.text.bytes, ev->u.text.n);
		s->n_text += ev->u.text.n;
		s->text[s->n_text] = 0;
		break;
	default:
		s->n_final++;
		s->end = (enum lmi_engine_event_kind)ev->kind;
		s->last = *ev;
	}
}

void story_run(struct lmi_engine *e, struct story *s, uint32_t n)
{
	struct lmi_engine_event ev;

	while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
		while (lmi_engine_poll(e, &ev)) {
			ck_assert(ev.id >= 1 && ev.id <= n);
			story_tell(&s[ev.id - 1], &ev);
		}
	while (lmi_engine_poll(e, &ev))
		story_tell(&s[ev.id - 1], &ev);
}

void story_random_tokens(lmd_token *v, uint32_t n, uint64_t *rnd)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)(lmd_rand(rnd) % 95);
}

struct lmi_engine_generate story_command(uint64_t id, const lmd_token *v, uint32_t n,
					 int64_t n_predict)
{
	static const struct lmi_sampler_spec greedy = {.name = "greedy"};

	return (struct lmi_engine_generate){.id = id,
					    .seq = lmt_tokens(v, n),
					    .n_predict = n_predict,
					    .specs = &greedy,
					    .n_specs = 1,
					    .flags = LMI_ENGINE_GEN_IGNORE_EOG};
}

struct story story_generate(struct lmi_engine *e, const struct lmi_engine_generate *cmd)
{
	struct story s = {0};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_generate(e, cmd, &err) == LMD_OK, "%s", err.text);
	story_run(e, &s, (uint32_t)cmd->id);
	ck_assert_uint_eq(s.n_final, 1);
	return s;
}
