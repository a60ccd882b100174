/* SPDX-License-Identifier: MIT
 *
 * A file beside a model that is called mmproj*.gguf may be anything. What is certain to be wrong is refused;
 * what a newer version may understand is not. */
#include "core/engine/tower_check.h"

#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "core/plugin/registry.h"

/* Returns what the architecture's plugin describes; LMD_UNSUPPORTED also if there is no such plugin. */
static enum lmd_status describe(struct lmd_arch_desc *out, struct lmd_arena *arena, const struct lmd_model *m,
				struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	const struct lmd_arch_params p = {.struct_size = sizeof(p), .pooling = LMD_POOL_UNSET};
	const struct lmi_factory *arch;
	enum lmd_status st;

	*out = (struct lmd_arch_desc){.struct_size = sizeof(*out)};
	if (lmi_factory_take(plugins, LMD_KIND_ARCH, m->arch, &arch, err) != LMD_OK)
		return LMD_UNSUPPORTED;
	st = arch->ops.arch->describe(lmi_plugin_registry_host(plugins), arena, m, &p, out, err);
	lmi_factory_give(plugins, arch);
	return st;
}

static enum lmd_status check(const struct lmd_model *tower, const struct lmd_model *model,
			     struct lmi_plugin_registry *plugins, struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmd_arch_desc d, of_model;
	enum lmd_status st = describe(&d, arena, tower, plugins, err);

	if (st != LMD_OK)
		return st == LMD_UNSUPPORTED ? LMD_OK : st;
	if (d.driver != LMD_DRIVER_TOWER)
		return lmd_fail(
			err, LMD_UNSUPPORTED,
			"architecture %s is not a vision tower, which files named mmproj have",
			tower->arch);
	if (describe(&of_model, arena, model, plugins, NULL) != LMD_OK || d.n_embd_out == of_model.n_input_embd)
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"it makes rows of %u numbers, but the model takes %u: it belongs to another model",
			d.n_embd_out, of_model.n_input_embd);
}

enum lmd_status lmi_engine_tower_check(const char *path, const struct lmd_model *model,
				       struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_model *file = NULL;
	struct lmd_error why = {0};
	char shown[200];
	enum lmd_status st;

	if (!arena)
		return lmd_fail(err, LMD_NOMEM, "no memory to look at a vision tower");
	st = lmi_model_open_any(&file, plugins, path, LMI_OPEN_HEADER_ONLY, &why);
	if (st == LMD_OK)
		st = check(lmi_model_view(file), model, plugins, arena, &why);
	lmi_model_close(file);
	lmi_arena_destroy(arena);
	if (st == LMD_OK || lmi_printable_has_path(why.text, path))
		return st == LMD_OK ? LMD_OK : lmd_fail(err, st, "%s", why.text);
	return lmd_fail(err, st, "%s: %.300s", lmi_printable_path(shown, sizeof(shown), path), why.text);
}
