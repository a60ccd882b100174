/* SPDX-License-Identifier: MIT
 *
 * The file of a durable stream, and the jobs that write it. */
#include "service/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "service/answer.h"
#include "service/generate_work.h"
#include "service/service_state.h"

/* ---- life ---- */

/* The end is being written. */
static void cancel(struct lmi_svc_stream_writer *w, uint64_t now, uint32_t reason)
{
	(void)w;
	(void)now;
	(void)reason;
}

static bool runs(const struct lmi_svc_stream_writer *w)
{
	(void)w;
	return false;
}

struct lmi_svc_durable *lmi_svc_durable_create(struct lmi_svc_stream *s, struct lmi_service *svc,
					       const struct lmi_svc_principal *principal)
{
	size_t n = strlen(svc->o.journal_dir) + 2 * LMI_SVC_ID_BYTES + sizeof("/.journal");
	struct lmi_svc_durable *d = lmi_alloc(1, sizeof(*d));
	char *path = d ? lmi_alloc(1, n) : NULL;
	int at;

	if (!path) {
		lmi_free(d);
		return NULL;
	}
	at = snprintf(path, n, "%s/", svc->o.journal_dir);
	for (size_t i = 0; i < LMI_SVC_ID_BYTES; i++)
		at += snprintf(path + at, n - (size_t)at, "%02x", s->id[i]);
	(void)snprintf(path + at, n - (size_t)at, ".journal");
	d->path = path;
	d->writer = (struct lmi_svc_stream_writer){.cancel = cancel, .runs = runs};
	d->fd = -1;
	d->svc = svc;
	d->owner = s->owner;
	d->has_share = principal->role != LMI_SVC_ROLE_ADMIN;
	d->stream = s;
	s->durable = d;
	d->next = svc->durables;
	if (d->next)
		d->next->prev = d;
	svc->durables = d;
	svc->n_durable++;
	return d;
}

void lmi_svc_durable_destroy(struct lmi_svc_durable *d)
{
	struct lmi_service *svc = d->svc;

	*(d->prev ? &d->prev->next : &svc->durables) = d->next;
	if (d->next)
		d->next->prev = d->prev;
	svc->n_durable--;
	svc->durable_bytes -= d->bytes;
	lmi_wire_buf_fini(&d->records);
	lmi_wire_buf_fini(&d->scratch);
	lmi_wire_buf_fini(&d->writing);
	lmi_text_token_buf_fini(&d->prompt);
	lmi_text_token_buf_fini(&d->taken);
	lmi_svc_answer_destroy(d->answer);
	lmi_free(d->note);
	lmi_free(d->adapter);
	lmi_free(d->path);
	lmi_free(d);
}

/* ---- jobs ---- */

static enum lmd_status cannot(struct lmi_svc_durable *d, const char *what)
{
	return lmd_fail(&d->err, LMD_IO, "durable: %s: cannot %s: %s", d->path, what, strerror(errno));
}

static enum lmd_status open_file(struct lmi_svc_durable *d)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;

	if (d->fd >= 0)
		return LMD_OK;
	/* a file that is there already was read at the start */
	d->fd = d->writing_at ? open(d->path, flags)
			      : open(d->path, flags | O_CREAT | O_EXCL, 0600);
	return d->fd >= 0 ? LMD_OK : cannot(d, "open the file");
}

static void write_job(void *arg)
{
	struct lmi_svc_durable *d = arg;
	size_t done = 0;

	d->err.status = open_file(d);
	while (d->err.status == LMD_OK && done < d->writing.n) {
		ssize_t n = pwrite(d->fd, d->writing.p + done, d->writing.n - done,
				   (off_t)(d->writing_at + done));

		if (!n) /* trying again might never end */
			errno = ENOSPC;
		if (n > 0)
			done += (size_t)n;
		else if (!n || errno != EINTR)
			d->err.status = cannot(d, "write");
	}
}

static void close_job(void *arg)
{
	struct lmi_svc_durable *d = arg;

	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	if (d->removes)
		(void)unlink(d->path); /* if that fails, the next start removes it when it is old */
}

static void write_done(void *arg)
{
	struct lmi_svc_durable *d = arg;
	struct lmi_service *svc = d->svc;

	svc->n_job--;
	d->job_runs = false;
	if (d->stream && !d->failed && d->err.status != LMD_OK)
		lmi_svc_durable_fail(d, svc->now, &d->err);
	else if (d->stream && !d->failed)
		(void)lmi_svc_durable_deliver(d, svc->now, (const char *)d->writing.p,
					      d->writing.n, d->writing_at);
	d->writing.n = 0;
	if (d->generation && d->generation->head_waits && !d->generation->request.reply)
		lmi_svc_gen_finish(d->generation, svc->now, &d->generation->stop_end);
	/* the tick submits what has come meanwhile */
}

static void close_done(void *arg)
{
	struct lmi_svc_durable *d = arg;

	d->svc->n_job--;
	d->job_runs = false;
	d->closes = false;
	if (d->removes) {
		d->svc->durable_bytes -= d->bytes;
		d->bytes = 0;
	}
	if (!d->stream)
		lmi_svc_durable_destroy(d);
}

void lmi_svc_durable_submit(struct lmi_svc_durable *d)
{
	struct lmi_wire_buf free_one = d->writing;
	bool write = d->stream && !d->failed && d->records.n, close = !d->stream || d->closes;

	if (d->job_runs || (!write && !close))
		return;
	d->job = (struct lmi_job){.run = write ? write_job : close_job,
				  .done = write ? write_done : close_done,
				  .arg = d};
	if (write) {
		d->writing = d->records;
		d->writing_at = d->at;
		d->records = free_one;
		d->records.n = 0;
		d->at += d->writing.n;
	}
	/* the queue has room for a job of each stream; the next tick tries again */
	if (lmi_jobs_submit(d->svc->o.journals, &d->job, NULL) != LMD_OK) {
		if (write) {
			d->records = d->writing;
			d->writing = free_one;
			d->at = d->writing_at;
		}
		return;
	}
	d->job_runs = true;
	d->svc->n_job++;
	if (write)
		d->submitted_ns = d->svc->now;
}

/* ---- records ---- */

enum lmd_status lmi_svc_durable_put(struct lmi_svc_durable *d,
				    const struct lmi_svc_journal_record *r, struct lmd_error *err)
{
	size_t before = d->records.n;

	if ((!d->at && !before && !lmi_svc_journal_begin(&d->records)) ||
	    !lmi_svc_journal_put(&d->records, d->at, &d->scratch, r))
		return d->scratch.n > LMI_SVC_JOURNAL_RECORD_MAX
			       ? lmd_fail(err, LMD_INVALID,
					  "durable: the request has %zu bytes with all that is recorded of "
					  "it, the maximum is %u",
					  d->scratch.n, LMI_SVC_JOURNAL_RECORD_MAX)
			       : lmd_fail(err, LMD_NOMEM, "no memory for the records of a durable stream");
	d->bytes += d->records.n - before;
	d->svc->durable_bytes += d->records.n - before;
	return LMD_OK;
}
