/* SPDX-License-Identifier: MIT
 *
 * Keeps streams.
 *
 * The exchange that computes a stream writes to the connection of its request and to the memory
 * here.  If that connection is lost, it goes on without one.  Exchanges that resume the stream are
 * its readers: each sends what it has not sent yet.  While a stream has neither, a timer runs, at
 * whose end it is cancelled and forgotten.
 *
 * The memory grows up to the configured number of bytes and then keeps the latest ones: the byte at
 * position p is at p modulo the capacity.  An exchange without a connection is destroyed in the
 * event of its stream, because a callback of the service must not destroy it. */
#include "daemon/http/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/generation.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"
#include "service/durable_push.h"

#define FIRST_BYTES 4096u

struct reader {
	struct reader *next;
	struct lmi_http_replay *replay; /* NULL: it is forgotten */
	struct lmi_http_exchange *x;
	uint64_t at;
	bool blocked; /* its client reads too slowly */
};

struct lmi_http_replay {
	struct lmi_http_replay *next;
	struct lmi_http_server *h;
	char name[LMI_HTTP_REPLAY_NAME + 1];
	struct lmi_svc_principal owner;
	const char *type;            /* of the stream */
	struct lmi_http_exchange *x; /* computes it; NULL: has been freed */
	struct reader *readers;
	struct event *timer;
	char *ring; /* [cap] */
	uint64_t cap, n; /* n: bytes so far */
	bool with_ids;  /* events have ids */
	/* of a durable stream */
	bool durable;
	bool has_id;    /* the service has accepted it */
	bool suspended; /* it goes on at the next start */
	bool was_sent;  /* a client was sent all of it */
	bool was_read;  /* and the service knows that */
	struct lmi_wire_id id;
	bool ended;     /* no more bytes come */
	bool nomem;     /* later bytes are not in memory */
	bool forgotten; /* freed as soon as x is */
	int64_t started_ms, ended_ms;
};

static int64_t now_ms(struct lmi_http_server *h)
{
	return h->o.ops.wall_ns(h->o.arg) / 1000000;
}

/* ---- who owns what ---- */

static bool owns(const struct lmi_http_replay *r, const struct lmi_svc_principal *p)
{
	bool same_key = !strcmp(r->owner.key_label, p->key_label);

	/* a key is the same owner on every listener */
	return !r->forgotten && same_key && (*p->key_label || r->owner.uid == p->uid);
}

static struct lmi_http_replay *find(const struct lmi_http_exchange *x, const char *name)
{
	struct lmi_http_replay *r = x->h->replays;

	while (r && !(owns(r, &x->principal) && !strcmp(r->name, name)))
		r = r->next;
	return r;
}

/* ---- time ---- */

static bool is_read(const struct lmi_http_replay *r)
{
	return r->readers || (r->x && r->x->conn);
}

/* Starts or stops the timer. */
static void arm(struct lmi_http_replay *r)
{
	const uint64_t ms = r->durable && !r->was_sent ? r->h->o.durable_ms : r->h->o.resume_ms;
	const struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
				   .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	if (is_read(r))
		(void)event_del(r->timer);
	else
		(void)event_add(r->timer, &tv);
}

static void replay_free(struct lmi_http_replay *r)
{
	struct lmi_http_replay **p = &r->h->replays;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	event_free(r->timer);
	lmi_free(r->ring);
	lmi_free(r);
}

/* ---- readers ---- */

static uint64_t first_byte(const struct lmi_http_replay *r)
{
	return r->n - (r->n < r->cap ? r->n : r->cap);
}

/* A client was sent all of the stream: the service is told outside its callbacks. */
static void set_sent(struct lmi_http_replay *r)
{
	r->was_sent = true;
	if (r->durable)
		event_active(r->timer, EV_READ, 0);
}

