/* SPDX-License-Identifier: MIT
 *
 * The step of an instance, its inputs, and the contents of the caches before it. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/conformance/opcase_priv.h"

const struct oc_layout oc_layouts[] = {
	{.name = "1 row, 37 before", .n_seq = 1, .past = {37}, .len = {1}},
	{.name = "2 rows", .n_seq = 1, .past = {0}, .len = {2}},
	{.name = "3 sequences at page borders", .n_seq = 3, .past = {31, 32, 63}, .len = {1, 1, 1}},
	{.name = "7 rows, 2 sequences", .n_seq = 2, .past = {0, 30}, .len = {4, 3}},
	{.name = "33 rows", .n_seq = 1, .past = {0}, .len = {33}},
	{.name = "33 rows, 3 sequences", .n_seq = 3, .past = {5, 100, 13}, .len = {5, 1, 27}},
};
const uint32_t n_oc_layouts = LMD_LEN(oc_layouts);

static const struct oc_layout long_layouts[] = {
	{.name = "1 row, 4095 before", .n_seq = 1, .past = {4095}, .len = {1}},
	{.name = "4 rows, 2 sequences, 4093 before", .n_seq = 2, .past = {4093, 1500}, .len = {3, 1}},
};

const struct oc_layout *oc_layouts_of(const struct opcase *def, uint32_t *n)
{
	bool is_long = def->flags & OC_LONG;

	*n = is_long ? (uint32_t)LMD_LEN(long_layouts) : n_oc_layouts;
	return is_long ? long_layouts : oc_layouts;
}

uint32_t oc_max_keys(const struct oc *c)
{
	return c->def->flags & OC_LONG ? OC_LONG_KEYS : OC_MAX_KEYS;
}

uint32_t oc_n_index(const struct oc *c, uint32_t page_tokens)
{
	return oc_max_keys(c) / page_tokens + 1;
}

/* Odd and not a multiple of 7, so that strides of 7 reach every page. */
uint32_t oc_n_page(const struct oc *c, uint32_t page_tokens)
{
	uint32_t n = OC_SEQ_SLOTS * oc_n_index(c, page_tokens) | 1;

	return n % 7 ? n : n + 2;
}

uint32_t oc_page_of(const struct oc *c, uint32_t seq_slot, uint32_t index, uint32_t page_tokens)
{
	return (seq_slot * oc_n_index(c, page_tokens) + index) * 7 % oc_n_page(c, page_tokens);
}

uint32_t oc_seq_slot(uint32_t seq)
{
	return (seq * 2 + 1) % OC_SEQ_SLOTS;
}

uint32_t oc_n_key(const struct oc *c, uint32_t group, uint32_t seq)
{
	uint32_t n = c->layout->past[seq] + c->layout->len[seq];

	if (group == OC_G_CROSS)
		return (uint32_t)(c->step->x_off[0][seq + 1] - c->step->x_off[0][seq]);
	return group == OC_G_COMP ? n / 4 : n;
}

static int32_t physical(const struct oc *c, uint32_t seq, uint32_t key, uint32_t page_tokens)
{
	return (int32_t)(oc_page_of(c, oc_seq_slot(seq), key / page_tokens, page_tokens) *
				 page_tokens +
			 key % page_tokens);
}

/* ---- the step ---- */

static void fill_x(struct oc *c)
{
	for (uint32_t k = 0; k < 3; k++) {
		int32_t at = 0;

		for (uint32_t s = 0; s < c->layout->n_seq; s++) {
			int32_t h = (int32_t)(c->x[k].h ? c->x[k].h + s * c->x[k].step : 0);
			int32_t w = (int32_t)(c->x[k].h ? c->x[k].w + s * c->x[k].step : 0);

			c->step->x_off[k][s] = at;
			c->step->x_h[k][s] = h;
			c->step->x_w[k][s] = w;
			at += h * w;
		}
		c->step->x_off[k][c->layout->n_seq] = at;
		c->rows[LMD_SPACE_X0 + k] = (uint32_t)at;
	}
}

