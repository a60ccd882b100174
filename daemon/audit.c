/* SPDX-License-Identifier: MIT
 *
 * The audit log of the process: events are copied on the loop's thread, and written and synced by a
 * thread of their own, in their order. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/daemon_impl.h"
#include "store/audit.h"

struct record {
	struct lmi_job job;
	struct lmi_daemon *d;
	int64_t at_ns;
	char event[32], principal[LMI_STORE_AUDIT_FIELD], subject[LMI_STORE_AUDIT_FIELD],
		detail[LMI_STORE_AUDIT_FIELD];
	struct lmd_error err;
};

static void append(struct record *r)
{
	const struct lmi_store_audit_event e = {.at_ns = r->at_ns,
						.event = r->event,
						.principal = r->principal,
						.subject = r->subject,
						.detail = r->detail};

	r->err.status = lmi_store_audit_append(r->d->audit_log, &e, &r->err);
}

static void run(void *arg)
{
	append(arg);
}

static void done(void *arg)
{
	struct record *r = arg;

	if (r->err.status != LMD_OK)
		LMI_DAEMON_LOG(r->d, LMD_LOG_ERROR, "the audit log lacks an event: %s; event=%s",
			       r->err.text, r->event);
	lmi_free(r);
}

static void submit(struct lmi_daemon *d, const struct lmi_svc_event *e)
{
	struct record *r = d->audit_log ? lmi_alloc(1, sizeof(*r)) : NULL;
	struct lmd_error err = {0};

	if (!r) {
		if (d->audit_log)
			LMI_DAEMON_LOG(d, LMD_LOG_ERROR, "no memory for an event of the audit log");
		return;
	}
	r->d = d;
	r->at_ns = lmi_daemon_wall_ns(d);
	(void)snprintf(r->event, sizeof(r->event), "%s", e->event);
	(void)snprintf(r->principal, sizeof(r->principal), "%s", e->principal);
	(void)snprintf(r->subject, sizeof(r->subject), "%s", e->subject);
	(void)snprintf(r->detail, sizeof(r->detail), "%s", e->detail);
	r->job = (struct lmi_job){.run = run, .done = done, .arg = r};
	if (lmi_jobs_submit(d->audit, &r->job, &err) == LMD_OK)
		return;
	LMI_DAEMON_LOG(d, LMD_LOG_ERROR, "the audit log lacks an event: %s; event=%s", err.text,
		       e->event);
	lmi_free(r);
}

void lmi_daemon_audit(struct lmi_daemon *d, const struct lmi_svc_event *e)
{
	if (!e->refused || lmi_daemon_audit_limiter_take(&d->audit_limiter, e->principal, lmi_loop_now()))
		submit(d, e);
}

uint64_t lmi_daemon_audit_tick(struct lmi_daemon *d, uint64_t now)
{
	struct lmi_daemon_audit_dropped x;
	char detail[80];

	while (lmi_daemon_audit_limiter_dropped(&d->audit_limiter, now, &x)) {
		(void)snprintf(detail, sizeof(detail), "%llu refused requests have no record",
			       (unsigned long long)x.n);
		submit(d, &(struct lmi_svc_event){.event = "records_dropped",
						  .principal = x.principal,
						  .subject = "",
						  .detail = detail});
	}
	return lmi_daemon_audit_limiter_deadline(&d->audit_limiter);
}

/* A crash while a record was written has left a part of it. */
static void report_repair(struct lmi_daemon *d, uint64_t n)
{
	char detail[80];

	(void)snprintf(detail, sizeof(detail), "an incomplete record of %llu bytes was removed",
		       (unsigned long long)n);
	LMI_DAEMON_LOG(d, LMD_LOG_WARN, "audit log: %s", detail);
	submit(d, &(struct lmi_svc_event){.event = "audit_repaired",
					  .principal = "daemon",
					  .subject = "audit.log",
					  .detail = detail});
}

