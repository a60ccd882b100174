/* SPDX-License-Identifier: MIT
 *
 * Starts the daemon's parts in order, and stops them in reverse order.  The listener is started
 * last, so that a client that can connect is served. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/checkpoint/formats.h"
#include "core/base/clock.h"
#include "core/base/jobs.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/plugin/host_services.h"
#include "core/sign/policy.h"
#include "daemon/daemon_impl.h"
#include "daemon/process.h"
#include "daemon/state_dir.h"
#include "hub/hub.h"
#include "llamad/version.h"

/* Connections reserved for admins. */
#define CONNECTIONS_KEPT 8
#define REPLIES_FLUSH_MS 200
/* Time that the socket library is given to end its threads. */
#define SOCKET_END_US 300000
/* Maximum number of jobs in each queue. */
#define JOBS_MAX 4096

/* Returns whether standard error is the stream that $JOURNAL_STREAM names. */
static bool stderr_is_journal(const struct lmi_config_env *env)
{
	const char *v = env->get(env->arg, "JOURNAL_STREAM");
	char own[64];
	struct stat sb;

	if (!v || fstat(STDERR_FILENO, &sb))
		return false;
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)sb.st_dev,
		 (unsigned long long)sb.st_ino);
	return !strcmp(v, own);
}

static enum lmd_status start_host(struct lmi_daemon *d, struct lmd_error *err)
{
	if (lmi_host_create(&d->host, UINT64_MAX) != LMD_OK)
		return lmd_fail(err, LMD_NOMEM, "no memory for the host");
	lmi_host_set_log_level(d->host, (int)d->config->log);
	lmi_host_set_log_journal(d->host, stderr_is_journal(d->env), LMI_LOG_JOURNAL_SOCKET);
	lmi_daemon_notify_init(&d->notify, d->env->get(d->env->arg, "NOTIFY_SOCKET"),
			       d->env->get(d->env->arg, "WATCHDOG_USEC"),
			       d->env->get(d->env->arg, "WATCHDOG_PID"), (long)getpid());
	return LMD_OK;
}

static enum lmd_status start_plugins(struct lmi_daemon *d, struct lmd_error *err)
{
	static const struct lmd_plugin *const linked[] = {&lmi_formats_builtin};
	const struct lmi_plugin_registry_opts opts = {
		.linked = linked,
		.n_linked = LMD_LEN(linked),
		.dirs = d->config->plugin_dirs.item,
		.n_dirs = d->config->plugin_dirs.n,
		.trust = d->config->plugin_trust ? LMI_PLUGIN_TRUST_SYSTEM : LMI_PLUGIN_TRUST_OWNER,
		.no_default_dirs = !d->config->default_plugins,
		.pinned = true,
		.self_test = true,
		.host = d->host,
	};

	return lmi_plugin_registry_create(&d->plugins, &opts, err);
}

/* Returns the first address on which clients need a key; NULL: none. */
static const char *address_with_keys(const struct lmi_config *c,
				     const struct lmi_http_inherited *inherited)
{
	struct lmi_http_address a;

	if (c->listen.n)
		return c->listen.item[0];
	for (uint32_t i = 0; i < c->http.n; i++)
		if (lmi_http_address_parse(&a, c->http.item[i], NULL) == LMD_OK && !a.path &&
		    !a.loopback)
			return c->http.item[i];
	for (uint32_t i = 0; i < inherited->n; i++)
		if (!inherited->v[i].addr.path && !inherited->v[i].addr.loopback)
			return "the inherited socket";
	return NULL;
}

/* Without a key no client could log in over TCP; fail now rather than for every client. */
static enum lmd_status check_keys(struct lmi_daemon *d, struct lmd_error *err)
{
	const char *address = address_with_keys(d->config, &d->inherited);
	const char *key = d->config->listen.n ? "listen" : "http";
	enum lmd_status st = lmi_daemon_find_keys(d, &d->has_key, err);

	if (st != LMD_OK || !address || d->has_key)
		return st;
	return lmd_fail(err, LMD_INVALID,
			"%s: clients of %s need an API key, and there is none: start llamad without "
			"'%s', run `llamactl key add LABEL`, then start it with '%s'",
			key, address, key, key);
}

/* Also called by the registry's thread, if the database turns out to be damaged in use. */
static void on_replaced(void *arg, const struct lmi_store_report *r)
{
	struct lmi_daemon *d = arg;

	LMI_DAEMON_LOG(d, LMD_LOG_ERROR,
		       "the registry was damaged and has been replaced: %s; %llu rows could be read "
		       "and were kept; the old one was moved to %s/%s",
		       r->reason, (unsigned long long)r->n_rows_kept, d->first->state_dir,
		       r->moved_to);
}

