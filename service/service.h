/* SPDX-License-Identifier: MIT
 *
 * service.h - what llamad does for its clients, without sockets: requests in, replies out.
 *
 * A service knows models (by the registry's names, or by path), keeps them resident, lets
 * sessions share their steps, keeps what they wrote until it was read, and answers everything
 * else that a client can ask.  Fronts decode messages into requests and encode replies.
 *
 * Threads: all functions belong to one thread, the loop's.  What is slow goes to the job
 * queues of the options; engines run on threads of their own.  There is no clock in here: `now`
 * is monotonic time in nanoseconds, of the clock that the host's now_ns reads.  The loop
 *     - watches the descriptors that it is told of (lmi_service_watch_fn) and the mailbox,
 *     - calls lmi_service_turn when one is readable, and at lmi_service_deadline at the latest. */
#ifndef LLAMAD_SERVICE_SERVICE_H
#define LLAMAD_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/jobs.h"
#include "core/base/mailbox.h"
#include "core/engine/instance.h"
#include "core/plugin/registry.h"
#include "service/limits.h"

struct lmi_service;
struct lmi_store;
struct lmi_request; /* proto */
struct lmi_reply;   /* proto */

/* ---- who asks ---- */

enum lmi_role {
	LMI_ROLE_NONE = 0,  /* hello and ping alone */
	LMI_ROLE_USER = 1,  /* gives names */
	LMI_ROLE_ADMIN = 2, /* gives paths, changes models and plugins, stops the daemon */
};

#define LMI_KEY_LABEL_MAX 64

/* Streams and request ids belong to a uid and a key label; to everybody else they are "not
 * found". */
struct lmi_principal {
	uint32_t uid, gid;
	int32_t pid;
	enum lmi_role role;
	bool remote;                       /* it came over TCP: a key says who it is */
	char key_label[LMI_KEY_LABEL_MAX]; /* "": known by uid alone */
	uint64_t conn;                     /* of the front's; never used again for another one */
};

/* ---- life ---- */

/* Watch `fd` for reading (level-triggered), or do not any more; called before it is closed. */
typedef void (*lmi_service_watch_fn)(void *arg, int fd, bool on);

/* Keys of the configuration that have new values: at once, and after a restart. */
struct lmi_config_change {
	const struct lmd_str *changed, *restart;
	uint32_t n_changed, n_restart;
};

/* What the process has and a service lacks; every member may be NULL. */
struct lmi_service_hooks {
	void *arg;
	/* Wall-clock time, ns since 1970, for the registry's stamps.  Any thread. */
	int64_t (*wall_ns)(void *arg);
	/* Op shutdown: drain and end.  The service was closed.  drain_ms < 0: as configured. */
	void (*shutdown)(void *arg, int64_t drain_ms);
	/* Op config_reload.  The lists live until the next call of any hook. */
	enum lmd_status (*config_reload)(void *arg, struct lmi_config_change *out,
					 struct lmd_error *err);
	/* Op key_rm has removed a key. */
	void (*key_removed)(void *arg, const char *label);
	/* Connections, for status. */
	uint32_t (*n_connection)(void *arg);
};

struct lmi_service_opts {
	const struct lmd_host *host; /* all pointers outlive the service */
	struct lmi_registry *plugins;
	struct lmi_store *store;       /* used by jobs of `registry` alone; NULL: no names */
	struct lmi_jobs *registry;     /* one thread */
	struct lmi_jobs *io;           /* opens and closes engines, reads and hashes files */
	struct lmi_jobs *work;         /* tokenises long texts */
	struct lmi_mailbox *mailbox;   /* of all three; the service drains it in its turn */
	struct lmi_inst_opts inst;     /* backend, threads, context ... of every model; registry,
					 * host, path and n_seq are filled in */
	const char *const *model_dirs; /* [n_model_dirs] paths that admins give lie below one of
					 * them; 0: none may be given */
	uint32_t n_model_dirs;
	bool local_paths; /* paths are taken from those whom the system knows alone */
	struct lmi_service_limits limits; /* lmi_service_limits_default, then what is configured */
	lmi_service_watch_fn watch;       /* NULL: the caller polls by calling turn */
	void *watch_arg;
	const struct lmi_service_hooks *hooks; /* copied; NULL: none */
	const char *version;                   /* of the daemon, for hello and status */
	bool in_line; /* engines without threads: a turn runs one step of each */
};

