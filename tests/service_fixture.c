/* SPDX-License-Identifier: MIT */
#include "tests/service_fixture.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "store/digest.h"
#include "tests/support.h"

const struct lmi_svc_principal fx_user = {.uid = 1000, .role = LMI_SVC_ROLE_USER, .conn = 1};
const struct lmi_svc_principal fx_other = {.uid = 1001, .role = LMI_SVC_ROLE_USER, .conn = 2};
const struct lmi_svc_principal fx_admin = {.uid = 0, .role = LMI_SVC_ROLE_ADMIN, .conn = 3};

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return 1700000000000000000;
}

static const struct lmi_service_hooks hooks = {.wall_ns = wall_ns};

static struct lmi_jobs *jobs(struct fx *fx, const char *name, uint32_t n_thread)
{
	struct lmi_jobs_opts o = {.mailbox = &fx->mailbox,
				  .name = name,
				  .n_max = 1000,
				  .n_thread = fx->threads ? n_thread : 0};
	struct lmi_jobs *j = NULL;

	ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_OK);
	return j;
}

void fx_add_model(struct fx *fx, const char *name, const char *path)
{
	struct lmi_store_file f;
	struct lmi_store_model m = {
		.name = name, .format = "gguf", .arch = "llama", .n_files = 1, .files = &f};
	struct lmd_error err = {0};

	ck_assert_msg(lmi_store_digest_file(&f, path, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_store_model_add(fx->store, &m, &err) == LMD_OK, "%s", err.text);
}

static void watch(void *arg, int fd, bool on)
{
	struct fx *fx = arg;
	uint32_t i = 0;

	if (on) {
		ck_assert_uint_lt(fx->n_fd, LMD_LEN(fx->fds));
		fx->fds[fx->n_fd++] = fd;
		return;
	}
	while (i < fx->n_fd && fx->fds[i] != fd)
		i++;
	ck_assert_uint_lt(i, fx->n_fd);
	fx->fds[i] = fx->fds[--fx->n_fd];
}

static void init(struct fx *fx)
{
	static unsigned number;
	struct lmi_store_opts so = {0};
	struct lmd_error err = {0};
	char state[300], build[PATH_MAX];

	ck_assert_msg(lmt_env_init(&fx->env, &err) == LMD_OK, "%s", err.text);
	lmi_host_set_log_level(fx->env.host, LMD_LOG_ERROR);
	/* the registry requires absolute paths */
	ck_assert_ptr_nonnull(realpath(lmd_build_dir(), build));
	snprintf(fx->dir, sizeof(fx->dir), "%.200s/service/test.%d.%u", build, (int)getpid(),
		 ++number);
	ck_assert_int_eq(mkdir(fx->dir, 0700), 0);
	snprintf(fx->model, sizeof(fx->model), "%s/tiny.gguf", fx->dir);
	snprintf(fx->other, sizeof(fx->other), "%s/other.gguf", fx->dir);
	lmt_tiny_write(LMT_FULL, 7, fx->model);
	lmt_tiny_write(LMT_FULL, 8, fx->other);
	snprintf(state, sizeof(state), "%s/state", fx->dir);
	ck_assert_msg(lmi_store_open(&fx->store, state, &so, NULL, &err) == LMD_OK, "%s", err.text);
	fx_add_model(fx, "tiny", fx->model);
	fx_add_model(fx, "other", fx->other);
	ck_assert_int_eq(lmi_mailbox_init(&fx->mailbox, NULL), LMD_OK);
	fx->registry = jobs(fx, "registry", 1);
	fx->io = jobs(fx, "io", 2);
	fx->work = jobs(fx, "work", 2);
	fx->journals = jobs(fx, "journals", 1);
	fx->now = fx->env.host->now_ns(fx->env.host->ctx);
	fx->o = (struct lmi_service_opts){.host = fx->env.host,
					  .plugins = fx->env.registry,
					  .store = fx->store,
					  .registry = fx->registry,
					  .io = fx->io,
					  .work = fx->work,
					  .mailbox = &fx->mailbox,
					  .inst = lmt_opts(&fx->env, NULL).inst,
					  .hooks = &hooks,
					  .version = "test",
					  .watch = watch,
					  .watch_arg = fx,
					  .in_line = !fx->threads};
	fx->o.inst.backend = lmd_env_or("LMD_TEST_BACKEND", "null");
	lmi_service_limits_default(&fx->o.limits);
}

void fx_init(struct fx *fx)
{
	*fx = (struct fx){0};
	init(fx);
}

void fx_init_threads(struct fx *fx)
{
	*fx = (struct fx){.threads = true};
	init(fx);
}

void fx_loop(struct fx *fx)
{
	const struct lmd_host *host = fx->env.host;
	uint64_t when = lmi_service_deadline(fx->svc), now = host->now_ns(host->ctx);
	struct pollfd p[65] = {{.fd = lmi_mailbox_fd(&fx->mailbox), .events = POLLIN}};
	uint64_t wait = when > now ? (when - now) / FX_MS + 1 : 0;

	for (uint32_t i = 0; i < fx->n_fd; i++)
		p[i + 1] = (struct pollfd){.fd = fx->fds[i], .events = POLLIN};
	(void)poll(p, fx->n_fd + 1, wait > 60000 ? 60000 : (int)wait);
	fx->now = host->now_ns(host->ctx);
	lmi_service_tick(fx->svc, fx->now);
}

void fx_start(struct fx *fx)
{
	struct lmd_error err = {0};

	ck_assert_msg(lmi_service_create(&fx->svc, &fx->o, &err) == LMD_OK, "%s", err.text);
}

static void remove_all(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[600];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (unlink(path))
			remove_all(path);
	}
	if (d)
		closedir(d);
	(void)rmdir(dir);
}