/* Sends what is there.  It may close the reader's connection. */
static void send_more(struct reader *reader)
{
	struct lmi_http_replay *r = reader->replay;

	reader->blocked = false;
	if (reader->at < first_byte(r) || (r->nomem && reader->at == r->n)) {
		lmi_http_conn_close(reader->x->conn); /* what it needs is lost */
		return;
	}
	while (reader->at < r->n && !reader->blocked) {
		uint64_t at = reader->at % r->cap, n = r->n - reader->at;

		n = n < r->cap - at ? n : r->cap - at;
		n = n < LMI_HTTP_OUT_LOW ? n : LMI_HTTP_OUT_LOW;
		reader->at += n;
		reader->blocked = !lmi_http_stream_write(reader->x, r->ring + at, n);
	}
	if (r->ended && reader->at == r->n) {
		lmi_http_stream_end(reader->x);
		set_sent(r);
	}
}

static void send_to_all(struct lmi_http_replay *r)
{
	struct reader *next;

	for (struct reader *reader = r->readers; reader; reader = next) {
		next = reader->next;
		if (!reader->blocked)
			send_more(reader);
	}
}

/* Returns false if the generation should wait: it has readers, and all read too slowly. */
static bool wants_more(const struct lmi_http_replay *r)
{
	const struct reader *reader = r->readers;

	while (reader && reader->blocked)
		reader = reader->next;
	return reader || !r->readers;
}

static void go_on(struct lmi_http_exchange *x, void *arg)
{
	(void)arg;
	if (x->phase == LMI_HTTP_PHASE_STREAM && x->drained)
		x->drained(x->hook_arg);
}

/* Lets the generation go on, after fewer wait. */
static void wake(struct lmi_http_replay *r)
{
	if (r->x && r->x->phase == LMI_HTTP_PHASE_STREAM && wants_more(r))
		lmi_http_later(r->x, go_on, NULL);
}

static void reader_drained(void *arg)
{
	struct reader *reader = arg;
	struct lmi_http_replay *r = reader->replay;

	if (!r)
		return;
	send_more(reader);
	wake(r);
}

static void reader_fini(void *arg)
{
	struct reader *reader = arg;
	struct lmi_http_replay *r = reader->replay;
	struct reader **p;

	if (!r)
		return;
	for (p = &r->readers; *p != reader; p = &(*p)->next)
		;
	*p = reader->next;
	arm(r);
	wake(r);
}

void lmi_http_replay_read(struct lmi_http_exchange *x, const char *name, uint64_t from)
{
	struct lmi_http_replay *r = find(x, name);
	struct reader *reader;

	if (!r) {
		lmi_http_respond_text(x, 404, "", "there is no stream of that name, or no longer");
		return;
	}
	if (r->suspended) {
		lmi_http_respond_text(x, 503, "Retry-After: 1\r\n",
				      "llamad is being stopped; the stream goes on at its next start: ask "
				      "again for the same position");
		return;
	}
	if (from > r->n || from < first_byte(r) || r->nomem) {
		lmi_http_respond_text(x, from > r->n ? 400 : 410, "",
				      "from: the stream has bytes %" PRIu64 " to %" PRIu64
				      " in memory, not %" PRIu64,
				      first_byte(r), r->n, from);
		return;
	}
	reader = lmi_arena_alloc(x->arena, sizeof(*reader), 8);
	if (!reader) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	*reader = (struct reader){.next = r->readers, .replay = r, .x = x, .at = from};
	r->readers = reader;
	x->fini = reader_fini;
	x->drained = reader_drained;
	x->hook_arg = reader;
	x->cancel_on_eof = true;
	arm(r);
	lmi_http_stream_begin(x, r->type);
	send_more(reader);
}

