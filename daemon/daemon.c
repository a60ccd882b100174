/* SPDX-License-Identifier: MIT
 *
 * The life cycle of the daemon: start, ticks of the loop, shutdown. */
#include "daemon/daemon.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/default_socket.h"
#include "daemon/daemon_impl.h"
#include "daemon/process.h"
#include "llamad/version.h"

/* Time that clients are given to read the final items of their streams. */
#define FINAL_READ_MS       700
#define FINAL_READ_HURRY_MS 100

static void on_stop(void *arg)
{
	struct lmi_daemon *d = arg;

	if (d->service) /* otherwise everything is ending already */
		lmi_daemon_drain(d, d->config->drain_ms);
}

static void on_reload(void *arg)
{
	struct lmi_daemon *d = arg;
	struct lmd_error err = {0};

	if (!d->service)
		return;
	(void)lmi_daemon_reload(d, NULL, 0, NULL, &err); /* logs its result itself */
	lmi_daemon_rescan(d);
}

/* Returns whether all streams have ended and all replies have been sent. */
static bool is_quiet(struct lmi_daemon *d)
{
	struct lmi_http_stats http = {0};
	struct lmi_front_stats s;

	lmi_front_stats(d->front, &s);
	if (d->http)
		lmi_http_stats(d->http, &http);
	return lmi_service_is_idle(d->service) && !s.n_sending && !http.n_request;
}

/* Advances the shutdown; returns the time of the next call. */
static uint64_t stopping(struct lmi_daemon *d, uint64_t now)
{
	if (d->phase == LMI_DAEMON_PHASE_DRAINING) {
		if (!d->stop_now && now < d->until && !lmi_service_is_idle(d->service))
			return d->until;
		lmi_service_stop(d->service, now);
		d->phase = LMI_DAEMON_PHASE_ENDING;
		d->until = now + FINAL_READ_MS * LMI_NS_PER_MS;
	}
	if (d->stop_now && d->until > now + FINAL_READ_HURRY_MS * LMI_NS_PER_MS)
		d->until = now + FINAL_READ_HURRY_MS * LMI_NS_PER_MS;
	lmi_service_tick(d->service, now);
	if (now >= d->until || is_quiet(d))
		lmi_loop_stop(d->loop);
	return d->until;
}

static uint64_t tick(void *arg, uint64_t now)
{
	struct lmi_daemon *d = arg;
	uint64_t until, summary, traces;

	lmi_front_listener_tick(d->front, now);
	lmi_service_tick(d->service, now);
	until = lmi_service_deadline(d->service);
	if (lmi_front_deadline(d->front) < until)
		until = lmi_front_deadline(d->front);
	summary = lmi_daemon_audit_tick(d, now);
	until = summary < until ? summary : until;
	traces = lmi_daemon_traces_tick(d, now);
	until = traces < until ? traces : until;
	if (d->phase != LMI_DAEMON_PHASE_RUNNING) {
		uint64_t end = stopping(d, now);

		until = end < until ? end : until;
	}
	if (d->notify.watchdog_ns) {
		if (now >= d->watchdog_at) {
			lmi_daemon_notify_send(&d->notify, "WATCHDOG=1");
			d->watchdog_at = now + d->notify.watchdog_ns / 3;
		}
		until = d->watchdog_at < until ? d->watchdog_at : until;
	}
	return until;
}

enum lmd_status lmi_daemon_signals(struct lmi_daemon *d, struct lmd_error *err)
{
	enum lmd_status st = lmi_loop_signal(d->loop, SIGTERM, on_stop, d, err);

	if (st == LMD_OK)
		st = lmi_loop_signal(d->loop, SIGINT, on_stop, d, err);
	return st == LMD_OK ? lmi_loop_signal(d->loop, SIGHUP, on_reload, d, err) : st;
}

/* Returns whether clients of this user find the socket without --socket. */
static bool is_default_socket(const struct lmi_daemon *d)
{
	const char *dir = d->env->get(d->env->arg, "XDG_RUNTIME_DIR");
	uint32_t uid = d->env->uid;
	char path[PATH_MAX];

	(void)lmi_default_socket_path(path, sizeof(path), lmi_default_socket_find(uid, dir), uid,
				      dir);
	return !strcmp(d->config->socket + strlen("ipc://"), path);
}

/* Tells a user who started the daemon in a terminal which commands to try in another one. */
static void print_next(const struct lmi_daemon *d)
{
	bool found = is_default_socket(d);
	const char *option = found ? "" : " --socket ", *url = found ? "" : d->config->socket;

	if (!isatty(STDERR_FILENO) || d->config->log < LMD_LOG_INFO)
		return;
	fprintf(stderr,
		"try, in another terminal:\n"
		"  llamactl%s%s run smollm2                       (downloads the model by name)\n"
		"  llamactl%s%s add mine /path/of/model.gguf      (then: run mine)\n"
		"Ctrl-C ends llamad.\n",
		option, url, option, url);
}

enum lmd_status lmi_daemon_run(const struct lmi_args *args, const struct lmi_config_env *env,
			       struct lmd_error *err)
{
	struct lmi_daemon d = {.args = args, .env = env};
	enum lmd_status st;

	lmi_daemon_process_init();
	st = lmi_daemon_start(&d, err);
	if (st == LMD_OK) {
		LMI_DAEMON_LOG(&d, LMD_LOG_INFO, "llamad %s ready on %s; state=%s", LMD_VERSION,
			       d.config->socket, d.config->state_dir);
		lmi_daemon_notify_send(&d.notify, "READY=1\nSTATUS=ready on %s", d.config->socket);
		print_next(&d);
		lmi_service_preload(d.service, lmi_clock_monotonic_ns());
		lmi_loop_run(d.loop, tick, &d);
	}
	lmi_daemon_fini(&d);
	return st;
}