void fx_fini(struct fx *fx)
{
	fx_answer_fini(&fx->a);
	lmi_service_destroy(fx->svc);
	lmi_jobs_destroy(fx->registry);
	lmi_jobs_destroy(fx->io);
	lmi_jobs_destroy(fx->work);
	lmi_jobs_destroy(fx->journals);
	lmi_mailbox_fini(&fx->mailbox);
	lmi_store_close(fx->store);
	lmt_env_fini(&fx->env);
	remove_all(fx->dir);
}

/* ---- requests ---- */

static void on_reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct fx_answer *a = arg;
	struct lmd_error e = {0};

	ck_assert_uint_eq(a->n, 0); /* exactly once */
	a->n++;
	a->failed = !reply;
	a->retry_ms = retry_ms;
	if (!reply) {
		ck_assert_int_ne(err->status, LMD_OK);
		ck_assert_uint_gt(strlen(err->text), 0);
		a->err = *err;
		return;
	}
	/* via the codec, which makes a copy and proves that it can be sent */
	a->arena = lmi_arena_create(0);
	ck_assert_msg(lmi_wire_reply_encode(&a->bytes, reply, &e) == LMD_OK, "%s", e.text);
	ck_assert_msg(lmi_wire_reply_decode(&a->r, reply->op, a->bytes.p, a->bytes.n, a->arena,
					    &e) == LMD_OK,
		      "%s", e.text);
}

void fx_answer_fini(struct fx_answer *a)
{
	lmi_wire_buf_fini(&a->bytes);
	if (a->arena)
		lmi_arena_destroy(a->arena);
	*a = (struct fx_answer){0};
}

void fx_ask(struct fx *fx, const struct lmi_svc_principal *who, const struct lmi_wire_request *q,
	    struct fx_answer *a)
{
	*a = (struct fx_answer){.op = q->op};
	lmi_service_call(fx->svc, fx->now, who, q, on_reply, a);
}

bool fx_job(struct fx *fx)
{
	bool ran = lmi_jobs_run_one(fx->registry) || lmi_jobs_run_one(fx->io) ||
		   lmi_jobs_run_one(fx->work) || lmi_jobs_run_one(fx->journals);

	return ran;
}

void fx_turn(struct fx *fx)
{
	lmi_service_tick(fx->svc, fx->now);
}

void fx_wait(struct fx *fx, struct fx_answer *a)
{
	while (fx->threads && !a->n)
		fx_loop(fx);
	for (int i = 0; i < 100000 && !a->n; i++) {
		(void)fx_job(fx);
		fx_turn(fx);
		fx->now += FX_MS / 10;
	}
	ck_assert_msg(a->n == 1, "%s is not answered", lmi_wire_ops[a->op].name);
}

struct lmi_service_stats fx_stats(const struct fx *fx)
{
	struct lmi_service_stats s;

	lmi_service_stats(fx->svc, &s);
	return s;
}

void fx_settle(struct fx *fx)
{
	struct lmi_service_stats s;
	int idle = 0;

	for (s = fx_stats(fx); fx->threads && (s.n_running || s.n_waiting); s = fx_stats(fx))
		fx_loop(fx);
	if (fx->threads)
		return;
	for (int i = 0; i < 1000000 && idle < 3; i++) {
		bool ran = fx_job(fx);

		fx_turn(fx);
		s = fx_stats(fx);
		idle = ran || s.n_running || s.n_waiting ? 0 : idle + 1;
	}
	ck_assert_int_eq(idle, 3);
}

