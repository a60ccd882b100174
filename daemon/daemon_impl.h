/* SPDX-License-Identifier: MIT
 *
 * daemon_impl.h - internals of the daemon, shared by its files. */
#ifndef LLAMAD_DAEMON_DAEMON_IMPL_H
#define LLAMAD_DAEMON_DAEMON_IMPL_H

#include <limits.h>

#include "core/engine/devices.h"
#include "core/plugin/registry.h"
#include "daemon/audit_limiter.h"
#include "daemon/config.h"
#include "daemon/front/front.h"
#include "daemon/http/http.h"
#include "daemon/loop/loop.h"
#include "daemon/notify.h"
#include "proto/proto.h"
#include "service/service.h"
#include "store/store.h"

enum lmi_daemon_phase {
	LMI_DAEMON_PHASE_RUNNING,
	LMI_DAEMON_PHASE_DRAINING, /* accepts no work; generations may run until `until` */
	LMI_DAEMON_PHASE_ENDING    /* all streams have ended; clients may read them until `until` */
};

struct lmi_daemon {
	const struct lmi_args *args;
	const struct lmi_config_env *env;
	struct lmi_config *config;
	struct lmi_config *first; /* the configuration at startup; all parts use its strings */
	/* The one whose strings the service uses for models, and those before it, of which a model may
	 * still be opened.  Never one of them twice. */
	struct lmi_config *engine, *engine_before;
	struct lmd_host *host;
	struct lmi_daemon_notify notify;
	uint64_t watchdog_at; /* time of the next watchdog message to the service manager */
	int lock;
	struct lmi_plugin_registry *plugins;
	struct lmi_store *store;
	struct lmi_store_audit *audit_log; /* used by jobs of `audit` */
	struct lmi_mailbox mailbox;
	bool mailbox_open;
	struct lmi_jobs *registry, *io, *work;
	struct lmi_jobs *journals; /* one thread */
	char journal_dir[PATH_MAX];
	struct lmi_jobs *audit; /* one thread */
	struct lmi_daemon_audit_limiter audit_limiter;
	struct lmi_jobs *pulls; /* NULL: no downloads */
	struct lmi_daemon_pulls *pull_opts;
	struct lmi_daemon_traces *traces; /* NULL: none */
	struct lmi_engine_devices *devices;
	struct lmi_loop *loop;
	struct lmi_service *service;
	struct lmi_conn_limiter connections; /* of all listeners */
	struct lmi_front_listener *front;
	struct lmi_http_inherited inherited;
	struct lmi_http_server *http; /* NULL: neither configured nor inherited */
	bool has_key;                 /* there is an API key that has not expired */
	struct lmi_job count_keys;    /* runs in registry after a key was added or removed */
	bool count_runs, count_again, counted_key;

	enum lmi_daemon_phase phase;
	uint64_t until;
	bool stop_now; /* a second request to stop has arrived */

	/* the changed keys of the last reload that was requested through the service */
	char changed_keys[LMI_CONFIG_ROWS_MAX][LMI_CONFIG_KEY_BYTES];
	struct lmd_str changed[LMI_CONFIG_ROWS_MAX];

	struct lmi_job rescan; /* scan of the plugin folders, runs in io */
	bool rescan_runs, rescan_again;
	struct lmd_error rescan_err;
};

/* ---- daemon.c ---- */

/* Makes the loop handle SIGTERM, SIGINT and SIGHUP. */
enum lmd_status lmi_daemon_signals(struct lmi_daemon *d, struct lmd_error *err);

/* ---- traces.c ---- */

/* Does nothing unless traces_url is set. */
enum lmd_status lmi_daemon_start_traces(struct lmi_daemon *d, struct lmd_error *err);
/* Drops what is pending, and ends the thread; then, after the mailbox was drained, frees everything. */
void lmi_daemon_close_traces(struct lmi_daemon *d);
void lmi_daemon_stop_traces(struct lmi_daemon *d);
/* For lmi_http_ops.generated; arg is the daemon. */
void lmi_daemon_trace(void *arg, const struct lmi_http_generated *g);
/* Sends what is due; returns when to call it again. */
uint64_t lmi_daemon_traces_tick(struct lmi_daemon *d, uint64_t now);

/* ---- start.c ---- */

/* Starts all parts, the listener last.  *d must be zeroed.  Call lmi_daemon_fini also after a
 * failure. */
