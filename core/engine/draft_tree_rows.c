/* SPDX-License-Identifier: MIT
 *
 * The plan in which rows of guesses are masked, and the rows that are moved after such a step. */
#include "core/engine/draft_tree.h"

#include "core/base/alloc.h"
#include "core/engine/instance.h"
#include "core/engine/transfer.h"

/* Do rows see others by their positions and this mask alone? A row's key may lie behind its position. */
static enum lmd_status check_plan(const struct lmi_inst *inst, const struct lmd_plan *p,
				  struct lmd_error *err)
{
	const char *what = p->n_row_in || p->n_x ? "rows have inputs of their own" : NULL;

	for (uint32_t g = 0; g < p->n_group; g++) {
		const struct lmd_group *x = &p->groups[g];
		uint32_t window = inst->sees[g] ? inst->sees[g] : x->window;

		if (x->kind != LMD_GROUP_PAGED || !x->causal || x->chunk || x->ratio > 1 ||
		    (window && window <= LMI_ENGINE_DRAFT_MAX))
			what = "a row does not see all rows before it";
	}
	for (uint32_t i = 0; i < p->n_op; i++) {
		const struct lmd_op_attn *a = &p->ops[i].u.attn;

		if (p->ops[i].code != LMD_OP_ATTN)
			continue;
		if (!a->tree || a->bias != LMD_BIAS_NONE || a->src[0].list.src != LMD_SRC_NONE ||
		    a->src[0].kind != LMD_KV_CACHE || a->src[1].kind != LMD_KV_NONE)
			what = "its attention cannot be masked";
	}
	return what ? lmd_fail(err, LMD_UNSUPPORTED, "%s", what) : LMD_OK;
}

enum lmd_status lmi_engine_tree_check(const struct lmi_inst *inst, const struct lmd_plan *p,
				      struct lmd_error *err)
{
	return inst->device_params.deterministic == LMD_DETERMINISTIC_OFF
		       ? check_plan(inst, p, err)
		       : lmd_fail(err, LMD_UNSUPPORTED,
				  "the last bits of their rows may depend on the other branches, which "
				  "deterministic does not allow");
}

void lmi_engine_tree_open(struct lmi_inst *inst)
{
	struct lmd_plan_key key = lmi_inst_main_key(inst);
	struct lmd_error why = {0};
	uint32_t main, tree;
	enum lmd_status st = lmi_inst_exec(inst, &key, &main, &why);

	if (st == LMD_OK)
		st = lmi_engine_tree_check(inst, inst->execs[main]->view, &why);
	if (st == LMD_OK) {
		struct lmi_kv_part row = {.n_row = 1};
		uint64_t bytes = 0;

		for (; row.group < inst->desc.n_group; row.group++)
			bytes += lmi_engine_part_bytes(inst, &row, LMI_ENGINE_MAX_DEVICE);
		inst->tree_row = lmi_alloc((size_t)bytes, 1);
		if (!inst->tree_row)
			st = lmd_fail(&why, LMD_NOMEM, "no memory for a row of keys and values");
	}
	key.flags |= LMD_PLAN_TREE;
	if (st == LMD_OK)
		st = lmi_inst_exec(inst, &key, &tree, &why);
	if (st == LMD_OK) {
		inst->execs[main]->tree = inst->execs[tree];
		return;
	}
	lmi_free(inst->tree_row);
	inst->tree_row = NULL;
	inst->host->log(inst->host->ctx, "engine", LMD_LOG_INFO, "guesses for %s have no branches: %s",
			inst->model->name, why.text);
}

bool lmi_engine_tree_serves(const struct lmi_inst *inst, uint32_t exec)
{
	return inst->execs[exec]->tree;
}

/* ---- moving ---- */

/* Submits the copies of a row of all groups to inst->tree_row, or back. Returns in *devices, bit i for device i, on
 * which there are any. */
static enum lmd_status copy(struct lmi_inst *inst, uint32_t kv_seq, uint32_t row, bool in,
			    uint32_t *devices, struct lmd_error *err)
{
	struct lmi_kv_part part = {.n_row = 1};
	uint8_t *at = inst->tree_row;
	enum lmd_status st = LMD_OK;

	*devices = 0;
	for (; part.group < inst->desc.n_group; part.group++) {
		int32_t place = lmi_kv_row(inst->kv, part.group, kv_seq, row);

		for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
			struct lmi_inst_device *d = &inst->devices[i];
			uint64_t bytes = lmi_engine_part_bytes(inst, &part, i);
			const struct lmd_pool_op op = {.kind = in ? LMD_POOL_IMPORT : LMD_POOL_EXPORT,
						       .src = in ? 0 : (uint32_t)place / inst->page_tokens,
						       .dst = in ? (uint32_t)place / inst->page_tokens : 0,
						       .row0 = (uint32_t)place % inst->page_tokens,
						       .n_row = 1,
						       .host = at,
						       .host_bytes = bytes};

			if (!bytes)
				continue;
			at += bytes;
			*devices |= 1u << i;
			st = d->ops->pool_op(d->state, d->queue, d->pools[part.group], &op, 1, NULL, err);
			st = lmi_inst_check(inst, d, st, err);
		}
	}
	return st;
}

/* The way back is not waited for: what comes after it on the queue comes after it in time, the copies of the next row
 * to the same memory too, and the wait for that reports its errors. */
enum lmd_status lmi_engine_tree_move(struct lmi_inst *inst, uint32_t kv_seq, uint32_t from, uint32_t to,
				     struct lmd_error *err)
{
	uint32_t devices;
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = copy(inst, kv_seq, from, false, &devices, err);
	st = lmi_inst_finish_queues(inst, devices, st, err);
	if (st == LMD_OK)
		st = copy(inst, kv_seq, to, true, &devices, err);
	lmi_inst_let_go(inst);
	return st;
}
