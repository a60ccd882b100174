/* SPDX-License-Identifier: MIT
 *
 * daemon_impl.h - the inside of the daemon, shared by its files. */
#ifndef LLAMAD_DAEMON_DAEMON_IMPL_H
#define LLAMAD_DAEMON_DAEMON_IMPL_H

#include "core/engine/lane.h"
#include "core/plugin/registry.h"
#include "daemon/config.h"
#include "daemon/front/front.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "proto/proto.h"
#include "service/service.h"
#include "store/store.h"

enum lmi_phase {
	LMI_PHASE_RUNNING,
	LMI_PHASE_DRAINING, /* no new work; until `until` */
	LMI_PHASE_ENDING    /* everything was ended; last words are read until `until` */
};

struct lmi_daemon {
	const struct lmi_args *args;
	const struct lmi_config_env *env;
	struct lmi_config *config;
	struct lmi_config *first; /* the one of the start: the service borrows its texts */
	struct lmd_host *host;
	struct lmi_notify notify;
	uint64_t watchdog_at; /* when the service manager is told next that all is well */
	int lock;
	struct lmi_registry *plugins;
	struct lmi_store *store;
	struct lmi_mailbox mailbox;
	bool mailbox_open;
	struct lmi_jobs *registry, *io, *work;
	struct lmi_lane *lane;
	struct lmi_loop *loop;
	struct lmi_service *service;
	struct lmi_front *front;

	enum lmi_phase phase;
	uint64_t until;
	bool hurry; /* asked twice */

	/* of the last reload that the service asked for */
	char changed_keys[LMI_CONFIG_ROWS_MAX][LMI_CONFIG_KEY_BYTES];
	struct lmd_str changed[LMI_CONFIG_ROWS_MAX];

	struct lmi_job rescan; /* of plugins, in io */
	bool rescan_runs, rescan_again;
	struct lmd_error rescan_err;
};

#define LMI_MS_NS 1000000ull

/* ---- daemon.c ---- */

/* Signals are taken by the loop from now on. */
enum lmd_status lmi_daemon_signals(struct lmi_daemon *d, struct lmd_error *err);

/* ---- start.c ---- */

/* Everything up to the open socket; *d is zeroed.  On failure what was made is undone by
 * lmi_daemon_fini. */
enum lmd_status lmi_daemon_start(struct lmi_daemon *d, struct lmd_error *err);
void lmi_daemon_fini(struct lmi_daemon *d);
struct lmi_front_limits lmi_daemon_front_limits(const struct lmi_config *c);

/* ---- admin.c ---- */

struct lmi_service_hooks lmi_daemon_hooks(struct lmi_daemon *d);
/* Reads the configuration again and takes it over, or leaves everything as it is.  changed
 * (NULL allowed): the keys with new values, one in each row, at most `max`; *n_changed their
 * number. */
enum lmd_status lmi_daemon_reload(struct lmi_daemon *d, char (*changed)[LMI_CONFIG_KEY_BYTES],
				  uint32_t max, uint32_t *n_changed, struct lmd_error *err);
/* Wall-clock time, ns since 1970.  Any thread. */
int64_t lmi_daemon_wall_ns(void *arg);
/* Looks for plugins, off the loop. */
void lmi_daemon_rescan(struct lmi_daemon *d);
/* Takes no more work and stops when what runs has ended, in drain_ms at the latest; once more:
 * stops now. */
void lmi_daemon_drain(struct lmi_daemon *d, int64_t drain_ms);

/* ---- login.c ---- */

/* Of lmi_front_ops. */
void lmi_daemon_login(void *arg, const struct lmd_str *secret, lmi_login_fn done, void *done_arg);

#define LMI_DAEMON_LOG(d, level, ...)                                                              \
	((d)->host->log((d)->host->ctx, "daemon", (level), __VA_ARGS__))

#endif /* LLAMAD_DAEMON_DAEMON_IMPL_H */
