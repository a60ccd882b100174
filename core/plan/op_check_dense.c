/* SPDX-License-Identifier: MIT
 *
 * Rules of ops 1 to 8, which every model uses. */
#include "core/plan/op_check.h"

static void table_is_ids(struct lmi_plan_shape *s, const struct lmd_op_embed *e)
{
	bool ids = s->p->weight_refs[e->table].dtype == LMD_DTYPE_I32;
	bool y_ids = lmi_plan_shape_vtype(s, &e->y) == LMD_VTYPE_I32;

	if (ids != y_ids)
		lmi_plan_shape_fail(s, "y is %s, the table %s holds %s", y_ids ? "i32" : "float",
				    s->p->weight_refs[e->table].name, ids ? "i32" : "floats");
	if (ids && (e->scale != 1 || e->pos_table != LMD_NONE || e->type_table != LMD_NONE))
		lmi_plan_shape_fail(
			s, "a table of ids cannot have a scale (%g), position or type table",
			(double)e->scale);
}

static void embed_negative(struct lmi_plan_shape *s, const struct lmd_op_embed *e,
			   const struct lmd_weight_ref *table)
{
	const struct lmd_input *in = s->p->n_input ? &s->p->inputs[0] : NULL;

	if (e->neg == LMD_NEG_ROW && e->neg_row >= table->n)
		lmi_plan_shape_fail(s, "neg_row is %u, the table %s has %u rows", e->neg_row,
				    table->name, table->n);
	/* without an input, the host rejects tokens that refer to its rows */
	if (e->neg != LMD_NEG_EXTERNAL || e->idx_kind != LMD_IDX_TOKEN || !in)
		return;
	if (!in->own_rows || in->vtype != LMD_VTYPE_F32 || in->width < e->ext_col0 ||
	    in->width - e->ext_col0 < table->k)
		lmi_plan_shape_fail(s, "columns %u..%llu of input %s, which has %u%s", e->ext_col0,
				    (unsigned long long)e->ext_col0 + table->k, in->name, in->width,
				    in->own_rows ? "" : " but no rows of its own");
}

void lmi_plan_shape_embed(struct lmi_plan_shape *s)
{
	struct lmd_op_embed *e = &s->op->u.embed;
	const struct lmd_weight_ref *table = lmi_plan_shape_weight(s, "table", e->table, 1, 0, 0);
	const struct lmd_weight_ref *type;

	if (!table)
		return;
	lmi_plan_shape_range(s, "n_id", e->n_id, 1, 1024);
	lmi_plan_shape_range(s, "idx_kind", e->idx_kind, LMD_IDX_TOKEN, LMD_IDX_OPERAND);
	lmi_plan_shape_cols(s, "y", &e->y, (uint64_t)e->n_id * table->k);
	if (e->idx_kind == LMD_IDX_TOKEN) {
		lmi_plan_shape_absent(s, "idx", &e->idx, "the ids are the tokens");
		lmi_plan_shape_eq(s, "n_id", e->n_id, "one token in a row", 1);
		lmi_plan_shape_in_space(s, LMD_SPACE_TOKENS, "the ids are the tokens");
	} else {
		lmi_plan_shape_cols(s, "idx", &e->idx, e->n_id);
	}
	if (s->st != LMD_OK)
		return;
	table_is_ids(s, e);
	embed_negative(s, e, table);
	if (e->pos_table != LMD_NONE) {
		(void)lmi_plan_shape_weight(s, "pos_table", e->pos_table, 1, 0,
					    lmi_plan_operand_cols(&e->y));
		if (e->pos.src)
			lmi_plan_shape_cols(s, "pos", &e->pos, 1);
		else
			lmi_plan_shape_in_space(s, LMD_SPACE_TOKENS,
						"positions are those of tokens");
	}
	if (e->type_table != LMD_NONE) {
		type = lmi_plan_shape_weight(s, "type_table", e->type_table, 1, 0,
					     lmi_plan_operand_cols(&e->y));
		if (type && e->type_row >= type->n)
			lmi_plan_shape_fail(s, "type_row is %u, the table %s has %u rows",
					    e->type_row, type->name, type->n);
	}
}