bool lmi_http_replay_resume(struct lmi_http_exchange *x)
{
	const char *id = lmi_http_header(x, "last-event-id");
	const char *colon = id ? strrchr(id, ':') : NULL, *name;
	char *end;
	uint64_t from;

	if (!id)
		return false;
	from = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoull(colon + 1, &end, 10) : 0;
	if (!from || *end) {
		lmi_http_respond_text(x, 400, "", "Last-Event-ID: is not an id of an event");
		return true;
	}
	name = lmi_arena_strndup(x->arena, id, (size_t)(colon - id));
	if (name)
		lmi_http_replay_read(x, name, from);
	else
		lmi_http_respond_text(x, 503, "", "out of memory");
	return true;
}

bool lmi_http_replay_info(const struct lmi_http_exchange *x, const char *name,
			  struct lmi_http_replay_info *out)
{
	const struct lmi_http_replay *r = find(x, name);

	if (!r)
		return false;
	*out = (struct lmi_http_replay_info){.ended = r->ended,
					     .n_byte = r->n,
					     .started_ms = r->started_ms,
					     .ended_ms = r->ended_ms};
	return true;
}

/* ---- the end ---- */

static void set_ended(struct lmi_http_replay *r)
{
	if (r->ended)
		return;
	r->ended = true;
	r->ended_ms = now_ms(r->h);
	while (r->suspended && r->readers) /* their ends would look like that of the stream */
		lmi_http_conn_close(r->readers->x->conn);
	send_to_all(r);
}

/* The stream is not wanted any more. */
static void cancel(struct lmi_http_replay *r)
{
	if (r->has_id && r->h->svc && r->ended && !r->suspended)
		lmi_service_durable_cancel(r->h->svc, lmi_loop_now(), &r->owner, &r->id);
}

static void forget(struct lmi_http_replay *r)
{
	struct lmi_http_exchange *x = r->x;

	r->forgotten = true;
	if (x && x->phase == LMI_HTTP_PHASE_STREAM)
		lmi_http_stream_end(x);
	else if (x && x->phase == LMI_HTTP_PHASE_PENDING)
		lmi_http_respond_text(x, 409, "", "the stream was stopped");
	set_ended(r);
	while (r->readers) {
		struct reader *reader = r->readers;

		r->readers = reader->next;
		reader->replay = NULL;
		lmi_http_stream_end(reader->x);
	}
	event_active(r->timer, EV_READ, 0);
}

void lmi_http_replay_stop(struct lmi_http_exchange *x, const char *name)
{
	struct lmi_http_replay *r = find(x, name);

	if (!r)
		return;
	cancel(r);
	forget(r);
}

void lmi_http_replay_revoke(struct lmi_http_server *h, const char *label)
{
	for (struct lmi_http_replay *r = h->replays; r; r = r->next)
		if (!r->forgotten && !strcmp(r->owner.key_label, label))
			forget(r);
}

/* Ends the exchange if it is of no use any more.  EV_TIMEOUT: nobody has read for too long. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_replay *r = arg;

	(void)fd;
	if (r->was_sent && r->has_id && !r->was_read && r->h->svc) {
		r->was_read = true;
		lmi_service_durable_set_read(r->h->svc, lmi_loop_now(), &r->owner, &r->id);
	}
	r->forgotten |= (what & EV_TIMEOUT) && !is_read(r);
	if (r->x && !r->x->conn && (r->forgotten || r->x->phase == LMI_HTTP_PHASE_DONE))
		lmi_http_exchange_destroy(r->x);
	if (!r->forgotten)
		arm(r);
	else if (!r->x)
		replay_free(r);
}

bool lmi_http_replay_detach(struct lmi_http_exchange *x)
{
	struct lmi_http_replay *r = x->replay;

	if (!r || !x->h->svc || r->forgotten || x->phase == LMI_HTTP_PHASE_DONE)
		return false;
	x->conn = NULL;
	arm(r);
	wake(r);
	return true;
}

void lmi_http_replay_answered(struct lmi_http_exchange *x)
{
	event_active(x->replay->timer, EV_READ, 0);
}

void lmi_http_replay_release(struct lmi_http_exchange *x)
{
	struct lmi_http_replay *r = x->replay;

	if (!r)
		return;
	r->x = NULL;
	set_ended(r);
	r->forgotten |= r->durable && !r->has_id; /* the request was refused */
	if (r->forgotten)
		event_active(r->timer, EV_READ, 0);
	else
		arm(r);
}

