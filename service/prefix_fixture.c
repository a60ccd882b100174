/* SPDX-License-Identifier: MIT
 *
 * A service for the tests of the prefix cache's tiers. */
#include "service/prefix_fixture.h"

#include "llamad/model.h"

struct fx prefix_fx;
lmd_token prefix_tokens[PREFIX_CTX];

static const struct lmt_tiny_key long_context[] = {
	{"context_length", LMD_META_I64, PREFIX_CTX}, {NULL, 0, 0}};

void prefix_fx_setup(uint64_t seed)
{
	uint64_t rnd = lmd_seed("prefix tier", seed);

	lmt_tiny_keys = long_context;
	fx_init(&prefix_fx);
	prefix_fx.o.inst.backend = "ref";
	prefix_fx.o.limits.keep_alive_ms = 0;
	for (uint32_t i = 0; i < PREFIX_CTX; i++)
		prefix_tokens[i] = (lmd_token)(lmd_rand(&rnd) % 94);
}

void prefix_fx_teardown(void)
{
	fx_fini(&prefix_fx);
	lmt_tiny_keys = NULL;
}

struct lmi_svc_prefix_tier_stats prefix_fx_stats(void)
{
	struct lmi_svc_prefix_tier_stats s;

	lmi_svc_prefix_tier_stats(prefix_fx.svc, &s);
	return s;
}

void prefix_fx_settle(void)
{
	for (int i = 0; i < 100000 && lmi_svc_prefix_tier_is_busy(prefix_fx.svc); i++) {
		(void)fx_job(&prefix_fx);
		fx_turn(&prefix_fx);
	}
	ck_assert(!lmi_svc_prefix_tier_is_busy(prefix_fx.svc));
}

void prefix_fx_begin(const struct lmi_svc_principal *who, const char *model, const lmd_token *v,
		     uint32_t n)
{
	struct lmi_wire_request q = fx_generate(&prefix_fx, model, "", 8);
	int32_t copy[PREFIX_CTX];

	for (uint32_t i = 0; i < n; i++)
		copy[i] = v[i];
	q.u.generate.has_prompt = false;
	q.u.generate.tokens = copy;
	q.u.generate.n_tokens = n;
	q.u.generate.has_tokens = true;
	ck_assert_msg(fx_call(&prefix_fx, who, &q), "%s", prefix_fx.a.err.text);
}

struct lmi_wire_item prefix_fx_ask(const struct lmi_svc_principal *who, const char *model,
				   const lmd_token *v, uint32_t n, char *text, size_t n_text)
{
	prefix_fx_begin(who, model, v, n);
	return fx_read(&prefix_fx, who, &prefix_fx.a.r.u.generate.id, text, n_text);
}

void prefix_fx_stop(void)
{
	fx_answer_fini(&prefix_fx.a);
	lmi_service_destroy(prefix_fx.svc);
	prefix_fx.svc = NULL;
	prefix_fx.n_fd = 0;
}