void lmi_plan_shape_op_norm(struct lmi_plan_shape *s)
{
	struct lmd_op_norm *o = &s->op->u.norm;
	uint64_t groups = o->norm.n ? lmi_plan_operand_cols(&o->x) / o->norm.n : o->x.n_head;

	if (o->norm.kind == LMD_NORM_NONE)
		lmi_plan_shape_fail(s, "norm.kind is none");
	lmi_plan_shape_norm(s, "norm", &o->norm, o->x.n_head, o->x.width);
	if (o->r.src)
		lmi_plan_shape_like(s, "r", &o->r, "x", &o->x);
	if (o->h.src)
		lmi_plan_shape_like(s, "h", &o->h, "x", &o->x);
	lmi_plan_shape_like(s, "y", &o->y, "x", &o->x);
	if (o->stat.src)
		lmi_plan_shape_cols(s, "stat", &o->stat, groups * 2);
	lmi_plan_shape_range(s, "over_rows", o->over_rows, 0, 1);
	if (o->over_rows)
		lmi_plan_shape_eq(s, "heads of x", o->x.n_head, "over_rows", 1);
}

void lmi_plan_shape_linear(struct lmi_plan_shape *s)
{
	struct lmd_op_linear *o = &s->op->u.linear;
	uint64_t n_ids = o->ids.src ? lmi_plan_operand_cols(&o->ids) : 0;
	uint64_t heads = n_ids ? n_ids : o->x.n_head;
	uint64_t n_stack = n_ids ? 0 : 1; /* with ids: that of the first weight */

	lmi_plan_shape_range(s, "n_w", o->n_w, 1, LMD_LINEAR_MAX);
	if (n_ids)
		lmi_plan_shape_heads(s, "ids", &o->ids, 1, n_ids);
	if (n_ids && o->x.n_head != 1 && o->x.n_head != n_ids)
		lmi_plan_shape_fail(s, "x has %u heads, expected 1 or %llu (ids)", o->x.n_head,
				    (unsigned long long)n_ids);
	lmi_plan_shape_norm(s, "pro", &o->pro, o->x.n_head, o->x.width);
	if (!(o->softcap >= 0))
		lmi_plan_shape_fail(s, "softcap is %g, expected at least 0", (double)o->softcap);
	if (o->clamp_lo > o->clamp_hi)
		lmi_plan_shape_fail(s, "clamp_lo is %g, clamp_hi %g", (double)o->clamp_lo,
				    (double)o->clamp_hi);
	for (uint32_t i = 0; i < o->n_w && s->st == LMD_OK; i++) {
		const struct lmd_weight_ref *w =
			lmi_plan_shape_weight(s, "w", o->w[i], n_stack, 0, o->x.width);

		if (!w)
			continue;
		n_stack = w->n_stack;
		lmi_plan_shape_residual(s, &o->y[i], &o->r_in[i], &o->r_out[i], heads, w->n);
	}
}

/* The group that a row is appended to determines its row space. */
static void append_space(struct lmi_plan_shape *s, const struct lmd_cache *c)
{
	const struct lmd_group *g = &s->p->groups[c->group];

	lmi_plan_shape_in_space(s, g->kind == LMD_GROUP_CROSS ? g->k_space : LMD_SPACE_TOKENS,
				"rows of the cache's group");
}

