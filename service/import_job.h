/* SPDX-License-Identifier: MIT
 *
 * import_job.h - a job that ends with a new model in the registry: ops add and pull.
 *
 * A thread of a queue runs the stage, which fills the row; then the registry's thread writes it.  A
 * cancellation ends the stage; it has no effect once the row is being written. */
#ifndef LLAMAD_SERVICE_IMPORT_JOB_H
#define LLAMAD_SERVICE_IMPORT_JOB_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "core/base/jobs.h"
#include "service/request.h"
#include "service/stream_writer.h"
#include "store/import.h"

struct lmi_svc_import {
	struct lmi_svc_stream_writer writer;
	struct lmi_svc_request request; /* kept */
	struct lmi_job job;
	struct lmd_error err;
	/* Runs on the queue's thread: fills row and files, or returns the status of err. */
	enum lmd_status (*stage)(struct lmi_svc_import *w);
	const char *name; /* of the model that op streams shows; in the arena of the request */
	bool dry_run;     /* end without a row */
	bool replace; /* the model of that name */
	bool once;    /* a model of that name with the same digest is no error */
	bool ended, job_runs;
	bool succeeded; /* whether or not its stream has ended before */
	_Atomic bool cancelled;
	/* progress: written by the job, read when the message is delivered */
	struct lmi_mailbox_message message;
	_Atomic bool posted;
	_Atomic uint32_t phase;
	_Atomic uint64_t done, total;
	uint64_t done_before; /* bytes of the files that are complete */
	uint64_t n_bytes;     /* of all files */
	/* the new row */
	struct lmi_store_model row;
	struct lmi_store_file *files; /* [row.n_files] */
};

/* Begins the job in a queue.  The caller has called lmi_svc_stream_admit and owns nothing of *out
 * afterwards; the reply is sent by lmi_svc_import_accept.  model: for op streams, and w->name. */
enum lmd_status lmi_svc_import_begin(struct lmi_svc_import **out,
				     struct lmi_svc_request *a, uint32_t kind,
				     const struct lmd_str *model, struct lmi_jobs *queue,
				     enum lmd_status (*stage)(struct lmi_svc_import *w),
				     struct lmd_error *err);

/* ---- for stages ---- */

void lmi_svc_import_progress(struct lmi_svc_import *w, enum lmi_wire_phase phase, uint64_t done,
			     uint64_t total);
/* Opens the model at `path` and describes it: name, architecture, format, facts, and the paths of
 * its files. */
enum lmd_status lmi_svc_import_describe(struct lmi_svc_import *w, const char *path,
					const struct lmd_str *name);
/* Compares the digest of the files, which are complete, with the expected one: 64 digits, or
 * "sha256:" and 64 digits. */
enum lmd_status lmi_svc_import_check_digest(struct lmi_svc_import *w, const struct lmd_str *want);

/* Copies the signed manifest of the model at `path`, if one stands beside it, into the store, where the
 * files of the row are already.  Runs on the queue's thread. */
enum lmd_status lmi_svc_import_keep_manifest(struct lmi_svc_import *w, const char *path);

#endif /* LLAMAD_SERVICE_IMPORT_JOB_H */
