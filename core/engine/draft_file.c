/* SPDX-License-Identifier: MIT
 *
 * What the file of a draft model says of itself, before the model is opened whose hidden rows it reads: that
 * one's plans put out these rows from the first on. */
#include "core/base/arena.h"
#include "core/checkpoint/open.h"
#include "core/engine/instance.h"

/* Low, middle and high, as EAGLE-3's own code chooses them. */
#define N_USUAL	   3u
#define LEAST_LAYER 6u

static void usual_taps(struct lmi_inst *inst)
{
	const uint32_t n = inst->desc.n_layer;

	if (n < LEAST_LAYER)
		return;
	inst->n_tap = N_USUAL;
	inst->taps[0] = 2;
	inst->taps[1] = n / 2;
	inst->taps[2] = n - 3;
}

static void take(struct lmi_inst *inst, const struct lmd_draft *d)
{
	inst->reads_hidden = true;
	inst->draft_block = d->n_block;
	if (!d->n_tap)
		usual_taps(inst);
	for (uint32_t i = 0; i < d->n_tap && d->n_tap <= LMD_MAX_TAP; i++)
		inst->taps[inst->n_tap++] = d->taps[i];
}

void lmi_engine_draft_file_read(struct lmi_inst *inst, const char *path)
{
	struct lmd_arch_params p = {.struct_size = sizeof(p), .pooling = LMD_POOL_UNSET};
	struct lmd_arch_desc d = {.struct_size = sizeof(d)};
	struct lmd_arena *arena = lmi_arena_create(0);
	const struct lmi_factory *arch = NULL;
	struct lmi_model *file = NULL;

	/* what is wrong with the file is reported when it is opened as a model */
	if (arena && lmi_model_open_any(&file, inst->registry, path, LMI_OPEN_HEADER_ONLY, NULL) == LMD_OK &&
	    lmi_factory_take(inst->registry, LMD_KIND_ARCH, lmi_model_view(file)->arch, &arch, NULL) ==
		    LMD_OK &&
	    arch->ops.arch->describe(inst->host, arena, lmi_model_view(file), &p, &d, NULL) == LMD_OK &&
	    d.draft)
		take(inst, d.draft);
	if (arch)
		lmi_factory_give(inst->registry, arch);
	lmi_model_close(file);
	lmi_arena_destroy(arena);
}
