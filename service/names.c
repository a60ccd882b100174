/* SPDX-License-Identifier: MIT
 *
 * A short list of names with their models.  Only the service changes the registry, so cached
 * results are valid until then, or until the registry turns out to be corrupt and is replaced.  A result
 * that was requested before a change and arrives after it is used once and not cached. */
#include "service/names.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "service/quota.h"
#include "service/registry_rows.h"
#include "service/service_state.h"

#define NAMES_MAX 1024u

struct lmi_svc_name {
	struct lmi_svc_name *next;
	struct lmi_svc_model *model;
	char name[LMI_STORE_NAME_MAX + 1];
};

static void drop(struct lmi_service *svc)
{
	while (svc->names) {
		struct lmi_svc_name *n = svc->names;

		svc->names = n->next;
		lmi_free(n);
	}
	svc->n_name = 0;
}

static void changed(struct lmi_service *svc)
{
	svc->names_epoch++;
	lmi_svc_registry_rows_drop(svc);
	lmi_svc_models_collect(svc);
}

void lmi_svc_names_change(struct lmi_service *svc, const char *name)
{
	struct lmi_svc_name **p = &svc->names;

	while (*p) {
		struct lmi_svc_name *n = *p;

		if (strcmp(n->name, name) && strcmp(lmi_svc_model_name(n->model), name)) {
			p = &n->next;
			continue;
		}
		*p = n->next;
		lmi_free(n);
		svc->n_name--;
	}
	changed(svc);
}

void lmi_svc_names_clear(struct lmi_service *svc)
{
	drop(svc);
	changed(svc);
}

bool lmi_svc_names_refer_to(const struct lmi_service *svc, const struct lmi_svc_model *m)
{
	for (const struct lmi_svc_name *n = svc->names; n; n = n->next)
		if (n->model == m)
			return true;
	return false;
}

/* Drops what was read from a registry that has been replaced since. */
static void check_registry(struct lmi_service *svc)
{
	uint32_t n = svc->o.store ? lmi_store_n_replaced(svc->o.store) : 0;

	if (n != svc->names_n_replaced) {
		drop(svc);
		svc->names_epoch++; /* results that are still to come may be the old one's */
	}
	svc->names_n_replaced = n;
}

static struct lmi_svc_model *find(const struct lmi_service *svc, const char *name)
{
	for (struct lmi_svc_name *n = svc->names; n; n = n->next)
		if (!strcmp(n->name, name))
			return n->model;
	return NULL;
}

/* Caches a result.  If out of memory, the name is looked up again next time. */
static void remember(struct lmi_service *svc, const char *name, struct lmi_svc_model *m)
{
	struct lmi_svc_name *n;

	if (svc->n_name >= NAMES_MAX)
		drop(svc);
	n = lmi_alloc(1, sizeof(*n));
	if (!n)
		return;
	memcpy(n->name, name, sizeof(n->name));
	n->model = m;
	n->next = svc->names;
	svc->names = n;
	svc->n_name++;
}

const struct lmi_service_named_file *lmi_svc_named_file(const struct lmi_service *svc,
							const char *name)
{
	const struct lmi_service_named_file *f = svc->o.named_file;

	return f && !strcmp(f->name, name) ? f : NULL;
}

/* Finds the model of a file, for a service without a registry. */
static void find_file(struct lmi_service *svc, uint64_t now, struct lmi_svc_lookup *l,
		      const struct lmd_str *path)
{
	const struct lmi_service_named_file *named = NULL;
	struct lmi_svc_model_record *record;
	struct lmi_svc_model *m = NULL;
	char shown[80], name[LMI_STORE_PATH_MAX + 1];

	if (!path->len || path->len >= sizeof(name) || memchr(path->ptr, 0, path->len)) {
		(void)lmd_fail(&l->err, LMD_NOTFOUND, "model: '%s' is not a path",
			       lmi_printable(shown, sizeof(shown), path->ptr, path->len));
	} else {
		memcpy(name, path->ptr, path->len);
		name[path->len] = 0;
		named = lmi_svc_named_file(svc, name);
		m = lmi_svc_model_find(svc, named ? named->model : name);
	}
	if (!m && l->err.status == LMD_OK) {
		l->err.status = lmi_svc_model_record_of_file(&record, named ? named->model : name,
							     named ? named->path : name, &l->err);
		if (l->err.status == LMD_OK)
			l->err.status = lmi_svc_model_get_or_create(svc, record, &m, &l->err);
	}
	l->found(l, now, m, &l->err);
}

