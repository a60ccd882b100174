/* SPDX-License-Identifier: MIT
 *
 * The sizes of pools, and checks of the operations on them. */
#include "backend/common/pool_check.h"

enum lmd_status host_mem_pool_shape_init(struct host_mem_pool_shape *s, const struct lmd_pool_desc *d,
					 struct lmd_error *err)
{
	bool state = d->desc->kind == LMD_GROUP_STATE;

	*s = (struct host_mem_pool_shape){.state = state,
					  .n_unit = state ? d->n_slot : d->n_page,
					  .page_tokens = d->page_tokens,
					  .n_seq = d->n_seq,
					  .n_index = d->n_index};
	if (s->n_unit && (state || (s->page_tokens && s->n_seq && s->n_index)))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"group %u: a pool of %u units, %u tokens a page, %u sequences of %u pages is "
			"empty",
			d->group, s->n_unit, s->page_tokens, s->n_seq, s->n_index);
}

void host_mem_pool_shape_add(struct host_mem_pool_shape *s, uint64_t row_bytes, uint32_t n_row)
{
	s->row_bytes += row_bytes;
	s->slot_bytes += n_row * row_bytes;
}

static enum lmd_status out_of_range(uint32_t unit, uint32_t n_unit, struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID, "pool: unit %u is out of range, the pool has %u", unit,
			n_unit);
}

static enum lmd_status check_host(const struct lmd_pool_op *op, uint64_t need,
				  struct lmd_error *err)
{
	if (need <= op->host_bytes && (!need || op->host))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "pool: %llu bytes of host memory given, %llu needed",
			(unsigned long long)(op->host ? op->host_bytes : 0),
			(unsigned long long)need);
}

static enum lmd_status check_table(const struct host_mem_pool_shape *s,
				   const struct lmd_pool_op *op, struct lmd_error *err)
{
	const uint32_t *pages = op->host;
	enum lmd_status st;

	if (s->state || op->src >= s->n_seq || op->dst > s->n_index ||
	    op->n_row > s->n_index - op->dst)
		return lmd_fail(err, LMD_INVALID,
				"pool: entries %u..%llu of sequence slot %u are not in a page table "
				"of %u x %u",
				op->dst, (unsigned long long)op->dst + op->n_row, op->src,
				s->state ? 0 : s->n_seq, s->state ? 0 : s->n_index);
	st = check_host(op, op->n_row * (uint64_t)sizeof(*pages), err);
	for (uint32_t i = 0; st == LMD_OK && i < op->n_row; i++) {
		if (pages[i] >= s->n_unit)
			st = out_of_range(pages[i], s->n_unit, err);
	}
	return st;
}

static enum lmd_status check_transfer(const struct host_mem_pool_shape *s,
				      const struct lmd_pool_op *op, struct lmd_error *err)
{
	if (s->state)
		return check_host(op, s->slot_bytes, err);
	if (op->row0 > s->page_tokens || op->n_row > s->page_tokens - op->row0)
		return lmd_fail(err, LMD_INVALID,
				"pool: rows %u..%llu do not fit a page of %u rows", op->row0,
				(unsigned long long)op->row0 + op->n_row, s->page_tokens);
	return check_host(op, op->n_row * s->row_bytes, err);
}

enum lmd_status host_mem_pool_check(const struct host_mem_pool_shape *s,
				    const struct lmd_pool_op *op, struct lmd_error *err)
{
	bool src = op->kind == LMD_POOL_COPY_PAGE || op->kind == LMD_POOL_COPY_SLOT ||
		   op->kind == LMD_POOL_EXPORT;
	bool dst = op->kind != LMD_POOL_EXPORT;

	if (op->kind == LMD_POOL_SET_TABLE)
		return check_table(s, op, err);
	if (src && op->src >= s->n_unit)
		return out_of_range(op->src, s->n_unit, err);
	if (dst && op->dst >= s->n_unit)
		return out_of_range(op->dst, s->n_unit, err);
	if (s->state ? op->kind == LMD_POOL_COPY_PAGE
		     : op->kind == LMD_POOL_COPY_SLOT || op->kind == LMD_POOL_ZERO_SLOT)
		return lmd_fail(err, LMD_INVALID,
				"pool: operation %u does not apply to a pool of %s", op->kind,
				s->state ? "slots" : "pages");
	switch (op->kind) {
	case LMD_POOL_COPY_PAGE:
	case LMD_POOL_COPY_SLOT:
	case LMD_POOL_ZERO_SLOT:
		return LMD_OK;
	case LMD_POOL_EXPORT:
	case LMD_POOL_IMPORT:
		return check_transfer(s, op, err);
	default:
		return lmd_fail(err, LMD_UNSUPPORTED, "pool: unknown operation %u", op->kind);
	}
}
