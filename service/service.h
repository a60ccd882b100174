/* SPDX-License-Identifier: MIT
 *
 * service.h - the operations of llamad without its sockets: requests in, replies out.
 *
 * The service looks up models by name or path, loads and unloads them, runs generations that share
 * the steps of a model (continuous batching), keeps their output until it is read, and handles all
 * other requests.  The listener decodes messages into requests and encodes replies.
 *
 * Threads: all functions belong to the loop's thread.  Slow work is done in the job queues of the
 * options; engines run in threads of their own.  The service reads no clock: `now` is the monotonic
 * time in nanoseconds, from the same clock as the host's now_ns.  The loop must
 *     - watch the mailbox and the descriptors reported by lmi_service_watch_fn,
 *     - call lmi_service_tick when one is readable, and at lmi_service_deadline at the latest. */
#ifndef LLAMAD_SERVICE_SERVICE_H
#define LLAMAD_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/jobs.h"
#include "core/base/mailbox.h"
#include "core/engine/engine.h"
#include "core/plugin/registry.h"
#include "service/limits.h"

struct lmi_hub_calls; /* hub */
struct lmi_hub_opts;
struct lmi_service;
struct lmi_store;
struct lmi_svc_event;
struct lmi_svc_preset;
struct lmi_wire_request; /* proto */
struct lmi_wire_reply;   /* proto */

/* ---- principals ---- */

enum lmi_svc_role {
	LMI_SVC_ROLE_NONE = 0, /* may only use hello and ping */
	LMI_SVC_ROLE_USER = 1, /* may use models by name */
	LMI_SVC_ROLE_ADMIN =
		2, /* may also give paths, manage models and plugins, stop the daemon */
};

#define LMI_SVC_KEY_LABEL_MAX 64
#define LMI_SVC_WORK_THREADS  2u /* threads of the queue `work`, for the shares of users */

/* Streams and request ids belong to a uid and a key label; for all others they do not exist. */
struct lmi_svc_principal {
	uint32_t uid, gid;
	int32_t pid;
	enum lmi_svc_role role;
	bool remote;                       /* connected over TCP and identified by a key */
	char key_label[LMI_SVC_KEY_LABEL_MAX]; /* "": identified by uid */
	uint64_t conn;                     /* number of the connection, never reused */
};

/* ---- life cycle ---- */

/* Starts (on) or stops watching `fd` for reading, level-triggered; stopped before it is closed. */
typedef void (*lmi_service_watch_fn)(void *arg, int fd, bool on);

/* Changed configuration keys: those in effect, and those that require a restart. */
struct lmi_svc_config_change {
	const struct lmd_str *changed, *restart;
	uint32_t n_changed, n_restart;
};

#define LMI_SERVICE_ADDRESSES	  32  /* of HTTP, at most */
#define LMI_SERVICE_ADDRESS_BYTES 192 /* with the terminating 0 */

/* Functions of the process that the service needs; every member may be NULL. */
struct lmi_service_hooks {
	void *arg;
	/* Returns the wall-clock time in ns since 1970, for timestamps in the registry.  Any
	 * thread. */
	int64_t (*wall_ns)(void *arg);
	/* Op shutdown: drains and stops the daemon.  The service has been closed before.
	 * drain_ms < 0: use the configured time. */
	void (*shutdown)(void *arg, int64_t drain_ms);
	/* Op config_reload.  The lists are valid until the next call of any hook. */
	enum lmd_status (*config_reload)(void *arg, struct lmi_svc_config_change *out,
					 struct lmd_error *err);
	/* Called after op key_add or registry_restore has added a key. */
	void (*key_added)(void *arg);
	/* Called after op key_rm or registry_restore has removed a key. */
	void (*key_removed)(void *arg, const char *label);
	/* Called for each administrative or security event, for the audit log. */
	void (*event)(void *arg, const struct lmi_svc_event *e);
	/* Returns the number of connections, for op status. */
	uint32_t (*n_connection)(void *arg);
	/* Writes the addresses at which HTTP is served, as in the configuration, for op status; returns how many. */
	uint32_t (*http_addresses)(void *arg, char out[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES]);
};

