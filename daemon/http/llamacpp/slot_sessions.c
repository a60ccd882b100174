/* SPDX-License-Identifier: MIT
 *
 * POST /slots/{id}: saves, restores and erases what a slot has computed.  Here a slot is the session
 * `slot-ID`, which requests with `id_slot` continue (docs/sessions.md), and a file is a session, too:
 * saving and restoring copy one to the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/loop/loop.h"

enum action { SAVE, RESTORE, ERASE };

struct work {
	struct lmi_http_exchange *x;
	enum action action;
	int64_t slot;
	struct lmd_str session; /* of the slot */
	const char *file;
	uint64_t begun_ns;
	int64_t n_erased;
	struct lmi_wire_request req;
};

static void put_answer(const struct work *w, const struct lmi_wire_reply *reply)
{
	static const struct {
		const char *tokens, *bytes, *time;
	} names[] = {{"n_saved", "n_written", "save_ms"}, {"n_restored", "n_read", "restore_ms"}};
	struct lmi_json_text j = {0};

	lmi_json_text_object(&j);
	lmi_http_json_put_int(&j, "id_slot", w->slot);
	if (w->action == ERASE) {
		lmi_http_json_put_int(&j, "n_erased", w->n_erased);
	} else {
		lmi_http_json_put_text(&j, "filename", w->file);
		lmi_http_json_put_int(&j, names[w->action].tokens, reply->u.session_fork.n_tokens);
		lmi_http_json_put_int(&j, names[w->action].bytes, reply->u.session_fork.bytes);
		lmi_json_text_key(&j, "timings");
		lmi_json_text_object(&j);
		lmi_http_json_put_real(&j, names[w->action].time,
				       (double)(lmi_loop_now() - w->begun_ns) / 1e6);
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_http_reply(w->x, 200, &j);
}

static void done(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		 uint32_t retry_ms)
{
	const struct work *w = arg;

	if (reply)
		put_answer(w, reply);
	else
		lmi_http_reply_status(w->x, err, retry_ms);
}

/* Erases the session after it was looked up, because the answer says how much it had. */
static void found(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	struct work *w = arg;

	if (!reply) {
		lmi_http_reply_status(w->x, err, retry_ms);
		return;
	}
	for (uint32_t i = 0; i < reply->u.sessions.n_sessions; i++) {
		const struct lmi_wire_session *s = &reply->u.sessions.sessions[i];

		if (s->name.len == w->session.len &&
		    !memcmp(s->name.ptr, w->session.ptr, w->session.len))
			w->n_erased = s->n_tokens;
	}
	lmi_wire_request_init(&w->req, LMI_WIRE_OP_SESSION_RM);
	w->req.u.session_rm.name = w->session;
	lmi_http_call(w->x, &w->req, done, w);
}

static bool read_action(struct lmi_http_exchange *x, enum action *out)
{
	static const char *const words[] = {"save", "restore", "erase"};
	const char *word = lmi_http_query(x, "action");

	for (size_t i = 0; word && i < LMD_LEN(words); i++)
		if (!strcmp(word, words[i])) {
			*out = (enum action)i;
			return true;
		}
	lmi_http_reply_invalid(x, "action", "must be save, restore or erase");
	return false;
}

static bool read_slot(struct lmi_http_exchange *x, int64_t *out)
{
	const char *id = lmi_http_path_member(x, "id");
	char *end;

	*out = strtol(id, &end, 10);
	if (*id >= '0' && *id <= '9' && !*end && *out <= LMI_HTTP_SLOT_MAX)
		return true;
	lmi_http_reply_invalid(x, "id_slot", "must be a number from 0 to %d", LMI_HTTP_SLOT_MAX);
	return false;
}

/* The file's name, which op session_fork checks; NULL after a response. */
static const char *read_file(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x);
	const json_t *v = body ? json_object_get(body, "filename") : NULL;

	if (body && !json_is_string(v))
		lmi_http_reply_invalid(x, "filename", "must be the name of a file");
	return json_string_value(v);
}

void lmi_llamacpp_slot_action(struct lmi_http_exchange *x)
{
	struct lmd_arena *arena = lmi_http_arena(x);
	struct work *w = lmi_arena_alloc(arena, sizeof(*w), 8);
	char *session;

	if (!w || !(session = lmi_arena_alloc(arena, LMI_HTTP_SLOT_NAME, 1))) {
		lmi_http_reply_text(x, 503, NULL, NULL, 0);
		return;
	}
	*w = (struct work){.x = x, .begun_ns = lmi_loop_now()};
	if (!read_slot(x, &w->slot) || !read_action(x, &w->action) ||
	    (w->action != ERASE && !(w->file = read_file(x))))
		return;
	(void)snprintf(session, LMI_HTTP_SLOT_NAME, "slot-%d", (int)w->slot);
	w->session = lmi_http_str(session);
	if (w->action == ERASE) {
		lmi_wire_request_init(&w->req, LMI_WIRE_OP_SESSIONS);
		lmi_http_call(x, &w->req, found, w);
		return;
	}
	lmi_wire_request_init(&w->req, LMI_WIRE_OP_SESSION_FORK);
	w->req.u.session_fork.name = w->action == SAVE ? w->session : lmi_http_str(w->file);
	w->req.u.session_fork.to = w->action == SAVE ? lmi_http_str(w->file) : w->session;
	lmi_http_call(x, &w->req, done, w);
}