static void rope_append(struct lmi_plan_shape *s, struct lmd_op_rope_kv *o)
{
	const uint32_t kinds = 1u << LMD_CACHE_KV | 1u << LMD_CACHE_K_ONLY |
			       1u << LMD_CACHE_V_IN_K | 1u << LMD_CACHE_INDEX;
	const struct lmd_cache *c;

	lmi_plan_shape_range(s, "append", o->append, 0, LMD_APPEND_K | LMD_APPEND_V);
	if (!o->append) {
		lmi_plan_shape_absent(s, "v", &o->v, "it is not appended");
		if (o->cache != LMD_NONE)
			lmi_plan_shape_fail(s, "cache %u is given, but append is 0", o->cache);
		return;
	}
	c = lmi_plan_shape_cache(s, "cache", o->cache, kinds);
	if (!c)
		return;
	append_space(s, c);
	if (o->append & LMD_APPEND_K)
		lmi_plan_shape_heads(s, "k", &o->k, c->n_head, c->dk);
	if (o->append & LMD_APPEND_V) {
		lmi_plan_shape_eq(s, "kind of the cache", c->kind, "V is appended", LMD_CACHE_KV);
		lmi_plan_shape_heads(s, "v", &o->v, c->n_head, c->dv);
	} else {
		lmi_plan_shape_absent(s, "v", &o->v, "it is not appended");
	}
}

static void rope_rotated(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			 const struct lmd_op_rope_kv *r)
{
	const struct lmd_rope *rope = &s->p->ropes[r->rope];

	if (o->src && (r->rot0 > o->width || rope->n_rot > o->width - r->rot0))
		lmi_plan_shape_fail(s, "%s: rotated columns %u..%llu of heads of %u", what, r->rot0,
				    (unsigned long long)r->rot0 + rope->n_rot, o->width);
}

void lmi_plan_shape_rope_kv(struct lmi_plan_shape *s)
{
	struct lmd_op_rope_kv *o = &s->op->u.rope_kv;

	if (!o->q.src && !o->k.src && !o->v.src)
		lmi_plan_shape_fail(s, "none of q, k, v is given");
	rope_append(s, o); /* first, because it splits k and v into heads */
	if (o->q.src)
		lmi_plan_shape_like(s, "q_out", &o->q_out, "q", &o->q);
	else
		lmi_plan_shape_absent(s, "q_out", &o->q_out, "there is no q");
	if (o->k_out.src) {
		if (lmi_plan_shape_has(s, "k", &o->k))
			lmi_plan_shape_like(s, "k_out", &o->k_out, "k", &o->k);
	} else if (o->k.src && !(o->append & LMD_APPEND_K)) {
		lmi_plan_shape_fail(s, "k is not used: there is no k_out and it is not appended");
	}
	if (o->q.src && o->k.src)
		lmi_plan_shape_eq(s, "width of a head of k", o->k.width, "of q", o->q.width);
	if (o->q.src)
		lmi_plan_shape_norm(s, "qn", &o->qn, o->q.n_head, o->q.width);
	if (o->k.src)
		lmi_plan_shape_norm(s, "kn", &o->kn, o->k.n_head, o->k.width);
	if (o->sign != 1 && o->sign != -1)
		lmi_plan_shape_fail(s, "sign is %g, expected 1 or -1", (double)o->sign);
	if (o->rope == LMD_NONE)
		return;
	rope_rotated(s, "q", &o->q, o);
	rope_rotated(s, "k", &o->k, o);
	if (o->pos.src)
		lmi_plan_shape_cols(s, "pos", &o->pos, 1);
	else
		lmi_plan_shape_in_space(s, LMD_SPACE_TOKENS, "positions are those of tokens");
}

static void attn_cache(struct lmi_plan_shape *s, const struct lmd_op_attn *o,
		       const struct lmd_attn_src *src)
{
	const struct lmd_cache *c = lmi_plan_shape_cache(
		s, "src.cache", src->cache, 1u << LMD_CACHE_KV | 1u << LMD_CACHE_V_IN_K);

	lmi_plan_shape_absent(s, "src.k", &src->k, "the source is a cache");
	lmi_plan_shape_absent(s, "src.v", &src->v, "the source is a cache");
	if (!c)
		return;
	lmi_plan_shape_eq(s, "src.group", src->group, "group of the cache", c->group);
	lmi_plan_shape_eq(s, "heads of the cache", c->n_head, "n_kv_head", o->n_kv_head);
	lmi_plan_shape_eq(s, "dk of the cache", c->dk, "width of q", o->q.width);
	lmi_plan_shape_eq(s, "dv of the cache", c->dv, "width of y", o->y.width);
}

