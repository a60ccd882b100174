/* SPDX-License-Identifier: MIT
 *
 * CONV, SCAN, MIX, ROUTE and SAMPLE from their definitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llamad/sampler.h"
#include "plugins/backend/ref/naive_test.h"

/* ---- CONV ---- */

struct conv {
	struct naive *n;
	const struct lmd_op_conv *o;
	uint32_t seq, first, len;
	double history[4096]; /* [dk][columns of the cache]; zeros if there is no slot */
	uint32_t dk, width; /* dk and columns of the cache; 0 without a cache */
};

/* Column c of row i, from the slot if i < 0; columns after those of x are those of score. */
static double at_row(const struct conv *v, int64_t i, uint32_t c)
{
	uint32_t n = cols(&v->o->x);

	if (i >= v->len)
		return 0;
	if (i >= 0)
		return c < n ? get_flat(v->n, &v->o->x, v->first + (uint32_t)i, c)
			     : get_flat(v->n, &v->o->score, v->first + (uint32_t)i, c - n);
	if (-i > v->dk)
		return 0;
	return v->history[(size_t)(v->dk + i) * v->width + c];
}

static double depthwise(const struct conv *v, uint32_t i, uint32_t c)
{
	const struct lmd_op_conv *o = v->o;
	const double *w = wrow(v->n, o->w, 0, c);
	double sum = wbias(v->n, o->w, 0, c);
	int64_t map_w = o->map ? v->n->s->x_w[0][v->seq] : 0;
	int64_t map_h = o->map ? v->n->s->x_h[0][v->seq] : 0;

	for (uint32_t j = 0; !o->map && j < o->kernel; j++)
		sum += w[j] * at_row(v, (int64_t)i - o->left + j * o->dilation, c);
	for (uint32_t j = 0; o->map && j < o->kernel * o->kernel; j++) {
		int64_t y = i / map_w - o->left + j / o->kernel * o->dilation;
		int64_t x = i % map_w - o->left + j % o->kernel * o->dilation;

		if (y >= 0 && y < map_h && x >= 0 && x < map_w)
			sum += w[j] * at_row(v, y * map_w + x, c);
	}
	return act(o->act, o->p, sum, NULL);
}

static double pooled(const struct conv *v, uint32_t i, uint32_t c)
{
	const struct lmd_op_conv *o = v->o;
	uint32_t n = cols(&o->x), w = cols(&o->y), rows = o->overlap ? 2 * o->n : o->n;
	double sum = 0, total = 0;

	if (v->n->s->group[o->group].slot[v->first + i] < 0)
		return 0;
	for (uint32_t back = 0; back < rows; back++) {
		/* The newer n rows use the second half of the columns. */
		uint32_t col = o->overlap && back < o->n ? c + w : c;
		double share;

		if (v->n->s->pos[0][v->first + i] < (int32_t)back)
			continue; /* before position 0 */
		share = o->score.src ? exp(at_row(v, (int64_t)i - back, n + col)) : 1;
		sum += share * at_row(v, (int64_t)i - back, col);
		total += share;
	}
	return sum / total;
}

static void conv_seq(struct conv *v)
{
	const struct lmd_op_conv *o = v->o;
	struct naive *n = v->n;
	uint32_t group = o->cache == LMD_NONE ? 0 : n->p->caches[o->cache].group;

	if (o->cache != LMD_NONE) {
		int32_t slot = n->s->group[group].state_in[v->seq];
		size_t bytes = (size_t)v->dk * v->width * sizeof(double);

		if (slot >= 0)
			memcpy(v->history, n->k[o->cache] + (size_t)slot * v->dk * v->width,
			       bytes);
	}
	for (uint32_t i = 0; i < v->len; i++) {
		for (uint32_t c = 0; c < cols(&o->y); c++)
			put_flat(n, &o->y, v->first + i, c,
				 o->kind == LMD_CONV_DEPTHWISE ? depthwise(v, i, c)
				 : o->kind == LMD_CONV_SHIFT   ? at_row(v, (int64_t)i - o->n, c)
							       : pooled(v, i, c));
		for (uint32_t j = 0; o->cache != LMD_NONE && j < v->dk * v->width; j++) {
			int32_t slot = n->s->group[group].state_out[v->first + i];

			if (slot >= 0)
				n->k[o->cache][(size_t)slot * v->dk * v->width + j] = at_row(
					v, (int64_t)i + 1 + j / v->width - v->dk, j % v->width);
		}
	}
}

void naive_conv(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_conv *o = &op->u.conv;

	for (uint32_t s = 0; s < n->s->head->n_seq; s++) {
		struct conv v = {.n = n, .o = o, .seq = s};

		if (o->cache != LMD_NONE) {
			v.dk = n->p->caches[o->cache].dk;
			v.width = n->p->caches[o->cache].n_head * n->p->caches[o->cache].dv;
		}
		seq_rows(n, space_of(n, &o->y), s, &v.first, &v.len);
		conv_seq(&v);
	}
}

