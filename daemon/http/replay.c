/* SPDX-License-Identifier: MIT
 *
 * Keeps streams; replay_read.c sends them to those who resume them.
 *
 * The exchange that computes a stream writes to the connection of its request and to the memory
 * here.  If that connection is lost, it goes on without one.  Exchanges that resume the stream are
 * its readers: each sends what it has not sent yet.  While a stream has neither, a timer runs, at
 * whose end it is cancelled and forgotten.
 *
 * The memory grows up to the configured number of bytes and then keeps the latest ones: the byte at
 * position p is at p modulo the capacity.  An exchange without a connection is destroyed in the
 * event of its stream, because a callback of the service must not destroy it. */
#include "daemon/http/replay_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/http/generation.h"
#include "daemon/loop/loop.h"
#include "service/durable_push.h"

#define FIRST_BYTES 4096u
#define ID_BYTES    (LMI_HTTP_REPLAY_NAME + 32) /* of the line with the id of an event */

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

struct lmi_http_replay *lmi_http_replay_find(const struct lmi_http_exchange *x, const char *name)
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

void lmi_http_replay_arm(struct lmi_http_replay *r)
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

bool lmi_http_replay_info(const struct lmi_http_exchange *x, const char *name,
			  struct lmi_http_replay_info *out)
{
	const struct lmi_http_replay *r = lmi_http_replay_find(x, name);

	if (!r)
		return false;
	*out = (struct lmi_http_replay_info){.ended = r->ended,
					     .n_byte = r->n,
					     .started_ms = r->started_ms,
					     .ended_ms = r->ended_ms};
	return true;
}

/* ---- the end ---- */

void lmi_http_replay_set_sent(struct lmi_http_replay *r)
{
	r->was_sent = true;
	if (r->durable)
		event_active(r->timer, EV_READ, 0);
}

static void set_ended(struct lmi_http_replay *r)
{
	if (r->ended)
		return;
	r->ended = true;
	r->ended_ms = now_ms(r->h);
	while (r->suspended && r->readers) /* their ends would look like that of the stream */
		lmi_http_conn_close(r->readers->x->conn);
	lmi_http_replay_send_to_all(r);
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
		struct lmi_http_replay_reader *reader = r->readers;

		r->readers = reader->next;
		reader->replay = NULL;
		lmi_http_stream_end(reader->x);
	}
	event_active(r->timer, EV_READ, 0);
}

void lmi_http_replay_stop(struct lmi_http_exchange *x, const char *name)
{
	struct lmi_http_replay *r = lmi_http_replay_find(x, name);

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
		lmi_http_replay_arm(r);
	else if (!r->x)
		replay_free(r);
}

bool lmi_http_replay_detach(struct lmi_http_exchange *x)
{
	struct lmi_http_replay *r = x->replay;

	if (!r || !x->h->svc || r->forgotten || x->phase == LMI_HTTP_PHASE_DONE)
		return false;
	x->conn = NULL;
	lmi_http_replay_arm(r);
	lmi_http_replay_wake(r);
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
		lmi_http_replay_arm(r);
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

/* Writes the line with the position after an event of n bytes; returns its length. */
static size_t id_line(const struct lmi_http_replay *r, size_t n, char line[ID_BYTES])
{
	uint64_t before = r->n + strlen("id: :\n") + strlen(r->name) + n;
	char number[24];
	size_t digits = 1;

	while ((size_t)snprintf(number, sizeof(number), "%" PRIu64, before + digits) > digits)
		digits++;
	return (size_t)snprintf(line, ID_BYTES, "id: %s:%s\n", r->name, number);
}

bool lmi_http_replay_write(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	struct lmi_http_replay *r = x->replay;
	const char *p = bytes, *end = p + n;
	bool more = true;

	while (p < end) {
		const char *stop = r->with_ids ? memmem(p, (size_t)(end - p), "\n\n", 2) : NULL;
		size_t part = stop ? (size_t)(stop + 2 - p) : (size_t)(end - p);
		char line[ID_BYTES];
		const bool is_event = stop && *p != ':'; /* not a comment */
		const struct iovec parts[] = {
			{.iov_base = line, .iov_len = is_event ? id_line(r, part, line) : 0},
			{.iov_base = (void *)p, .iov_len = part}};

		append(r, line, parts[0].iov_len);
		append(r, p, part);
		if (x->conn)
			more = lmi_http_stream_send_parts(x, parts, 2);
		p += part;
	}
	lmi_http_replay_send_to_all(r);
	return x->conn ? more : lmi_http_replay_wants_more(r);
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
		lmi_http_replay_set_sent(x->replay);
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
		    (!oldest ||
		     r->ended_ms <= oldest->ended_ms)) /* the list begins with the newest */
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

static struct lmi_http_replay *create(struct lmi_http_exchange *x, const char *name,
				      const char *type)
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
	lmi_http_replay_arm(r);
	return true;
}

bool lmi_http_replay_begin(struct lmi_http_exchange *x, const char *type, bool durable)
{
	const char *name = lmi_http_header(x, "x-conversation-id");
	const char *ids = lmi_http_header(x, "x-event-ids");
	struct lmi_http_replay *r;

	if (durable && !x->h->o.resume_bytes) {
		lmi_http_reply_invalid(x, "durable",
				       "this server keeps no streams (http_resume in [limits])");
		return false;
	}
	if (!x->h->o.resume_bytes || (!name && !ids && !durable))
		return true;
	if (name && !good_name(name)) {
		lmi_http_respond_text(
			x, 400, "",
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
