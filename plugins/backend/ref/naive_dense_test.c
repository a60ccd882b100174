/* SPDX-License-Identifier: MIT
 *
 * EMBED, NORM, LINEAR, GLU, FFN, HEAD, MOE_FFN, BMM, PATCH from their definitions. */
#include <math.h>

#include "plugins/backend/ref/naive_test.h"

#define ROW 4096 /* at least the columns of any case */

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double limit(double x, double l)
{
	return fmax(-l, fmin(l, x));
}

double act(uint32_t kind, const float *p, double x, const double *b)
{
	double times = b ? *b : 1, y = x;

	switch ((enum lmd_act_fn)kind) {
	case LMD_ACT_FN_NONE:
		break;
	case LMD_ACT_FN_SILU:
		y = x * sigmoid(x);
		break;
	case LMD_ACT_FN_GELU:
		y = 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
		break;
	case LMD_ACT_FN_GELU_ERF:
		y = 0.5 * x * (1 + erf(x / sqrt(2)));
		break;
	case LMD_ACT_FN_GELU_QUICK:
		y = x * sigmoid(1.702 * x);
		break;
	case LMD_ACT_FN_RELU:
		y = x > 0 ? x : 0;
		break;
	case LMD_ACT_FN_RELU2:
		y = x > 0 ? x * x : 0;
		break;
	case LMD_ACT_FN_SIGMOID:
		y = sigmoid(x);
		break;
	case LMD_ACT_FN_SOFTPLUS:
		y = x > 20 ? x : log(1 + exp(x));
		break;
	case LMD_ACT_FN_TANH:
		y = tanh(x);
		break;
	case LMD_ACT_FN_XIELU:
		if (x > 0)
			y = (double)p[1] * x * x + (double)p[2] * x;
		else
			y = (expm1(fmin(x, (double)p[3])) - x) * (double)p[0] + (double)p[2] * x;
		break;
	case LMD_ACT_FN_OAI:
		x = fmin(x, (double)p[1]);
		y = x * sigmoid((double)p[0] * x);
		times = b ? limit(*b, (double)p[1]) + 1 : 1;
		break;
	case LMD_ACT_FN_SILU_CLAMP_IN:
		x = fmin(x, (double)p[0]);
		y = x * sigmoid(x);
		times = b ? limit(*b, (double)p[0]) : 1;
		break;
	case LMD_ACT_FN_SILU_CLAMP_OUT:
		y = fmin(x * sigmoid(x), (double)p[0]);
		times = b ? limit(*b, (double)p[0]) : 1;
		break;
	case LMD_ACT_FN_SITU:
		y = (double)p[0] * tanh(x / (double)p[0]) * sigmoid(x);
		times = !b ? 1 : p[1] > 0 ? (double)p[1] * tanh(*b / (double)p[1]) : *b;
		break;
	case LMD_ACT_FN_EXP:
		y = exp(x);
		break;
	}
	return y * times;
}

static double cap(double x, double c)
{
	return c != 0 ? c * tanh(x / c) : x;
}

/* ---- EMBED ---- */

static double table(const struct naive *n, uint32_t weight_ref, int64_t row, uint32_t col)
{
	return wrow(n, weight_ref, 0, (uint32_t)row)[col];
}