/* ---- SCAN ---- */

/* in[k] of a row for a head of `width` columns; the operand need not be divided into heads. */
static double in(const struct naive *n, const struct lmd_op_scan *s, int k, uint32_t row,
		 uint32_t head, uint32_t width, uint32_t c)
{
	return get_flat(n, &s->in[k], row, head * width + c);
}

static void scan_row(struct naive *n, const struct lmd_op_scan *o, uint32_t r, uint32_t h,
		     double *S)
{
	uint32_t kh =
		o->key_map == LMD_MAP_CYCLE ? h % o->n_key_head : h / (o->n_head / o->n_key_head);
	uint32_t dk = o->dk, dv = o->dv, gates = cols(&o->in[3]) == o->n_head ? 1 : dk;
	double y[64] = {0}, sa[64] = {0}, old[64 * 64];

	memcpy(old, S, (size_t)dk * dv * sizeof(*old));
	for (uint32_t i = 0; i < dk; i++) {
		for (uint32_t j = 0; j < dv; j++) {
			double *sij = &S[i * dv + j], *sji = &S[j * dk + i];

			switch ((enum lmd_scan)o->kind) {
			case LMD_SCAN_MAMBA1:
				*sij = exp(in(n, o, 1, r, h, 1, 0) * wrow(n, o->w[0], 0, h)[i]) *
					       *sij +
				       in(n, o, 1, r, h, 1, 0) * in(n, o, 2, r, 0, dk, i) *
					       in(n, o, 0, r, h, 1, 0);
				y[j] += in(n, o, 3, r, 0, dk, i) * *sij;
				break;
			case LMD_SCAN_MAMBA2:
				*sji = exp(in(n, o, 1, r, h, 1, 0) * n->weight[o->w[0]][h]) * *sji +
				       in(n, o, 1, r, h, 1, 0) * in(n, o, 0, r, h, dv, j) *
					       in(n, o, 2, r, kh, dk, i);
				y[j] += in(n, o, 3, r, kh, dk, i) * *sji;
				break;
			case LMD_SCAN_RWKV6: {
				double kv = in(n, o, 1, r, h, dk, i) * in(n, o, 2, r, h, dv, j);

				y[j] += in(n, o, 0, r, h, dk, i) *
					(*sij + n->weight[o->w[0]][h * dk + i] * kv);
				*sij = in(n, o, 3, r, h, dk, i) * *sij + kv;
				break;
			}
			case LMD_SCAN_RWKV7:
				if (i == 0) {
					for (uint32_t e = 0; e < dk; e++)
						sa[j] += old[j * dk + e] * in(n, o, 4, r, h, dk, e);
				}
				*sji = in(n, o, 1, r, h, dk, i) * *sji +
				       sa[j] * in(n, o, 5, r, h, dk, i) +
				       in(n, o, 3, r, h, dv, j) * in(n, o, 2, r, h, dk, i);
				y[j] += *sji * in(n, o, 0, r, h, dk, i);
				break;
			case LMD_SCAN_GLA:
				*sij = in(n, o, 3, r, h, gates, gates > 1 ? i : 0) * *sij +
				       in(n, o, 1, r, kh, dk, i) * in(n, o, 2, r, h, dv, j);
				y[j] += (double)o->scale * in(n, o, 0, r, kh, dk, i) * *sij;
				break;
			case LMD_SCAN_DELTA: {
				double d = in(n, o, 2, r, h, dv, j);

				for (uint32_t e = 0; e < dk; e++)
					d -= in(n, o, 1, r, kh, dk, e) * old[e * dv + j] *
					     exp(in(n, o, 3, r, h, gates, gates > 1 ? e : 0));
				*sij = old[i * dv + j] *
					       exp(in(n, o, 3, r, h, gates, gates > 1 ? i : 0)) +
				       in(n, o, 1, r, kh, dk, i) * in(n, o, 4, r, h, 1, 0) * d;
				y[j] += (double)o->scale * in(n, o, 0, r, kh, dk, i) * *sij;
				break;
			}
			}
		}
	}
	for (uint32_t j = 0; j < dv; j++) {
		if (o->w[1] != LMD_NONE)
			y[j] += n->weight[o->w[1]][h] *
				in(n, o, 0, r, h, o->kind == LMD_SCAN_MAMBA1 ? 1 : dv, j);
		put_flat(n, &o->y, r, h * dv + j, y[j]);
	}
}

