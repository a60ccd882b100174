/* SPDX-License-Identifier: MIT
 *
 * A transport to a service in this process.
 *
 * The service belongs to one thread at a time.  A thread that makes a request puts it into a list;
 * if no other thread is running the service, it runs the service itself until it has the reply, and
 * then wakes the others, one of which goes on.  So a program with one thread needs no further thread
 * and no locks are contended, and requests of many threads proceed together.
 *
 * Requests and replies are encoded as for a socket: decoding checks every bound, and a decoded
 * reply owns its memory. */
#include "client/embedded/embedded.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "client/lib/client.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/jobs.h"
#include "core/base/mailbox.h"
#include "core/engine/engine.h"
#include "core/plugin/host_services.h"
#include "proto/proto.h"
#include "service/evaluate.h"
#include "service/preset_sections.h"
#include "service/service.h"

#define REQUEST_ARENA_MAX ((uint64_t)256 << 20)
#define PRESETS_ARENA_MAX ((uint64_t)8 << 20)
#define JOBS_MAX	  1024

/* A request of a thread that waits for its reply. */
struct call {
	struct call *next;
	struct lmi_wire_request req;
	struct embedded *e;
	const struct lmi_service_evaluation *what; /* an evaluation instead of req; otherwise NULL */
	struct lmi_wire_buf reply;
	float *rows; /* [n_row][width] of an evaluation */
	uint32_t n_row, width;
	struct lmd_error err; /* if there is no reply */
	bool done;	      /* guarded by the lock */
};

struct embedded {
	struct lmi_client_transport transport; /* must be first */
	struct lmd_host *host;
	struct lmi_plugin_registry *plugins;
	bool own; /* host and plugins */
	struct lmi_svc_principal who;
	struct lmd_arena *presets; /* NULL: there are none */
	struct lmi_service_named_file named_file;
	struct lmi_service *service;
	struct lmi_jobs *io, *work;
	struct lmi_mailbox mailbox;
	bool has_mailbox;
	int events_fd, wake_fd; /* epoll of all descriptors; eventfd: there is a new call */

	pthread_mutex_t lock;
	pthread_cond_t ended; /* a call is done, or no thread runs the service */
	/* guarded by the lock */
	bool runs;		   /* a thread runs the service */
	struct call *first, **end; /* calls that the service has not got yet */
};

static uint64_t now_ns(const struct embedded *e)
{
	return e->host->now_ns(e->host->ctx);
}

/* ---- running the service ---- */

static void end_call(struct call *k)
{
	struct embedded *e = k->e;

	(void)pthread_mutex_lock(&e->lock);
	k->done = true;
	(void)pthread_cond_broadcast(&e->ended);
	(void)pthread_mutex_unlock(&e->lock);
}

static void on_reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct call *k = arg;

	(void)retry_ms;
	if (reply)
		k->err.status = lmi_wire_reply_encode(&k->reply, reply, &k->err);
	else
		k->err = *err;
	end_call(k);
}

static void on_rows(void *arg, float *own_rows, uint32_t n_row, uint32_t width,
		    const struct lmd_error *err)
{
	struct call *k = arg;

	k->rows = own_rows;
	k->n_row = n_row;
	k->width = width;
	if (err)
		k->err = *err;
	end_call(k);
}

/* Passes new calls to the service; returns whether `own` is done. */
static bool pass_calls(struct embedded *e, const struct call *own)
{
	struct call *k, *next;
	bool done;

	(void)pthread_mutex_lock(&e->lock);
	k = e->first;
	e->first = NULL;
	e->end = &e->first;
	(void)pthread_mutex_unlock(&e->lock);
	for (; k; k = next) {
		next = k->next;
		if (k->what)
			lmi_service_evaluate(e->service, now_ns(e), k->what);
		else
			lmi_service_call(e->service, now_ns(e), &e->who, &k->req, on_reply, k);
	}
	(void)pthread_mutex_lock(&e->lock);
	done = own->done;
	(void)pthread_mutex_unlock(&e->lock);
	return done;
}

/* Waits until the service has work; a signal may end the wait early. */
static void wait_for_work(struct embedded *e)
{
	uint64_t when = lmi_service_deadline(e->service), now = now_ns(e), ms, n;
	struct epoll_event ev[8];
	int timeout = -1, n_ready;

	if (when != UINT64_MAX) {
		ms = when > now ? (when - now) / LMI_NS_PER_MS + 1 : 0;
		timeout = ms > 60000 ? 60000 : (int)ms;
	}
	n_ready = epoll_wait(e->events_fd, ev, LMD_LEN(ev), timeout);
	for (int i = 0; i < n_ready; i++)
		if (ev[i].data.fd == e->wake_fd)
			(void)!read(e->wake_fd, &n, sizeof(n));
}