/* A key beside the log would protect it from nobody. */
static enum lmd_status check_place(const char *key, const char *state_dir, struct lmd_error *err)
{
	char path[PATH_MAX], real[PATH_MAX], dir[PATH_MAX];
	size_t n;

	(void)snprintf(path, sizeof(path), "%s", key);
	if (!realpath(path, real)) { /* it does not exist yet */
		*(strrchr(path, '/') + 1) = 0;
		if (!realpath(path, real))
			return lmd_fail(err, LMD_NOTFOUND, "audit_key: the folder of %.200s does not exist",
					key);
	}
	if (!realpath(state_dir, dir))
		return lmd_fail(err, LMD_IO, "%.200s: %s", state_dir, strerror(errno));
	n = strlen(dir);
	if (!strncmp(real, dir, n) && (real[n] == '/' || !real[n]))
		return lmd_fail(err, LMD_INVALID,
				"audit_key: %.200s lies in the state folder, which it protects: use "
				"another folder, such as /etc/llamad",
				key);
	return LMD_OK;
}

static enum lmd_status find_key(struct lmi_daemon *d, struct lmi_store_audit_key *key,
				struct lmd_error *err)
{
	const char *path = d->config->audit_key;
	enum lmd_status st = check_place(path, d->config->state_dir, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_audit_key_read(key, path, err);
	if (st == LMD_NOTFOUND) {
		st = lmi_store_audit_key_make(path, err);
		if (st == LMD_OK) {
			LMI_DAEMON_LOG(d, LMD_LOG_INFO, "audit log: made the key %s", path);
			st = lmi_store_audit_key_read(key, path, err);
		}
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, "audit_key");
	return st;
}

/* In the journal, it shows that an older copy of the log was put back. */
static void log_last(struct lmi_daemon *d, const char *what)
{
	const char *hash;
	uint64_t n = lmi_store_audit_last(d->audit_log, &hash);

	if (!n)
		return; /* a new log */
	LMI_DAEMON_LOG(d, LMD_LOG_INFO, "audit log: %s record %llu; hash=%s", what,
		       (unsigned long long)n, hash);
}

enum lmd_status lmi_daemon_start_audit(struct lmi_daemon *d, uint32_t n_max, struct lmd_error *err)
{
	const struct lmi_jobs_opts opts = {
		.mailbox = &d->mailbox, .name = "audit", .n_thread = 1, .n_max = n_max};
	struct lmi_store_audit_key key, *with = d->config->audit_key ? &key : NULL;
	enum lmd_status st = with ? find_key(d, with, err) : LMD_OK;

	if (st == LMD_OK)
		st = lmi_store_audit_open(&d->audit_log, d->config->state_dir, with, 0, err);
	if (with)
		explicit_bzero(with, sizeof(*with));
	if (st == LMD_OK)
		log_last(d, "continued after");
	if (st == LMD_OK)
		st = lmi_jobs_create(&d->audit, &opts, err);
	if (st == LMD_OK && lmi_store_audit_repaired(d->audit_log))
		report_repair(d, lmi_store_audit_repaired(d->audit_log));
	return st;
}

void lmi_daemon_stop_audit(struct lmi_daemon *d)
{
	const struct lmi_store_audit_event e = {.at_ns = lmi_daemon_wall_ns(d),
						.event = "daemon_stop",
						.principal = "daemon"};
	bool started = d->audit != NULL;
	struct lmd_error err;

	if (started) {
		(void)lmi_daemon_audit_tick(d, UINT64_MAX);
		lmi_jobs_stop(d->audit);
	}
	if (d->mailbox_open)
		(void)lmi_mailbox_drain(&d->mailbox);
	lmi_jobs_destroy(d->audit);
	if (started && lmi_store_audit_append(d->audit_log, &e, &err) != LMD_OK)
		LMI_DAEMON_LOG(d, LMD_LOG_ERROR, "the audit log lacks an event: %s", err.text);
	if (started)
		log_last(d, "ended with");
	d->audit = NULL;
	lmi_store_audit_close(d->audit_log);
	d->audit_log = NULL;
}