void naive_embed(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_embed *e = &op->u.embed;
	uint32_t w = n->p->weight_refs[e->table].k, rows = rows_of(n, &e->y);
	double one_hot[OC_VOCAB];

	for (uint32_t r = 0; r < rows; r++) {
		for (uint32_t j = 0; j < e->n_id * w; j++) {
			int64_t id = e->idx_kind == LMD_IDX_TOKEN
					     ? n->s->token[r]
					     : (int64_t)get_flat(n, &e->idx, r, j / w);
			double y = 0;

			for (uint32_t i = 0; i < OC_VOCAB; i++)
				one_hot[i] = id == i;
			if (id >= 0)
				y = (double)e->scale *
				    lora_factor(n, e->lora_site, LMD_SPACE_TOKENS, r, 0, j % w) *
				    (table(n, e->table, id, j % w) +
				     lora(n, e->lora_site, LMD_SPACE_TOKENS, r, 0, one_hot, j % w));
			else if (e->idx_kind == LMD_IDX_TOKEN && e->neg == LMD_NEG_ROW)
				y = (double)e->scale * table(n, e->table, e->neg_row, j % w);
			else if (e->idx_kind == LMD_IDX_TOKEN && e->neg == LMD_NEG_EXTERNAL)
				y = (double)e->scale_ext *
				    (double)((const float *)n->c->inputs[0]
						     .data)[(-1 - id) * OC_EMBD + e->ext_col0 +
							    j % w];
			if (e->pos_table != LMD_NONE)
				y += table(n, e->pos_table,
					   (e->pos.src ? (int64_t)get_flat(n, &e->pos, r, 0)
						       : n->s->pos[0][r]) +
						   e->pos_off,
					   j);
			if (e->type_table != LMD_NONE)
				y += table(n, e->type_table, e->type_row, j);
			put_flat(n, &e->y, r, j, y);
		}
	}
}

/* ---- NORM ---- */

static double scaled(const struct naive *n, const struct lmd_norm *m, uint32_t row, uint32_t head,
		     uint32_t col, double x)
{
	if (m->g.src)
		x *= get(n, &m->g, row, m->g.n_head > 1 ? head : 0, col) + m->g_plus_one;
	if (m->b.src)
		x += get(n, &m->b, row, m->b.n_head > 1 ? head : 0, col);
	return x;
}

/* Mean and sigma of `count` numbers. */
static void moments(const struct lmd_norm *m, const double *x, size_t count, double *mean,
		    double *sigma)
{
	double sum = 0, sq = 0;

	for (size_t i = 0; i < count; i++)
		sum += x[i];
	*mean = m->kind == LMD_NORM_LAYER ? sum / (double)count : 0;
	for (size_t i = 0; i < count; i++)
		sq += (x[i] - *mean) * (x[i] - *mean);
	*sigma = m->kind == LMD_NORM_L2 ? fmax(sqrt(sq), (double)m->eps)
					: sqrt(sq / (double)count + (double)m->eps);
}

void norm_row(const struct naive *n, const struct lmd_norm *m, uint32_t row, uint32_t head,
	      const double *x, double *y, uint32_t width, double *stat)
{
	uint32_t size = m->n ? m->n : width;

	for (uint32_t c = 0; c < width; c++) {
		uint32_t group = c / size;
		double mean, sigma;

		moments(m, x + group * size, size, &mean, &sigma);
		y[c] = scaled(n, m, row, head, c, (x[c] - mean) / sigma);
		if (stat) {
			stat[2 * group] = mean;
			stat[2 * group + 1] = 1 / sigma;
		}
	}
}

static double summed(const struct naive *n, const struct lmd_op_norm *o, uint32_t r, uint32_t h,
		     uint32_t c)
{
	return get(n, &o->x, r, h, c) + (o->r.src ? (double)o->a * get(n, &o->r, r, h, c) : 0);
}

static void norm_over_rows(struct naive *n, const struct lmd_op_norm *o)
{
	static double all[ROW];
	uint32_t size = o->norm.n ? o->norm.n : o->x.width;

	for (uint32_t s = 0; s < n->s->head->n_seq; s++) {
		uint32_t first, len;

		seq_rows(n, LMD_SPACE_TOKENS, s, &first, &len);
		for (uint32_t g = 0; g < o->x.width / size; g++) {
			double mean, sigma;

			for (uint32_t i = 0; i < len * size; i++)
				all[i] = summed(n, o, first + i / size, 0, g * size + i % size);
			moments(&o->norm, all, len * size, &mean, &sigma);
			for (uint32_t i = 0; i < len * size; i++) {
				uint32_t r = first + i / size, c = g * size + i % size;

				put(n, &o->y, r, 0, c,
				    scaled(n, &o->norm, r, 0, c, (all[i] - mean) / sigma));
				put_flat(n, &o->stat, r, 2 * g, mean);
				put_flat(n, &o->stat, r, 2 * g + 1, 1 / sigma);
			}
		}
	}
}

