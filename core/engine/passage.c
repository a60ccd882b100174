/* SPDX-License-Identifier: MIT
 *
 * Moves rows of passages (kv.h) to the positions that they have in a new prompt. A value does not depend on
 * its position. A key was rotated by its position; rotating it further by the difference gives the key of the
 * new position, because rotations of a pair of columns add up (RoPE, arXiv 2104.09864, equation 34).
 *
 * The scheduler stops the sequence before a passage. Once the rows before it are in memory, a few MiB at a time
 * are copied to the host, rotated and copied back to pages of the sequence. What fails for lack of
 * memory, or is no longer in the cache, is computed. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/quant/quant.h"

/* How the keys of a cache were rotated. */
struct rotation {
	const struct lmd_rope *rope; /* NULL: they were not */
	uint32_t rot0;
	double sign;
};

/* ---- which models can do it ---- */

static enum lmd_status refuse(const struct lmi_inst *inst, const char *why, struct lmd_error *err)
{
	return lmd_fail(err, LMD_UNSUPPORTED,
			"cache_reuse: the rows of model %s cannot be moved to other positions: %s",
			inst->model->name, why);
}

/* Finds how the keys of a cache are rotated in a plan. Returns NULL on success, or why they cannot be moved. */
static const char *find_rotation(const struct lmd_plan *plan, uint32_t cache, struct rotation *out)
{
	const struct lmd_op_rope_kv *x = NULL;

	if (plan->caches[cache].kind != LMD_CACHE_KV)
		return "a layer keeps something else than keys and values";
	for (uint32_t i = 0; i < plan->n_op; i++) {
		const struct lmd_op *op = &plan->ops[i];

		if (op->code != LMD_OP_ROPE_KV || op->u.rope_kv.cache != cache ||
		    !(op->u.rope_kv.append & LMD_APPEND_K))
			continue;
		if (x)
			return "the keys of a layer are written twice";
		x = &op->u.rope_kv;
	}
	if (!x)
		return "a layer writes its keys in another way";
	*out = (struct rotation){.rot0 = x->rot0, .sign = (double)x->sign};
	if (x->rope == LMD_NONE)
		return NULL;
	if (x->norm_when == LMD_QKN_AFTER && x->kn.kind != LMD_NORM_NONE)
		return "a norm comes after the rotation of its keys";
	if (x->pos.src != LMD_SRC_NONE)
		return "its keys have positions of their own";
	out->rope = &plan->ropes[x->rope];
	return NULL;
}

/* Does a row of the stream get something that depends on its position, other than by rotations? */
static bool embeds_positions(const struct lmd_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_op; i++)
		if (plan->ops[i].code == LMD_OP_EMBED && plan->ops[i].u.embed.pos_table != LMD_NONE)
			return true;
	return false;
}

static enum lmd_status check(const struct lmi_inst *inst, const struct lmd_plan *plan,
			     struct lmd_error *err)
{
	struct rotation r;

	if (!lmi_kv_has_passages(inst->kv))
		return refuse(inst, inst->cache_prefixes ? "its layers have windows or states"
							 : "it has no prefix cache",
			      err);
	if (inst->nextn)
		return refuse(inst, "a draft reads the hidden rows of all its tokens", err);
	if (embeds_positions(plan))
		return refuse(inst, "it has learnt positions", err);
	for (uint32_t i = 0; i < inst->desc.n_cache; i++) {
		const char *why = find_rotation(plan, i, &r);
		const struct lmi_dtype *t = lmi_dtype(inst->desc.caches[i].k_dtype);

		if (!why && r.rope && (!t->dequant || !t->quant))
			why = "the type of its keys cannot be computed with";
		if (why)
			return refuse(inst, why, err);
	}
	return LMD_OK;
}

/* ---- finding ---- */

enum lmd_status lmi_engine_passages_find(const struct lmi_engine *e, const struct lmi_engine_seq *q,
					 struct lmi_sched_seq *o, uint32_t *stop,
					 struct lmd_error *err)
{
	uint32_t pt = e->inst->page_tokens;
	struct lmi_kv_passage c;
	struct lmi_kv_prefix p;
	enum lmd_status st;