/* Runs the service until the call is done.  One thread at a time, without the lock. */
static void run_service(struct embedded *e, const struct call *own)
{
	while (!pass_calls(e, own)) {
		wait_for_work(e);
		lmi_service_tick(e->service, now_ns(e));
	}
}

/* ---- requests ---- */

static void wait_for_reply(struct embedded *e, struct call *k)
{
	const uint64_t one = 1;

	(void)pthread_mutex_lock(&e->lock);
	*e->end = k;
	e->end = &k->next;
	if (e->runs)
		(void)!write(e->wake_fd, &one, sizeof(one));
	while (!k->done) {
		if (e->runs) {
			(void)pthread_cond_wait(&e->ended, &e->lock);
			continue;
		}
		e->runs = true;
		(void)pthread_mutex_unlock(&e->lock);
		run_service(e, k);
		(void)pthread_mutex_lock(&e->lock);
		e->runs = false;
		(void)pthread_cond_broadcast(&e->ended);
	}
	(void)pthread_mutex_unlock(&e->lock);
}

static enum lmd_status exchange(struct lmi_client_transport *t, const void *p, size_t n,
				uint32_t extra_ms, struct lmi_client_message *reply,
				struct lmd_error *err)
{
	struct embedded *e = (struct embedded *)t;
	struct call k = {.e = e};
	struct lmd_arena *arena = lmi_arena_create(REQUEST_ARENA_MAX);
	enum lmd_status st;

	(void)extra_ms; /* a service in this process cannot be lost */
	if (!arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	st = lmi_wire_request_decode(&k.req, p, n, arena, err);
	if (st == LMD_OK) {
		wait_for_reply(e, &k);
		st = k.err.status;
		if (st != LMD_OK && err)
			*err = k.err;
	}
	lmi_arena_destroy(arena);
	if (st == LMD_OK)
		*reply = (struct lmi_client_message){
			.p = k.reply.p, .n = k.reply.n, .own = k.reply.p, .free = lmi_free};
	else
		lmi_wire_buf_fini(&k.reply);
	return st;
}

/* ---- life ---- */

static void watch(void *arg, int fd, bool on)
{
	struct embedded *e = arg;
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	/* a descriptor that is not watched is polled at the next deadline */
	(void)epoll_ctl(e->events_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &ev);
}

static void embedded_close(struct lmi_client_transport *t)
{
	struct embedded *e = (struct embedded *)t;

	lmi_service_destroy(e->service);
	if (e->io)
		lmi_jobs_stop(e->io);
	if (e->work)
		lmi_jobs_stop(e->work);
	if (e->has_mailbox)
		(void)lmi_mailbox_drain(&e->mailbox);
	lmi_jobs_destroy(e->io);
	lmi_jobs_destroy(e->work);
	lmi_arena_destroy(e->presets);
	if (e->has_mailbox)
		lmi_mailbox_fini(&e->mailbox);
	if (e->events_fd >= 0)
		close(e->events_fd);
	if (e->wake_fd >= 0)
		close(e->wake_fd);
	(void)pthread_cond_destroy(&e->ended);
	(void)pthread_mutex_destroy(&e->lock);
	if (e->own) {
		lmi_plugin_registry_destroy(e->plugins);
		lmi_host_destroy(e->host);
	}
	lmi_free(e);
}

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return (int64_t)time(NULL) * 1000000000;
}

static const struct lmi_client_transport_ops embedded_ops = {.exchange = exchange,
							     .close = embedded_close};

/* Nobody else uses this service: what protects a server from its clients is off. */
static struct lmi_service_limits limits(uint32_t n_seq)
{
	struct lmi_service_limits l;

	lmi_service_limits_default(&l);
	l.max_running = n_seq;
	l.models = 256;
	l.first_token_ms = 24 * 3600 * 1000;
	l.lease_default = l.lease_max;
	l.stream_bytes = 1u << 30;
	l.keep_alive_ms = 0;
	l.hold_default = 0;
	return l;
}

static enum lmd_status open_events(struct embedded *e, struct lmd_error *err)
{
	enum lmd_status st = lmi_mailbox_init(&e->mailbox, err);

	if (st != LMD_OK)
		return st;
	e->has_mailbox = true;
	e->events_fd = epoll_create1(EPOLL_CLOEXEC);
	e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->events_fd < 0 || e->wake_fd < 0)
		return lmd_fail(err, LMD_IO, "cannot wait for events: %s", strerror(errno));
	watch(e, e->wake_fd, true);
	watch(e, lmi_mailbox_fd(&e->mailbox), true);
	return LMD_OK;
}

