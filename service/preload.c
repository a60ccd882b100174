/* SPDX-License-Identifier: MIT
 *
 * Loads models when the daemon starts. Their names are copied, because presets may be replaced in
 * the meantime. */
#include <string.h>

#include "core/base/alloc.h"
#include "service/names.h"
#include "service/preset.h"
#include "service/service_state.h"

struct preload {
	struct lmi_service *svc;
	struct lmi_svc_lookup lookup;
	struct lmi_svc_load_waiter waiter;
	uint32_t n, next;
	char (*names)[LMI_STORE_NAME_MAX + 1]; /* [n] */
};

#define OF(member, p) ((struct preload *)((char *)(p)-offsetof(struct preload, member)))

static void load_next(struct preload *p, uint64_t now)
{
	struct lmd_str name;

	if (p->next == p->n || p->svc->stopping) {
		lmi_free(p->names);
		lmi_free(p);
		return;
	}
	name = (struct lmd_str){p->names[p->next], strlen(p->names[p->next])};
	p->next++;
	lmi_svc_lookup_start(p->svc, now, &p->lookup, &name);
}

static void failed(const struct preload *p, const struct lmd_error *err)
{
	if (p->svc->stopping)
		return;
	p->svc->o.host->log(p->svc->o.host->ctx, "service", LMD_LOG_WARN,
			    "model not preloaded; model=%s: %s", p->names[p->next - 1], err->text);
}

static void ready(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		  const struct lmd_error *err, uint32_t retry_ms)
{
	struct preload *p = OF(waiter, w);

	(void)retry_ms;
	if (r)
		lmi_svc_loaded_model_unref(r, now);
	else
		failed(p, err);
	load_next(p, now);
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct preload *p = OF(lookup, l);

	if (m) {
		lmi_svc_model_add_waiter(p->svc, now, m, &p->waiter);
	} else {
		failed(p, err);
		load_next(p, now);
	}
}

static uint32_t count(const struct lmi_service *svc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < svc->o.n_presets; i++)
		n += svc->o.presets[i].preload;
	return n;
}

void lmi_service_preload(struct lmi_service *svc, uint64_t now)
{
	struct preload *p = lmi_alloc(1, sizeof(*p));
	uint32_t n = count(svc);

	if (p)
		p->names = lmi_alloc(n + 1, sizeof(*p->names));
	if (!p || !p->names) {
		lmi_free(p);
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_WARN,
				 "models are not preloaded: no memory");
		return;
	}
	p->svc = svc;
	p->lookup.found = found;
	p->waiter.ready = ready;
	for (uint32_t i = 0; i < svc->o.n_presets; i++) {
		const struct lmi_svc_preset *s = &svc->o.presets[i];
		size_t bytes = strlen(s->name);

		/* a name that is too long is not that of a model */
		if (s->preload && bytes <= LMI_STORE_NAME_MAX)
			memcpy(p->names[p->n++], s->name, bytes + 1);
	}
	load_next(p, now);
}