static enum lmd_status start_store(struct lmi_daemon *d, struct lmd_error *err)
{
	struct timespec now;
	struct lmi_store_opts opts = {.replaced = on_replaced, .arg = d};
	struct lmi_store_report r;
	enum lmd_status st;

	clock_gettime(CLOCK_REALTIME, &now);
	opts.now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	st = lmi_store_open(&d->store, d->config->state_dir, &opts, &r, err);
	if (st != LMD_OK)
		return st;
	if (r.moved_aside)
		on_replaced(d, &r);
	else if (r.unclean)
		LMI_DAEMON_LOG(d, LMD_LOG_WARN,
			       "llamad was not shut down properly last time; the registry is "
			       "intact");
	return check_keys(d, err);
}

static enum lmd_status start_jobs(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct {
		struct lmi_jobs **out;
		const char *name;
		uint32_t n_thread;
		bool background;
	} queues[] = {{&d->registry, "registry", 1, false},
		      {&d->io, "io", 2, false},
		      {&d->journals, "journals", 1, false},
		      {&d->work, "work", LMI_SVC_WORK_THREADS, true}};
	enum lmd_status st = lmi_mailbox_init(&d->mailbox, err);

	d->mailbox_open = st == LMD_OK;
	for (size_t i = 0; i < LMD_LEN(queues) && st == LMD_OK; i++) {
		const struct lmi_jobs_opts opts = {.mailbox = &d->mailbox,
						   .name = queues[i].name,
						   .n_thread = queues[i].n_thread,
						   .n_max = JOBS_MAX,
						   .background = queues[i].background};

		st = lmi_jobs_create(queues[i].out, &opts, err);
	}
	if (st == LMD_OK)
		st = lmi_daemon_start_audit(d, JOBS_MAX, err);
	if (st == LMD_OK)
		lmi_daemon_audit(d, &(struct lmi_svc_event){.event = "daemon_start",
							    .principal = "daemon",
							    .subject = LMD_VERSION,
							    .detail = ""});
	if (st == LMD_OK)
		st = lmi_daemon_start_traces(d, err);
	return st == LMD_OK ? lmi_daemon_start_pulls(d, JOBS_MAX, err) : st;
}

enum lmd_status lmi_daemon_engine_opts(struct lmi_engine_model_opts *out, const struct lmi_config *c,
				       struct lmd_error *err)
{
	static const uint32_t flags[] = {0, LMI_OPEN_NO_MMAP, LMI_OPEN_DIRECT};

	*out = (struct lmi_engine_model_opts){
		.backend = c->backend,
		.device = (uint32_t)c->device,
		.device_list = c->devices,
		.gpu_layers = c->gpu_layers,
		.split = c->split,
		.override_tensor = c->override_tensor,
		.device_sampling = (enum lmi_engine_device_sampling)c->device_sampling,
		.isolated = c->isolation == 2,
		.isolate_untrusted = c->isolation == 0,
		.isolation_timeout_ns = (uint64_t)c->isolation_timeout_ms * LMI_NS_PER_MS,
		.n_thread = (uint32_t)c->threads,
		.n_thread_batch = (uint32_t)c->threads_batch,
		.place = {.cpus = c->cpus, .strict = c->cpu_strict, .numa = (enum lmi_cpu_numa)c->numa},
		.activations = (uint32_t)c->activations,
		.attention = (uint32_t)c->attention,
		.deterministic = (uint32_t)c->deterministic,
		.n_ctx = (uint32_t)c->ctx,
		.n_batch = (uint32_t)c->batch,
		.kv_tokens = (uint64_t)c->kv_tokens,
		.no_prefix_cache = c->prefix_cache == 2,
		.memory_limit = (uint64_t)c->memory,
		.open_flags = flags[c->files] | (c->lock ? LMI_OPEN_MLOCK : 0),
		.pooling = LMD_POOL_UNSET,
	};
	return lmi_config_kv_types(c, &out->k_dtype, &out->v_dtype, err);
}

/* Watches a descriptor of the service; the loop ticks whenever it is readable. */
static void watch(void *arg, int fd, bool on)
{
	struct lmi_daemon *d = arg;
	struct lmd_error err = {0};

	if (!on)
		lmi_loop_unwatch(d->loop, fd);
	else if (lmi_loop_watch(d->loop, fd, NULL, NULL, &err) != LMD_OK)
		LMI_DAEMON_LOG(d, LMD_LOG_ERROR, "%s", err.text);
}

