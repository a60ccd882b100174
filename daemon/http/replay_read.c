/* SPDX-License-Identifier: MIT
 *
 * The readers of streams that are kept: exchanges that resume one after its connection was lost. */
#include "daemon/http/replay_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t first_byte(const struct lmi_http_replay *r)
{
	return r->n - (r->n < r->cap ? r->n : r->cap);
}

/* Sends what is there.  It may close the reader's connection. */
static void send_more(struct lmi_http_replay_reader *reader)
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
		lmi_http_replay_set_sent(r);
	}
}

void lmi_http_replay_send_to_all(struct lmi_http_replay *r)
{
	struct lmi_http_replay_reader *next;

	for (struct lmi_http_replay_reader *reader = r->readers; reader; reader = next) {
		next = reader->next;
		if (!reader->blocked)
			send_more(reader);
	}
}

bool lmi_http_replay_wants_more(const struct lmi_http_replay *r)
{
	const struct lmi_http_replay_reader *reader = r->readers;

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

void lmi_http_replay_wake(struct lmi_http_replay *r)
{
	if (r->x && r->x->phase == LMI_HTTP_PHASE_STREAM && lmi_http_replay_wants_more(r))
		lmi_http_later(r->x, go_on, NULL);
}

static void reader_drained(void *arg)
{
	struct lmi_http_replay_reader *reader = arg;
	struct lmi_http_replay *r = reader->replay;

	if (!r)
		return;
	send_more(reader);
	lmi_http_replay_wake(r);
}

static void reader_fini(void *arg)
{
	struct lmi_http_replay_reader *reader = arg;
	struct lmi_http_replay *r = reader->replay;
	struct lmi_http_replay_reader **p;

	if (!r)
		return;
	for (p = &r->readers; *p != reader; p = &(*p)->next)
		;
	*p = reader->next;
	lmi_http_replay_arm(r);
	lmi_http_replay_wake(r);
}

void lmi_http_replay_read(struct lmi_http_exchange *x, const char *name, uint64_t from)
{
	struct lmi_http_replay *r = lmi_http_replay_find(x, name);
	struct lmi_http_replay_reader *reader;

	if (!r) {
		lmi_http_respond_text(x, 404, "", "there is no stream of that name, or no longer");
		return;
	}
	if (r->suspended) {
		lmi_http_respond_text(
			x, 503, "Retry-After: 1\r\n",
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
	*reader = (struct lmi_http_replay_reader){
		.next = r->readers, .replay = r, .x = x, .at = from};
	r->readers = reader;
	x->fini = reader_fini;
	x->drained = reader_drained;
	x->hook_arg = reader;
	x->cancel_on_eof = true;
	lmi_http_replay_arm(r);
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
