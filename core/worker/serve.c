/* SPDX-License-Identifier: MIT
 *
 * The main loop of a worker, its device and its objects. A second thread counts, so that the other process
 * knows that this one has not been stopped, and ends the worker when that process is gone, whatever the
 * first thread does. */
#include "core/worker/serve.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/team.h"
#include "core/plan/plan.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/worker/worker.h"

#define MAX_OBJECT (1u << 22)

enum lmd_status lmi_worker_too_short(struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID, "worker: a request is shorter than it says");
}

/* ---- objects ---- */

enum lmd_status lmi_worker_object_create(struct lmi_worker_serve *s, uint64_t number,
					 enum lmi_worker_object_kind kind,
					 struct lmi_worker_object **out, struct lmd_error *err)
{
	uint64_t n = s->n_object ? s->n_object : 256;
	struct lmi_worker_object *more;

	if (number >= MAX_OBJECT)
		return lmd_fail(err, LMD_INVALID, "worker: object %llu; there are at most %u",
				(unsigned long long)number, MAX_OBJECT);
	while (n <= number)
		n *= 2;
	if (n > s->n_object) {
		more = lmi_realloc(s->objects, (size_t)n, sizeof(*more));
		if (!more)
			return lmd_fail(err, LMD_NOMEM, "worker: no memory for an object");
		memset(more + s->n_object, 0, (size_t)(n - s->n_object) * sizeof(*more));
		s->objects = more;
		s->n_object = n;
	}
	*out = &s->objects[number];
	if ((*out)->kind != LMI_WORKER_OBJECT_NONE)
		return lmd_fail(err, LMD_INVALID, "worker: object %llu exists",
				(unsigned long long)number);
	**out = (struct lmi_worker_object){.kind = kind};
	return LMD_OK;
}

struct lmi_worker_object *lmi_worker_object_find(struct lmi_worker_serve *s, uint64_t number,
						 enum lmi_worker_object_kind kind)
{
	return number < s->n_object && s->objects[number].kind == kind ? &s->objects[number] : NULL;
}

void lmi_worker_object_destroy(struct lmi_worker_serve *s, struct lmi_worker_object *o)
{
	if (!o)
		return;
	if (o->compiled_plan)
		s->ops->plan_destroy(s->state, o->compiled_plan);
	if (o->weight)
		s->ops->weight_destroy(s->state, o->weight);
	if (o->pool)
		s->ops->pool_destroy(s->state, o->pool);
	if (o->buffer)
		s->ops->buffer_destroy(s->state, o->buffer);
	lmi_plan_step_destroy(o->step);
	if (o->mem)
		(void)munmap(o->mem, (size_t)o->bytes);
	lmi_arena_destroy(o->arena);
	*o = (struct lmi_worker_object){0};
}

enum lmd_status lmi_worker_forget_object(struct lmi_worker_serve *s, struct lmi_worker_in *in,
					 enum lmi_worker_object_kind kind)
{
	lmi_worker_object_destroy(s, lmi_worker_object_find(s, lmi_worker_in_u64(in), kind));
	return LMD_OK;
}

/* ---- the device ---- */

