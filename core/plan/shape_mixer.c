/* SPDX-License-Identifier: MIT
 *
 * Rules of experts, recurrent mixers, the sparse-attention indexer and sampling. */
#include "core/plan/shape.h"

void shape_route(struct shape *s)
{
	struct lmd_op_route *o = &s->op->u.route;
	uint64_t n = lmi_opnd_cols(&o->logits);

	shape_range(s, "k", o->k, 1, n);
	shape_heads(s, "ids", &o->ids, 1, o->k);
	shape_heads(s, "weights", &o->weights, 1, o->k);
	if (o->given.src)
		shape_heads(s, "given", &o->given, 1, o->k);
	if (o->bias != LMD_NONE)
		shape_vector(s, "bias", o->bias, n);
	shape_range(s, "renorm", o->renorm, 0, 1);
	shape_range(s, "id_div", o->id_div, 1, UINT32_MAX);
	if (o->n_group <= 1)
		return;
	if (n % o->n_group || n / o->n_group < 2)
		shape_fail(s, "n_group is %u: %llu experts cannot form groups of two or more",
			   o->n_group, (unsigned long long)n);
	shape_range(s, "n_group_used", o->n_group_used, 1, o->n_group);
	shape_range(s, "k", o->k, 1, n / o->n_group * o->n_group_used);
}

void shape_moe_ffn(struct shape *s)
{
	struct lmd_op_moe_ffn *o = &s->op->u.moe_ffn;
	const struct lmd_wref *down = shape_weight(s, "down", o->down, 0, 0, 0);

	if (!down)
		return;
	shape_eq(s, "heads of x", o->x.n_head, "plain columns", 1);
	shape_heads(s, "ids", &o->ids, 1, lmi_opnd_cols(&o->ids));
	shape_heads(s, "weights", &o->weights, 1, lmi_opnd_cols(&o->ids));
	shape_range(s, "weight_before", o->weight_before, 0, 1);
	if (o->gate_up != LMD_NONE) {
		if (o->gate != LMD_NONE || o->up != LMD_NONE)
			shape_fail(s, "gate_up is given together with gate or up");
		(void)shape_weight(s, "gate_up", o->gate_up, down->n_stack, 2ull * down->k,
				   o->x.width);
	} else {
		(void)shape_weight(s, "up", o->up, down->n_stack, down->k, o->x.width);
		if (o->gate != LMD_NONE)
			(void)shape_weight(s, "gate", o->gate, down->n_stack, down->k, o->x.width);
	}
	shape_residual(s, &o->y, &o->r_in, &o->r_out, 1, down->n);
}

void shape_bmm(struct shape *s)
{
	struct lmd_op_bmm *o = &s->op->u.bmm;
	const struct lmd_wref *w = shape_weight(s, "w", o->w, 0, 0, 0);

	if (!w)
		return;
	shape_heads(s, "x", &o->x, w->n_stack, w->k);
	shape_heads(s, "y", &o->y, w->n_stack, w->n);
}

/* ---- CONV ---- */

static void conv_cache(struct shape *s, const struct lmd_op_conv *o, uint64_t rows, bool exact,
		       uint64_t cols)
{
	const struct lmd_cache *c;

	if (o->cache == LMD_NONE)
		return;
	c = shape_cache(s, "cache", o->cache, 1u << LMD_CACHE_CONV);
	if (!c)
		return;
	shape_in_space(s, LMD_SPACE_TOKENS, "states belong to tokens");
	if (exact)
		shape_eq(s, "rows (dk) of the cache", c->dk, "rows of history", rows);
	else
		shape_range(s, "rows (dk) of the cache", c->dk, rows, 256);
	shape_eq(s, "columns of the cache", (uint64_t)c->n_head * c->dv, "columns of x and score",
		 cols);
}