static enum lmd_status start_service(struct lmi_daemon *d, struct lmd_error *err)
{
	static const char *const anywhere[] = {"/"};
	const struct lmi_service_hooks hooks = lmi_daemon_hooks(d);
	const struct lmi_config *c = d->config;
	struct lmi_service_opts opts = {
		.host = d->host,
		.plugins = d->plugins,
		.store = d->store,
		.registry = d->registry,
		.io = d->io,
		.work = d->work,
		.journals = d->journals,
		.journal_dir = d->journal_dir,
		.pulls = d->pulls,
		.hub = &lmi_hub_calls,
		.hub_opts = lmi_daemon_hub_opts(d),
		.mailbox = &d->mailbox,
		.presets = c->presets,
		.n_presets = c->n_presets,
		.share_prefixes = c->prefix_cache == 1,
		.draft_max = (uint32_t)c->draft_max,
		.model_dirs = c->model_dirs.n ? c->model_dirs.item : anywhere,
		.n_model_dirs = c->model_dirs.n ? c->model_dirs.n : 1,
		.local_paths = !c->model_dirs.n,
		.limits = c->service,
		.watch = watch,
		.watch_arg = d,
		.version = LMD_VERSION,
		.hooks = &hooks,
	};
	enum lmd_status st = lmi_engine_devices_create(&d->devices, d->plugins, d->host, err);

	if (st == LMD_OK)
		st = lmi_daemon_engine_opts(&opts.inst, c, err);
	opts.inst.devices = d->devices;
	if (st == LMD_OK && snprintf(d->journal_dir, sizeof(d->journal_dir), "%s/streams",
				     c->state_dir) >= (int)sizeof(d->journal_dir))
		st = lmd_fail(err, LMD_INVALID, "%s: the path is too long", c->state_dir);
	return st == LMD_OK ? lmi_service_create(&d->service, &opts, err) : st;
}

static void call(void *arg, const struct lmi_svc_principal *who, const struct lmi_wire_request *req,
		 lmi_svc_reply_fn reply, void *reply_arg)
{
	const struct lmd_error err = {.status = LMD_CANCELLED, .text = "shutting down"};
	struct lmi_daemon *d = arg;

	if (d->service)
		lmi_service_call(d->service, lmi_loop_now(), who, req, reply, reply_arg);
	else
		reply(reply_arg, NULL, &err, 0);
}

static void gone(void *arg, uint64_t conn)
{
	struct lmi_daemon *d = arg;

	if (d->service)
		lmi_service_disconnected(d->service, lmi_loop_now(), conn);
}

static bool busy(void *arg, uint64_t conn)
{
	struct lmi_daemon *d = arg;

	return d->service && lmi_service_has_running_stream(d->service, conn);
}

struct lmi_conn_limiter_limits lmi_daemon_conn_limits(const struct lmi_config *c)
{
	return (struct lmi_conn_limiter_limits){
		.connections = (uint32_t)c->connections,
		.connections_per_user = (uint32_t)c->connections_per_user,
		.connections_kept = CONNECTIONS_KEPT,
	};
}

struct lmi_front_limits lmi_daemon_front_limits(const struct lmi_config *c)
{
	return (struct lmi_front_limits){
		.idle_ms = (uint64_t)c->idle_ms,
		.message_ms = (uint64_t)c->message_ms,
	};
}

static enum lmd_status start_front(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_front_opts opts = {
		.host = d->host,
		.path = d->config->socket + strlen("ipc://"),
		.urls = d->config->listen.item,
		.n_urls = d->config->listen.n,
		.tls_cert = d->config->tls_cert,
		.tls_key = d->config->tls_key,
		.message_bytes = (uint64_t)d->config->message_bytes,
		.n_call = (uint32_t)d->config->service.calls,
		.limiter = &d->connections,
		.limits = lmi_daemon_front_limits(d->config),
		.ops = {.call = call,
			.closed = gone,
			.busy = busy,
			.login = lmi_daemon_login,
			.refused = lmi_daemon_refused,
			.wall_ns = lmi_daemon_wall_ns},
		.arg = d,
	};
	enum lmd_status st = lmi_front_open(&d->front, &opts, err);

	if (st == LMD_OK)
		st = lmi_loop_watch(d->loop, lmi_front_fd(d->front), NULL, NULL, err);
	return st == LMD_OK ? lmi_loop_watch(d->loop, lmi_mailbox_fd(&d->mailbox), NULL, NULL, err)
			    : st;
}

/* Creates the folder of the fallback socket in /tmp. */
static enum lmd_status make_socket_folder(const char *socket, struct lmd_error *err)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(socket, '/') - socket), socket);
	return lmi_daemon_make_private_folder(dir, err);
}