	if (!q->session->cache_reuse)
		return LMD_OK;
	st = check(e->inst, e->inst->execs[o->plan]->view, err);
	if (st != LMD_OK || !o->tokens || o->n_own || q->n_picture || q->n_prompt < 2)
		return st;
	if (!lmi_kv_index_passages(e->inst->kv))
		return LMD_OK; /* without memory all tokens are computed */
	lmi_kv_find_prefix(e->inst->kv, &o->identity, q->tokens, q->n_prompt - 1, &p);
	/* the first page is computed: all rows attend to it */
	if (lmi_kv_find_passage(e->inst->kv, &o->identity, q->tokens, q->n_prompt - 1,
				p.n > pt ? p.n : pt, q->session->cache_reuse, &c)) {
		*stop = c.at;
		o->n_own = c.at;
	}
	return LMD_OK;
}

/* ---- moving ---- */

/* One run of rows within a page of the passage and a page of the sequence. */
struct piece {
	uint32_t group, src, src_row, dst, dst_row, n;
	uint32_t device;
	uint8_t *bytes;
	uint64_t n_bytes;
};

struct move {
	struct lmi_inst *inst;
	const struct lmd_plan *plan;
	int64_t delta; /* new position minus old one */
	struct piece *v; /* [n] */
	uint32_t n;
	uint8_t *bytes;
	float *row, *angles; /* a head's key; cosine and sine of each pair */
};

static void rotate_head(float *k, const struct lmd_rope *rope, const float *angles)
{
	for (uint32_t j = 0; j < rope->n_rot / 2; j++) {
		uint32_t a = rope->pairing == LMD_ROPE_HALVES ? j : 2 * j;
		uint32_t b = rope->pairing == LMD_ROPE_HALVES ? j + rope->n_rot / 2 : 2 * j + 1;
		float x = k[a], y = k[b], c = angles[2 * j], s = angles[2 * j + 1];

		k[a] = x * c - y * s;
		k[b] = x * s + y * c;
	}
}

/* Rotates the keys of a piece; the canonical form of its bytes is that of backend.h. */
static void rotate_piece(const struct move *m, const struct piece *p)
{
	uint8_t *at = p->bytes;

	for (uint32_t i = 0; i < m->inst->desc.n_cache; i++) {
		const struct lmd_cache *c = &m->inst->desc.caches[i];
		const struct lmi_dtype *kt = lmi_dtype(c->k_dtype);
		uint64_t k_bytes = 0, v_bytes = 0;
		struct rotation r;

		if (c->group != p->group || lmi_engine_place_cache(m->inst, i) != p->device)
			continue;
		(void)lmi_quant_row_bytes(kt, c->dk, &k_bytes);
		(void)lmi_quant_row_bytes(lmi_dtype(c->v_dtype), c->dv, &v_bytes);
		(void)find_rotation(m->plan, i, &r); /* check() has done so */
		for (uint32_t k = 0; r.rope && k < r.rope->n_rot / 2; k++) {
			double turn = r.sign * (double)m->delta * r.rope->freq[k];

			m->angles[2 * k] = (float)cos(turn);
			m->angles[2 * k + 1] = (float)sin(turn);
		}
		for (uint32_t k = 0; r.rope && m->delta && k < p->n * c->n_head; k++) {
			lmi_quant_dequant_rows(kt, at + k * k_bytes, m->row, c->dk, 1);
			rotate_head(m->row + r.rot0, r.rope, m->angles);
			kt->quant(m->row, at + k * k_bytes, c->dk, NULL);
		}
		at += (k_bytes + v_bytes) * c->n_head * p->n;
	}
}