/* LMD_INVALID: a limit out of its range; LMD_NOMEM. */
enum lmd_status lmi_service_create(struct lmi_service **out, const struct lmi_service_opts *opts,
				   struct lmd_error *err);
/* Ends what is left and frees everything; calls that are not answered are, with
 * LMD_CANCELLED.  Waits for engines, and for jobs of the service: with threads, or by running
 * lmi_jobs_turn.  NULL allowed. */
void lmi_service_destroy(struct lmi_service *svc);

/* Takes over what can change while it runs: limits.  Sessions that run keep theirs;
 * `sessions` and `queue` count from the next admission. */
enum lmd_status lmi_service_set_limits(struct lmi_service *svc,
				       const struct lmi_service_limits *limits,
				       struct lmd_error *err);

/* No new work from now on: it is refused with LMD_CANCELLED, "shutting down".  Streams go on, and
 * can be read and cancelled.  Idempotent. */
void lmi_service_close(struct lmi_service *svc);
/* Takes work again, unless it was stopped. */
void lmi_service_open(struct lmi_service *svc);
/* Nothing runs or waits any more, and every stream was read to its end or given up. */
bool lmi_service_is_idle(const struct lmi_service *svc);
/* Ends every stream that has not ended, with finish "shutdown"; they can still be read. */
void lmi_service_stop(struct lmi_service *svc, uint64_t now);

/* ---- requests ---- */

/* Exactly once for each call, during it or later, on the loop's thread.  reply is valid in the
 * call; NULL: err says why, and retry_ms (0: not said) when to try again.  It does not call the
 * service. */
typedef void (*lmi_reply_fn)(void *arg, const struct lmi_reply *reply, const struct lmd_error *err,
			     uint32_t retry_ms);

/* req is borrowed for the call; so is who. */
void lmi_service_call(struct lmi_service *svc, uint64_t now, const struct lmi_principal *who,
		      const struct lmi_request *req, lmi_reply_fn reply, void *arg);

/* A connection is gone: its calls that wait are answered with LMD_CANCELLED, and streams that
 * it alone read end, unless they were asked for with a lease of their own. */
void lmi_service_gone(struct lmi_service *svc, uint64_t now, uint64_t conn);

/* Whether a stream runs that the connection reads. */
bool lmi_service_works_for(const struct lmi_service *svc, uint64_t conn);

/* Takes messages and the events of all engines, starts what can start, answers what can be
 * answered, ends what has expired. */
void lmi_service_turn(struct lmi_service *svc, uint64_t now);
/* When turn must be called at the latest; UINT64_MAX: when a descriptor is readable. */
uint64_t lmi_service_deadline(const struct lmi_service *svc);

/* ---- counts, for tests, metrics and the watchdog ---- */

struct lmi_service_stats {
	uint32_t n_running, n_waiting, n_stream; /* sessions; streams that are kept */
	uint32_t n_parked;                       /* calls that wait for an answer */
	uint32_t n_model;                        /* engines, ready ones and others */
	uint64_t n_request, n_refused, n_done, n_cancelled, n_failed;
	/* requests that ended without an answer through no fault of the daemon: by an error of the
	 * request (a wrong name, a prompt that is too long); because something was full */
	uint64_t n_invalid, n_busy;
	uint64_t n_prompt_tokens, n_out_tokens;
	uint64_t n_step;              /* of the engines that are resident */
	uint32_t n_page, n_page_free; /* of all their groups */
};
void lmi_service_stats(const struct lmi_service *svc, struct lmi_service_stats *out);

#endif /* LLAMAD_SERVICE_SERVICE_H */