void naive_norm(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_norm *o = &op->u.norm;
	uint32_t per_head = o->norm.n ? o->x.width / o->norm.n : 1;
	double x[ROW], y[ROW], stat[ROW];

	if (o->over_rows) {
		norm_over_rows(n, o);
		return;
	}
	for (uint32_t r = 0; r < rows_of(n, &o->y); r++) {
		for (uint32_t h = 0; h < o->x.n_head; h++) {
			for (uint32_t c = 0; c < o->x.width; c++) {
				x[c] = summed(n, o, r, h, c);
				if (o->h.src)
					put(n, &o->h, r, h, c, x[c]);
			}
			norm_row(n, &o->norm, r, h, x, y, o->x.width, stat);
			for (uint32_t c = 0; c < o->x.width; c++)
				put(n, &o->y, r, h, c, y[c]);
			for (uint32_t i = 0; o->stat.src && i < 2 * per_head; i++)
				put_flat(n, &o->stat, r, 2 * h * per_head + i, stat[i]);
		}
	}
}

/* A (row, head) of x, normed if there is a norm. */
static void prologue(const struct naive *n, const struct lmd_operand *o, const struct lmd_norm *m,
		     uint32_t row, uint32_t head, double *x)
{
	double raw[ROW];

	for (uint32_t c = 0; c < o->width; c++)
		raw[c] = x[c] = get(n, o, row, head, c);
	if (m->kind != LMD_NORM_NONE)
		norm_row(n, m, row, head, raw, x, o->width, NULL);
}

/* One output of s (x w^T) plus the adapter. */
static double output(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t i,
		     uint32_t site, uint32_t space, uint32_t row, const double *x)
{
	double y = wscale(n, weight_ref, slice, i) * product(n, weight_ref, slice, i, x) +
		   lora(n, site, space, row, slice, x, i);

	return lora_factor(n, site, space, row, slice, i) * y;
}

/* Stores y and r_out of a residual op. */
static void result(struct naive *n, const struct lmd_operand *y, const struct lmd_operand *r_in,
		   const struct lmd_operand *r_out, float a, uint32_t row, uint32_t head,
		   uint32_t col, double v)
{
	if (y->src)
		put(n, y, row, head, col, v);
	if (r_out->src)
		put(n, r_out, row, head, col, get(n, r_in, row, head, col) + (double)a * v);
}

/* ---- LINEAR ---- */

void naive_linear(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_linear *o = &op->u.linear;
	double x[ROW];

	for (uint32_t i = 0; i < o->n_w; i++) {
		const struct lmd_operand *to = o->y[i].src ? &o->y[i] : &o->r_out[i];

		for (uint32_t r = 0; r < rows_of(n, to); r++) {
			for (uint32_t h = 0; h < to->n_head; h++) {
				int64_t e = o->ids.src ? (int64_t)get_flat(n, &o->ids, r, h) : 0;

				prologue(n, &o->x, &o->pro, r, o->x.n_head > 1 ? h : 0, x);
				for (uint32_t c = 0; c < to->width; c++) {
					double v = 0;

					if (e >= 0) {
						v = (double)o->scale *
							    output(n, o->w[i], (uint32_t)e, c,
								   o->lora_site[i], space_of(n, to),
								   r, x) +
						    wbias(n, o->w[i], (uint32_t)e, c);
						v = cap(act(o->act, o->p, v, NULL),
							(double)o->softcap);
						if (o->clamp_lo != 0 || o->clamp_hi != 0)
							v = fmin(fmax(v, (double)o->clamp_lo),
								 (double)o->clamp_hi);
					}
					result(n, &o->y[i], &o->r_in[i], &o->r_out[i], o->a, r, h,
					       c, v);
				}
			}
		}
	}
}