bool fx_call(struct fx *fx, const struct lmi_svc_principal *who, const struct lmi_wire_request *q)
{
	fx_answer_fini(&fx->a);
	fx_ask(fx, who, q, &fx->a);
	if (!fx->a.n)
		fx_wait(fx, &fx->a);
	return !fx->a.failed;
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* Request ids are valid as long as the program; there are few. */
static struct lmd_str rid(struct fx *fx)
{
	static char pool[1 << 18];
	static size_t at;
	char *p = pool + at;

	if (at + 24 > sizeof(pool))
		at = 0;
	p = pool + at;
	at += 24;
	snprintf(p, 24, "r%u.%u", (unsigned)getpid() % 1000, ++fx->n_rid);
	return str(p);
}

void fx_check_refused(struct fx *fx, const struct lmi_svc_principal *who,
		      const struct lmi_wire_request *q, enum lmd_status status, const char *words)
{
	ck_assert(!fx_call(fx, who, q));
	ck_assert_msg(fx->a.err.status == status, "%s", fx->a.err.text);
	ck_assert_msg(strstr(fx->a.err.text, words) != NULL, "%s", fx->a.err.text);
}

void fx_check_leaving(struct fx *fx, const struct lmi_wire_request *q, int n)
{
	struct lmi_svc_principal who = fx_user;
	struct fx_answer a = {0};

	who.conn = 1000 + (uint64_t)n;
	fx_ask(fx, &who, q, &a);
	for (int i = 0; i < n && !a.n; i++) {
		(void)fx_job(fx);
		fx_turn(fx);
	}
	lmi_service_disconnected(fx->svc, fx->now, who.conn);
	fx_settle(fx);
	fx_check_empty(fx);
	ck_assert_uint_eq(a.n, 1);
	fx_answer_fini(&a);
}

struct lmi_wire_request fx_generate(struct fx *fx, const char *model, const char *prompt, int64_t n)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_GENERATE);
	q.rid = rid(fx);
	q.u.generate.model = str(model);
	q.u.generate.has_prompt = true;
	q.u.generate.prompt = str(prompt);
	q.u.generate.has_n = true;
	q.u.generate.n = n;
	q.u.generate.has_temp = true;
	q.u.generate.temp = 0;
	q.u.generate.ignore_eog = true;
	return q;
}

struct lmi_wire_request fx_next(const struct lmi_wire_id *id, uint64_t after)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_NEXT);
	q.u.next.id = *id;
	q.u.next.after = (int64_t)after;
	return q;
}

struct lmi_wire_request fx_tokenize_long(struct fx *fx)
{
	static char text[FX_LONG_TEXT];
	struct lmi_wire_request q = fx_on(fx, LMI_WIRE_OP_TOKENIZE, NULL);

	memset(text, 'a', sizeof(text));
	q.u.tokenize.model = str("tiny");
	q.u.tokenize.text = (struct lmd_str){.ptr = text, .len = sizeof(text)};
	return q;
}

struct lmi_wire_request fx_on(struct fx *fx, enum lmi_wire_op op, const char *model)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, op);
	q.rid = rid(fx);
	switch (op) {
	case LMI_WIRE_OP_LOAD:
		q.u.load.model = str(model);
		break;
	case LMI_WIRE_OP_UNLOAD:
		q.u.unload.model = str(model);
		break;
	case LMI_WIRE_OP_RELOAD:
		q.u.reload.model = str(model);
		break;
	case LMI_WIRE_OP_INFO:
		q.u.info.model = str(model);
		break;
	case LMI_WIRE_OP_RM:
		q.u.rm.name = str(model);
		break;
	default:
		break;
	}
	return q;
}

struct lmi_wire_item fx_read(struct fx *fx, const struct lmi_svc_principal *who,
			     const struct lmi_wire_id *id, char *out, size_t n)
{
	struct lmi_wire_id copy = *id;
	struct lmi_wire_item last = {0};
	uint64_t after = 0, number = 0;
	size_t at = 0;
	bool end = false;

	while (!end) {
		struct lmi_wire_request q = fx_next(&copy, after);
		const struct lmi_wire_rep_next *r = &fx->a.r.u.next;

		ck_assert_msg(fx_call(fx, who, &q), "%s", fx->a.err.text);
		for (uint32_t i = 0; i < r->n_items; i++) {
			const struct lmi_wire_item *item = &r->items[i];
			const struct lmd_str *t = item->kind == LMI_WIRE_ITEM_TOKEN
							  ? &item->u.token.text
							  : &item->u.text.text;

			ck_assert_uint_eq((uint64_t)item->n, ++number); /* no gaps, in order */
			last = *item;
			if (item->kind != LMI_WIRE_ITEM_TOKEN && item->kind != LMI_WIRE_ITEM_TEXT)
				continue;
			ck_assert_uint_lt(at + t->len, n);
			memcpy(out + at, t->ptr, t->len);
			at += t->len;
		}
		end = r->end;
		ck_assert_uint_eq((uint64_t)r->last, number);
		after = number;
	}
	if (n)
		out[at] = 0;
	ck_assert(lmi_wire_item_final(last.kind));
	return last;
}