/* An event for the audit log.  The texts are valid during the call; they hold no prompts and no
 * secrets. */
struct lmi_svc_event {
	const char *event;     /* the op, or what happened */
	const char *principal; /* who asked: "key:LABEL", "uid:N", "peer:ADDRESS", or "daemon" */
	const char *subject, *detail;
	bool refused; /* a client asked in vain, as often as it likes */
};

/* A model of an embedded service that requests name otherwise than by the path of its file. */
struct lmi_service_named_file {
	const char *name;      /* that requests use */
	const char *model;     /* whose presets apply as far as there are none for `name` */
	const char *path;      /* of the first file, or the folder */
	const char *modelfile; /* of `name`; NULL: none */
};

struct lmi_service_opts {
	const struct lmd_host *host; /* all pointers must outlive the service */
	struct lmi_plugin_registry *plugins;
	struct lmi_store *store;       /* only used by jobs of `registry`; NULL: no names */
	struct lmi_jobs *registry;     /* one thread */
	struct lmi_jobs *io;           /* opens and closes engines, reads and hashes files */
	struct lmi_jobs *work;         /* tokenises long texts */
	struct lmi_jobs *journals;     /* one thread, writes durable streams; NULL: there are none */
	const char *journal_dir;       /* with journals: the folder of their files; it is created */
	struct lmi_jobs *pulls;        /* downloads models; NULL: op pull is not supported */
	const struct lmi_hub_calls *hub; /* with pulls */
	const struct lmi_hub_opts *hub_opts;
	struct lmi_mailbox *mailbox;   /* of all queues; drained in lmi_service_tick */
	/* backend, threads, context ... of every model; registry, host, path and progress are
	 * filled in by the service, and so is n_seq unless the service is embedded */
	struct lmi_engine_model_opts inst;
	const char *const *model_dirs; /* [n_model_dirs] admins may give paths below these
					 * folders; none if n_model_dirs is 0 */
	uint32_t n_model_dirs;
	bool local_paths;                 /* only clients on the unix socket may give paths */
	struct lmi_service_limits limits; /* all must be set, see lmi_service_limits_default */
	lmi_service_watch_fn watch;       /* NULL: the caller polls with lmi_service_tick */
	void *watch_arg;
	const struct lmi_service_hooks *hooks; /* copied; NULL: none */
	const char *version;                   /* version of the daemon, for hello and status */
	const struct lmi_svc_preset *presets; /* [n_presets] see preset.h */
	uint32_t n_presets;
	uint32_t draft_max;  /* tokens that are guessed at a time, unless a request says otherwise */
	bool share_prefixes; /* users share the prefix cache of a model; otherwise each has its own */
	bool in_line; /* engines have no threads: each tick runs one step of each engine */
	/* The service of one program, for its own use, without a store.  Models are named by path.
	 * Generations have no deadline and their streams no lease.  n_seq is that of inst (0 = 1).
	 * What `inst` says takes precedence over presets, whose keep_alive does not apply. */
	bool embedded;
	const struct lmi_service_named_file *named_file; /* with embedded; NULL: none */
};

/* Returns LMD_INVALID if a limit is out of range, or LMD_NOMEM. */
enum lmd_status lmi_service_create(struct lmi_service **out, const struct lmi_service_opts *opts,
				   struct lmd_error *err);
/* Ends all work and frees everything; pending requests are answered with LMD_CANCELLED.  Waits for
 * engines and for jobs, which it runs with lmi_jobs_run_one if their queues have no threads.  NULL
 * allowed. */
void lmi_service_destroy(struct lmi_service *svc);

/* Changes the limits.  Running generations keep theirs; max_running and queue apply to new
 * generations. */
enum lmd_status lmi_service_set_limits(struct lmi_service *svc,
				       const struct lmi_service_limits *limits,
				       struct lmd_error *err);