static enum lmd_status copy_pieces(struct move *m, bool in, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	uint32_t devices = 0;

	for (uint32_t i = 0; i < m->n && st == LMD_OK; i++) {
		const struct piece *p = &m->v[i];
		struct lmi_inst_device *d = &m->inst->devices[p->device];
		const struct lmd_pool_op op = {.kind = in ? LMD_POOL_IMPORT : LMD_POOL_EXPORT,
					       .src = in ? 0 : p->src,
					       .dst = in ? p->dst : 0,
					       .row0 = in ? p->dst_row : p->src_row,
					       .n_row = p->n,
					       .host = p->bytes,
					       .host_bytes = p->n_bytes};

		st = d->ops->pool_op(d->state, d->queue, d->pools[p->group], &op, 1, NULL, err);
		st = lmi_inst_check(m->inst, d, st, err);
		devices |= 1u << p->device;
	}
	return lmi_inst_finish_queues(m->inst, devices, st, err);
}

/* Lists the pieces of a passage whose rows go to a sequence; with v NULL counts them, and their bytes. */
static uint32_t list_pieces(const struct move *m, const struct lmi_kv_passage *c, uint32_t kv_seq,
			    struct piece *v, uint64_t *bytes)
{
	const struct lmi_inst *inst = m->inst;
	uint32_t pt = inst->page_tokens, n = 0;

	*bytes = 0;
	for (uint32_t g = 0; g < inst->desc.n_group; g++) {
		for (uint32_t i = 0, len; i < c->n; i += len) {
			uint32_t from = c->from + i, to = c->at + i;

			len = pt - (from % pt > to % pt ? from % pt : to % pt);
			len = len < c->n - i ? len : c->n - i;
			for (uint32_t d = 0; d < inst->n_device; d++) {
				struct lmi_kv_part part = {.group = g, .n_row = len};
				struct piece p = {.group = g, .n = len, .device = d};

				p.n_bytes = lmi_engine_part_bytes(inst, &part, d);
				if (!p.n_bytes)
					continue;
				if (v) {
					int32_t row = lmi_kv_row(inst->kv, g, kv_seq, to);

					p.src = lmi_kv_passage_page(inst->kv, c, g, from);
					p.src_row = from % pt;
					p.dst = (uint32_t)row / pt;
					p.dst_row = (uint32_t)row % pt;
					p.bytes = m->bytes + *bytes;
					v[n] = p;
				}
				*bytes += p.n_bytes;
				n++;
			}
		}
	}
	return n;
}

static uint32_t widest_key(const struct lmi_inst *inst, const struct lmd_plan *plan)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i < inst->desc.n_cache; i++)
		n = inst->desc.caches[i].dk > n ? inst->desc.caches[i].dk : n;
	for (uint32_t i = 0; i < plan->n_rope; i++)
		n = plan->ropes[i].n_rot > n ? plan->ropes[i].n_rot : n;
	return n;
}

/* Writes the rows of a passage to the memory that a sequence has for them. */
static enum lmd_status move(struct lmi_engine *e, const struct lmi_engine_seq *q,
			    const struct lmd_plan *plan, const struct lmi_kv_passage *c,
			    struct lmd_error *err)
{
	struct move m = {
		.inst = e->inst, .plan = plan, .delta = (int64_t)c->at - (int64_t)c->from};
	uint32_t width = widest_key(e->inst, plan), kv_seq = lmi_sched_kv_seq(e->sched, q->handle);
	enum lmd_status st = LMD_OK;
	uint64_t bytes;

	m.n = list_pieces(&m, c, kv_seq, NULL, &bytes);
	m.v = lmi_alloc(m.n + (size_t)1, sizeof(*m.v));
	m.bytes = lmi_alloc((size_t)bytes + 1, 1);
	m.row = lmi_alloc(width, sizeof(*m.row));
	m.angles = lmi_alloc(width, sizeof(*m.angles));
	if (!m.v || !m.bytes || !m.row || !m.angles)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of rows",
			      (unsigned long long)bytes);
	if (st == LMD_OK) {
		(void)list_pieces(&m, c, kv_seq, m.v, &bytes);
		lmi_inst_hold(e->inst);
		st = copy_pieces(&m, false, err);
		for (uint32_t i = 0; i < m.n && st == LMD_OK; i++)
			rotate_piece(&m, &m.v[i]);
		if (st == LMD_OK)
			st = copy_pieces(&m, true, err);
		lmi_inst_let_go(e->inst);
	}
	lmi_free(m.v);
	lmi_free(m.bytes);
	lmi_free(m.row);
	lmi_free(m.angles);
	return st;
}