static void conv_depthwise(struct shape *s, struct lmd_op_conv *o)
{
	uint64_t cols = lmi_opnd_cols(&o->x), reach;

	shape_range(s, "kernel", o->kernel, 1, 4096);
	shape_range(s, "dilation", o->dilation, 1, 4096);
	shape_range(s, "map", o->map, 0, 1);
	if (s->st != LMD_OK)
		return;
	reach = (uint64_t)(o->kernel - 1) * o->dilation;
	shape_range(s, "left", o->left, 0, reach);
	shape_like(s, "y", &o->y, "x", &o->x);
	(void)shape_weight(s, "w", o->w, 1, cols, (uint64_t)o->kernel * (o->map ? o->kernel : 1));
	if (o->map && s->op->space < LMD_SPACE_X0)
		shape_fail(s, "runs over space %u, a map needs an X space", s->op->space);
	if (o->cache != LMD_NONE) {
		shape_eq(s, "map", o->map, "with a cache", 0);
		shape_eq(s, "left", o->left, "causal, with a cache", reach);
	}
	conv_cache(s, o, o->left, true, cols);
}

static void conv_pool(struct shape *s, struct lmd_op_conv *o)
{
	uint64_t times = o->overlap ? 2 : 1, cols = lmi_opnd_cols(&o->x);
	const struct lmd_group *g;

	shape_range(s, "n", o->n, 1, 128);
	shape_range(s, "overlap", o->overlap, 0, 1);
	if (o->score.src)
		shape_like(s, "score", &o->score, "x", &o->x);
	shape_cols(s, "y", &o->y, cols / times);
	shape_eq(s, "columns of x", cols, "times those of y", cols / times * times);
	if (o->group == LMD_NONE) {
		shape_fail(s, "group is missing");
		return;
	}
	g = &s->p->groups[o->group];
	shape_eq(s, "kind of group", g->kind, "its slots mark block ends", LMD_GROUP_PAGED);
	shape_in_space(s, LMD_SPACE_TOKENS, "slots belong to tokens");
	conv_cache(s, o, o->n * times - 1, false, cols * (o->score.src ? 2 : 1));
}

void shape_conv(struct shape *s)
{
	struct lmd_op_conv *o = &s->op->u.conv;

	if (o->x.src != LMD_SRC_VALUE)
		shape_fail(s, "x is source %u, expected a value", o->x.src);
	if (o->kind != LMD_CONV_POOL)
		shape_absent(s, "score", &o->score, "this kind has none");
	switch ((enum lmd_conv)o->kind) {
	case LMD_CONV_DEPTHWISE:
		conv_depthwise(s, o);
		return;
	case LMD_CONV_SHIFT:
		shape_range(s, "n", o->n, 1, 256);
		shape_like(s, "y", &o->y, "x", &o->x);
		conv_cache(s, o, o->n, true, lmi_opnd_cols(&o->x));
		return;
	case LMD_CONV_POOL:
		conv_pool(s, o);
		return;
	}
}

/* ---- SCAN ---- */

/* Shape of one input: heads of the state (H) or of the keys (Hk), with dk, dv or 1 columns.  0
 * heads: that many plain columns. */
enum part { NONE, KEYS_DK, KEYS_DK_FLAT, HEADS_DK, HEADS_DV, HEADS_1, GATE };

static const struct {
	enum part in[LMD_SCAN_MAX_IN];
} scan_in[] = {
	[LMD_SCAN_MAMBA1] = {{HEADS_1, HEADS_1, KEYS_DK_FLAT, KEYS_DK_FLAT}},
	[LMD_SCAN_MAMBA2] = {{HEADS_DV, HEADS_1, KEYS_DK, KEYS_DK}},
	[LMD_SCAN_RWKV6] = {{HEADS_DK, HEADS_DK, HEADS_DV, HEADS_DK}},
	[LMD_SCAN_RWKV7] = {{HEADS_DK, HEADS_DK, HEADS_DK, HEADS_DV, HEADS_DK, HEADS_DK}},
	[LMD_SCAN_GLA] = {{KEYS_DK, KEYS_DK, HEADS_DV, GATE}},
	[LMD_SCAN_DELTA] = {{KEYS_DK, KEYS_DK, HEADS_DV, GATE, HEADS_1}},
};

