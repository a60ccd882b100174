/* SPDX-License-Identifier: MIT
 *
 * session_work.h - saving and restoring sessions, and work on their files: one after the other, so
 * that they need memory for one session at a time and agree on the limits.
 *
 *     SAVE     the engine copies the rows (core/engine/saved.h), then a job writes the file
 *     RESTORE  the engine tells how much of the tokens is in memory; if the session has more, a job
 *              reads its file, and the engine takes the rows
 *     FILES    a job calls w->run
 *
 * On the loop's thread, except for w->run. */
#ifndef LLAMAD_SERVICE_SESSION_WORK_H
#define LLAMAD_SERVICE_SESSION_WORK_H

#include "core/base/jobs.h"
#include "service/loaded_model.h"
#include "service/session_files.h"

struct lmi_svc_principal;

enum lmi_svc_session_kind { LMI_SVC_SESSION_SAVE, LMI_SVC_SESSION_RESTORE, LMI_SVC_SESSION_FILES };

/* The caller fills in the first part and keeps all of it until `done`, which may free it. */
struct lmi_svc_session_work {
	enum lmi_svc_session_kind kind;
	struct lmi_svc_sessions files;
	char name[LMI_SVC_SESSION_NAME + 1];
	/* SAVE, RESTORE */
	struct lmi_svc_loaded_model *loaded; /* held by the work from the beginning on */
	const lmd_token *tokens;	     /* [n_tokens] of the caller */
	uint32_t n_tokens;
	uint64_t tenant;
	int32_t adapter; /* its slot is held by the work as well */
	/* FILES; any thread.  Sets w->err.status. */
	void (*run)(struct lmi_svc_session_work *w);
	void (*done)(struct lmi_svc_session_work *w, uint64_t now);
	void *arg;
	_Atomic bool dropped; /* set by the caller: if it has not begun, it need not */

	/* result: status LMD_OK, and SAVE: what was saved; RESTORE: tokens in memory now, which were
	 * restored if `moved` is set */
	struct lmd_error err;
	uint32_t n_token;
	uint64_t n_bytes;
	bool moved;

	/* of the work itself */
	struct lmi_svc_session_work *next;
	struct lmi_service *svc;
	struct lmi_job job;
	uint64_t command; /* of the engine; 0: none */
	struct lmi_engine_saved_head head;
	struct lmi_engine_saved *saved;
};

/* Fills in the folder of an owner and the limits.  LMD_UNSUPPORTED: sessions are off. */
enum lmd_status lmi_svc_sessions_of(struct lmi_svc_sessions *out, const struct lmi_service *svc,
				    const struct lmi_svc_principal *principal,
				    struct lmd_error *err);
/* Queues the work; w->done is called later, exactly once, never during the call. */
void lmi_svc_session_submit(struct lmi_service *svc, struct lmi_svc_session_work *w);
/* Takes an event of an engine; returns false if it belongs to something else. */
bool lmi_svc_session_event(struct lmi_service *svc, uint64_t now, struct lmi_engine_event *ev);
/* Starts what waits. */
void lmi_svc_session_tick(struct lmi_service *svc, uint64_t now);
/* Removes what interrupted writes have left, when the service is created. */
void lmi_svc_sessions_clean(const struct lmi_service *svc);
/* Removes the sessions of a key, because it was removed. */
void lmi_svc_sessions_forget_key(struct lmi_service *svc, const char *label);

#endif /* LLAMAD_SERVICE_SESSION_WORK_H */