void naive_scan(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_scan *o = &op->u.scan;
	const struct lmd_step_group *g = &n->s->group[n->p->caches[o->cache].group];
	size_t size = (size_t)o->dk * o->dv;
	double S[64 * 64];

	for (uint32_t s = 0; s < n->s->head->n_seq; s++) {
		for (uint32_t h = 0; h < o->n_head; h++) {
			uint32_t first, len;

			memset(S, 0, sizeof(S));
			if (g->state_in[s] >= 0)
				memcpy(S,
				       n->k[o->cache] +
					       ((size_t)g->state_in[s] * o->n_head + h) * size,
				       size * sizeof(*S));
			seq_rows(n, LMD_SPACE_TOKENS, s, &first, &len);
			for (uint32_t r = first; r < first + len; r++) {
				scan_row(n, o, r, h, S);
				if (g->state_out[r] >= 0)
					memcpy(n->k[o->cache] +
						       ((size_t)g->state_out[r] * o->n_head + h) *
							       size,
					       S, size * sizeof(*S));
			}
		}
	}
}

/* ---- MIX ---- */

void naive_mix(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_mix *m = &op->u.mix;
	uint32_t n_in = m->x.n_head, n_out = m->y.n_head;

	for (uint32_t r = 0; r < rows_of(n, &m->y); r++) {
		for (uint32_t i = 0; i < n_out; i++) {
			for (uint32_t c = 0; c < m->y.width; c++) {
				double y = 0;

				for (uint32_t j = 0; j < n_in; j++) {
					double k = !m->c.src ? i == j
							     : get_flat(n, &m->c, r,
									m->c_transposed
										? j * n_out + i
										: i * n_in + j);

					y += k * get(n, &m->x, r, j, c);
				}
				if (m->z.src)
					y += (m->d.src ? get_flat(n, &m->d, r, i) : 1) *
					     get(n, &m->z, r, 0, c);
				put(n, &m->y, r, i, c, y);
			}
		}
	}
}

/* ---- ROUTE ---- */

static void route_p(const struct naive *n, const struct lmd_op_route *o, uint32_t row,
		    uint32_t count, double *p)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += exp(get_flat(n, &o->logits, row, i));
	for (uint32_t i = 0; i < count; i++) {
		double x = get_flat(n, &o->logits, row, i);

		p[i] = o->fn == LMD_ROUTE_SOFTMAX	  ? exp(x) / sum
		       : o->fn == LMD_ROUTE_SIGMOID	  ? 1 / (1 + exp(-x))
		       : o->fn == LMD_ROUTE_SQRT_SOFTPLUS ? sqrt(log(1 + exp(x)))
							  : x;
	}
}

/* The best that is not taken; ties go to the lower number. */
static uint32_t best_of(const double *v, const bool *taken, uint32_t count)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = count; i-- > 0;) {
		if (!taken[i] && (best == UINT32_MAX || v[i] >= v[best]))
			best = i;
	}
	return best;
}

static void route_groups(const struct lmd_op_route *o, const double *choice, uint32_t count,
			 bool *taken)
{
	uint32_t size = count / o->n_group;
	double score[256];
	bool used[256] = {false};

	for (uint32_t g = 0; g < o->n_group; g++) {
		bool own[256] = {false};
		uint32_t a = best_of(choice + g * size, own, size), b;

		own[a] = true;
		b = best_of(choice + g * size, own, size);
		score[g] = choice[g * size + a] + choice[g * size + b];
	}
	for (uint32_t i = 0; i < count; i++)
		taken[i] = true;
	for (uint32_t j = 0; j < o->n_group_used; j++) {
		uint32_t g = best_of(score, used, o->n_group);

		used[g] = true;
		for (uint32_t i = 0; i < size; i++)
			taken[g * size + i] = false;
	}
}

void naive_route(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_route *o = &op->u.route;
	uint32_t count = cols(&o->logits);

	for (uint32_t r = 0; r < rows_of(n, &o->ids); r++) {
		double p[256], choice[256], w[256], sum = 0, chosen = 0;
		bool taken[256] = {false};
		uint32_t id[256];

		route_p(n, o, r, count, p);
		for (uint32_t i = 0; i < count; i++)
			choice[i] = p[i] + (o->bias == LMD_NONE ? 0 : n->weight[o->bias][i]);
		if (o->n_group > 1)
			route_groups(o, choice, count, taken);
		for (uint32_t j = 0; j < o->k; j++) {
			id[j] = o->given.src ? (uint32_t)get_flat(n, &o->given, r, j)
					     : best_of(choice, taken, count);
			taken[id[j]] = !o->given.src;
			chosen += exp(p[id[j]]);
		}
		for (uint32_t j = 0; j < o->k; j++) {
			w[j] = o->fn == LMD_ROUTE_SOFTMAX_CHOSEN ? exp(p[id[j]]) / chosen
								 : p[id[j]];
			sum += w[j];
		}
		for (uint32_t j = 0; j < o->k; j++) {
			put_flat(n, &o->ids, r, j, id[j] / o->id_div);
			put_flat(n, &o->weights, r, j,
				 w[j] / (o->renorm ? fmax(sum, ldexp(1, -14)) : 1) *
					 (double)o->scale);
		}
	}
}