static void fill_rows(struct oc *c)
{
	struct lmi_plan_step *st = c->step;
	uint32_t t = 0;

	for (uint32_t s = 0; s < c->layout->n_seq; s++) {
		st->q_start[s] = (int32_t)t;
		st->q_len[s] = (int32_t)c->layout->len[s];
		st->seq_slot[s] = (int32_t)oc_seq_slot(s);
		if (s == 0 && c->layout->len[s] > 1)
			st->out_row[c->n_out++] = 0;
		for (uint32_t i = 0; i < c->layout->len[s]; i++, t++) {
			int32_t pos = (int32_t)(c->layout->past[s] + i);

			st->token[t] = (int32_t)oc_uniform(c, 0, OC_VOCAB);
			if (t % 5 == 3) /* a row of input 0 */
				st->token[t] = -1 - (int32_t)(t % OC_EXT_ROWS);
			st->pos[0][t] = pos;
			st->pos[1][t] = pos / 2;
			st->pos[2][t] = pos % 5;
			st->pos[3][t] = 7;
			st->seq_of[t] = (int32_t)s;
			if (st->lora_slot)
				st->lora_slot[t] = (int32_t)(t % 3);
			if (!st->tree)
				continue;
			/* row i of the sequence sees itself and every second row before it */
			st->tree[t] = 1ull << i | (0x5555555555555555ull & ((1ull << i) - 1));
		}
		st->out_row[c->n_out++] = (int32_t)t - 1;
	}
	st->head->n_tok = c->rows[LMD_SPACE_TOKENS] = t;
	st->head->n_seq = c->rows[LMD_SPACE_SEQS] = c->layout->n_seq;
	st->head->n_out = c->rows[LMD_SPACE_OUTPUTS] = c->n_out;
	if (st->lora_slot)
		st->head->flags |= LMD_STEP_LORA;
	for (uint32_t i = 0; i < 2 * t; i++)
		((int32_t *)st->row_in[0])[i] = (int32_t)floor(oc_uniform(c, -1, t));
	for (uint32_t i = 0; i < 3 * t; i++)
		((float *)st->row_in[1])[i] = (float)oc_normal(c);
}

/* Lets row t see keys lo..hi. */
static void set_visible_keys(struct lmi_plan_step *st, uint32_t group, uint32_t t, int32_t lo,
			     int32_t hi)
{
	st->group[group].kv_lo[t] = t % 4 == 3 && hi - lo > 5 ? hi - 5 : lo;
	st->group[group].kv_hi[t] = t == 6 ? lo : hi;
}

static void fill_groups(struct oc *c, uint32_t page_tokens)
{
	struct lmi_plan_step *st = c->step;

	for (uint32_t t = 0; t < c->rows[LMD_SPACE_TOKENS]; t++) {
		uint32_t seq = (uint32_t)st->seq_of[t], i = t - (uint32_t)st->q_start[seq];
		int32_t pos = st->pos[0][t], len = st->q_len[seq];
		bool end = (pos + 1) % 4 == 0;

		set_visible_keys(st, OC_G_FULL, t, 0, pos + 1);
		st->group[OC_G_FULL].slot[t] =
			t % 7 == 5 ? -1 : physical(c, seq, (uint32_t)pos, page_tokens);
		set_visible_keys(st, OC_G_COMP, t, 0, (pos + 1) / 4);
		st->group[OC_G_COMP].slot[t] =
			end ? physical(c, seq, (uint32_t)pos / 4, page_tokens) : -1;
		set_visible_keys(st, OC_G_BATCH, t, 0, len);
		set_visible_keys(st, OC_G_CROSS, t, 0, (int32_t)oc_n_key(c, OC_G_CROSS, seq));
		st->group[OC_G_STATE].state_out[t] = i + 1 == (uint32_t)len ? (int32_t)(8 + seq)
						     : i == 1		    ? (int32_t)(12 + seq)
									    : -1;
	}
	for (uint32_t s = 0; s < c->layout->n_seq; s++)
		st->group[OC_G_STATE].state_in[s] = s == 1 ? -1 : s == 2 ? 8 + 2 : (int32_t)s;
	for (uint32_t s = 0; s < c->layout->n_seq; s++) {
		int32_t first = st->x_off[0][s], n = st->x_off[0][s + 1] - first;

		for (int32_t i = 0; i < n; i++) {
			set_visible_keys(st, OC_G_XB, (uint32_t)(first + i), 0, n);
			st->group[OC_G_CROSS].slot[first + i] =
				physical(c, s, (uint32_t)i, page_tokens);
		}
	}
}

static void fill_pages(struct oc *c, uint32_t page_tokens)
{
	const uint32_t paged[] = {OC_G_FULL, OC_G_COMP, OC_G_CROSS};

	for (uint32_t i = 0; i < LMD_LEN(paged); i++) {
		struct lmd_page_set *set = c->step->group[paged[i]].change;
		uint32_t n = 0;

		for (uint32_t s = 0; s < c->layout->n_seq; s++) {
			for (uint32_t j = 0; j < oc_n_index(c, page_tokens); j++) {
				uint32_t slot = oc_seq_slot(s);

				set[n++] = (struct lmd_page_set){
					slot,
					j,
					oc_page_of(c, slot, j, page_tokens),
				};
			}
		}
		c->step->head->n_change[paged[i]] = n;
	}
}