enum lmd_status lmi_daemon_start(struct lmi_daemon *d, struct lmd_error *err)
{
	const char *file = lmi_arg_str(d->args, "config");
	struct lmi_conn_limiter_limits limits;
	enum lmd_status st;

	d->lock = d->notify.fd = -1;
	lmi_thread_begin(NULL, LMI_THREAD_PROMPT); /* the loop, and the threads of libnng */
	st = lmi_daemon_process_check(err);
	if (st == LMD_OK)
		st = lmi_config_read(&d->config, file, d->args, d->env, err);
	d->first = d->config;
	if (st == LMD_OK) {
		limits = lmi_daemon_conn_limits(d->config);
		lmi_conn_limiter_init(&d->connections, &limits, (uint32_t)geteuid());
		st = start_host(d, err);
	}
	if (st == LMD_OK)
		lmi_daemon_log_warnings(d, d->config);
	if (st == LMD_OK)
		st = lmi_daemon_set_signatures(d, d->config, err);
	if (st == LMD_OK)
		st = lmi_daemon_find_inherited(d, err);
	if (st == LMD_OK)
		st = lmi_daemon_state_lock(&d->lock, d->config->state_dir, err);
	if (st == LMD_OK && d->config->socket_in_tmp)
		st = make_socket_folder(d->config->socket + strlen("ipc://"), err);
	if (st == LMD_OK)
		st = lmi_daemon_socket_claim(d->config->socket + strlen("ipc://"), err);
	if (st == LMD_OK)
		st = start_plugins(d, err);
	if (st == LMD_OK)
		st = start_store(d, err);
	if (st == LMD_OK)
		st = start_jobs(d, err);
	if (st == LMD_OK)
		st = lmi_loop_create(&d->loop, err);
	if (st == LMD_OK)
		st = start_service(d, err);
	/* before the listener: a client that gets a reply may already send signals */
	if (st == LMD_OK)
		st = lmi_daemon_signals(d, err);
	if (st == LMD_OK)
		st = lmi_daemon_start_http(d, err);
	/* again, since the parts above have taken some */
	if (st == LMD_OK)
		st = lmi_daemon_process_check(err);
	return st == LMD_OK ? start_front(d, err) : st;
}

/* Called if the socket library does not end its threads.  Everything else has been done, so the
 * process exits as it would have. */
static void end_now(int signo)
{
	(void)signo;
	_exit(0);
}

void lmi_daemon_fini(struct lmi_daemon *d)
{
	static const struct itimerval limit = {.it_value = {.tv_usec = SOCKET_END_US}}, none;

	/* replies to all pending requests, which the listener then sends */
	lmi_service_destroy(d->service);
	d->service = NULL;
	lmi_http_service_ended(d->http);
	lmi_http_flush(d->http, REPLIES_FLUSH_MS);
	lmi_front_flush(d->front, REPLIES_FLUSH_MS);
	if (d->registry)
		lmi_jobs_stop(d->registry);
	if (d->io)
		lmi_jobs_stop(d->io);
	if (d->work)
		lmi_jobs_stop(d->work);
	if (d->journals)
		lmi_jobs_stop(d->journals);
	if (d->pulls)
		lmi_jobs_stop(d->pulls);
	lmi_daemon_close_traces(d);
	if (d->mailbox_open)
		(void)lmi_mailbox_drain(&d->mailbox);
	lmi_http_close(d->http);
	/* nothing is opened any more, and warnings would need the host */
	(void)lmi_sign_policy_set(&(struct lmi_sign_policy_opts){0}, NULL);
	lmi_jobs_destroy(d->registry);
	lmi_jobs_destroy(d->io);
	lmi_jobs_destroy(d->work);
	lmi_jobs_destroy(d->journals);
	lmi_daemon_stop_pulls(d);
	lmi_daemon_stop_traces(d);
	lmi_daemon_stop_audit(d);
	lmi_store_close(d->store);
	if (d->front) {
		LMI_DAEMON_LOG(d, LMD_LOG_INFO, "stopped");
		(void)signal(SIGALRM, end_now);
		(void)setitimer(ITIMER_REAL, &limit, NULL);
	}
	lmi_front_close(d->front);
	lmi_conn_limiter_fini(&d->connections);
	(void)setitimer(ITIMER_REAL, &none, NULL);
	lmi_loop_destroy(d->loop);
	if (d->mailbox_open)
		lmi_mailbox_fini(&d->mailbox);
	lmi_engine_devices_destroy(d->devices);
	lmi_plugin_registry_destroy(d->plugins);
	if (d->lock >= 0)
		close(d->lock);
	lmi_daemon_notify_fini(&d->notify);
	lmi_host_destroy(d->host);
	lmi_daemon_forget_configs(d);
}