static void scan_input(struct shape *s, struct lmd_op_scan *o, uint32_t i)
{
	struct lmd_opnd *in = &o->in[i];
	char what[8];

	snprintf(what, sizeof(what), "in[%u]", i);
	switch (scan_in[o->kind].in[i]) {
	case NONE:
		shape_absent(s, what, in, "this kind has fewer inputs");
		return;
	case KEYS_DK:
		shape_heads(s, what, in, o->n_key_head, o->dk);
		return;
	case KEYS_DK_FLAT:
		shape_cols(s, what, in, o->dk);
		return;
	case HEADS_DK:
		shape_heads(s, what, in, o->n_head, o->dk);
		return;
	case HEADS_DV:
		shape_heads(s, what, in, o->n_head, o->dv);
		return;
	case HEADS_1:
		shape_cols(s, what, in, o->n_head);
		return;
	case GATE:
		if (lmi_opnd_cols(in) == o->n_head)
			shape_cols(s, what, in, o->n_head);
		else
			shape_heads(s, what, in, o->n_head, o->dk);
		return;
	}
}

static void scan_weights(struct shape *s, const struct lmd_op_scan *o)
{
	switch ((enum lmd_scan)o->kind) {
	case LMD_SCAN_MAMBA1:
		shape_eq(s, "dv", o->dv, "mamba1: a head is one channel", 1);
		shape_vector(s, "w[0]", o->w[0], (uint64_t)o->n_head * o->dk);
		if (o->w[1] != LMD_NONE)
			shape_vector(s, "w[1]", o->w[1], o->n_head);
		return;
	case LMD_SCAN_MAMBA2:
		shape_vector(s, "w[0]", o->w[0], o->n_head);
		if (o->w[1] != LMD_NONE)
			shape_vector(s, "w[1]", o->w[1], o->n_head);
		return;
	case LMD_SCAN_RWKV6:
		shape_vector(s, "w[0]", o->w[0], (uint64_t)o->n_head * o->dk);
		break;
	case LMD_SCAN_RWKV7:
	case LMD_SCAN_GLA:
	case LMD_SCAN_DELTA:
		if (o->w[0] != LMD_NONE)
			shape_fail(s, "w[0] is given, but this kind has none");
		break;
	}
	if (o->w[1] != LMD_NONE)
		shape_fail(s, "w[1] is given, but this kind has none");
}

void shape_scan(struct shape *s)
{
	struct lmd_op_scan *o = &s->op->u.scan;
	const struct lmd_cache *c = shape_cache(s, "cache", o->cache, 1u << LMD_CACHE_STATE);
	bool square = o->kind == LMD_SCAN_RWKV6 || o->kind == LMD_SCAN_RWKV7;

	shape_in_space(s, LMD_SPACE_TOKENS, "states belong to tokens");
	if (!o->n_head || !o->n_key_head || o->n_head % o->n_key_head)
		shape_fail(s, "n_key_head is %u, n_head %u", o->n_key_head, o->n_head);
	if (!c || s->st != LMD_OK)
		return;
	shape_eq(s, "heads of the cache", c->n_head, "n_head", o->n_head);
	shape_eq(s, "dk of the cache", c->dk, "dk", o->dk);
	shape_eq(s, "dv of the cache", c->dv, "dv", o->dv);
	if (square)
		shape_eq(s, "dv", o->dv, "dk", o->dk);
	for (uint32_t i = 0; i < LMD_SCAN_MAX_IN && s->st == LMD_OK; i++)
		scan_input(s, o, i);
	scan_weights(s, o);
	shape_heads(s, "y", &o->y, o->n_head, o->dv);
}

/* ---- INDEX, SAMPLE ---- */