static void attn_rows(struct lmi_plan_shape *s, const struct lmd_op_attn *o,
		      struct lmd_attn_src *src, const struct lmd_group *g)
{
	lmi_plan_shape_eq(s, "kind of src.group", g->kind, "keys are rows of the step",
			  LMD_GROUP_BATCH);
	if (src->cache != LMD_NONE)
		lmi_plan_shape_fail(s, "src.cache is %u, but the keys are rows", src->cache);
	lmi_plan_shape_heads(s, "src.k", &src->k, o->n_kv_head, o->q.width);
	lmi_plan_shape_heads(s, "src.v", &src->v, o->n_kv_head, o->y.width);
	lmi_plan_shape_rows(s, "src.k", &src->k, g->k_space);
	lmi_plan_shape_rows(s, "src.v", &src->v, g->k_space);
}

static void attn_source(struct lmi_plan_shape *s, const struct lmd_op_attn *o,
			struct lmd_attn_src *src)
{
	const struct lmd_group *g;

	if (src->kind == LMD_KV_NONE || s->st != LMD_OK)
		return;
	if (src->group == LMD_NONE) {
		lmi_plan_shape_fail(s, "src.group is missing");
		return;
	}
	g = &s->p->groups[src->group];
	if (g->kind == LMD_GROUP_STATE)
		lmi_plan_shape_fail(s, "src.group %s holds states, not keys", g->name);
	lmi_plan_shape_in_space(s, g->kind == LMD_GROUP_PAGED ? LMD_SPACE_TOKENS : g->q_space,
				"queries of the group");
	if (src->kind == LMD_KV_CACHE)
		attn_cache(s, o, src);
	else
		attn_rows(s, o, src, g);
	if (!src->list.src)
		return;
	lmi_plan_shape_range(s, "src.list_unit", src->list_unit, 1, 1u << 20);
	if (src->list.n_head != 1 && src->list.n_head != o->n_kv_head)
		lmi_plan_shape_fail(s, "src.list has %u heads, expected 1 or %u", src->list.n_head,
				    o->n_kv_head);
}

static void attn_bias(struct lmi_plan_shape *s, struct lmd_op_attn *o)
{
	uint32_t exact = o->n_bucket / (o->bidirectional ? 4 : 2);

	lmi_plan_shape_range(s, "bidirectional", o->bidirectional, 0, 1);
	switch ((enum lmd_attn_bias)o->bias) {
	case LMD_BIAS_NONE:
		return;
	case LMD_BIAS_ALIBI:
		lmi_plan_shape_vector(s, "bias_w", o->bias_w, o->q.n_head);
		return;
	case LMD_BIAS_BUCKET:
		(void)lmi_plan_shape_weight(s, "bias_w", o->bias_w, 1, o->n_bucket, o->q.n_head);
		if (!exact || (o->bidirectional && o->n_bucket % 2))
			lmi_plan_shape_fail(s, "n_bucket is %u, which is too small or odd",
					    o->n_bucket);
		if (!(o->max_distance > (float)exact))
			lmi_plan_shape_fail(s, "max_distance is %g, expected more than %u",
					    (double)o->max_distance, exact);
		return;
	case LMD_BIAS_REL:
		for (int i = 0; i < 2 && s->st == LMD_OK; i++) {
			struct lmd_attn_rel *rel = &o->rel[i];

			if (i && !rel->q2.src)
				return;
			if (!lmi_plan_shape_has(s, "rel.q2", &rel->q2))
				return;
			lmi_plan_shape_eq(s, "heads of rel.q2", rel->q2.n_head, "heads of q",
					  o->q.n_head);
			(void)lmi_plan_shape_weight(s, "rel.r", rel->r, 1, 0, rel->q2.width);
			lmi_plan_shape_range(s, "rel.plane", rel->plane, 0,
					     s->op->space == LMD_SPACE_TOKENS ? 3 : 0);
		}
		return;
	}
}

