/* SPDX-License-Identifier: MIT
 *
 * Durable streams of HTTP.
 *
 * The service keeps the items of a durable stream (service/durable.h).  The bytes of a response follow
 * from them, from the body of its request, and from a few words that were chosen for it: all of these
 * are the note that goes with the request.  After a restart the request is handled once more, without
 * a connection, from the first item on: the form writes the same bytes again, into the memory that
 * clients resume from (replay.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "daemon/http/generation.h"
#include "daemon/http/http_impl.h"
#include "daemon/http/replay.h"
#include "service/durable_push.h"

#define NOTE_VERSION 1u
#define WORDS	5u /* name, id, path, model and time; the rest is the body */

static void put_word(char **at, const char *s)
{
	uint32_t n = (uint32_t)strlen(s);

	lmi_put_le32((uint8_t *)*at, n);
	memcpy(*at + 4, s, n);
	*at += 4 + n;
}

bool lmi_http_durable_note(struct lmi_http_exchange *x, const char *id, const char *model,
			   struct lmd_str *out)
{
	char created[24];
	const char *const words[WORDS] = {lmi_http_replay_name(x), id, x->path, model ? model : "",
					  created};
	size_t n = 4 + 4 * WORDS + x->n_body;
	char *p, *at;

	(void)snprintf(created, sizeof(created), "%" PRId64, x->created);
	for (uint32_t i = 0; i < WORDS; i++)
		n += strlen(words[i]);
	p = at = lmi_arena_alloc(x->arena, n, 1);
	if (!p)
		return false;
	lmi_put_le32((uint8_t *)at, NOTE_VERSION);
	at += 4;
	for (uint32_t i = 0; i < WORDS; i++)
		put_word(&at, words[i]);
	if (x->n_body)
		memcpy(at, x->body, x->n_body);
	*out = (struct lmd_str){.ptr = p, .len = n};
	return true;
}

/* Reads a note; words: [WORDS + 1], the last one is the body. */
static bool parse(const struct lmd_str *note, struct lmd_str *words)
{
	const char *p = note->ptr, *end = p + note->len;

	if (end - p < 4 || lmi_get_le32((const uint8_t *)p) != NOTE_VERSION)
		return false;
	p += 4;
	for (uint32_t i = 0; i < WORDS; i++) {
		uint32_t n;

		if (end - p < 4)
			return false;
		n = lmi_get_le32((const uint8_t *)p);
		p += 4;
		if ((size_t)(end - p) < n)
			return false;
		words[i] = (struct lmd_str){.ptr = p, .len = n};
		p += n;
	}
	words[WORDS] = (struct lmd_str){.ptr = p, .len = (size_t)(end - p)};
	return words[0].len && words[0].len <= LMI_HTTP_REPLAY_NAME;
}

/* The streams are listed first, because handling a request calls the service. */
struct list {
	struct lmi_http_server *h;
	struct lmi_http_exchange *first;
};

static void take(void *arg, const struct lmi_svc_durable_note *n)
{
	struct list *l = arg;
	struct lmd_str w[WORDS + 1];
	struct lmi_http_exchange *x;
	struct lmi_http_again *a;
	const char *created;

	if (!parse(&n->note, w)) {
		LMI_HTTP_LOG(l->h, LMD_LOG_WARN,
			     "a durable stream cannot be resumed over HTTP: its note is of another "
			     "version of llamad");
		return;
	}
	x = lmi_http_exchange_create_again(l->h, n->owner, &w[2], &w[WORDS]);
	a = x ? lmi_arena_alloc(x->arena, sizeof(*a), 8) : NULL;
	if (a) {
		*a = (struct lmi_http_again){.stream = n->id,
					     .seed = n->seed,
					     .was_read = n->was_read,
					     .name = lmi_arena_strndup(x->arena, w[0].ptr, w[0].len),
					     .id = lmi_arena_strndup(x->arena, w[1].ptr, w[1].len),
					     .model = lmi_arena_strndup(x->arena, w[3].ptr, w[3].len)};
		created = lmi_arena_strndup(x->arena, w[4].ptr, w[4].len);
		a->created = created ? strtoll(created, NULL, 10) : 0;
	}
	if (!a || !a->name || !a->id || !a->model) {
		LMI_HTTP_LOG(l->h, LMD_LOG_WARN, "no memory to resume a durable stream over HTTP");
		if (x)
			lmi_http_exchange_destroy(x);
		return;
	}
	x->again = a;
	x->next_turn = l->first;
	l->first = x;
}

void lmi_http_durable_recover(struct lmi_http_server *h)
{
	struct list l = {.h = h};

	if (!h->svc)
		return;
	lmi_service_durable_each(h->svc, take, &l);
	lmi_service_durable_forget_notes(h->svc);
	while (l.first) {
		struct lmi_http_exchange *x = l.first;

		l.first = x->next_turn;
		x->next_turn = NULL;
		lmi_http_exchange_run(x);
		if (!x->replay) /* the request is refused now */
			lmi_http_exchange_destroy(x);
	}
}
