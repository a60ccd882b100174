/* SPDX-License-Identifier: MIT
 *
 * From a source to its files. */
#include <string.h>

#include "core/base/alloc.h"
#include "hub/hub_impl.h"

#define ARENA_MAX (64u << 20)

static enum lmd_status find_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				  const struct lmi_hub_opts *o, struct lmd_error *err)
{
	switch (r->kind) {
	case LMI_HUB_HF: return lmi_hub_hf_files(m, r, o, err);
	case LMI_HUB_REGISTRY: return lmi_hub_registry_files(m, r, o, err);
	case LMI_HUB_URL: return lmi_hub_url_files(m, r, o, err);
	}
	return lmd_fail(err, LMD_INTERNAL, "kind of source %d", (int)r->kind);
}

/* A name of a file that comes from elsewhere becomes one of this machine. */
static enum lmd_status check_names(const struct lmi_hub_model *m, struct lmd_error *err)
{
	for (uint32_t i = 0; i < m->n_files + (m->tower != NULL); i++) {
		const char *name = i < m->n_files ? m->files[i].name : m->tower->name;

		if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 240)
			return lmd_fail(err, LMD_INVALID, "%.200s: not a name for a file", name);
	}
	return LMD_OK;
}

enum lmd_status lmi_hub_resolve(struct lmi_hub_model **out, const char *source,
				const struct lmi_hub_opts *o, struct lmd_error *err)
{
	struct lmd_arena *a = lmi_arena_create(ARENA_MAX);
	struct lmi_hub_model *m = a ? lmi_arena_array(a, 1, sizeof(*m)) : NULL;
	struct lmi_hub_ref r;
	enum lmd_status st;

	if (!m) {
		lmi_arena_destroy(a);
		return lmd_fail(err, LMD_NOMEM, "no memory for a source");
	}
	m->arena = a;
	st = lmi_hub_parse(&r, source, o, a, err);
	if (st == LMD_OK)
		st = find_files(m, &r, o, err);
	if (st == LMD_OK)
		st = check_names(m, err);
	if (st != LMD_OK) {
		lmi_arena_destroy(a);
		return st;
	}
	*out = m;
	return LMD_OK;
}

void lmi_hub_model_free(struct lmi_hub_model *m)
{
	if (m)
		lmi_arena_destroy(m->arena);
}

const struct lmi_hub_calls lmi_hub_calls = {
	.default_name = lmi_hub_default_name,
	.resolve = lmi_hub_resolve,
	.model_free = lmi_hub_model_free,
	.fetch = lmi_hub_fetch,
};