void lmi_plan_shape_attn(struct lmi_plan_shape *s)
{
	struct lmd_op_attn *o = &s->op->u.attn;

	if (!o->n_kv_head || o->q.n_head % o->n_kv_head) {
		lmi_plan_shape_fail(s, "n_kv_head is %u, which does not divide %u heads of q",
				    o->n_kv_head, o->q.n_head);
		return;
	}
	if (o->y.n_head != o->q.n_head)
		lmi_plan_shape_heads(s, "y", &o->y, o->q.n_head,
				     lmi_plan_operand_cols(&o->y) / o->q.n_head);
	if (o->src[0].kind == LMD_KV_NONE)
		lmi_plan_shape_fail(s, "src[0] is missing");
	attn_source(s, o, &o->src[0]);
	attn_source(s, o, &o->src[1]);
	if (o->sinks != LMD_NONE)
		lmi_plan_shape_vector(s, "sinks", o->sinks, o->q.n_head);
	if (!(o->softcap >= 0))
		lmi_plan_shape_fail(s, "softcap is %g, expected at least 0", (double)o->softcap);
	attn_bias(s, o);
	lmi_plan_shape_range(s, "tree", o->tree, 0, s->op->space == LMD_SPACE_TOKENS);
}

void lmi_plan_shape_glu(struct lmi_plan_shape *s)
{
	struct lmd_op_glu *o = &s->op->u.glu;

	if (o->b.src)
		lmi_plan_shape_like(s, "b", &o->b, "a", &o->a);
	lmi_plan_shape_like(s, "y", &o->y, "a", &o->a);
}

void lmi_plan_shape_ffn(struct lmi_plan_shape *s)
{
	struct lmd_op_ffn *o = &s->op->u.ffn;
	const struct lmd_weight_ref *up = lmi_plan_shape_weight(s, "up", o->up, 1, 0, o->x.width);
	const struct lmd_weight_ref *down =
		lmi_plan_shape_weight(s, "down", o->down, 1, 0, up ? up->n : 0);

	lmi_plan_shape_eq(s, "heads of x", o->x.n_head, "plain columns", 1);
	lmi_plan_shape_norm(s, "norm", &o->norm, 1, o->x.width);
	if (o->gate != LMD_NONE)
		(void)lmi_plan_shape_weight(s, "gate", o->gate, 1, up ? up->n : 0, o->x.width);
	if (down)
		lmi_plan_shape_residual(s, &o->y, &o->r_in, &o->r_out, 1, down->n);
}

void lmi_plan_shape_head(struct lmi_plan_shape *s)
{
	struct lmd_op_head *o = &s->op->u.head;
	const struct lmd_weight_ref *w = lmi_plan_shape_weight(s, "w", o->w, 1, 0, o->x.width);

	lmi_plan_shape_rows(s, "x", &o->x, LMD_SPACE_TOKENS);
	lmi_plan_shape_in_space(s, LMD_SPACE_OUTPUTS, "output rows");
	lmi_plan_shape_eq(s, "heads of x", o->x.n_head, "plain columns", 1);
	lmi_plan_shape_norm(s, "norm", &o->norm, 1, o->x.width);
	if (!(o->softcap >= 0))
		lmi_plan_shape_fail(s, "softcap is %g, expected at least 0", (double)o->softcap);
	if (w)
		lmi_plan_shape_heads(s, "y", &o->y, 1, w->n);
	if (o->bias != LMD_NONE)
		lmi_plan_shape_vector(s, "bias", o->bias, w ? w->n : 0);
}