enum lmd_status lmi_daemon_start(struct lmi_daemon *d, struct lmd_error *err);
void lmi_daemon_fini(struct lmi_daemon *d);
struct lmi_conn_limiter_limits lmi_daemon_conn_limits(const struct lmi_config *c);
struct lmi_front_limits lmi_daemon_front_limits(const struct lmi_config *c);

/* ---- start_http.c ---- */

/* Takes the sockets that systemd has opened for HTTP. */
enum lmd_status lmi_daemon_find_inherited(struct lmi_daemon *d, struct lmd_error *err);
/* Opens d->http, if there is an address for it. */
enum lmd_status lmi_daemon_start_http(struct lmi_daemon *d, struct lmd_error *err);
struct lmi_http_limits lmi_daemon_http_limits(const struct lmi_config *c);

/* ---- http_apis.c ---- */

extern const struct lmi_http_routes *const lmi_daemon_http_apis[]; /* ends in NULL */

/* ---- pulls.c ---- */

/* Starts what op pull needs, unless it is switched off: d->pulls and d->pull_opts. */
enum lmd_status lmi_daemon_start_pulls(struct lmi_daemon *d, uint32_t n_max, struct lmd_error *err);
const struct lmi_hub_opts *lmi_daemon_hub_opts(const struct lmi_daemon *d);
void lmi_daemon_stop_pulls(struct lmi_daemon *d); /* after all other jobs have ended */

/* ---- start.c ---- */

enum lmd_status lmi_daemon_engine_opts(struct lmi_engine_model_opts *out, const struct lmi_config *c,
				       struct lmd_error *err);

/* ---- audit.c ---- */

enum lmd_status lmi_daemon_start_audit(struct lmi_daemon *d, uint32_t n_max, struct lmd_error *err);
void lmi_daemon_stop_audit(struct lmi_daemon *d); /* after all other jobs have ended */
/* Writes an event to the audit log, in another thread.  The texts are copied.  Of the refused ones of
 * one principal, some are only counted (audit_limiter.h). */
void lmi_daemon_audit(struct lmi_daemon *d, const struct lmi_svc_event *e);
/* Writes how many were only counted; returns the time of the next call. */
uint64_t lmi_daemon_audit_tick(struct lmi_daemon *d, uint64_t now);

/* ---- admin.c ---- */

/* Frees all configurations. */
void lmi_daemon_forget_configs(struct lmi_daemon *d);

struct lmi_service_hooks lmi_daemon_hooks(struct lmi_daemon *d);
/* Logs the warnings of a configuration. */
void lmi_daemon_log_warnings(struct lmi_daemon *d, const struct lmi_config *c);
/* Makes the keys signatures and trusted_keys the policy of the process (core/sign/policy.h). */
enum lmd_status lmi_daemon_set_signatures(struct lmi_daemon *d, const struct lmi_config *c,
					  struct lmd_error *err);
/* Reads the configuration again and applies it.  On failure nothing changes.  Unless `changed` is
 * NULL, writes the names of at most `max` changed keys to it, and their number to *n_changed. */
enum lmd_status lmi_daemon_reload(struct lmi_daemon *d, char (*changed)[LMI_CONFIG_KEY_BYTES],
				  uint32_t max, uint32_t *n_changed, struct lmd_error *err);
/* Returns the wall-clock time in ns since 1970.  Any thread. */
int64_t lmi_daemon_wall_ns(void *arg);
/* Scans the plugin folders in another thread. */
void lmi_daemon_rescan(struct lmi_daemon *d);
/* Stops accepting work, and stops the daemon once running generations have ended, after drain_ms
 * at the latest.  The second call stops it at once. */
void lmi_daemon_drain(struct lmi_daemon *d, int64_t drain_ms);

/* ---- login.c ---- */

/* Implements login of lmi_front_ops. */
void lmi_daemon_login(void *arg, const struct lmi_conn_peer *peer, const struct lmd_str *secret,
		      lmi_front_login_fn done, void *done_arg);
/* Implements refused of lmi_front_ops. */
void lmi_daemon_refused(void *arg, const struct lmi_conn_peer *peer, const char *label,
			const char *subject, const char *reason);

/* Finds out whether there is an API key. */
enum lmd_status lmi_daemon_find_keys(struct lmi_daemon *d, bool *out, struct lmd_error *err);
/* Does so in another thread, and sets d->has_key. */
void lmi_daemon_count_keys(struct lmi_daemon *d);

#define LMI_DAEMON_LOG(d, level, ...)                                                              \
	((d)->host->log((d)->host->ctx, "daemon", (level), __VA_ARGS__))

#endif /* LLAMAD_DAEMON_DAEMON_IMPL_H */
