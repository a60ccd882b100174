/* SPDX-License-Identifier: MIT
 *
 * A batch from its start to its end: which line runs when.  Lines run in the order of the file, a few at a
 * time.  One that is refused because the server is busy gives its place to others and runs again when it is
 * due.
 *
 * Everything that calls the service happens in the event `again`, because its callbacks must not. */
#include "daemon/http/openai/batch_run.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/openai/batch_impl.h"

/* What could not be stored at the end is stored again after this time. */
#define STORE_AGAIN_MS 60000
/* Lines that begin in one run of the loop: those that are refused at once take no place. */
#define BEGIN_MAX 64

const char *const lmi_openai_batch_endpoints[LMI_OPENAI_BATCH_N_ENDPOINT] = {
	"/v1/chat/completions", "/v1/completions", "/v1/embeddings"};

/* ---- the whole ---- */

static void line_free(struct lmi_openai_batch_line *l)
{
	struct lmi_openai_batch_line **p = &l->b->lines;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	l->b->n_line--;
	json_decref(l->v);
	lmi_arena_destroy(l->arena);
	lmi_free(l);
}

static void batch_free(struct lmi_openai_batch *b)
{
	while (b->lines)
		line_free(b->lines);
	if (b->again)
		event_free(b->again);
	json_decref(b->o.object);
	lmi_free(b->o.own_input);
	lmi_openai_batch_progress_fini(&b->progress);
	lmi_free(b);
}

static void activate(struct lmi_openai_batch *b)
{
	event_active(b->again, EV_TIMEOUT, 0);
}

