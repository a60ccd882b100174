/* SPDX-License-Identifier: MIT
 *
 * Rope tables compared with an independent implementation of their formulas. */
#include <math.h>

#include "core/plan/plan_test.h"

struct probe {
	struct lmd_rope_params params;
	uint32_t n_rope;
};

/* An op that uses the table, so that the plan is complete. */
static void build_rope(struct fx *fx, const struct lmd_builder *b)
{
	struct probe *probe = fx->arg;
	uint32_t n = probe->params.n_rot ? probe->params.n_rot : 1;
	uint32_t x = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, n, "x");
	uint32_t y = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, n, "y");
	struct lmd_op op = fx_op(LMD_OP_EMBED);

	op.u.embed.y = fx_cols(x, 0, n);
	op.u.embed.table = fx_weight(fx, b, "embd", 3, n);
	b->op(b->ctx, &op);
	op = fx_op(LMD_OP_ROPE_KV);
	op.u.rope_kv.q = fx_cols(x, 0, n);
	op.u.rope_kv.q_out = fx_cols(y, 0, n);
	op.u.rope_kv.rope = b->rope(b->ctx, &probe->params);
	ck_assert_uint_eq(b->rope(b->ctx, &probe->params), op.u.rope_kv.rope);
	b->op(b->ctx, &op);
}

static enum lmd_status make(struct probe *probe, struct lmi_plan **p, struct lmd_error *err)
{
	struct fx fx;

	fx_init(&fx, build_rope);
	fx.arg = probe;
	return lmi_plan_build(p, &fx.params, err);
}

static struct probe plain(uint32_t n_rot)
{
	return (struct probe){.params = {.n_rot = n_rot,
					 .pairing = LMD_ROPE_HALVES,
					 .base = 10000,
					 .freq_scale = 1,
					 .attn_factor = 1,
					 .beta_fast = 32,
					 .beta_slow = 1}};
}

static void check(struct probe *probe, const double *freq, const uint8_t *plane, double magnitude)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	const struct lmd_rope *r;

	ck_assert_msg(make(probe, &p, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_plan_view(p)->n_rope, 1);
	r = &lmi_plan_view(p)->ropes[0];
	ck_assert_uint_eq(r->n_rot, probe->params.n_rot);
	ck_assert_uint_eq(r->pairing, probe->params.pairing);
	ck_assert_double_eq_tol((double)r->magnitude, magnitude, 1e-6 * magnitude);
	for (uint32_t i = 0; i < r->n_rot / 2; i++) {
		ck_assert_msg(fabs(r->freq[i] - freq[i]) <= 1e-13 * freq[i],
			      "pair %u: %.17g, %.17g", i, r->freq[i], freq[i]);
		ck_assert_uint_eq(r->plane[i], plane[i]);
	}
	lmi_plan_destroy(p);
}

static const uint8_t zeros[64];

START_TEST(base_and_scale)
{
	struct probe p = plain(8);

	check(&p, (const double[]){1, 0.1, 0.01, 0.001}, zeros, 1);
	p.params.freq_scale = 0.25;
	p.params.attn_factor = 1.5;
	check(&p, (const double[]){0.25, 0.025, 0.0025, 0.00025}, zeros, 1.5);
	p.params.base = 16;
	p.params.freq_scale = 1;
	p.params.pairing = LMD_ROPE_ADJACENT;
	check(&p, (const double[]){1, 0.5, 0.25, 0.125}, zeros, 1.5);
}
END_TEST

START_TEST(factors)
{
	struct probe p = plain(8);

	p.params.n_factors = 4;
	p.params.factors = (const float[]){1, 2, 4, 8};
	check(&p, (const double[]){1, 0.05, 0.0025, 0.000125}, zeros, 1);
}
END_TEST