/* ---- GLU, FFN, HEAD ---- */

void naive_glu(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_glu *g = &op->u.glu;

	for (uint32_t r = 0; r < rows_of(n, &g->y); r++) {
		for (uint32_t h = 0; h < g->y.n_head; h++) {
			for (uint32_t c = 0; c < g->y.width; c++) {
				double b = g->b.src ? get(n, &g->b, r, h, c) : 0;

				put(n, &g->y, r, h, c,
				    act(g->act, g->p, get(n, &g->a, r, h, c),
					g->b.src ? &b : NULL));
			}
		}
	}
}

void naive_ffn(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	const struct lmd_operand *to = f->y.src ? &f->y : &f->r_out;
	uint32_t wide = n->p->weight_refs[f->up].n, space = space_of(n, to);
	double x[ROW], h[ROW];

	for (uint32_t r = 0; r < rows_of(n, to); r++) {
		prologue(n, &f->x, &f->norm, r, 0, x);
		for (uint32_t i = 0; i < wide; i++) {
			double up = output(n, f->up, 0, i, f->lora_site[1], space, r, x) +
				    wbias(n, f->up, 0, i);

			if (f->gate == LMD_NONE)
				h[i] = act(f->act, f->p, up, NULL);
			else
				h[i] = act(f->act, f->p,
					   output(n, f->gate, 0, i, f->lora_site[0], space, r, x) +
						   wbias(n, f->gate, 0, i),
					   &up);
		}
		for (uint32_t i = 0; i < n->p->weight_refs[f->down].n; i++)
			result(n, &f->y, &f->r_in, &f->r_out, f->a, r, 0, i,
			       output(n, f->down, 0, i, f->lora_site[2], space, r, h) +
				       wbias(n, f->down, 0, i));
	}
}

void naive_head(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_head *h = &op->u.head;
	double x[ROW];

	for (uint32_t o = 0; o < n->s->head->n_out; o++) {
		prologue(n, &h->x, &h->norm, (uint32_t)n->s->out_row[o], 0, x);
		for (uint32_t i = 0; i < n->p->weight_refs[h->w].n; i++) {
			double v = (double)h->scale * output(n, h->w, 0, i, h->lora_site,
							     LMD_SPACE_OUTPUTS, o, x) +
				   wbias(n, h->w, 0, i);

			v = cap(v, (double)h->softcap);
			put(n, &h->y, o, 0, i,
			    v + (h->bias == LMD_NONE ? 0 : n->weight[h->bias][i]));
		}
	}
}

/* ---- MOE_FFN, BMM, PATCH ---- */

static double expert(const struct naive *n, const struct lmd_op_moe_ffn *m, uint32_t e, uint32_t r,
		     const double *x, uint32_t i)
{
	uint32_t wide = n->p->weight_refs[m->down].k, space = LMD_SPACE_TOKENS;
	double h[ROW];

	for (uint32_t j = 0; j < wide; j++) {
		uint32_t up_w = m->gate_up != LMD_NONE ? m->gate_up : m->up;
		uint32_t up_i = m->gate_up != LMD_NONE ? wide + j : j;
		uint32_t gate_w = m->gate_up != LMD_NONE ? m->gate_up : m->gate;
		uint32_t up_site = m->gate_up != LMD_NONE ? m->lora_site[0] : m->lora_site[1];
		double up =
			output(n, up_w, e, up_i, up_site, space, r, x) + wbias(n, up_w, e, up_i);

		if (gate_w == LMD_NONE)
			h[j] = act(m->act, m->p, up, NULL);
		else
			h[j] = act(m->act, m->p,
				   output(n, gate_w, e, j, m->lora_site[0], space, r, x) +
					   wbias(n, gate_w, e, j),
				   &up);
	}
	return output(n, m->down, e, i, m->lora_site[2], space, r, h) + wbias(n, m->down, e, i);
}