/* Reports the model, unless the quota of the principal's key excludes it. */
static void report(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m)
{
	if (m && l->principal &&
	    !lmi_svc_quota_allows(l->svc, l->principal, lmi_svc_model_name(m), l->name)) {
		l->err.status = lmd_fail(&l->err, LMD_NOTFOUND, LMI_SVC_MODEL_UNKNOWN, l->name);
		m = NULL;
	}
	l->found(l, now, m, &l->err);
}

static void run(void *arg)
{
	struct lmi_svc_lookup *l = arg;

	l->err.status = lmi_store_model_find(l->svc->o.store, l->name, &l->record->m, &l->err);
}

static void done(void *arg)
{
	struct lmi_svc_lookup *l = arg;
	struct lmi_service *svc = l->svc;
	struct lmi_svc_model_record *record = l->record;
	struct lmi_svc_model *m = NULL;

	svc->n_job--;
	l->record = NULL;
	if (l->err.status != LMD_OK)
		lmi_svc_model_record_give(record);
	else
		l->err.status = lmi_svc_model_get_or_create(svc, record, &m, &l->err);
	if (l->err.status == LMD_OK && l->epoch == svc->names_epoch && !find(svc, l->name))
		remember(svc, l->name, m);
	report(l, svc->now, l->err.status == LMD_OK ? m : NULL);
}

static enum lmd_status submit_lookup(struct lmi_service *svc, struct lmi_svc_lookup *l)
{
	enum lmd_status st;

	if (!svc->o.store)
		return lmd_fail(&l->err, LMD_NOTFOUND, "model %s: this server has no registry", l->name);
	l->record = lmi_alloc(1, sizeof(*l->record));
	if (!l->record)
		return lmd_fail(&l->err, LMD_NOMEM, "no memory to look up a model");
	l->record->n_user = 1;
	l->job = (struct lmi_job){.run = run, .done = done, .arg = l};
	st = lmi_jobs_submit(svc->o.registry, &l->job, &l->err);
	if (st != LMD_OK)
		lmi_svc_model_record_give(l->record);
	return st;
}

void lmi_svc_lookup_start(struct lmi_service *svc, uint64_t now, struct lmi_svc_lookup *l,
			  const struct lmd_str *name)
{
	struct lmi_svc_model *m;
	char shown[80];

	l->svc = svc;
	l->err = (struct lmd_error){0};
	if (svc->o.embedded) {
		find_file(svc, now, l, name);
		return;
	}
	if (!name->len || name->len > LMI_STORE_NAME_MAX || memchr(name->ptr, 0, name->len)) {
		l->err.status = lmd_fail(&l->err, LMD_NOTFOUND, "model: no model has the name '%s'",
					 lmi_printable(shown, sizeof(shown), name->ptr, name->len));
		l->found(l, now, NULL, &l->err);
		return;
	}
	memset(l->name, 0, sizeof(l->name));
	memcpy(l->name, name->ptr, name->len);
	check_registry(svc);
	l->epoch = svc->names_epoch;
	m = find(svc, l->name);
	if (m) {
		report(l, now, m);
		return;
	}
	if (submit_lookup(svc, l) != LMD_OK) {
		l->found(l, now, NULL, &l->err);
		return;
	}
	svc->n_job++;
}
