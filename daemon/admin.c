/* SPDX-License-Identifier: MIT
 *
 * Administration of the process, by signals or through the service: reload, drain, shutdown. */
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/plugin/host_services.h"
#include "daemon/daemon_impl.h"

/* ---- plugins ---- */

static void rescan_run(void *arg)
{
	struct lmi_daemon *d = arg;

	d->rescan_err = (struct lmd_error){0};
	if (lmi_plugin_registry_rescan(d->plugins, &d->rescan_err) == LMD_OK)
		d->rescan_err.text[0] = 0;
}

static void rescan_done(void *arg)
{
	struct lmi_daemon *d = arg;

	d->rescan_runs = false;
	if (*d->rescan_err.text)
		LMI_DAEMON_LOG(d, LMD_LOG_WARN, "plugins: %s", d->rescan_err.text);
	if (d->rescan_again)
		lmi_daemon_rescan(d);
}

void lmi_daemon_rescan(struct lmi_daemon *d)
{
	struct lmd_error err = {0};

	d->rescan_again = d->rescan_runs;
	if (d->rescan_runs || d->phase != LMI_DAEMON_PHASE_RUNNING)
		return;
	d->rescan = (struct lmi_job){.run = rescan_run, .done = rescan_done, .arg = d};
	d->rescan_runs = lmi_jobs_submit(d->io, &d->rescan, &err) == LMD_OK;
	if (!d->rescan_runs)
		LMI_DAEMON_LOG(d, LMD_LOG_WARN, "plugins: %s", err.text);
}

/* ---- configuration ---- */

/* Makes the configuration the one of models that are loaded from now on. */
static void take_engine(struct lmi_daemon *d, struct lmi_config *c,
			const struct lmi_engine_model_opts *inst)
{
	lmi_service_set_engine(d->service, inst, c->prefix_cache == 1, (uint32_t)c->draft_max);
	if (d->engine) {
		d->engine->next = d->engine_before;
		d->engine_before = d->engine;
	}
	d->engine = c;
}

/* Frees the current configuration, unless somebody else uses its strings. */
static void drop_config(struct lmi_daemon *d)
{
	if (d->config != d->first && d->config != d->engine && d->config != d->engine_before)
		lmi_config_destroy(d->config);
}

void lmi_daemon_forget_configs(struct lmi_daemon *d)
{
	struct lmi_config *c, *next;

	drop_config(d);
	lmi_config_destroy(d->engine);
	for (c = d->engine_before; c; c = next) {
		next = c->next;
		lmi_config_destroy(c);
	}
	lmi_config_destroy(d->first);
}

static enum lmd_status take_over(struct lmi_daemon *d, struct lmi_config *c, struct lmd_error *err)
{
	const struct lmi_front_limits limits = lmi_daemon_front_limits(c);
	struct lmi_engine_model_opts inst;
	enum lmd_status st = lmi_daemon_engine_opts(&inst, c, err);

	if (st == LMD_OK)
		st = lmi_front_renew_tls(d->front, err);

	if (st == LMD_OK && d->http)
		st = lmi_http_renew_tls(d->http, err);
	if (st == LMD_OK)
		st = lmi_service_set_limits(d->service, &c->service, err);
	if (st == LMD_OK) /* last: it cannot be undone */
		st = lmi_daemon_set_signatures(d, c, err);
	if (st != LMD_OK)
		return st;
	if (lmi_config_section_changed(d->config, c, "engine"))
		take_engine(d, c, &inst);
	lmi_service_set_presets(d->service, c->presets, c->n_presets);
	d->connections.limits = lmi_daemon_conn_limits(c);
	lmi_front_set_limits(d->front, &limits);
	if (d->http) {
		const struct lmi_http_limits http = lmi_daemon_http_limits(c);

		lmi_http_set_limits(d->http, &http);
	}
	lmi_host_set_log_level(d->host, (int)c->log);
	return LMD_OK;
}

void lmi_daemon_log_warnings(struct lmi_daemon *d, const struct lmi_config *c)
{
	for (uint32_t i = 0; i < c->warnings.n; i++)
		LMI_DAEMON_LOG(d, LMD_LOG_WARN, "%s", c->warnings.item[i]);
}