/* Returns how many rows are moved in a turn: whole pages. */
static uint32_t turn_rows(const struct lmi_engine *e)
{
	const struct lmi_inst *inst = e->inst;
	struct lmi_kv_part part = {.n_row = inst->page_tokens};
	uint64_t page = 1;

	for (part.group = 0; part.group < inst->desc.n_group; part.group++)
		page += lmi_engine_part_bytes(inst, &part, LMI_ENGINE_MAX_DEVICE);
	page = e->passage_turn_bytes / page;
	return (page ? (uint32_t)page : 1) * inst->page_tokens;
}

/* Finds the rest of the passage that is being moved, no more of it than a turn moves, or the next passage. */
static bool find_next(const struct lmi_engine *e, struct lmi_engine_seq *q, uint32_t at, uint32_t n,
		      struct lmi_kv_passage *out)
{
	const struct lmi_kv_identity id = lmi_engine_identity(e, q);
	uint32_t pt = e->inst->page_tokens, end = q->n_prompt - 1;

	if (at < q->passage_end) {
		uint32_t near = end - at > n + pt ? at + n + pt : end;

		if (lmi_kv_find_passage(e->inst->kv, &id, q->tokens, near, at, pt, out) &&
		    out->at == at)
			return true;
	}
	if (!lmi_kv_find_passage(e->inst->kv, &id, q->tokens, end, at, q->session->cache_reuse, out))
		return false;
	q->passage_end = out->at + out->n;
	return true;
}

/* Moves some rows of the passage at which a sequence has stopped, or lets it go on to the next one. Returns
 * LMD_DEVICE and such only for what ends all sessions. */
static enum lmd_status step(struct lmi_engine *e, struct lmi_engine_seq *q, struct lmd_error *err)
{
	const struct lmd_plan *plan = e->inst->execs[lmi_sched_plan(e->sched, q->handle)]->view;
	uint32_t at = lmi_sched_n_done(e->sched, q->handle), n = turn_rows(e);
	struct lmi_kv_passage c;
	enum lmd_status st = LMD_OK;

	if (!find_next(e, q, at, n, &c)) {
		lmi_sched_stop(e->sched, q->handle, UINT32_MAX);
		return LMD_OK;
	}
	if (c.at != at) {
		lmi_sched_stop(e->sched, q->handle, c.at);
		return LMD_OK;
	}
	c.n = c.n < n ? c.n : n;
	lmi_kv_hold_passage(e->inst->kv, &c);
	if (!lmi_sched_take_rows(e->sched, q->handle, c.n)) {
		lmi_sched_stop(e->sched, q->handle, UINT32_MAX);
	} else {
		st = move(e, q, plan, &c, err);
		lmi_sched_put_rows(e->sched, q->handle, st == LMD_OK);
		if (st != LMD_OK)
			lmi_sched_stop(e->sched, q->handle, UINT32_MAX);
	}
	lmi_kv_let_go_passage(e->inst->kv, &c);
	return st == LMD_DEVICE || st == LMD_IO ? st : LMD_OK;
}

static struct lmi_engine_seq *next_stopped(const struct lmi_engine *e)
{
	for (struct lmi_engine_job *s = e->sessions; s; s = s->next)
		if (s->cache_reuse && s->seqs[0].handle != LMI_SCHED_NO_SEQ &&
		    lmi_sched_is_at_stop(e->sched, s->seqs[0].handle))
			return &s->seqs[0];
	return NULL;
}

bool lmi_engine_passages_wait(const struct lmi_engine *e)
{
	return next_stopped(e) != NULL;
}

bool lmi_engine_passages_step(struct lmi_engine *e)
{
	struct lmi_engine_seq *q = next_stopped(e);
	struct lmd_error err;

	if (!q)
		return false;
	if (step(e, q, &err) != LMD_OK)
		lmi_engine_break(e, &err);
	return true;
}
