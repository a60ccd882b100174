/* SPDX-License-Identifier: MIT
 *
 * SCAN: what a head reads and where it writes. */
#include "backend/common/scan.h"

/* Which columns of an input a head reads: its own, those of its key head, or all. */
enum part { NONE, OWN_DK, OWN_DV, KEY_DK, ALL_DK, OWN_1, GATE };
static const uint8_t parts[][HOST_MEM_SCAN_IN] = {
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

void host_mem_scan_need(uint64_t *bytes, const struct lmd_op_scan *op)
{
	host_mem_need(bytes, (uint64_t)op->dk * op->dv, sizeof(float));
	for (int i = 0; i < HOST_MEM_SCAN_IN; i++)
		host_mem_need(bytes, most(op), sizeof(float));
	host_mem_need(bytes, op->dv, sizeof(float));
	host_mem_need(bytes, most(op), sizeof(float));
}

struct host_mem_scan host_mem_scan_take(char **cursor, const struct host_mem_run *r,
					const struct host_mem_compiled_plan *p,
					const struct lmd_op_scan *op)
{
	struct host_mem_scan s = {
		.r = r,
		.op = op,
		.cache = p->caches[op->cache],
		.y = host_mem_view(r, &op->y),
		.dk = op->dk,
		.dv = op->dv,
	};

	s.pool = p->pools[s.cache->desc.group];
	s.s = host_mem_take(cursor, (uint64_t)op->dk * op->dv, sizeof(float));
	for (int i = 0; i < HOST_MEM_SCAN_IN; i++) {
		s.in[i] = host_mem_view(r, &op->in[i]);
		s.tmp[i] = host_mem_take(cursor, most(op), sizeof(float));
	}
	s.out = host_mem_take(cursor, op->dv, sizeof(float));
	s.d = host_mem_take(cursor, most(op), sizeof(float));
	for (int i = 0; i < 2; i++)
		s.w[i] = op->w[i] == LMD_NONE ? NULL : p->weights[op->w[i]]->flat;
	return s;
}

void host_mem_scan_set_head(struct host_mem_scan *s, uint32_t head)
{
	uint32_t group = s->op->n_head / s->op->n_key_head;

	s->head = head;
	s->key_head = s->op->key_map == LMD_MAP_CYCLE ? head % s->op->n_key_head : head / group;
}

uint32_t host_mem_scan_gates(const struct lmd_op_scan *op)
{
	return op->in[3].n_head * op->in[3].width == op->n_head ? 1 : op->dk;
}

/* Number of columns of input i, beginning with *first; 0 if the kind has no such input. */
static uint32_t columns(const struct host_mem_scan *s, int i, size_t *first)
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
		*first = (size_t)s->head * host_mem_scan_gates(s->op);
		return host_mem_scan_gates(s->op);
	}
	return 0;
}

void host_mem_scan_gather(const struct host_mem_scan *s, uint32_t row,
			  const float *in[HOST_MEM_SCAN_IN])
{
	for (int i = 0; i < HOST_MEM_SCAN_IN; i++) {
		size_t first = 0;
		uint32_t n = columns(s, i, &first);

		if (n)
			in[i] = host_mem_columns(&s->in[i], row, first, n, s->tmp[i]);
	}
}

void host_mem_scan_put(const struct host_mem_scan *s, uint32_t row)
{
	for (uint32_t j = 0; j < s->dv; j++)
		*(float *)host_mem_cell(&s->y, row, (size_t)s->head * s->dv + j) = s->out[j];
}