void lmi_http_replay_close(struct lmi_http_server *h)
{
	while (h->replays) {
		h->replays->suspended = h->replays->durable;
		if (h->replays->x)
			lmi_http_exchange_destroy(h->replays->x);
		replay_free(h->replays);
	}
}

/* ---- writing ---- */

/* Makes room for n more bytes, until the memory has its maximum. */
static void reserve(struct lmi_http_replay *r, uint64_t n)
{
	const uint64_t max = r->h->o.resume_bytes;
	uint64_t cap = r->cap ? r->cap : FIRST_BYTES;
	char *p;

	if (r->nomem || r->cap == max || r->n + n <= r->cap)
		return;
	while (cap < r->n + n && cap < max)
		cap *= 2;
	cap = cap < max ? cap : max;
	p = lmi_realloc(r->ring, cap, 1);
	r->nomem = !p;
	if (!p)
		return;
	r->ring = p;
	r->cap = cap;
}

static void append(struct lmi_http_replay *r, const char *bytes, uint64_t n)
{
	reserve(r, n);
	if (r->nomem)
		return;
	while (n) {
		uint64_t at = r->n % r->cap, part = n < r->cap - at ? n : r->cap - at;

		memcpy(r->ring + at, bytes, part);
		r->n += part;
		bytes += part;
		n -= part;
	}
}

static bool put(struct lmi_http_replay *r, const char *bytes, size_t n)
{
	append(r, bytes, n);
	return !r->x->conn || lmi_http_stream_send(r->x, bytes, n);
}

/* Writes the line with the position after an event of n bytes. */
static void put_id(struct lmi_http_replay *r, size_t n)
{
	char line[LMI_HTTP_REPLAY_NAME + 32], number[24];
	uint64_t before = r->n + strlen("id: :\n") + strlen(r->name) + n;
	size_t digits = 1;

	while ((size_t)snprintf(number, sizeof(number), "%" PRIu64, before + digits) > digits)
		digits++;
	n = (size_t)snprintf(line, sizeof(line), "id: %s:%s\n", r->name, number);
	(void)put(r, line, n);
}

bool lmi_http_replay_write(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	struct lmi_http_replay *r = x->replay;
	const char *p = bytes, *end = p + n;
	bool more = true;

	while (p < end) {
		const char *stop = r->with_ids ? memmem(p, (size_t)(end - p), "\n\n", 2) : NULL;
		size_t part = stop ? (size_t)(stop + 2 - p) : (size_t)(end - p);

		if (stop && *p != ':') /* not a comment */
			put_id(r, part);
		more = put(r, p, part);
		p += part;
	}
	send_to_all(r);
	return x->conn ? more : wants_more(r);
}

void lmi_http_replay_error(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	append(x->replay, "data: ", 6);
	append(x->replay, bytes, n);
	append(x->replay, "\n\n", 2);
	set_ended(x->replay);
}

void lmi_http_replay_end(struct lmi_http_exchange *x)
{
	set_ended(x->replay);
	if (x->conn)
		set_sent(x->replay);
}

void lmi_http_replay_comment(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	if (x->replay && x->replay->durable && x->conn)
		(void)lmi_http_stream_send(x, bytes, n);
	else if (!x->replay || !x->replay->durable)
		(void)lmi_http_stream_write(x, bytes, n);
}

void lmi_http_replay_set_id(struct lmi_http_exchange *x, const struct lmi_wire_id *id)
{
	x->replay->id = *id;
	x->replay->has_id = true;
}

const char *lmi_http_replay_name(const struct lmi_http_exchange *x)
{
	return x->replay ? x->replay->name : NULL;
}