enum lmd_status lmi_daemon_reload(struct lmi_daemon *d, char (*changed)[LMI_CONFIG_KEY_BYTES],
				  uint32_t max, uint32_t *n_changed, struct lmd_error *err)
{
	const char *file = lmi_arg_str(d->args, "config");
	struct lmi_config *c = NULL;
	enum lmd_status st;

	lmi_daemon_notify_send(&d->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
			       (unsigned long long)(lmi_loop_now() / 1000));
	st = lmi_config_read(&c, file, d->args, d->env, err);
	if (st == LMD_OK)
		st = lmi_config_may_replace(d->config, c, err);
	if (st == LMD_OK)
		st = take_over(d, c, err);
	if (st == LMD_OK) {
		lmi_daemon_log_warnings(d, c);
		if (changed)
			*n_changed = lmi_config_changes(d->config, c, changed, max);
		drop_config(d);
		d->config = c;
		LMI_DAEMON_LOG(d, LMD_LOG_INFO, "configuration reloaded");
	} else {
		lmi_config_destroy(c);
		LMI_DAEMON_LOG(d, LMD_LOG_ERROR,
			       "configuration not reloaded, keeping the current one: %s",
			       err->text);
	}
	lmi_daemon_audit(d, &(struct lmi_svc_event){.event = "config_read",
						    .principal = "daemon",
						    .subject = file ? file : "",
						    .detail = st == LMD_OK ? "ok" : err->text});
	lmi_daemon_notify_send(&d->notify, "READY=1");
	return st;
}

/* ---- stopping ---- */

void lmi_daemon_drain(struct lmi_daemon *d, int64_t drain_ms)
{
	struct lmi_service_stats s;

	if (d->phase != LMI_DAEMON_PHASE_RUNNING) {
		d->stop_now = true;
		return;
	}
	lmi_service_stats(d->service, &s);
	LMI_DAEMON_LOG(d, LMD_LOG_INFO,
		       "stopping: running generations may continue for %lld ms; running=%u "
		       "waiting=%u",
		       (long long)drain_ms, s.n_running, s.n_waiting);
	lmi_daemon_notify_send(&d->notify, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=%lld",
			       (long long)(drain_ms + 10000) * 1000);
	d->phase = LMI_DAEMON_PHASE_DRAINING;
	d->until = lmi_loop_now() + (uint64_t)drain_ms * LMI_NS_PER_MS;
	lmi_service_close(d->service);
}

/* ---- hooks of the service ---- */

int64_t lmi_daemon_wall_ns(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_shutdown(void *arg, int64_t drain_ms)
{
	struct lmi_daemon *d = arg;

	lmi_daemon_drain(d, drain_ms < 0 ? d->config->drain_ms : drain_ms);
}

static enum lmd_status on_config_reload(void *arg, struct lmi_svc_config_change *out,
					struct lmd_error *err)
{
	struct lmi_daemon *d = arg;
	uint32_t n = 0;
	enum lmd_status st = lmi_daemon_reload(d, d->changed_keys, LMI_CONFIG_ROWS_MAX, &n, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < n; i++)
		d->changed[i] = (struct lmd_str){.ptr = d->changed_keys[i],
						 .len = strlen(d->changed_keys[i])};
	*out = (struct lmi_svc_config_change){.changed = d->changed, .n_changed = n};
	return LMD_OK;
}

static void on_key_removed(void *arg, const char *label)
{
	struct lmi_daemon *d = arg;

	LMI_DAEMON_LOG(d, LMD_LOG_INFO, "key removed; label=%s", label);
	lmi_front_revoke(d->front, label);
	if (d->http)
		lmi_http_revoke(d->http, label);
	lmi_daemon_count_keys(d);
}

static void on_key_added(void *arg)
{
	struct lmi_daemon *d = arg;

	d->has_key = true;
}

static void on_event(void *arg, const struct lmi_svc_event *e)
{
	lmi_daemon_audit(arg, e);
}

static uint32_t n_connection(void *arg)
{
	const struct lmi_daemon *d = arg;
	struct lmi_http_stats http = {0};
	struct lmi_front_stats s;

	lmi_front_stats(d->front, &s);
	if (d->http)
		lmi_http_stats(d->http, &http);
	return s.n_conn + http.n_conn;
}

static uint32_t http_addresses(void *arg, char out[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES])
{
	const struct lmi_daemon *d = arg;

	return d->http ? lmi_http_addresses(d->http, out) : 0;
}

struct lmi_service_hooks lmi_daemon_hooks(struct lmi_daemon *d)
{
	return (struct lmi_service_hooks){.arg = d,
					  .wall_ns = lmi_daemon_wall_ns,
					  .shutdown = on_shutdown,
					  .config_reload = on_config_reload,
					  .key_added = on_key_added,
					  .key_removed = on_key_removed,
					  .n_connection = n_connection,
					  .http_addresses = http_addresses,
					  .event = on_event};
}