static void *count(void *arg)
{
	const struct lmi_worker_serve *s = arg;

	for (;;) {
		struct pollfd p = {.fd = s->sock};

		if (poll(&p, 1, LMI_WORKER_BEAT_MS) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL))
			_exit(0);
		__atomic_fetch_add(&s->page->beat, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static enum lmd_status start_counting(struct lmi_worker_serve *s, int fd, struct lmd_error *err)
{
	pthread_t thread;
	void *p = fd >= 0 ? mmap(NULL, sizeof(*s->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			  : MAP_FAILED;

	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "worker: no shared page");
	s->page = p;
	if (pthread_create(&thread, NULL, count, s))
		return lmd_fail(err, LMD_NOMEM, "worker: no thread");
	(void)pthread_detach(thread);
	return LMD_OK;
}

/* Finds the backend, which has to be the same code as in the other process: that may have accepted a
 * file which has been replaced since. */
static enum lmd_status find_backend(struct lmi_worker_serve *s, const struct lmi_worker_hello *h,
				    const char *backend, const char *folder, struct lmd_error *err)
{
	const char *const dirs[] = {folder};
	const struct lmi_plugin_registry_opts o = {.dirs = dirs,
						   .n_dirs = *folder ? 1 : 0,
						   .trust = (enum lmi_plugin_trust)h->trust,
						   .no_default_dirs = true,
						   .host = s->host};
	enum lmd_status st = lmi_plugin_registry_create(&s->registry, &o, err);

	if (st == LMD_OK)
		st = lmi_factory_take(s->registry, LMD_KIND_BACKEND, backend, &s->factory, err);
	if (st == LMD_OK && memcmp(s->factory->digest, h->digest, sizeof(h->digest)) != 0)
		st = lmd_fail(err, LMD_INVALID,
			      "worker: %.200s is not the version of backend %s that is in use; use "
			      "`llamactl plugins reload` to accept it",
			      s->factory->file, backend);
	return st;
}

static enum lmd_status open_device(struct lmi_worker_serve *s, const struct lmi_worker_hello *h,
				   const char *backend, const char *folder, const char *cpus,
				   struct lmd_error *err)
{
	struct lmi_team_threads t = {.n = h->n_thread,
				     .n_many = h->n_thread_batch,
				     .place = {.cpus = cpus,
					       .strict = h->strict,
					       .numa = (enum lmi_cpu_numa)h->numa}};
	struct lmd_open_params p = {.struct_size = sizeof(p),
				    .index = h->index,
				    .activations = h->activations,
				    .attention = h->attention,
				    .deterministic = h->deterministic};
	enum lmd_status st = find_backend(s, h, backend, folder, err);

	if (st == LMD_OK)
		st = lmi_team_open(&s->team, &t, err);
	if (st != LMD_OK)
		return st;
	t.place.cpus = NULL; /* the text is the message's */
	s->threads = t;
	p.team = s->team;
	p.n_thread = lmi_team_size(s->team);
	s->state = lmi_alloc(s->factory->f->state_bytes + 1, 1);
	if (!s->state)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for the state of a backend");
	st = s->factory->ops.backend->open(s->state, s->host, &p, err);
	if (st == LMD_OK && h->own_memory && !s->factory->ops.backend->buffer_create)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "backend %s: the device has memory of its own, but no buffers", backend);
	if (st == LMD_OK)
		s->ops = s->factory->ops.backend;
	s->own_memory = h->own_memory;
	return st;
}

static enum lmd_status do_hello(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				struct lmd_error *err)
{
	struct lmd_arena *a = lmi_arena_create(0);
	struct lmi_worker_hello h;
	const char *backend, *folder, *cpus;
	enum lmd_status st = LMD_OK;

	if (!a)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory");
	lmi_worker_in_read(in, &h, sizeof(h));
	backend = lmi_worker_in_text(in, a);
	folder = lmi_worker_in_text(in, a);
	cpus = lmi_worker_in_text(in, a);
	if (in->failed || h.abi != LMI_WORKER_ABI || s->page)
		st = lmd_fail(err, LMD_INVALID,
			      "worker: the program was replaced by another version; start it again");
	if (st == LMD_OK)
		st = start_counting(s, fd, err);
	if (st == LMD_OK)
		st = lmi_host_create(&s->host, UINT64_MAX);
	if (st == LMD_OK)
		st = open_device(s, &h, backend, folder, cpus, err);
	lmi_arena_destroy(a);
	return st;
}

/* ---- weights and pools ---- */

static enum lmd_status do_weight_free(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err)
{
	(void)fd;
	(void)err;
	return lmi_worker_forget_object(s, in, LMI_WORKER_OBJECT_WEIGHT);
}

static enum lmd_status do_pool_free(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				    struct lmd_error *err)
{
	(void)fd;
	(void)err;
	return lmi_worker_forget_object(s, in, LMI_WORKER_OBJECT_POOL);
}

static enum lmd_status do_plan_free(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				    struct lmd_error *err)
{
	(void)fd;
	(void)err;
	return lmi_worker_forget_object(s, in, LMI_WORKER_OBJECT_PLAN);
}

static bool get_pool(struct lmi_worker_in *in, struct lmd_arena *a, struct lmd_pool_desc *d)
{
	struct lmd_group *g = lmi_arena_alloc(a, sizeof(*g), 8);

	lmi_worker_in_read(in, d, sizeof(*d));
	if (!g)
		return false;
	lmi_worker_in_read(in, g, sizeof(*g));
	g->name = lmi_worker_in_text(in, a);
	d->desc = g;
	d->caches = lmi_worker_in_array(in, a, d->n_cache, sizeof(*d->caches));
	d->cache_ids = lmi_worker_in_array(in, a, d->n_cache, sizeof(*d->cache_ids));
	return !in->failed;
}

static enum lmd_status do_pool_query(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				     struct lmd_error *err)
{
	struct lmd_pool_cost cost = {.struct_size = sizeof(cost)};
	struct lmd_arena *a = lmi_arena_create(0);
	struct lmd_pool_desc d;
	enum lmd_status st = LMD_OK;

	(void)fd;
	if (!a || !get_pool(in, a, &d))
		st = lmi_worker_too_short(err);
	else if (s->ops->pool_query)
		st = s->ops->pool_query(s->state, &d, &cost, err);
	lmi_arena_destroy(a);
	(void)lmi_worker_out_put(&s->reply, &cost, sizeof(cost));
	return st;
}

static enum lmd_status do_pool_create(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err)
{
	uint64_t number = lmi_worker_in_u64(in);
	struct lmi_worker_object *o;
	struct lmd_pool_desc d;
	enum lmd_status st = lmi_worker_object_create(s, number, LMI_WORKER_OBJECT_POOL, &o, err);

	(void)fd;
	if (st != LMD_OK)
		return st;
	o->arena = lmi_arena_create(0);
	if (!o->arena || !get_pool(in, o->arena, &d))
		st = lmi_worker_too_short(err);
	else
		st = s->ops->pool_create(s->state, &d, &o->pool, err);
	if (st != LMD_OK)
		lmi_worker_object_destroy(s, o);
	return st;
}

/* Points the operations at what they read in the request, and at what they write in the reply. */
static bool point_ops(struct lmi_worker_serve *s, struct lmi_worker_in *in, struct lmd_pool_op *ops,
		      uint64_t n)
{
	uint64_t room = 0, at = 0;
	char *reply;

	for (uint64_t i = 0; i < n; i++) {
		if (ops[i].kind == LMD_POOL_EXPORT && ops[i].host_bytes <= LMI_WORKER_PAYLOAD_MAX - room)
			room += (ops[i].host_bytes + 7) & ~7ull;
		else if (ops[i].kind == LMD_POOL_EXPORT)
			return false;
		else if (ops[i].kind == LMD_POOL_IMPORT || ops[i].kind == LMD_POOL_SET_TABLE)
			ops[i].host = (void *)(uintptr_t)lmi_worker_in_get(in, ops[i].host_bytes);
		else
			ops[i].host = NULL;
	}
	reply = room ? lmi_worker_out_put(&s->reply, NULL, (size_t)room) : NULL;
	for (uint64_t i = 0; i < n && reply; i++) {
		if (ops[i].kind != LMD_POOL_EXPORT)
			continue;
		ops[i].host = reply + at;
		at += (ops[i].host_bytes + 7) & ~7ull;
	}
	return !in->failed && (reply || !room);
}

static enum lmd_status do_pool_ops(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				   struct lmd_error *err)
{
	struct lmi_worker_object *o =
		lmi_worker_object_find(s, lmi_worker_in_u64(in), LMI_WORKER_OBJECT_POOL);
	uint64_t n = lmi_worker_in_u64(in);
	struct lmd_arena *a = lmi_arena_create(0);
	struct lmd_pool_op *ops = a ? lmi_worker_in_array(in, a, n, sizeof(*ops)) : NULL;
	enum lmd_status st = LMD_OK;

	(void)fd;
	if (!o || !a || (n && !ops) || !point_ops(s, in, ops, n))
		st = lmd_fail(err, LMD_INVALID, "worker: operations on no pool, or without their rows");
	else if (n)
		st = s->ops->pool_op(s->state, NULL, o->pool, ops, (uint32_t)n, NULL, err);
	lmi_arena_destroy(a);
	return st;
}

static enum lmd_status do_adapter(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				  struct lmd_error *err)
{
	struct lmd_adapter_bind b;
	uint64_t n_a, n_b;

	(void)fd;
	lmi_worker_in_read(in, &b, sizeof(b));
	n_a = (uint64_t)b.n_stack * b.rank * b.k;
	n_b = (uint64_t)b.n_stack * b.n * (b.rank ? b.rank : 1);
	if (b.b && b.rank)
		b.a = lmi_worker_in_get(in, n_a * sizeof(float));
	if (b.b)
		b.b = lmi_worker_in_get(in, n_b * sizeof(float));
	if (b.b && b.gain)
		b.gain = lmi_worker_in_get(in, (uint64_t)b.n_stack * b.n * sizeof(float));
	if (in->failed)
		return lmi_worker_too_short(err);
	return s->ops->adapter_bind ? s->ops->adapter_bind(s->state, &b, err)
				    : lmd_fail(err, LMD_UNSUPPORTED,
					       "backend %s does not support adapters",
					       s->factory->f->name);
}

/* ---- the loop ---- */

static const lmi_worker_handler handlers[LMI_WORKER_N_KIND] = {
	[LMI_WORKER_HELLO] = do_hello,
	[LMI_WORKER_FILE] = lmi_worker_do_file,
	[LMI_WORKER_BUFFER] = lmi_worker_do_buffer,
	[LMI_WORKER_BUFFER_FREE] = lmi_worker_do_buffer_free,
	[LMI_WORKER_COPY] = lmi_worker_do_copy,
	[LMI_WORKER_MEMORY] = lmi_worker_do_memory,
	[LMI_WORKER_WEIGHT_QUERY] = lmi_worker_do_weight_query,
	[LMI_WORKER_WEIGHT_LOAD] = lmi_worker_do_weight_load,
	[LMI_WORKER_WEIGHT_EXPORT] = lmi_worker_do_weight_export,
	[LMI_WORKER_WEIGHT_FREE] = do_weight_free,
	[LMI_WORKER_POOL_QUERY] = do_pool_query,
	[LMI_WORKER_POOL_CREATE] = do_pool_create,
	[LMI_WORKER_POOL_FREE] = do_pool_free,
	[LMI_WORKER_POOL_OPS] = do_pool_ops,
	[LMI_WORKER_ADAPTER] = do_adapter,
	[LMI_WORKER_DECLARE] = lmi_worker_do_declare,
	[LMI_WORKER_SUPPORT] = lmi_worker_do_support,
	[LMI_WORKER_PLAN_QUERY] = lmi_worker_do_plan_query,
	[LMI_WORKER_COMPILE] = lmi_worker_do_compile,
	[LMI_WORKER_RUN] = lmi_worker_do_run,
	[LMI_WORKER_PLAN_FREE] = do_plan_free,
};

static enum lmd_status handle(struct lmi_worker_serve *s, uint32_t kind, struct lmi_worker_in *in,
			      int fd, struct lmd_error *err)
{
	enum lmd_status st;

	if (kind >= LMI_WORKER_N_KIND || !handlers[kind] || (!s->ops && kind != LMI_WORKER_HELLO))
		return lmd_fail(err, LMD_INVALID, "worker: request %u is unknown here", kind);
	st = handlers[kind](s, in, fd, err);
	return st == LMD_OK && s->reply.failed
		       ? lmd_fail(err, LMD_NOMEM, "worker: no memory for an answer")
		       : st;
}

static int serve(struct lmi_worker_serve *s)
{
	struct lmi_worker_out request = {0};

	for (;;) {
		struct lmi_worker_in in;
		struct lmi_worker_head h;
		struct lmd_error err = {0};
		enum lmd_status st;
		int fd;

		if (lmi_worker_receive(s->sock, &h, &request, &fd, NULL, NULL) != LMD_OK)
			return 0; /* the other process has ended, or closed the device */
		in = (struct lmi_worker_in){.p = request.p, .n = request.n};
		lmi_worker_out_reset(&s->reply);
		st = handle(s, h.kind, &in, fd, &err);
		if (fd >= 0)
			(void)close(fd);
		h.status = (uint32_t)st;
		h.bytes = st == LMD_OK ? s->reply.n : strlen(err.text);
		if (lmi_worker_send(s->sock, &h, st == LMD_OK ? s->reply.p : err.text, -1, NULL, NULL) !=
		    LMD_OK)
			return 0;
	}
}

static bool is_ready;

bool lmi_worker_can_start(void)
{
	return is_ready;
}

bool lmi_worker_main_if_asked(int argc, char **argv, int *status)
{
	static struct lmi_worker_serve s;
	struct stat sb;

	is_ready = true; /* so this program, started again, is a worker */
	if (argc < 2 || strncmp(argv[1], "--worker=", 9) != 0)
		return false;
	s.sock = atoi(argv[1] + 9);
	*status = 2;
	if (s.sock <= 2 || fstat(s.sock, &sb) || !S_ISSOCK(sb.st_mode)) {
		fprintf(stderr, "%s: --worker is for processes that llamad starts itself\n", argv[0]);
		return true;
	}
	/* its end is that of the connection: a service that stops lets its requests end */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, "llamad-worker");
	*status = serve(&s);
	_exit(*status); /* what the plugin still has is the kernel's to free */
}
