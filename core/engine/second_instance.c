/* SPDX-License-Identifier: MIT
 *
 * Which options a second instance does not inherit: those that name files of the first model, choose its
 * sizes, or are about its requests. And what it will take. */
#include "core/engine/second_instance.h"

#include <stdio.h>

#include "core/base/alloc.h"

/* Takes away the files of the first model, and what is applied to it. */
static void clear_files(struct lmi_engine_model_opts *o)
{
	o->files = NULL;
	o->n_files = 0;
	o->adapters = false;
	o->adapter_files = NULL;
	o->n_adapter_files = 0;
	o->slot_adapters = NULL;
	o->n_slot_adapters = 0;
	o->target = NULL;
	o->draft_path = NULL;
	o->draft_layers = false;
	o->draft_candidates = NULL;
	o->n_draft_candidates = 0;
	o->mmproj_path = NULL;
	o->mmproj_optional = false;
	o->lookup_path = NULL;
	o->lookahead = false;
	o->repack = NULL; /* names the files of the first model */
	o->override_tensor = NULL; /* its tensors have other names */
}

/* Leaves the sizes to the caller, or to the model. */
static void clear_sizes(struct lmi_engine_model_opts *o)
{
	o->n_ctx = 0;
	o->n_seq = 0;
	o->n_batch = 0;
	o->n_whole = 0;
	o->n_out = 0;
	o->kv_tokens = 0;
	o->share_kv = false;
}

void lmi_engine_second_opts_init(struct lmi_engine_second_opts *out,
				 const struct lmi_engine_model_opts *first,
				 struct lmi_engine_devices *set, const char *path, const char *what)
{
	struct lmi_engine_model_opts *o = &out->opts;

	*o = *first;
	clear_files(o);
	clear_sizes(o);
	o->path = path;
	o->devices = set;
	o->device_sampling = LMI_ENGINE_DEVICE_SAMPLING_OFF;
	o->keep_values = o->unfused = false;
	(void)snprintf(out->label, sizeof(out->label), "%.100s-%s", first->label ? first->label : "model",
		       what);
	o->label = first->isolated || first->isolate_untrusted ? out->label : NULL; /* names its worker */
}

enum lmd_status lmi_engine_second_measure(struct lmi_inst *inst, enum lmi_inst_second which,
					  const struct lmi_engine_second_opts *o, const char *label,
					  struct lmd_error *err)
{
	struct lmi_inst_need *need = &inst->second_needs[which];
	struct lmi_engine_placement *where = lmi_alloc(1, sizeof(*where));
	struct lmi_engine_model_opts opts = o->opts;
	struct lmi_engine_memory m;
	uint32_t n_ctx;
	enum lmd_status st;

	*need = (struct lmi_inst_need){0};
	if (!where)
		return lmd_fail(err, LMD_NOMEM, "no memory for the placement of a model");
	opts.label = label; /* its devices have the names of the first one's, in processes that end here */
	opts.memory_limit = 0; /* whether it fits is seen when it is opened */
	st = lmi_inst_estimate(&m, &n_ctx, where, &opts, err);
	for (uint32_t i = 0; st == LMD_OK && i < where->n_device; i++)
		need->devices[i] = where->devices[i];
	need->n_device = st == LMD_OK ? where->n_device : 0;
	need->file = st == LMD_OK ? m.file : 0;
	lmi_free(where);
	return st;
}
