/* SPDX-License-Identifier: MIT */
#include "service/wanted_adapters.h"

#include <string.h>

#include "core/base/alloc.h"

static void entry_fini(struct lmi_svc_wanted_adapter *a)
{
	lmi_free(a->name);
	lmi_free(a->path);
}

void lmi_svc_wanted_adapters_clear(struct lmi_svc_wanted_adapters *w)
{
	while (w->n)
		entry_fini(&w->v[--w->n]);
}

/* Removes entry i and returns it. */
static struct lmi_svc_wanted_adapter take(struct lmi_svc_wanted_adapters *w, uint32_t i)
{
	const struct lmi_svc_wanted_adapter a = w->v[i];

	w->n--;
	memmove(w->v + i, w->v + i + 1, (w->n - i) * sizeof(*w->v));
	return a;
}

static void put_first(struct lmi_svc_wanted_adapters *w, struct lmi_svc_wanted_adapter a)
{
	memmove(w->v + 1, w->v, w->n * sizeof(*w->v));
	w->v[0] = a;
	w->n++;
}

static bool is(const struct lmi_svc_wanted_adapter *a, const char *name, const char *path)
{
	return !strcmp(a->name, name) && !strcmp(a->path, path);
}

enum lmd_status lmi_svc_wanted_adapters_put(struct lmi_svc_wanted_adapters *w, const char *name,
					    const char *path, struct lmd_error *err)
{
	struct lmi_svc_wanted_adapter a, old;
	uint32_t i = 0;

	while (i < w->n && !is(&w->v[i], name, path))
		i++;
	if (i < w->n) {
		put_first(w, take(w, i));
		return LMD_OK;
	}
	a = (struct lmi_svc_wanted_adapter){.name = lmi_strndup(name, strlen(name)),
					    .path = lmi_strndup(path, strlen(path))};
	if (!a.name || !a.path) {
		entry_fini(&a);
		return lmd_fail(err, LMD_NOMEM, "no memory for an adapter");
	}
	if (w->n == LMI_SVC_ADAPTERS_MAX) {
		old = take(w, w->n - 1);
		entry_fini(&old);
	}
	put_first(w, a);
	return LMD_OK;
}

enum lmd_status lmi_svc_wanted_adapters_append(const struct lmi_svc_wanted_adapters *w,
					       struct lmi_svc_adapters *out, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->n && out->n < LMI_SVC_ADAPTERS_MAX && st == LMD_OK; i++)
		st = lmi_svc_adapters_add(out, w->v[i].name, w->v[i].path, 1, err);
	return st;
}
