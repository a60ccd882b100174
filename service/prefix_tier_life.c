/* SPDX-License-Identifier: MIT
 *
 * The disk tier as a whole: its start, its limits and its end. */
#include "core/base/alloc.h"
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

/* Reading a large folder takes seconds, for which no request waits: until then the tier is off. */
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
		return lmd_fail(err, LMD_NOMEM, "no memory for the disk tier of the prefix cache");
	st = lmi_svc_prefix_files_create(&t->files, lmi_store_dir(svc->o.store),
					 svc->limits.prefix_disk_bytes, err);
	svc->prefix_tier = t;
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
	lmi_free(svc->prefix_tier);
	svc->prefix_tier = NULL;
}

bool lmi_svc_prefix_tier_is_on(const struct lmi_service *svc)
{
	const struct lmi_svc_prefix_tier *t = svc->prefix_tier;

	return t && !t->scans && t->scanned && svc->limits.prefix_disk_bytes;
}

static void trim_run(void *arg)
{
	const struct lmi_service *svc = arg;

	lmi_svc_prefix_files_trim(svc->prefix_tier->files);
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
	if (svc->prefix_tier && lmi_svc_prefix_files_limit(svc->prefix_tier->files,
							   svc->limits.prefix_disk_bytes))
		submit_trim(svc);
}

void lmi_svc_prefix_tier_forget_files(const struct lmi_service *svc, uint64_t tenant)
{
	if (svc->prefix_tier)
		lmi_svc_prefix_files_forget(svc->prefix_tier->files, tenant);
}

void lmi_svc_prefix_tier_stats(const struct lmi_service *svc, struct lmi_svc_prefix_tier_stats *out)
{
	*out = (struct lmi_svc_prefix_tier_stats){0};
	if (!svc->prefix_tier)
		return;
	*out = svc->prefix_tier->stats;
	lmi_svc_prefix_files_stats(svc->prefix_tier->files, &out->files);
}
