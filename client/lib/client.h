/* SPDX-License-Identifier: MIT
 *
 * client.h - internals of the client library: a client, and requests as structs of proto/.
 *
 * llamactl also uses this interface, where the public header would require a detour over JSON. */
#ifndef LLAMAD_CLIENT_LIB_CLIENT_H
#define LLAMAD_CLIENT_LIB_CLIENT_H

#include <string.h>

#include "client/lib/transport.h"
#include "llamad/client.h"
#include "proto/proto.h"

#define LMI_CLIENT_URL 512

struct lmd_client {
	struct lmi_client_transport *transport;
	char url[LMI_CLIENT_URL];
	char version[72];
	char name[129];
	char key[LMI_WIRE_LIMIT_SECRET_BYTES + 1]; /* "": none */
	bool admin;
};

/* Connects to the server at opts->url: lmd_client_open without "embedded:". */
enum lmd_status lmi_client_open_url(struct lmd_client **out, const struct lmd_client_opts *opts,
				    struct lmd_error *err);
/* Creates a client over a transport, and says hello.  Takes ownership of the transport. */
enum lmd_status lmi_client_create(struct lmd_client **out,
				  struct lmi_client_transport *own_transport, const char *url,
				  struct lmd_error *err);

/* Copy a struct of the public headers, which begins with its size, between this library and a program
 * that was compiled with an older or a newer header: the members that both know.  `to` of take has
 * `bytes` and keeps its members if `given` is NULL. */
static inline void lmi_client_struct_take(void *to, size_t bytes, const void *given)
{
	uint32_t theirs;

	if (!given)
		return;
	memcpy(&theirs, given, sizeof(theirs));
	memcpy(to, given, theirs < bytes ? theirs : bytes);
}

static inline void lmi_client_struct_give(void *out, const void *from, size_t bytes)
{
	uint32_t theirs;

	memcpy(&theirs, out, sizeof(theirs));
	memcpy(out, from, theirs < bytes ? theirs : bytes);
}

/* A decoded reply and its memory. */
struct lmi_client_answer {
	struct lmi_wire_reply r;
	struct lmi_client_message msg;
	struct lmd_arena *arena;
};
/* A zeroed struct is allowed. */
void lmi_client_reply_fini(struct lmi_client_answer *a);

/* Sends the request and waits for its reply.  A request that is not idempotent gets a rid if it has
 * none, since a transport may repeat it.  After a reconnect over TCP, sends hello first.  An error of the server becomes the
 * returned status and error message.  On failure *out is empty. */
enum lmd_status lmi_client_exchange(struct lmd_client *c, struct lmi_wire_request *req,
				    uint32_t extra_ms, struct lmi_client_answer *out,
				    struct lmd_error *err);
/* Like lmi_client_exchange, for an encoded request of `op`. */
enum lmd_status lmi_client_exchange_bytes(struct lmd_client *c, enum lmi_wire_op op, const void *p,
					  size_t n, uint32_t extra_ms,
					  struct lmi_client_answer *out, struct lmd_error *err);

/* Parses an id of 2 * sizeof(id->b) hexadecimal digits; returns false if it is not one. */
bool lmi_client_id(struct lmi_wire_id *id, const char *hex, size_t n);
/* Returns the monotonic time in ms. */
uint64_t lmi_client_now_ms(void);

/* Writes 32 random hexadecimal digits and a terminating zero. */
#define LMI_CLIENT_IDEMPOTENCY_KEY_SIZE 33
enum lmd_status lmi_client_idempotency_key(char out[LMI_CLIENT_IDEMPOTENCY_KEY_SIZE],
					   struct lmd_error *err);

/* Opens a stream for reading from item after + 1 on.  hold_ms < 0: the server's default. */
enum lmd_status lmi_client_stream_open(struct lmd_client *c, const struct lmi_wire_id *id,
				       uint64_t after, int32_t hold_ms, struct lmd_stream **out,
				       struct lmd_error *err);
/* The stream is durable: while the server is away or is being stopped, lmd_stream_next asks again,
 * for at most this time after its last answer. */
#define LMI_CLIENT_PATIENCE_MS 60000u
void lmi_client_stream_be_patient(struct lmd_stream *s, uint32_t ms);

#endif /* LLAMAD_CLIENT_LIB_CLIENT_H */
