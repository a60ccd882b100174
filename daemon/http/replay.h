/* SPDX-License-Identifier: MIT
 *
 * replay.h - streams that a client can resume after its connection was lost.
 *
 * A request with the header X-Conversation-Id or X-Event-Ids has its stream kept: the latest bytes
 * stay in memory, and the generation goes on without a connection for a configured time.  A position
 * in a stream is the number of bytes before it; lost bytes are those that no longer are in memory.
 * Only the owner, which is a key or a user, sees a stream.  All functions belong to the loop's
 * thread. */
#ifndef LLAMAD_DAEMON_HTTP_REPLAY_H
#define LLAMAD_DAEMON_HTTP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_http_exchange;

/* Maximum length of a stream's name, and number of streams of all owners. */
#define LMI_HTTP_REPLAY_NAME 128u
#define LMI_HTTP_REPLAY_MAX  256u

/* What is known of a stream. */
struct lmi_http_replay_info {
	bool ended;
	uint64_t n_byte;               /* so far */
	int64_t started_ms, ended_ms;  /* since 1970; 0: not yet */
};

/* Returns whether the owner of the exchange has a stream of that name. */
bool lmi_http_replay_info(const struct lmi_http_exchange *x, const char *name,
			  struct lmi_http_replay_info *out);
/* Responds with the bytes of a stream from a position, now and as they come; or with 404 if there is
 * no such stream, 410 if bytes after that position are lost, or 400 if it has not come so far. */
void lmi_http_replay_read(struct lmi_http_exchange *x, const char *name, uint64_t from);
/* Responds like lmi_http_replay_read() if the request has the header Last-Event-ID.  Returns false
 * if it has not. */
bool lmi_http_replay_resume(struct lmi_http_exchange *x);
/* Cancels the stream, if there is one, and forgets it. */
void lmi_http_replay_stop(struct lmi_http_exchange *x, const char *name);

#endif /* LLAMAD_DAEMON_HTTP_REPLAY_H */
