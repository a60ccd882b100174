/* SPDX-License-Identifier: MIT
 *
 * The optional inputs of an instance: adapters and external rows. */
#include "core/engine/exec_impl.h"

#include <string.h>

enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_engine_adapter *ad,
			      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmd_adapter_bind bind = {.struct_size = sizeof(bind),
					.slot = ad->slot,
					.rank = ad->rank,
					.a = ad->a,
					.b = ad->b,
					.n = ad->n,
					.k = ad->k,
					.n_stack = ad->n_stack ? ad->n_stack : 1,
					.scale = ad->scale,
					.gain = ad->gain};

	if (!inst->has_adapters || !ad->slot)
		return lmd_fail(err, LMD_INVALID, "adapter slot %u of %s: the model was opened %s",
				ad->slot, ad->site,
				inst->has_adapters ? "with slots starting at "
						     "1" : "without adapters");
	for (bind.site = 0; bind.site < inst->desc.n_lora_site; bind.site++)
		if (!strcmp(inst->desc.lora_sites[bind.site], ad->site))
			break;
	if (bind.site == inst->desc.n_lora_site)
		return lmd_fail(err, LMD_NOTFOUND,
				"no adapter can be applied at %s of architecture %s", ad->site,
				inst->model->arch);
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		st = d->ops->adapter_bind
			     ? d->ops->adapter_bind(d->state, &bind, err)
			     : lmd_fail(err, LMD_UNSUPPORTED, "backend %s does not support adapters",
					d->open->backend->f->name);
	}
	lmi_inst_let_go(inst);
	return st;
}

int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked)
{
	if (asked != LMD_POOL_UNSET)
		return asked;
	return inst->desc.pooling == LMD_POOL_UNSET ? LMD_POOL_NONE : inst->desc.pooling;
}

enum lmd_status lmi_inst_reserve_external_rows(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[lmi_engine_place_input(inst)];
	enum lmd_status st;

	if (inst->slot[0].ext)
		return LMD_OK;
	if (inst->n_rank > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"a model that is divided by tensors takes only tokens, no rows");
	if (!inst->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s takes only tokens, no rows",
				inst->model->arch);
	st = lmi_engine_exec_wait_for_steps(inst, err);
	for (uint32_t i = inst->n_slot; i-- > 0 && st == LMD_OK;) {
		struct lmi_engine_slot *t = &inst->slot[i];

		lmi_engine_shared_destroy(d, &t->ext_rows);
		st = lmi_engine_shared_create(d, &t->ext_rows,
					      (uint64_t)inst->n_batch * inst->desc.n_input_embd *
						      sizeof(float),
					      LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
					      err);
		t->ext = st == LMD_OK ? t->ext_rows.host : NULL;
	}
	return st;
}