static void call_later(struct lmi_openai_batch *b, uint64_t ms)
{
	const struct timeval t = {.tv_sec = (time_t)(ms / 1000),
				  .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	(void)evtimer_add(b->again, &t);
}

const char *lmi_openai_batch_chars(const struct lmi_openai_batch *b)
{
	return json_string_value(json_object_get(b->o.object, "id")) + strlen(LMI_OPENAI_BATCH_PREFIX);
}

void lmi_openai_batch_set(struct lmi_openai_batch *b, const char *key, json_t *own_value)
{
	(void)json_object_set_new(b->o.object, key, own_value);
}

json_t *lmi_openai_batch_object(struct lmi_openai_batch *b)
{
	lmi_openai_batch_set(b, "request_counts",
			     json_pack("{s:i,s:i,s:i}", "total", (int)b->progress.n_line, "completed",
				       (int)b->shown.n_completed, "failed", (int)b->shown.n_failed));
	return b->o.object;
}

json_t *lmi_openai_batch_errors(const char *text)
{
	return json_pack("{s:s,s:[{s:s,s:s,s:n,s:n}]}", "object", "list", "data", "code",
			 "server_error", "message", text, "param", "line");
}

void lmi_openai_batch_fail(struct lmi_openai_batch *b, const struct lmd_error *cause)
{
	if (b->failed)
		return;
	b->failed = true;
	b->cause = *cause;
	lmi_openai_batch_set(b, "errors", lmi_openai_batch_errors(cause->text));
	activate(b);
}

/* ---- the end ---- */

/* The server ends; the requests that run have no result. */
static void end(struct lmi_http_lasting *l)
{
	struct lmi_openai_batch *b = (struct lmi_openai_batch *)l;
	struct lmd_error err;

	if (!b->revoked && b->phase != LMI_OPENAI_BATCH_ENDING)
		(void)lmi_openai_batch_store_run(b, true, &err);
	batch_free(b);
}

static void finish(struct lmi_openai_batch *b)
{
	lmi_openai_batch_use(b, false);
	lmi_http_lasting_remove(b->o.h, &b->lasting);
	batch_free(b);
}

static void store_again_later(struct lmi_openai_batch *b)
{
	if (b->store_again_ms)
		return;
	b->store_again_ms = lmi_http_server_clock_ms() + STORE_AGAIN_MS;
	call_later(b, STORE_AGAIN_MS);
}

/* Stores the end; goes on when it is on the disk. */
static void begin_end(struct lmi_openai_batch *b)
{
	struct lmd_error err = {0};

	b->phase = LMI_OPENAI_BATCH_ENDING;
	b->store_again_ms = 0;
	lmi_openai_batch_refresh(b);
	if (!b->failed && !b->stopped) {
		lmi_openai_batch_set(b, "status", json_string("finalizing"));
		lmi_openai_batch_set(b, "finalizing_at", json_integer(lmi_http_server_now(b->o.h)));
	}
	if (lmi_openai_batch_store_end(b, &err) == LMD_OK) {
		activate(b);
		return;
	}
	lmi_openai_batch_fail(b, &err);
	store_again_later(b);
}

/* A batch whose end cannot be stored has failed; clients see that, and it is stored again later. */
static void go_on_ending(struct lmi_openai_batch *b)
{
	struct lmd_error err = {0};
	enum lmd_status st;

	if (b->store_again_ms)
		return;
	st = lmi_openai_batch_check(b, &err);
	if (st == LMD_OK) {
		lmi_openai_batch_remove_run(b);
		finish(b);
	} else if (st == LMD_IO && !b->failed) {
		lmi_openai_batch_fail(b, &err);
		begin_end(b);
	} else if (st == LMD_IO) {
		store_again_later(b);
	}
}

/* ---- lines ---- */

void lmi_openai_batch_line_done(struct lmi_openai_batch_line *l)
{
	struct lmi_openai_batch *b = l->b;

	line_free(l);
	activate(b);
}

bool lmi_openai_batch_line_refused(struct lmi_openai_batch_line *l, uint32_t retry_ms)
{
	struct lmi_openai_batch *b = l->b;
	const struct lmi_openai_batch_waiting w = {
		.line = l->number,
		.n_refused = l->n_refused + 1,
		.at = l->at,
		.due_ms = lmi_http_server_clock_ms() +
			  lmi_openai_batch_wait_ms(l->n_refused + 1, retry_ms)};

	if (!b->stopped && !b->expired && !lmi_openai_batch_wait_add(&b->wait, &w))
		return false;
	line_free(l);
	activate(b);
	return true;
}

/* Returns the next line that is not empty, or ptr NULL. */
static struct lmd_str next_line(const char *text, size_t n, size_t *at)
{
	while (*at < n) {
		const char *p = text + *at, *stop = memchr(p, '\n', n - *at);
		size_t len = stop ? (size_t)(stop - p) : n - *at;

		*at += len + 1;
		while (len && strchr(" \t\r", p[len - 1]))
			len--;
		if (len)
			return (struct lmd_str){.ptr = p, .len = len};
	}
	return (struct lmd_str){0};
}

/* Runs the line at that place of the input, which has been refused before unless n_refused is 0. */
static void begin_line(struct lmi_openai_batch *b, uint32_t number, size_t at, uint32_t n_refused)
{
	struct lmi_openai_batch_line *l = lmi_alloc(1, sizeof(*l));
	struct lmd_error err;
	struct lmd_str s;

	if (!l) {
		(void)lmd_fail(&err, LMD_NOMEM, "out of memory: line %u cannot run", number + 1);
		lmi_openai_batch_fail(b, &err);
		return;
	}
	*l = (struct lmi_openai_batch_line){
		.next = b->lines, .b = b, .number = number, .at = at, .n_refused = n_refused};
	lmi_openai_batch_line_id(l->id, lmi_openai_batch_chars(b), number);
	b->lines = l;
	b->n_line++;
	s = next_line(b->o.own_input, b->o.n_input, &at);
	l->v = json_loadb(s.ptr, s.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(l->v)) {
		json_decref(l->v);
		l->v = NULL;
	}
	lmi_openai_batch_line_run(l);
}

/* Runs the line that is due, or the next one that is not done.  Returns false if there is none. */
static bool begin_next(struct lmi_openai_batch *b)
{
	struct lmi_openai_batch_waiting w;

	if (lmi_openai_batch_wait_take(&b->wait, lmi_http_server_clock_ms(), &w)) {
		begin_line(b, w.line, w.at, w.n_refused);
		return true;
	}
	while (b->wait.n + b->n_line < LMI_OPENAI_BATCH_WAITING) {
		size_t at = b->at;
		uint32_t number = b->number;

		if (!next_line(b->o.own_input, b->o.n_input, &b->at).ptr)
			return false;
		b->number++;
		if (!lmi_openai_batch_progress_is_done(&b->progress, number)) {
			begin_line(b, number, at, 0);
			return true;
		}
	}
	return false;
}

/* Returns the time until the completion window ends, in ms. */
static uint64_t window_ms(const struct lmi_openai_batch *b)
{
	int64_t left_s = json_integer_value(json_object_get(b->o.object, "expires_at")) -
			 lmi_http_server_now(b->o.h);

	return left_s > 0 ? (uint64_t)left_s * 1000 : 0;
}

/* The completion window has ended: begins again at the first line, for those that are not done. */
static void expire(struct lmi_openai_batch *b)
{
	b->expired = true;
	b->wait.n = 0;
	b->at = 0;
	b->number = 0;
}

/* Adds the results of lines that did not run, a few at a time.  Returns whether all of them have one. */
static bool add_expired(struct lmi_openai_batch *b)
{
	uint32_t n = 0;

	if (lmi_openai_batch_results_wait(b)) /* stored() goes on */
		return false;
	while (!b->failed && n < BEGIN_MAX) {
		struct lmd_str line = next_line(b->o.own_input, b->o.n_input, &b->at);
		uint32_t number = b->number++;

		if (!line.ptr)
			return true;
		if (lmi_openai_batch_progress_is_done(&b->progress, number))
			continue;
		lmi_openai_batch_add_expired(b, number, line);
		n++;
	}
	activate(b);
	return b->failed;
}

/* Runs what is left of a batch whose window has ended, when the requests that run have ended. */
static void run_expired(struct lmi_openai_batch *b)
{
	lmi_openai_batch_refresh(b);
	if (b->n_line || (!b->failed && !add_expired(b)) || (b->failed && lmi_openai_batch_results_wait(b)))
		return;
	begin_end(b);
}

static void run_lines(struct lmi_openai_batch *b)
{
	uint32_t n_begun = 0;
	uint64_t wait_ms;

	if (!b->expired && !b->stopped && !b->failed && !window_ms(b))
		expire(b);
	if (b->expired) {
		run_expired(b);
		return;
	}
	lmi_openai_batch_refresh(b);
	while (!b->stopped && !b->failed && b->n_line < LMI_OPENAI_BATCH_AT_A_TIME &&
	       n_begun < BEGIN_MAX && begin_next(b))
		n_begun++;
	if (n_begun == BEGIN_MAX)
		activate(b);
	if (b->stopped || b->failed)
		b->wait.n = 0;
	wait_ms = lmi_openai_batch_wait_next(&b->wait, lmi_http_server_clock_ms());
	if (wait_ms != UINT64_MAX && b->n_line < LMI_OPENAI_BATCH_AT_A_TIME)
		call_later(b, wait_ms < window_ms(b) ? wait_ms : window_ms(b));
	/* after a failure the files tell what is done, as soon as nothing waits for them */
	if (!b->n_line && !b->wait.n && n_begun < BEGIN_MAX &&
	    !(b->failed && lmi_openai_batch_results_wait(b)))
		begin_end(b);
}

static void on_again(int fd, short what, void *arg)
{
	struct lmi_openai_batch *b = arg;
	struct lmd_error err = {0};
	enum lmd_status st;

	(void)fd;
	(void)what;
	if (lmi_http_server_ended(b->o.h))
		return;
	if (b->revoked) {
		if (!b->n_line)
			finish(b);
		return;
	}
	switch (b->phase) {
	case LMI_OPENAI_BATCH_STARTING:
		st = lmi_openai_batch_check(b, &err);
		if (st == LMD_BUSY)
			return;
		if (st != LMD_OK)
			lmi_openai_batch_fail(b, &err);
		b->phase = LMI_OPENAI_BATCH_RUNNING;
		run_lines(b);
		return;
	case LMI_OPENAI_BATCH_RUNNING:
		run_lines(b);
		return;
	case LMI_OPENAI_BATCH_ENDING:
		if (b->store_again_ms && lmi_http_server_clock_ms() >= b->store_again_ms)
			begin_end(b);
		else
			go_on_ending(b);
		return;
	}
}

/* ---- what others call ---- */

static void stored(struct lmi_http_lasting *lasting)
{
	activate((struct lmi_openai_batch *)lasting);
}

/* Requests that run have been stopped without a call, so that their lines end here; embeddings are
 * answered later, and end then. */
static void revoke(struct lmi_http_lasting *lasting, const char *label)
{
	struct lmi_openai_batch *b = (struct lmi_openai_batch *)lasting;

	if (strcmp(b->principal.key_label, label) != 0 || b->revoked)
		return;
	b->revoked = b->stopped = true;
	b->wait.n = 0;
	for (struct lmi_openai_batch_line *l = b->lines, *next; l; l = next) {
		next = l->next;
		if (b->o.endpoint != LMI_OPENAI_BATCH_EMBEDDINGS)
			line_free(l);
	}
	activate(b);
}

/* Prepares everything that can fail. */
static enum lmd_status init(struct lmi_openai_batch *b, struct lmd_error *err)
{
	uint32_t n_line = 0;
	enum lmd_status st;
	size_t at = 0;

	while (next_line(b->o.own_input, b->o.n_input, &at).ptr)
		n_line++;
	b->again = lmi_http_event(b->o.h, on_again, b);
	if (!b->again || !lmi_openai_batch_progress_init(&b->progress, n_line))
		return lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	st = lmi_openai_batch_begin(b, err);
	if (st == LMD_OK)
		st = lmi_openai_batch_store(b, err);
	return st == LMD_OK ? lmi_openai_batch_store_run(b, false, err) : st;
}

static uint32_t n_running(const struct lmi_http_server *h)
{
	uint32_t n = 0;

	for (const struct lmi_http_lasting *l = lmi_http_lasting_first(h); l; l = l->next)
		n += l->end == end;
	return n;
}

enum lmd_status lmi_openai_batch_start(const struct lmi_openai_batch_opts *opts,
				       struct lmd_error *err)
{
	struct lmi_openai_batch *b = lmi_alloc(1, sizeof(*b));
	enum lmd_status st;

	if (!b) {
		lmi_free(opts->own_input);
		return lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	}
	b->o = *opts;
	(void)json_incref(b->o.object);
	b->principal = *opts->principal;
	lmi_http_lasting_principal(opts->h, &b->principal);
	if (n_running(opts->h) >= LMI_OPENAI_BATCHES)
		st = lmd_fail(err, LMD_BUSY, "%u batches run, the maximum is %u", n_running(opts->h),
			      LMI_OPENAI_BATCHES);
	else
		st = init(b, err);
	if (st != LMD_OK) {
		batch_free(b);
		return st;
	}
	b->lasting = (struct lmi_http_lasting){.end = end, .revoke = revoke, .stored = stored};
	lmi_http_lasting_add(opts->h, &b->lasting);
	lmi_openai_batch_use(b, true);
	activate(b);
	return LMD_OK;
}

struct lmi_openai_batch *lmi_openai_batch_find(const struct lmi_http_server *h,
					       const struct lmi_svc_principal *p, const char *id)
{
	for (struct lmi_http_lasting *l = lmi_http_lasting_first(h); l; l = l->next) {
		struct lmi_openai_batch *b = (struct lmi_openai_batch *)l;

		if (l->end == end && b->principal.uid == p->uid &&
		    !strcmp(b->principal.key_label, p->key_label) &&
		    !strcmp(json_string_value(json_object_get(b->o.object, "id")), id))
			return b;
	}
	return NULL;
}

void lmi_openai_batch_stop(struct lmi_openai_batch *b)
{
	if (b->phase == LMI_OPENAI_BATCH_ENDING || b->stopped || b->expired)
		return;
	b->stopped = true;
	lmi_openai_batch_set(b, "status", json_string("cancelling"));
	lmi_openai_batch_set(b, "cancelling_at", json_integer(lmi_http_server_now(b->o.h)));
	activate(b);
}