/* Replaces the presets, for requests from now on.  The array must stay valid until it is replaced. */
void lmi_service_set_presets(struct lmi_service *svc, const struct lmi_svc_preset *presets,
			     uint32_t n);

/* Changes how models are opened that are loaded from now on; the devices stay.  The strings must stay valid
 * until the service is destroyed. */
void lmi_service_set_engine(struct lmi_service *svc, const struct lmi_engine_model_opts *inst,
			    bool share_prefixes, uint32_t draft_max);

/* Loads the models whose presets say so, one after the other, and logs those that cannot be loaded.
 * Returns at once.  Call it once, before presets are replaced. */
void lmi_service_preload(struct lmi_service *svc, uint64_t now);

/* Stops accepting work: further requests fail with LMD_CANCELLED, "shutting down".  Streams
 * continue and can be read and cancelled.  Idempotent. */
void lmi_service_close(struct lmi_service *svc);
/* Accepts work again, unless the service was stopped. */
void lmi_service_open(struct lmi_service *svc);
/* Returns whether nothing is running or pending but waits for events, and every stream was read to its
 * end or given up. */
bool lmi_service_is_idle(const struct lmi_service *svc);
/* May users save sessions? */
bool lmi_service_has_sessions(const struct lmi_service *svc);
/* Ends every stream that has not ended, with finish "shutdown"; they can still be read. */
void lmi_service_stop(struct lmi_service *svc, uint64_t now);

/* ---- requests ---- */

/* Called exactly once for each request, during the call or later, on the loop's thread.  reply is
 * valid during the call.  If it is NULL, err is the error, and retry_ms the time until a retry
 * makes sense (0: unknown).  The function must not call the service. */
typedef void (*lmi_svc_reply_fn)(void *arg, const struct lmi_wire_reply *reply,
				 const struct lmd_error *err, uint32_t retry_ms);

/* Handles a request.  req and who are borrowed for the call. */
void lmi_service_call(struct lmi_service *svc, uint64_t now,
		      const struct lmi_svc_principal *principal,
		      const struct lmi_wire_request *req, lmi_svc_reply_fn reply, void *arg);

/* Reports the end of a connection: its pending requests are answered with LMD_CANCELLED, and the
 * streams it read end unless they were requested with a lease of their own. */
void lmi_service_disconnected(struct lmi_service *svc, uint64_t now, uint64_t conn);

/* Returns whether a stream of the connection is running. */
bool lmi_service_has_running_stream(const struct lmi_service *svc, uint64_t conn);

/* One tick: handles messages and the events of all engines, starts generations, answers readers and
 * ends what has expired. */
void lmi_service_tick(struct lmi_service *svc, uint64_t now);
/* Returns the time by which lmi_service_tick must be called; UINT64_MAX: only when a descriptor is
 * readable. */
uint64_t lmi_service_deadline(const struct lmi_service *svc);

/* ---- counts, for tests, metrics and the watchdog ---- */

struct lmi_service_stats {
	uint32_t n_running, n_waiting, n_stream; /* generations; streams */
	uint32_t n_parked;                       /* pending requests */
	uint32_t n_model;                        /* engines in any state */
	uint64_t n_request, n_refused, n_done, n_cancelled, n_failed;
	/* requests that ended without an answer through no fault of the daemon: n_invalid because
	 * of an error in the request (an unknown name, a prompt that is too long), n_busy because
	 * something was full */
	uint64_t n_invalid, n_busy;
	uint64_t n_prompt_tokens, n_out_tokens;
	uint64_t n_cached_tokens; /* how many of n_prompt_tokens were in the prefix cache */
	uint64_t n_step;              /* steps of all engines that are open */
	uint32_t n_page, n_page_free; /* KV cache pages of all their groups */
};
void lmi_service_stats(const struct lmi_service *svc, struct lmi_service_stats *out);

/* Returns whether the principal's key has used up its quota, so that LMD_BUSY is the client's limit
 * and not the server's. */
bool lmi_service_over_quota(const struct lmi_service *svc,
			    const struct lmi_svc_principal *principal);

#endif /* LLAMAD_SERVICE_SERVICE_H */