/* The ramp of the paper in terms of wavelengths: pair i rotates r = n_ctx / (2 pi / freq) times. */
START_TEST(yarn)
{
	enum { N = 64, CTX = 4096 };
	struct probe p = plain(N);
	double freq[N / 2], low, high, scale = 1.0 / 8;

	p.params.freq_scale = scale;
	p.params.ext_factor = 1;
	p.params.n_ctx_orig = CTX;
	low = floor(N * log(CTX / (32 * 2 * M_PI)) / (2 * log(10000)));
	high = ceil(N * log(CTX / (1 * 2 * M_PI)) / (2 * log(10000)));
	ck_assert_double_eq(low, 10);
	ck_assert_double_eq(high, 23);
	for (int i = 0; i < N / 2; i++) {
		double f = pow(10000, -2.0 * i / N);
		double interpolated = i <= low ? 0 : i >= high ? 1 : (i - low) / (high - low);

		freq[i] = f * scale * interpolated + f * (1 - interpolated);
	}
	check(&p, freq, zeros, 1 + 0.1 * log(8));
	/* half of the correction */
	p.params.ext_factor = 0.5;
	for (int i = 0; i < N / 2; i++) {
		double f = pow(10000, -2.0 * i / N);
		double interpolated = i <= low ? 0 : i >= high ? 1 : (i - low) / (high - low);
		double share = (1 - interpolated) * 0.5;

		freq[i] = f * scale * (1 - share) + f * share;
	}
	check(&p, freq, zeros, 1 + 0.1 * log(8));
}
END_TEST

START_TEST(sections)
{
	struct probe p = plain(24);
	double freq[12];

	for (int i = 0; i < 12; i++)
		freq[i] = pow(10000, -2.0 * i / 24);
	p.params.sections_kind = LMD_SECTIONS_BLOCKS;
	p.params.sections[0] = 2;
	p.params.sections[1] = 1;
	p.params.sections[2] = 1;
	check(&p, freq, (const uint8_t[]){0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2}, 1);
	p.params.sections[0] = 4;
	p.params.sections[1] = p.params.sections[2] = 3;
	p.params.sections[3] = 2;
	check(&p, freq, (const uint8_t[]){0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3}, 1);
	p.params.sections_kind = LMD_SECTIONS_INTERLEAVED;
	check(&p, freq, (const uint8_t[]){0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 3, 3}, 1);
}
END_TEST

START_TEST(two_dimensions)
{
	struct probe p = plain(8);

	p.params.sections_kind = LMD_SECTIONS_2D;
	check(&p, (const double[]){1, 0.01, 1, 0.01}, (const uint8_t[]){0, 0, 1, 1}, 1);
}
END_TEST

static const struct {
	struct lmd_rope_params p;
	const char *text;
} invalid[] = {
	{{.n_rot = 0}, "n_rot 0"},
	{{.n_rot = 7}, "n_rot 7"},
	{{.n_rot = 65538}, "n_rot 65538"},
	{{.n_rot = 8, .pairing = 2}, "pairing 2"},
	{{.n_rot = 8, .sections_kind = 4}, "sections 4"},
	{{.n_rot = 8, .base = -1, .freq_scale = 1}, "base -1"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 0}, "freq_scale 0"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 1, .attn_factor = NAN}, "attn_factor nan"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 1, .ext_factor = 1}, "YaRN over a context of 0"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 1, .n_factors = 3}, "3 factors for 4 pairs"},
	{{.n_rot = 2, .base = 1e4, .freq_scale = 1, .n_factors = 1, .factors = (const float[]){0}},
	 "factor 0 is 0"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 1, .sections_kind = LMD_SECTIONS_BLOCKS},
	 "sections of 0 pairs"},
	{{.n_rot = 8, .base = 1e4, .freq_scale = 1, .sections = {1u << 31, 1u << 31}}, "section 0"},
	{{.n_rot = 6, .base = 1e4, .freq_scale = 1, .sections_kind = LMD_SECTIONS_2D}, "n_rot 6"},
};

START_TEST(invalid_params)
{
	struct probe p = {.params = invalid[_i].p};
	struct lmi_plan *plan = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(make(&p, &plan, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, invalid[_i].text) != NULL, "\"%s\" does not contain \"%s\"",
		      err.text, invalid[_i].text);
}
END_TEST

TCase *plan_rope_cases(void)
{
	TCase *t = tcase_create("rope");

	tcase_add_test(t, base_and_scale);
	tcase_add_test(t, factors);
	tcase_add_test(t, yarn);
	tcase_add_test(t, sections);
	tcase_add_test(t, two_dimensions);
	tcase_add_loop_test(t, invalid_params, 0, LMD_LEN(invalid));
	return t;
}