void naive_moe_ffn(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_moe_ffn *m = &op->u.moe_ffn;
	const struct lmd_operand *to = m->y.src ? &m->y : &m->r_out;
	double x[ROW];

	for (uint32_t r = 0; r < rows_of(n, to); r++) {
		for (uint32_t i = 0; i < n->p->weight_refs[m->down].n; i++) {
			double v = 0;

			for (uint32_t j = 0; j < cols(&m->ids); j++) {
				double e = get_flat(n, &m->ids, r, j);
				double w = get_flat(n, &m->weights, r, j);

				for (uint32_t c = 0; c < m->x.width; c++)
					x[c] = get(n, &m->x, r, 0, c) * (m->weight_before ? w : 1);
				if (e >= 0)
					v += (m->weight_before ? 1 : w) *
					     expert(n, m, (uint32_t)e, r, x, i);
			}
			result(n, &m->y, &m->r_in, &m->r_out, m->a, r, 0, i, v);
		}
	}
}

void naive_bmm(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_bmm *b = &op->u.bmm;

	for (uint32_t r = 0; r < rows_of(n, &b->y); r++) {
		for (uint32_t h = 0; h < b->y.n_head; h++) {
			for (uint32_t i = 0; i < b->y.width; i++) {
				const double *w = wrow(n, b->w, h, i);
				double sum = 0;

				for (uint32_t c = 0; c < b->x.width; c++)
					sum += w[c] * get(n, &b->x, r, h, c);
				put(n, &b->y, r, h, i,
				    wscale(n, b->w, h, i) * sum + wbias(n, b->w, h, i));
			}
		}
	}
}

void naive_patch(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_patch *p = &op->u.patch;
	uint32_t from = p->x.src == LMD_SRC_INPUT ? p->x_space : space_of(n, &p->x);
	uint32_t to = space_of(n, &p->y), k0 = p->kernel[0], k1 = p->n_dim == 2 ? p->kernel[1] : 1;

	for (uint32_t r = 0; r < rows_of(n, &p->y); r++) {
		uint32_t s = seq_of(n, to, r), first, len, y0, ylen;
		int64_t w, h, wide, i0, i1;

		seq_rows(n, from, s, &first, &len);
		seq_rows(n, to, s, &y0, &ylen);
		w = p->n_dim == 2 ? n->s->x_w[from - LMD_SPACE_X0][s] : (int64_t)len;
		h = p->n_dim == 2 ? n->s->x_h[from - LMD_SPACE_X0][s] : 1;
		wide = (w + 2 * p->pad[0] - (int64_t)p->dilation[0] * (k0 - 1) - 1) / p->stride[0] +
		       1;
		for (uint32_t i = 0; i < n->p->weight_refs[p->w].n; i++) {
			const double *row = wrow(n, p->w, 0, i);
			double sum = 0;

			for (uint32_t j = 0; j < cols(&p->x) * k0 * k1; j++) {
				i0 = (r - y0) % wide * p->stride[0] - p->pad[0] +
				     (int64_t)(j % k0) * p->dilation[0];
				i1 = p->n_dim == 2 ? (r - y0) / wide * p->stride[1] - p->pad[1] +
							     (int64_t)(j / k0 % k1) * p->dilation[1]
						   : 0;
				if (i0 >= 0 && i0 < w && i1 >= 0 && i1 < h)
					sum += row[j] * get_flat(n, &p->x,
								 first + (uint32_t)(i1 * w + i0),
								 j / (k0 * k1));
			}
			put_flat(n, &p->y, r, i,
				 wscale(n, p->w, 0, i) * sum + wbias(n, p->w, 0, i));
		}
	}
}
