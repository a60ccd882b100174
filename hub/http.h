/* SPDX-License-Identifier: MIT
 *
 * http.h - requests of the hub, on libcurl. */
#ifndef LLAMAD_HUB_HTTP_H
#define LLAMAD_HUB_HTTP_H

#include <stddef.h>

#include "core/base/file.h"
#include "hub/hub.h"

#define LMI_HUB_URL_MAX  4096
#define LMI_HUB_BODY_MAX (16u << 20) /* bytes of a reply that is kept in memory */

struct lmi_hub_reply;

/* What a request sends: n bytes from memory or from a file.  A request with a body does not follow
 * redirects. */
struct lmi_hub_body {
	const char *method;
	const char *type;            /* Content-Type; NULL: none */
	const char *range;           /* Content-Range; NULL: none */
	const struct lmi_file *file; /* NULL: from memory */
	uint64_t at;                 /* where the bytes begin in the file */
	const void *bytes;
	uint64_t n;
	unsigned silence_s; /* how long the server may take to answer; 0: the usual */
	void (*sent)(void *arg, uint64_t n); /* bytes of this body that were sent; NULL: nobody asks */
	void *arg;
};

struct lmi_hub_request {
	const char *url;
	const char *bearer; /* sent as Authorization to the host of the URL alone; NULL: none */
	/* the whole value of Authorization instead of a bearer token; NULL or "": none */
	const char *authorization;
	const char *accept; /* NULL: everything */
	bool head;          /* HEAD */
	uint64_t from;      /* first byte; 0: all of it */
	const char *etag;   /* with from: the whole file instead if it has changed; NULL: unknown */
	const struct lmi_hub_body *body; /* POST, PATCH or PUT; NULL: GET or HEAD */
	/* Receives the body of a reply 200 or 206; NULL: it is kept.  Anything but LMD_OK ends the
	 * transfer with that status. */
	enum lmd_status (*sink)(void *arg, const struct lmi_hub_reply *r, const void *data,
				size_t n, struct lmd_error *err);
	void *arg;
};

struct lmi_hub_reply {
	long code;
	char *body; /* of n bytes and a zero; NULL with head, a sink or nothing */
	size_t n;
	char etag[160];         /* with its quotes; "": none */
	uint64_t size;          /* of the whole file; 0: unknown */
	uint64_t from;          /* first byte of a partial reply */
	char next[1024];        /* URL of the next page; "": this was the last */
	char challenge[512];    /* WWW-Authenticate */
	unsigned retry_after_s; /* 0: not said */
	char location[2048];    /* absolute; "": none */
	uint64_t range_end;     /* of "Range: 0-END" in a reply about an upload */
	bool has_range;
	uint64_t chunk_min; /* OCI-Chunk-Min-Length */
};

/* Performs a request, following redirects.  LMD_OK: there was a reply, whatever its code.  LMD_IO:
 * the network, with the reason; LMD_CANCELLED; LMD_NOMEM; or the status of the sink. */
enum lmd_status lmi_hub_request(struct lmi_hub_reply *out, const struct lmi_hub_request *q,
				const struct lmi_hub_opts *o, struct lmd_error *err);
void lmi_hub_reply_fini(struct lmi_hub_reply *r);

/* As lmi_hub_request; tries again after errors that may pass, and fails unless the code is 200, or
 * 401 if a challenge came with it and `challenge` is set. */
enum lmd_status lmi_hub_get(struct lmi_hub_reply *out, const struct lmi_hub_request *q,
			    const struct lmi_hub_opts *o, bool challenge, struct lmd_error *err);

/* Whether another try may succeed. */
bool lmi_hub_may_pass(enum lmd_status st, long code);
/* Waits before try number `n` (1 = the second one), or as long as the server said, at most a
 * minute.  Returns false if the thread is cancelled. */
bool lmi_hub_wait(unsigned n, unsigned retry_after_s);

/* The error of a code other than 200 and 206. */
enum lmd_status lmi_hub_code_error(const struct lmi_hub_request *q, const struct lmi_hub_reply *r,
				   struct lmd_error *err);

#endif /* LLAMAD_HUB_HTTP_H */
