/* SPDX-License-Identifier: MIT
 *
 * SCAN: what a head reads and where it writes. */
#include "backend/common/scan.h"

/* Which columns of an input a head reads: its own, those of its key head, or all. */
enum part { NONE, OWN_DK, OWN_DV, KEY_DK, ALL_DK, OWN_1, GATE };
static const uint8_t parts[][HM_SCAN_IN] = {
	[LMD_SCAN_MAMBA1] = {OWN_1, OWN_1, ALL_DK, ALL_DK},
	[LMD_SCAN_MAMBA2] = {OWN_DV, OWN_1, KEY_DK, KEY_DK},
	[LMD_SCAN_RWKV6] = {OWN_DK, OWN_DK, OWN_DV, OWN_DK},
	[LMD_SCAN_RWKV7] = {OWN_DK, OWN_DK, OWN_DK, OWN_DV, OWN_DK, OWN_DK},
	[LMD_SCAN_GLA] = {KEY_DK, KEY_DK, OWN_DV, GATE},
	[LMD_SCAN_DELTA] = {KEY_DK, KEY_DK, OWN_DV, GATE, OWN_1},
};

static uint32_t most(const struct lmd_op_scan *op)
{
	return op->dk > op->dv ? op->dk : op->dv;
}

void hm_scan_need(uint64_t *bytes, const struct lmd_op_scan *op)
{
	hm_need(bytes, (uint64_t)op->dk * op->dv, sizeof(float));
	for (int i = 0; i < HM_SCAN_IN; i++)
		hm_need(bytes, most(op), sizeof(float));
	hm_need(bytes, op->dv, sizeof(float));
	hm_need(bytes, most(op), sizeof(float));
}

struct hm_scan hm_scan_take(char **cursor, const struct hm_run *r, const struct hm_cplan *p,
			    const struct lmd_op_scan *op)
{
	struct hm_scan s = {
		.r = r,
		.op = op,
		.cache = p->caches[op->cache],
		.y = hm_view(r, &op->y),
		.dk = op->dk,
		.dv = op->dv,
	};

	s.pool = p->pools[s.cache->desc.group];
	s.s = hm_take(cursor, (uint64_t)op->dk * op->dv, sizeof(float));
	for (int i = 0; i < HM_SCAN_IN; i++) {
		s.in[i] = hm_view(r, &op->in[i]);
		s.tmp[i] = hm_take(cursor, most(op), sizeof(float));
	}
	s.out = hm_take(cursor, op->dv, sizeof(float));
	s.d = hm_take(cursor, most(op), sizeof(float));
	for (int i = 0; i < 2; i++)
		s.w[i] = op->w[i] == LMD_NONE ? NULL : p->weights[op->w[i]]->flat;
	return s;
}

void hm_scan_turn(struct hm_scan *s, uint32_t head)
{
	uint32_t group = s->op->n_head / s->op->n_key_head;

	s->head = head;
	s->key_head = s->op->key_map == LMD_MAP_CYCLE ? head % s->op->n_key_head : head / group;
}

uint32_t hm_scan_gates(const struct lmd_op_scan *op)
{
	return op->in[3].n_head * op->in[3].width == op->n_head ? 1 : op->dk;
}

/* Number of columns of input i, beginning with *first; 0 if the kind has no such input. */
static uint32_t columns(const struct hm_scan *s, int i, size_t *first)
{
	switch ((enum part)parts[s->op->kind][i]) {
	case NONE:
		break;
	case OWN_DK:
		*first = (size_t)s->head * s->dk;
		return s->dk;
	case OWN_DV:
		*first = (size_t)s->head * s->dv;
		return s->dv;
	case KEY_DK:
		*first = (size_t)s->key_head * s->dk;
		return s->dk;
	case ALL_DK:
		*first = 0;
		return s->dk;
	case OWN_1:
		*first = s->head;
		return 1;
	case GATE:
		*first = (size_t)s->head * hm_scan_gates(s->op);
		return hm_scan_gates(s->op);
	}
	return 0;
}

void hm_scan_gather(const struct hm_scan *s, uint32_t row, const float *in[HM_SCAN_IN])
{
	for (int i = 0; i < HM_SCAN_IN; i++) {
		size_t first = 0;
		uint32_t n = columns(s, i, &first);

		if (n)
			in[i] = hm_columns(&s->in[i], row, first, n, s->tmp[i]);
	}
}

void hm_scan_put(const struct hm_scan *s, uint32_t row)
{
	for (uint32_t j = 0; j < s->dv; j++)
		*(float *)hm_cell(&s->y, row, (size_t)s->head * s->dv + j) = s->out[j];
}