static enum lmd_status read_presets(struct embedded *e, const char *config,
				    struct lmi_service_opts *so, struct lmd_error *err)
{
	if (!config)
		return LMD_OK;
	e->presets = lmi_arena_create(PRESETS_ARENA_MAX);
	if (!e->presets)
		return lmd_fail(err, LMD_NOMEM, "no memory for the presets of models");
	return lmi_svc_preset_read_file(&so->presets, &so->n_presets, config, e->presets, err);
}

static enum lmd_status open_service(struct embedded *e, const struct lmi_embedded_opts *o,
				    struct lmd_error *err)
{
	struct lmi_jobs_opts io = {
		.mailbox = &e->mailbox, .name = "io", .n_thread = 1, .n_max = JOBS_MAX};
	struct lmi_jobs_opts work = io;
	static const char *const anywhere[] = {"/"};
	const struct lmi_service_hooks hooks = {.wall_ns = wall_ns};
	uint32_t n_seq = o->model.n_seq ? o->model.n_seq : 1;
	struct lmi_service_opts so = {.host = o->host,
				      .plugins = o->plugins,
				      .mailbox = &e->mailbox,
				      .store = o->store,
				      .model_dirs = anywhere,
				      .n_model_dirs = 1,
				      .hooks = &hooks,
				      .hub = o->hub,
				      .hub_opts = o->hub_opts,
				      .inst = o->model,
				      .limits = limits(n_seq),
				      .watch = watch,
				      .watch_arg = e,
				      .version = PACKAGE_VERSION,
				      .draft_max = LMI_ENGINE_DRAFT_MAX,
				      .embedded = true};
	enum lmd_status st = read_presets(e, o->config, &so, err);

	work.name = "work";
	if (st == LMD_OK)
		st = lmi_jobs_create(&e->io, &io, err);
	if (st == LMD_OK)
		st = lmi_jobs_create(&e->work, &work, err);
	if (st != LMD_OK)
		return st;
	so.io = so.registry = e->io;
	so.work = e->work;
	so.pulls = o->store ? e->io : NULL;
	e->named_file = (struct lmi_service_named_file){.name = o->named.name,
							.model = o->named.model,
							.path = o->named.path,
							.modelfile = o->named.modelfile};
	so.named_file = o->named.name ? &e->named_file : NULL;
	return lmi_service_create(&e->service, &so, err);
}

enum lmd_status lmi_embedded_open(struct lmd_client **out, const struct lmi_embedded_opts *o,
				  struct lmd_error *err)
{
	struct embedded *e = lmi_alloc(1, sizeof(*e));
	enum lmd_status st;

	if (!e) {
		if (o->own) {
			lmi_plugin_registry_destroy(o->plugins);
			lmi_host_destroy(o->host);
		}
		return lmd_fail(err, LMD_NOMEM, "no memory for a client");
	}
	e->transport.ops = &embedded_ops;
	e->host = o->host;
	e->plugins = o->plugins;
	e->own = o->own;
	e->who = (struct lmi_svc_principal){.uid = geteuid(),
					    .gid = getegid(),
					    .pid = getpid(),
					    .role = LMI_SVC_ROLE_ADMIN,
					    .conn = 1};
	e->events_fd = e->wake_fd = -1;
	e->end = &e->first;
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)pthread_cond_init(&e->ended, NULL);
	st = open_events(e, err);
	if (st == LMD_OK)
		st = open_service(e, o, err);
	if (st != LMD_OK) {
		embedded_close(&e->transport);
		return st;
	}
	return lmi_client_create(out, &e->transport, LMI_EMBEDDED_URL, err);
}

/* ---- beyond the protocol ---- */

bool lmi_embedded_is(const struct lmd_client *c)
{
	return c->transport->ops == &embedded_ops;
}

enum lmd_status lmi_embedded_evaluate(struct lmd_client *c,
				      const struct lmi_service_evaluation *given, float **rows,
				      uint32_t *n_row, uint32_t *width, struct lmd_error *err)
{
	struct embedded *e = (struct embedded *)c->transport;
	struct lmi_service_evaluation what = *given;
	struct call k = {.e = e, .what = &what};

	what.done = on_rows;
	what.arg = &k;
	wait_for_reply(e, &k);
	if (k.err.status != LMD_OK) {
		if (err)
			*err = k.err;
		return k.err.status;
	}
	*rows = k.rows;
	*n_row = k.n_row;
	*width = k.width;
	return LMD_OK;
}

void lmi_embedded_plugins(struct lmd_client *c, const struct lmd_host **host,
			  struct lmi_plugin_registry **plugins)
{
	const struct embedded *e = (const struct embedded *)c->transport;

	*host = e->host;
	*plugins = e->plugins;
}
