/* SPDX-License-Identifier: MIT
 *
 * Checks of what describe() declared: groups, caches and row inputs, before any op names them. */
#include <math.h>

#include "core/plan/plan_priv.h"

static enum lmd_status check_group(const struct lmd_group *g, uint32_t i, uint32_t n_x,
				   struct lmd_error *err)
{
	uint32_t last = n_x ? LMD_SPACE_X0 + n_x - 1 : LMD_SPACE_TOKENS;

	if (!g->name)
		return lmd_fail(err, LMD_INVALID, "group %u has no name", i);
	if (g->kind > LMD_GROUP_BATCH)
		return lmd_fail(err, LMD_INVALID, "group %u %s: kind %u, expected 0..%d", i,
				g->name, g->kind, LMD_GROUP_BATCH);
	if (!g->ratio || g->ratio > 1u << 16)
		return lmd_fail(err, LMD_INVALID, "group %u %s: ratio %u, expected 1..65536", i,
				g->name, g->ratio);
	if (g->window && g->chunk)
		return lmd_fail(err, LMD_INVALID,
				"group %u %s: window %u and chunk %u, only one "
				"may be set",
				i, g->name, g->window, g->chunk);
	if (g->kind != LMD_GROUP_BATCH && g->kind != LMD_GROUP_CROSS)
		return LMD_OK;
	for (int k = 0; k < 2; k++) {
		uint32_t space = k ? g->k_space : g->q_space;

		if (space != LMD_SPACE_TOKENS && (space < LMD_SPACE_X0 || space > last))
			return lmd_fail(err, LMD_INVALID,
					"group %u %s: %s is %u, the description "
					"has %u X spaces",
					i, g->name, k ? "k_space" : "q_space", space, n_x);
	}
	return LMD_OK;
}

static enum lmd_status check_cache(const struct lmd_cache *c, uint32_t i,
				   const struct lmd_arch_desc *d, struct lmd_error *err)
{
	bool has_v = c->kind != LMD_CACHE_K_ONLY && c->kind != LMD_CACHE_INDEX;
	bool state = c->kind == LMD_CACHE_CONV || c->kind == LMD_CACHE_STATE;
	uint32_t group_kind;

	if (c->group >= d->n_group)
		return lmd_fail(err, LMD_INVALID, "cache %u: group %u, but there are only %u", i,
				c->group, d->n_group);
	if (c->kind > LMD_CACHE_INDEX || c->dtype_policy > LMD_KV_DTYPE_F32)
		return lmd_fail(err, LMD_INVALID,
				"cache %u: kind %u, dtype policy %u; expected "
				"0..%d and 0..1",
				i, c->kind, c->dtype_policy, LMD_CACHE_INDEX);
	if (!c->n_head || !c->dk || (has_v && !c->dv) || c->n_head > LMI_PLAN_MAX_WIDTH ||
	    c->dk > LMI_PLAN_MAX_WIDTH || c->dv > LMI_PLAN_MAX_WIDTH)
		return lmd_fail(err, LMD_INVALID, "cache %u: %u heads, dk %u, dv %u; each is 1..%u",
				i, c->n_head, c->dk, c->dv, LMI_PLAN_MAX_WIDTH);
	if (c->kind == LMD_CACHE_CONV && c->dk > 256)
		return lmd_fail(err, LMD_INVALID, "cache %u: %u rows of history, at most 256", i,
				c->dk);
	if (c->kind == LMD_CACHE_V_IN_K && c->dv > c->dk)
		return lmd_fail(err, LMD_INVALID, "cache %u: V is the first %u columns of %u", i,
				c->dv, c->dk);
	group_kind = d->groups[c->group].kind;
	if (group_kind == LMD_GROUP_BATCH || (group_kind == LMD_GROUP_STATE) != state)
		return lmd_fail(err, LMD_INVALID, "cache %u: kind %u in group %s of kind %u", i,
				c->kind, d->groups[c->group].name, group_kind);
	return LMD_OK;
}

enum lmd_status lmi_plan_desc_check(const struct lmd_arch_desc *d, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (d->n_group > LMD_MAX_GROUP || d->n_row_in > LMD_MAX_ROW_IN || d->n_x > LMD_MAX_X)
		return lmd_fail(err, LMD_INVALID,
				"description: %u groups, %u row inputs, %u X "
				"spaces; at most %d, %d, %d",
				d->n_group, d->n_row_in, d->n_x, LMD_MAX_GROUP, LMD_MAX_ROW_IN,
				LMD_MAX_X);
	if (d->n_cache > 1u << 16)
		return lmd_fail(err, LMD_INVALID, "description: %u caches, at most 65536",
				d->n_cache);
	if ((d->n_group && !d->groups) || (d->n_cache && !d->caches) ||
	    (d->n_row_in && !d->row_ins))
		return lmd_fail(err, LMD_INVALID,
				"description: %u groups, %u caches, %u row inputs "
				"declared, but not all are given",
				d->n_group, d->n_cache, d->n_row_in);
	for (uint32_t i = 0; d->x_ratio && i < d->n_x; i++)
		if (!d->x_ratio[i] || d->x_ratio[i] > 1u << 16)
			return lmd_fail(err, LMD_INVALID,
					"description: a row of X%u stands for %u rows, must be 1 to 65536",
					i, d->x_ratio[i]);
	if (d->draft && (d->draft->n_tap > LMD_MAX_TAP || d->draft->n_block == 1 ||
			 d->draft->n_block > LMD_MAX_BLOCK))
		return lmd_fail(err, LMD_INVALID,
				"description: a draft that reads %u streams, at most %d, and guesses blocks of "
				"%u tokens; 0, or 2 to %d",
				d->draft->n_tap, LMD_MAX_TAP, d->draft->n_block, LMD_MAX_BLOCK);
	for (uint32_t i = 0; i < d->n_group && st == LMD_OK; i++)
		st = check_group(&d->groups[i], i, d->n_x, err);
	for (uint32_t i = 0; i < d->n_cache && st == LMD_OK; i++)
		st = check_cache(&d->caches[i], i, d, err);
	for (uint32_t i = 0; i < d->n_row_in && st == LMD_OK; i++) {
		const struct lmd_row_in *r = &d->row_ins[i];

		if ((r->vtype != LMD_VTYPE_F32 && r->vtype != LMD_VTYPE_I32) || !r->width ||
		    r->width > 32)
			st = lmd_fail(err, LMD_INVALID,
				      "row input %u: type %u, width %u; expected "
				      "f32 or i32 and 1..32",
				      i, r->vtype, r->width);
	}
	return st;
}