void lmi_http_replay_suspend(struct lmi_http_exchange *x)
{
	struct lmi_http_replay *r = x->replay;

	r->suspended = true;
	if (x->conn) /* may end the exchange */
		lmi_http_conn_close(x->conn);
	set_ended(r);
}

/* ---- the beginning ---- */

static bool good_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return n && n <= LMI_HTTP_REPLAY_NAME;
}

/* Makes a place for another stream of the owner: the one that ended first makes way.  Returns false
 * if all of them still are computed or read. */
static bool make_place(struct lmi_http_exchange *x)
{
	struct lmi_http_replay *oldest = NULL;
	uint32_t n = 0, n_all = 0;

	for (struct lmi_http_replay *r = x->h->replays; r; r = r->next) {
		n_all++;
		if (!owns(r, &x->principal))
			continue;
		n++;
		if (r->ended && !r->suspended && !is_read(r) &&
		    (!oldest || r->ended_ms <= oldest->ended_ms)) /* the list begins with the newest */
			oldest = r;
	}
	if (n < x->h->o.resume_number && n_all < LMI_HTTP_REPLAY_MAX)
		return true;
	if (oldest) {
		cancel(oldest);
		forget(oldest);
	}
	return oldest != NULL;
}

static struct lmi_http_replay *create(struct lmi_http_exchange *x, const char *name, const char *type)
{
	struct lmi_http_replay *r = lmi_alloc(1, sizeof(*r));

	if (r)
		r->timer = event_new(x->h->o.base, -1, 0, on_timer, r);
	if (!r || !r->timer || (!name && !lmi_http_make_id(r->name))) {
		if (r && r->timer)
			event_free(r->timer);
		lmi_free(r);
		return NULL;
	}
	if (name)
		(void)snprintf(r->name, sizeof(r->name), "%s", name);
	r->h = x->h;
	r->x = x;
	r->owner = x->principal;
	r->type = type;
	r->started_ms = now_ms(x->h);
	r->next = x->h->replays;
	x->h->replays = r;
	x->replay = r;
	return r;
}

bool lmi_http_replay_begin_again(struct lmi_http_exchange *x, const char *type)
{
	struct lmi_http_replay *r = create(x, x->again->name, type);

	if (!r)
		return false;
	r->durable = r->with_ids = r->has_id = true;
	r->was_sent = r->was_read = x->again->was_read;
	r->id = x->again->stream;
	arm(r);
	return true;
}

bool lmi_http_replay_begin(struct lmi_http_exchange *x, const char *type, bool durable)
{
	const char *name = lmi_http_header(x, "x-conversation-id");
	const char *ids = lmi_http_header(x, "x-event-ids");
	struct lmi_http_replay *r;

	if (durable && !x->h->o.resume_bytes) {
		lmi_http_reply_invalid(x, "durable", "this server keeps no streams (http_resume in [limits])");
		return false;
	}
	if (!x->h->o.resume_bytes || (!name && !ids && !durable))
		return true;
	if (name && !good_name(name)) {
		lmi_http_respond_text(x, 400, "",
				      "X-Conversation-Id: must have 1 to %u printable characters of "
				      "ASCII without spaces",
				      LMI_HTTP_REPLAY_NAME);
		return false;
	}
	if (name)
		lmi_http_replay_stop(x, name);
	if (!make_place(x)) {
		lmi_http_respond_text(x, 429, "Retry-After: 1\r\n",
				      "%u streams are kept for resuming, the maximum of "
				      "limits.http_resume_number",
				      x->h->o.resume_number);
		return false;
	}
	r = create(x, name, type);
	if (!r) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return false;
	}
	r->durable = durable;
	r->with_ids = (ids || durable) && !strcmp(type, "text/event-stream");
	return true;
}

void lmi_http_replay_fields(const struct lmi_http_exchange *x, char *out, size_t n)
{
	const struct lmi_http_replay *r = x->replay;

	*out = 0;
	if (r)
		(void)snprintf(out, n, "X-Conversation-Id: %s\r\n", r->name);
}