struct lmi_wire_item fx_job_op(struct fx *fx, enum lmi_wire_op op, const char *model)
{
	struct lmi_wire_request q = fx_on(fx, op, model);
	struct lmi_wire_id id;

	if (!fx_call(fx, &fx_admin, &q)) {
		struct lmi_wire_item item = {.kind = LMI_WIRE_ITEM_ERROR};

		item.u.error.code = fx->a.err.status;
		item.u.error.text = str(fx->a.err.text);
		return item;
	}
	id = op == LMI_WIRE_OP_LOAD     ? fx->a.r.u.load.id
	     : op == LMI_WIRE_OP_RELOAD ? fx->a.r.u.reload.id
					: fx->a.r.u.unload.id;
	return fx_read(fx, &fx_admin, &id, NULL, 0);
}

double fx_metric(struct fx *fx, const char *name)
{
	struct lmi_wire_request q = fx_on(fx, LMI_WIRE_OP_STATS, NULL);
	double value = 0;
	uint32_t n = 0;

	q.u.stats.has_model = true;
	q.u.stats.model = str("tiny");
	ck_assert(fx_call(fx, &fx_user, &q));
	for (uint32_t i = 0; i < fx->a.r.u.stats.n_metrics; i++) {
		const struct lmi_wire_metric *m = &fx->a.r.u.stats.metrics[i];

		if (m->name.len != strlen(name) || memcmp(m->name.ptr, name, m->name.len) != 0)
			continue;
		value = m->value;
		n++;
	}
	ck_assert_uint_le(n, 1);
	return value;
}

bool fx_on_null(void)
{
	return !strcmp(lmd_env_or("LMD_TEST_BACKEND", "null"), "null");
}

/* Has another service generate the text on ref. */
static void expect_of_ref(const char *prompt, uint32_t n, char *out)
{
	struct lmi_wire_id id;
	struct fx own;
	char text[8192];

	fx_init(&own);
	own.o.inst.backend = "ref";
	fx_start(&own);
	id = fx_begin(&own, &fx_user, prompt, n);
	ck_assert_int_eq(fx_read(&own, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_le(strlen(text), n); /* a token is one character, or none */
	memcpy(out, text, strlen(text) + 1);
	fx_fini(&own);
}

void fx_expect(const char *prompt, uint32_t n, char *out)
{
	uint32_t t = (uint32_t)(prompt[strlen(prompt) - 1] - 32);
	uint32_t at = 0;

	if (!fx_on_null()) {
		expect_of_ref(prompt, n, out);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		t = (t + 1) % LMT_VOCAB;
		if (t != LMT_EOS)
			out[at++] = (char)(32 + t);
	}
	out[at] = 0;
}

struct lmi_wire_id fx_begin(struct fx *fx, const struct lmi_svc_principal *who, const char *prompt,
			    int64_t n)
{
	struct lmi_wire_request q = fx_generate(fx, "tiny", prompt, n);

	ck_assert_msg(fx_call(fx, who, &q), "%s", fx->a.err.text);
	return fx->a.r.u.generate.id;
}

void fx_step(struct fx *fx, int n)
{
	for (int i = 0; i < n; i++) {
		fx_turn(fx);
		fx->now += FX_MS;
	}
}

void fx_check_empty(struct fx *fx)
{
	struct lmi_service_stats s = fx_stats(fx);

	ck_assert_uint_eq(s.n_running, 0);
	ck_assert_uint_eq(s.n_waiting, 0);
	ck_assert_uint_eq(s.n_parked, 0);
	ck_assert_uint_eq(s.n_page, s.n_page_free);
	ck_assert_uint_eq(s.n_done + s.n_cancelled + s.n_failed + s.n_invalid + s.n_busy, s.n_request);
}

void fx_load(struct fx *fx)
{
	ck_assert_int_eq(fx_job_op(fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
}
