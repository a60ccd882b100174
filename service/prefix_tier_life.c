/* SPDX-License-Identifier: MIT
 *
 * The tiers as a whole: their start, their limits and their end. */
#include "core/base/alloc.h"
#include "service/loaded_model.h"
#include "service/model.h"
#include "service/prefix_tier_impl.h"
#include "service/service_state.h"
#include "store/store.h"

static void scan_run(void *arg)
{
	struct lmi_svc_prefix_tier *t = ((struct lmi_service *)arg)->prefix_tier;

	t->scanned = lmi_svc_prefix_files_scan(t->files, &t->scan.cancel);
}

static void scan_done(void *arg)
{
	struct lmi_service *svc = arg;

	svc->n_job--;
	svc->prefix_tier->scans = false;
}

/* Reading a large folder takes seconds, for which no request waits: until then the disk tier is off. */
static enum lmd_status submit_scan(struct lmi_service *svc, struct lmi_svc_prefix_tier *t,
				   struct lmd_error *err)
{
	enum lmd_status st;

	t->scan = (struct lmi_job){.run = scan_run, .done = scan_done, .arg = svc};
	st = lmi_jobs_submit(svc->o.io, &t->scan, err);
	t->scans = st == LMD_OK;
	svc->n_job += t->scans;
	return st;
}

enum lmd_status lmi_svc_prefix_tier_create(struct lmi_service *svc, struct lmd_error *err)
{
	struct lmi_svc_prefix_tier *t = lmi_alloc(1, sizeof(*t));
	enum lmd_status st;

	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for the tiers of the prefix cache");
	st = lmi_svc_prefix_files_create(&t->files, lmi_store_dir(svc->o.store),
					 svc->limits.prefix_disk_bytes, err);
	svc->prefix_tier = t;
	if (st == LMD_OK)
		st = lmi_svc_prefix_memory_create(&t->memory, svc->limits.prefix_memory_bytes, err);
	if (st == LMD_OK)
		st = submit_scan(svc, t, err);
	if (st != LMD_OK)
		lmi_svc_prefix_tier_destroy(svc);
	return st;
}

void lmi_svc_prefix_tier_stop_scan(struct lmi_svc_prefix_tier *t)
{
	if (t->scans)
		lmi_jobs_cancel(&t->scan);
}

void lmi_svc_prefix_tier_destroy(struct lmi_service *svc)
{
	if (!svc->prefix_tier)
		return;
	lmi_svc_prefix_files_destroy(svc->prefix_tier->files);
	lmi_svc_prefix_memory_destroy(svc->prefix_tier->memory);
	lmi_free(svc->prefix_tier);
	svc->prefix_tier = NULL;
}

bool lmi_svc_prefix_disk_is_on(const struct lmi_service *svc)
{
	const struct lmi_svc_prefix_tier *t = svc->prefix_tier;

	return t && !t->scans && t->scanned && svc->limits.prefix_disk_bytes;
}

bool lmi_svc_prefix_tier_is_on(const struct lmi_service *svc)
{
	return svc->prefix_tier &&
	       (svc->limits.prefix_memory_bytes || lmi_svc_prefix_disk_is_on(svc));
}

void lmi_svc_prefix_tier_ready(const struct lmi_svc_loaded_model *r)
{
	const struct lmi_service *svc = r->svc;

	if (svc->prefix_tier && svc->limits.prefix_memory_bytes &&
	    !lmi_engine_rows_on_device(r->engine))
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_INFO,
				 "the pages of a model lie in host memory: prefix_memory_bytes does not "
				 "apply, kv_tokens is its cache; model=%s engine=%llu",
				 lmi_svc_model_name(r->model), (unsigned long long)r->number);
}

static void trim_run(void *arg)
{
	const struct lmi_service *svc = arg;

	lmi_svc_prefix_files_trim(svc->prefix_tier->files);
	lmi_svc_prefix_memory_trim(svc->prefix_tier->memory);
}

static void submit_trim(struct lmi_service *svc);

static void trim_done(void *arg)
{
	struct lmi_service *svc = arg;
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;

	svc->n_job--;
	t->trims = false;
	if (t->trims_again)
		submit_trim(svc);
}

static void submit_trim(struct lmi_service *svc)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	struct lmd_error err;

	t->trims_again = t->trims;
	if (t->trims)
		return;
	t->trim = (struct lmi_job){.run = trim_run, .done = trim_done, .arg = svc};
	t->trims = lmi_jobs_submit(svc->o.io, &t->trim, &err) == LMD_OK;
	if (t->trims)
		svc->n_job++;
	else /* the next save or start removes them */
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_INFO,
				 "saved prefixes over the new limit were not removed yet: %s", err.text);
}

void lmi_svc_prefix_tier_set_limit(struct lmi_service *svc)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	bool files, memory;

	if (!t)
		return;
	t->disk_paused_until = 0;
	files = lmi_svc_prefix_files_limit(t->files, svc->limits.prefix_disk_bytes);
	memory = lmi_svc_prefix_memory_limit(t->memory, svc->limits.prefix_memory_bytes);
	if (files || memory)
		submit_trim(svc);
}

void lmi_svc_prefix_tier_forget_files(const struct lmi_service *svc, uint64_t tenant)
{
	if (!svc->prefix_tier)
		return;
	lmi_svc_prefix_memory_forget(svc->prefix_tier->memory, tenant);
	lmi_svc_prefix_files_forget(svc->prefix_tier->files, tenant);
}

void lmi_svc_prefix_tier_stats(const struct lmi_service *svc, struct lmi_svc_prefix_tier_stats *out)
{
	*out = (struct lmi_svc_prefix_tier_stats){0};
	if (!svc->prefix_tier)
		return;
	*out = svc->prefix_tier->stats;
	lmi_svc_prefix_files_stats(svc->prefix_tier->files, &out->files);
	lmi_svc_prefix_memory_stats(svc->prefix_tier->memory, &out->memory);
}