/* Case in which a row of the cache stands for several keys. */
static void index_each(struct shape *s, const struct lmd_op_index *o, const struct lmd_cache *c)
{
	const struct lmd_group *of;

	shape_eq(s, "each", o->each, "ratio of the cache's group", s->p->groups[c->group].ratio);
	shape_eq(s, "unit", o->unit, "each > 1", 1);
	shape_eq(s, "local", o->local, "each > 1", 0);
	if (o->of == LMD_NONE) {
		shape_fail(s, "of is missing, each is %u", o->each);
		return;
	}
	of = &s->p->groups[o->of];
	shape_eq(s, "kind of group of", of->kind, "PAGED", LMD_GROUP_PAGED);
	shape_eq(s, "ratio of group of", of->ratio, "keys", 1);
}

void shape_index(struct shape *s)
{
	struct lmd_op_index *o = &s->op->u.index;
	const struct lmd_cache *c = shape_cache(s, "cache", o->cache, 1u << LMD_CACHE_INDEX);
	uint32_t lists = o->kind == LMD_INDEX_PER_HEAD ? o->q.n_head : 1;

	if (!c)
		return;
	shape_in_space(s, LMD_SPACE_TOKENS, "keys belong to tokens");
	shape_eq(s, "width of q", o->q.width, "dk of the cache", c->dk);
	if (c->n_head != 1)
		shape_eq(s, "heads of the cache", c->n_head, "heads of q", o->q.n_head);
	shape_range(s, "n", o->n, 1, 1u << 20);
	shape_range(s, "unit", o->unit, 1, 1u << 20);
	shape_range(s, "local", o->local, 0, o->n);
	if (o->each > 1)
		index_each(s, o, c);
	shape_heads(s, "y", &o->y, lists, o->n);
	if (o->kind == LMD_INDEX_WEIGHTED)
		shape_cols(s, "w", &o->w, o->q.n_head);
	else
		shape_absent(s, "w", &o->w, "this kind has no weights");
}

static uint32_t stage_params(uint32_t stage)
{
	switch ((enum lmd_sample_stage)stage) {
	case LMD_STAGE_PENALTIES:
		return 3;
	case LMD_STAGE_TEMPERATURE:
	case LMD_STAGE_TOP_K:
	case LMD_STAGE_TOP_P:
	case LMD_STAGE_MIN_P:
		return 1;
	case LMD_STAGE_GREEDY:
	case LMD_STAGE_DIST:
		break;
	}
	return 0;
}

void shape_sample(struct shape *s)
{
	struct lmd_op_sample *o = &s->op->u.sample;
	uint64_t n_vocab = lmi_opnd_cols(&o->logits), n_param = lmi_opnd_cols(&o->params);

	shape_eq(s, "kind of the plan", s->p->key.kind, "TAIL", LMD_PLAN_TAIL);
	shape_in_space(s, LMD_SPACE_OUTPUTS, "output rows");
	shape_range(s, "n_stage", o->n_stage, 1, LMD_SAMPLE_STAGES);
	for (uint32_t i = 0; i < o->n_stage && s->st == LMD_OK; i++) {
		bool last = o->stage[i] == LMD_STAGE_GREEDY || o->stage[i] == LMD_STAGE_DIST;

		if (last != (i + 1 == o->n_stage))
			shape_fail(s,
				   "stage[%u] of %u is %u; only the last stage is greedy or dist",
				   i, o->n_stage, o->stage[i]);
		if (o->param_col[i] > n_param ||
		    stage_params(o->stage[i]) > n_param - o->param_col[i])
			shape_fail(s, "stage[%u] reads columns from %u on, params has %llu", i,
				   o->param_col[i], (unsigned long long)n_param);
		if (o->stage[i] == LMD_STAGE_PENALTIES)
			(void)shape_has(s, "history", &o->history);
	}
	shape_cols(s, "rng", &o->rng, 4);
	if (o->mask.src)
		shape_cols(s, "mask", &o->mask, (n_vocab + 31) / 32);
	shape_cols(s, "token", &o->token, 1);
	if (o->top_id.src)
		shape_range(s, "columns of top_id", lmi_opnd_cols(&o->top_id), 1, n_vocab);
	if (o->top_lp.src && shape_has(s, "top_id", &o->top_id))
		shape_cols(s, "top_lp", &o->top_lp, lmi_opnd_cols(&o->top_id));
}
