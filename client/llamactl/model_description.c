/* SPDX-License-Identifier: MIT */
#include "core/checkpoint/open.h"
#include "client/llamactl/model_description.h"

#include <string.h>

#include "core/base/arena.h"

enum lmd_status lmi_ctl_described_init(struct lmi_ctl_described *d, struct lmi_ctl *ctl,
				       const char *path, uint32_t n_ctx, uint32_t n_draft,
				       struct lmd_error *err)
{
	const struct lmd_arch_params p = {.struct_size = sizeof(p),
					  .n_ctx = n_ctx,
					  .n_draft = n_draft,
					  .pooling = LMD_POOL_UNSET};
	enum lmd_status st;

	memset(d, 0, sizeof(*d));
	st = lmi_ctl_host(ctl, &d->host, err);
	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &d->registry, err);
	if (st == LMD_OK)
		st = lmi_model_open_any(&d->model, d->registry, path, 0, err);
	if (st != LMD_OK)
		return st;
	d->view = lmi_model_view(d->model);
	st = lmi_factory_take(d->registry, LMD_KIND_ARCH, d->view->arch, &d->arch, err);
	if (st == LMD_OK) {
		d->arena = lmi_arena_create(0);
		if (!d->arena)
			st = lmd_fail(err, LMD_NOMEM, "no memory to describe a model");
	}
	if (st == LMD_OK) {
		d->desc.struct_size = sizeof(d->desc);
		st = d->arch->ops.arch->describe(d->host, d->arena, d->view, &p, &d->desc, err);
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, path);
	return st;
}

void lmi_ctl_described_fini(struct lmi_ctl_described *d)
{
	lmi_arena_destroy(d->arena);
	if (d->arch)
		lmi_factory_give(d->registry, d->arch);
	lmi_model_close(d->model);
}
