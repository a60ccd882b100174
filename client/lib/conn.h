/* SPDX-License-Identifier: MIT
 *
 * conn.h - the inside of the client library: a connection, requests as structs of proto/.
 *
 * llamactl uses this level too, where the public header would turn structs into JSON and back. */
#ifndef LLAMAD_CLIENT_LIB_CONN_H
#define LLAMAD_CLIENT_LIB_CONN_H

#include <nng/nng.h>

#include "llamad/client.h"
#include "proto/proto.h"

#define LMI_CLIENT_URL 512

struct lmd_client {
	nng_socket sock;
	bool open;
	uint32_t connect_ms, call_ms;
	char url[LMI_CLIENT_URL];
	bool is_default; /* the caller named no URL */
	char version[72];
	char name[129];
	char key[LMI_LIMIT_SECRET_BYTES + 1]; /* "": none */
	bool admin;
};

/* A reply that is read, and the memory behind it. */
struct lmi_answer {
	struct lmi_reply r;
	nng_msg *msg;
	struct lmd_arena *arena;
};
/* All zero allowed. */
void lmi_answer_fini(struct lmi_answer *a);

/* Sends the request and waits for its reply, for call_ms beyond extra_ms.  A connection that
 * breaks meanwhile is made again within connect_ms and the request repeated: all requests are
 * repeatable, those that change something by their rid, which is made here if there is none.
 * On a connection that has said no hello yet (one that was made again, over TCP) hello is said
 * first.  A refusal of the server becomes the returned status and sentence.  On failure *out is
 * empty. */
enum lmd_status lmi_client_ask(struct lmd_client *c, struct lmi_request *req, uint32_t extra_ms,
			       struct lmi_answer *out, struct lmd_error *err);
/* The same for a request in bytes that begins a message of `op`. */
enum lmd_status lmi_client_ask_bytes(struct lmd_client *c, enum lmi_wire_op op, const void *p,
				     size_t n, uint32_t extra_ms, struct lmi_answer *out,
				     struct lmd_error *err);

/* An id from 2 * sizeof(id->b) hexadecimal digits; false when it is none. */
bool lmi_client_id(struct lmi_wire_id *id, const char *hex, size_t n);
/* Monotonic. */
uint64_t lmi_client_now_ms(void);

/* 32 hexadecimal digits at random, terminated. */
#define LMI_RID_SIZE 33
enum lmd_status lmi_client_rid(char out[LMI_RID_SIZE], struct lmd_error *err);

/* A stream that was started: reads from item after + 1 on.  hold_ms < 0: the server's. */
enum lmd_status lmi_stream_open(struct lmd_client *c, const struct lmi_wire_id *id, uint64_t after,
				int32_t hold_ms, struct lmd_stream **out, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_CONN_H */