/* ---- inputs and caches ---- */

static int32_t entry(struct oc *c, const struct oc_input *in, size_t j)
{
	if (!in->list)
		return (int32_t)floor(oc_uniform(c, in->lo, in->hi + 1));
	if (oc_uniform(c, 0, 1) < 0.2)
		return -1;
	return (int32_t)((double)(j % in->width % in->list) * in->hi +
			 floor(oc_uniform(c, 0, in->hi)));
}

static bool fill_inputs(struct oc *c)
{
	for (uint32_t i = 0; i < c->n_input; i++) {
		struct oc_input *in = &c->inputs[i];
		size_t n;

		in->n_row = in->space == LMD_N_SPACE ? OC_EXT_ROWS : c->rows[in->space];
		n = (size_t)in->n_row * in->width;
		in->data = lmi_alloc(n ? n : 1, 4);
		if (!in->data)
			return false;
		for (size_t j = 0; j < n; j++) {
			if (in->i32)
				((int32_t *)in->data)[j] = entry(c, in, j);
			else
				((float *)in->data)[j] =
					(float)(in->lo + in->hi * oc_normal(c) +
						(j % in->width < OC_PARAMS
							 ? in->column[j % in->width]
							 : 0));
		}
	}
	return true;
}

/* Makes n_row rows of n_head encoded heads, each of `width` numbers. */
static char *random_rows(struct oc *c, uint32_t dtype, size_t n_row, uint32_t n_head,
			 uint32_t width, size_t *bytes)
{
	uint32_t elems = 1, block = 4;
	float *v = lmi_alloc(width, sizeof(*v));
	char *out = NULL;
	size_t head;

	if (v && c->host->dtype_info(c->host->ctx, dtype, &elems, &block) && width % elems == 0) {
		head = (size_t)width / elems * block;
		*bytes = head * n_head;
		out = lmi_alloc(n_row * n_head, head);
		for (size_t i = 0; out && i < n_row * n_head; i++) {
			for (uint32_t j = 0; j < width; j++)
				v[j] = (float)oc_normal(c);
			(void)c->host->quant_rows(
				c->host->ctx, dtype, v, out + i * head,
				width); /* pool_create rejects types that cannot be encoded */
		}
	}
	lmi_free(v);
	return out;
}

static bool fill_memory(struct oc *c)
{
	for (uint32_t i = 0; i < c->view->n_cache; i++) {
		const struct lmd_cache *x = &c->view->caches[i];
		struct oc_rows *m = &c->memory[i];

		m->n_row = oc_max_keys(c);
		if (x->kind == LMD_CACHE_CONV || x->kind == LMD_CACHE_STATE) {
			uint32_t rows = x->kind == LMD_CACHE_CONV ? x->dk : x->n_head;
			uint32_t cols =
				x->kind == LMD_CACHE_CONV ? x->n_head * x->dv : x->dk * x->dv;

			m->n_row = OC_N_SLOT;
			m->k = random_rows(c, x->k_dtype, OC_N_SLOT, rows, cols, &m->k_bytes);
		} else {
			m->k = random_rows(c, x->k_dtype, (size_t)OC_SEQ_SLOTS * m->n_row,
					   x->n_head, x->dk, &m->k_bytes);
			if (x->kind == LMD_CACHE_KV)
				m->v = random_rows(c, x->v_dtype, (size_t)OC_SEQ_SLOTS * m->n_row,
						   x->n_head, x->dv, &m->v_bytes);
		}
		if (!m->k || (x->kind == LMD_CACHE_KV && !m->v))
			return false;
	}
	return true;
}

enum lmd_status oc_fill(struct oc *c, uint32_t page_tokens)
{
	enum lmd_status st = lmi_plan_step_create(&c->step, c->view,
						  OC_SEQ_SLOTS * oc_n_index(c, page_tokens), c->err);

	if (st != LMD_OK)
		return st;
	fill_x(c);
	fill_rows(c);
	fill_groups(c, page_tokens);
	fill_pages(c, page_tokens);
	if (c->view->key.bucket)
		lmi_plan_step_pad(c->step);
	if (!fill_inputs(c) || !fill_memory(c))
		return lmd_fail(c->err, LMD_NOMEM, "case %s: out of memory for its data",
				c->def->name);
	return LMD_OK;
}
