/* SPDX-License-Identifier: MIT
 *
 * model_description.h - a model file together with its architecture's description of it, for
 * commands that inspect a model without running it. */
#ifndef LLAMAD_CLIENT_LLAMACTL_MODEL_DESCRIPTION_H
#define LLAMAD_CLIENT_LLAMACTL_MODEL_DESCRIPTION_H

#include "client/llamactl/ctl.h"
#include "core/format/format.h"
#include "core/plugin/registry.h"

struct lmi_ctl_described {
	struct lmi_model *model;
	const struct lmd_model *view;
	const struct lmd_host *host;
	struct lmi_plugin_registry *registry; /* borrowed from the command */
	const struct lmi_factory *arch;
	struct lmd_arena *arena;
	struct lmd_arch_desc desc;
};

/* Opens `path`, takes the plugin of its architecture and has it describe the model for a context
 * of n_ctx tokens (0 = as trained) and n_draft draft layers. Release with _fini, also after a failure. */
enum lmd_status lmi_ctl_described_init(struct lmi_ctl_described *d, struct lmi_ctl *ctl,
				       const char *path, uint32_t n_ctx, uint32_t n_draft,
				       struct lmd_error *err);
void lmi_ctl_described_fini(struct lmi_ctl_described *d);

#endif /* LLAMAD_CLIENT_LLAMACTL_MODEL_DESCRIPTION_H */