/* ---- SAMPLE ---- */

struct cand {
	uint32_t id;
	double l;
};

static int by_logit(const void *a, const void *b)
{
	const struct cand *x = a, *y = b;

	if (x->l != y->l)
		return x->l < y->l ? 1 : -1;
	return x->id < y->id ? -1 : 1;
}

static double total(const struct cand *v, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += exp(v[i].l);
	return sum;
}

static void penalties(const struct naive *n, const struct lmd_op_sample *o, uint32_t row,
		      uint32_t col, struct cand *v, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t times = 0;

		for (uint32_t j = 0; j < cols(&o->history); j++)
			times += get_flat(n, &o->history, row, j) == v[i].id;
		if (!times)
			continue;
		if (v[i].l > 0)
			v[i].l /= get_flat(n, &o->params, row, col);
		else
			v[i].l *= get_flat(n, &o->params, row, col);
		v[i].l -= times * get_flat(n, &o->params, row, col + 1) +
			  get_flat(n, &o->params, row, col + 2);
	}
}

static uint32_t drawn(const struct naive *n, const struct lmd_op_sample *o, uint32_t row,
		      const struct cand *v, uint32_t count)
{
	uint32_t w[4];
	double at = 0, u;

	for (uint32_t i = 0; i < 4; i++)
		w[i] = (uint32_t)(int32_t)get_flat(n, &o->rng, row, i);
	u = (double)lmd_sample_rand(w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32, 0);
	for (uint32_t i = 0; i < count; i++) {
		at += exp(v[i].l) / total(v, count);
		if (at > u)
			return v[i].id;
	}
	return v[count - 1].id;
}

static uint32_t stage(const struct naive *n, const struct lmd_op_sample *o, uint32_t row,
		      uint32_t i, struct cand *v, uint32_t count)
{
	uint32_t kept = 0;
	double p =
		o->stage[i] < LMD_STAGE_GREEDY ? get_flat(n, &o->params, row, o->param_col[i]) : 0;
	double sum = 0, all = total(v, count), max = -INFINITY;

	switch ((enum lmd_sample_stage)o->stage[i]) {
	case LMD_STAGE_PENALTIES:
		penalties(n, o, row, o->param_col[i], v, count);
		break;
	case LMD_STAGE_TEMPERATURE:
		for (uint32_t j = 0; j < count; j++)
			v[j].l /= p;
		break;
	case LMD_STAGE_TOP_K:
		qsort(v, count, sizeof(*v), by_logit);
		return p < count ? (uint32_t)p : count;
	case LMD_STAGE_TOP_P:
		qsort(v, count, sizeof(*v), by_logit);
		while (kept < count && sum < p)
			sum += exp(v[kept++].l) / all;
		return kept;
	case LMD_STAGE_MIN_P:
		for (uint32_t j = 0; j < count; j++)
			max = fmax(max, v[j].l);
		for (uint32_t j = 0; j < count; j++) {
			if (exp(v[j].l - max) >= p)
				v[kept++] = v[j];
		}
		return kept;
	case LMD_STAGE_GREEDY:
		qsort(v, count, sizeof(*v), by_logit);
		v[0].l = 0;
		break;
	case LMD_STAGE_DIST:
		v[0].id = drawn(n, o, row, v, count);
		break;
	}
	return count;
}

void naive_sample(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_sample *o = &op->u.sample;

	for (uint32_t r = 0; r < n->s->head->n_out; r++) {
		uint32_t count = cols(&o->logits), first = 0;
		struct cand *v = malloc(2 * count * sizeof(*v)), *best = v + count;

		if (!v)
			abort();

		for (uint32_t i = 0; i < count; i++) {
			uint32_t word =
				o->mask.src ? (uint32_t)(int32_t)get_flat(n, &o->mask, r, i / 32)
					    : UINT32_MAX;

			v[i] = (struct cand){i, word >> i % 32 & 1 ? get_flat(n, &o->logits, r, i)
								   : -INFINITY};
		}
		if (o->stage[0] == LMD_STAGE_PENALTIES)
			count = stage(n, o, r, first++, v, count);
		memcpy(best, v, count * sizeof(*best));
		qsort(best, count, sizeof(*best), by_logit);
		for (uint32_t i = 0; i < cols(&o->top_id); i++) {
			put_flat(n, &o->top_id, r, i, best[i].id);
			put_flat(n, &o->top_lp, r, i, best[i].l - log(total(best, count)));
		}
		for (uint32_t i = first; i < o->n_stage; i++)
			count = stage(n, o, r, i, v, count);
		put_flat(n, &o->token, r, 0, v[0].id);
		free(v);
	}
}
