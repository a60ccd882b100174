/* SPDX-License-Identifier: MIT
 *
 * batch_http.h - sends many requests to an HTTP server, a number of them at a time. */
#ifndef LLAMAD_LLAMACTL_BATCH_HTTP_H
#define LLAMAD_LLAMACTL_BATCH_HTTP_H

#include "client/llamactl/batch_output.h"

#define LMI_CTL_BATCH_PARALLEL	     256
#define LMI_CTL_BATCH_RETRIES	     100
#define LMI_CTL_BATCH_RESPONSE_BYTES (64u << 20)
/* A server that asks for a longer pause is asked again after this one. */
#define LMI_CTL_BATCH_WAIT_MS 3600000

struct lmi_ctl_batch_http {
	const char *url;     /* http://HOST:PORT, https://..., or unix:/PATH; /v1 at its end is ignored */
	const char *key;     /* sent as Authorization: Bearer; NULL: none */
	const char *ca_file; /* trusted certificates in PEM; NULL: the system's */
	uint32_t parallel;   /* requests at a time, 1 to LMI_CTL_BATCH_PARALLEL */
	uint32_t retries;    /* tries of a request after the first one */
	int64_t timeout_ms;  /* of one try */

	/* Gives the next request, which the transport then owns, and a number for `done`; returns
	 * LMD_NOTFOUND if there are no more. */
	enum lmd_status (*next)(void *arg, struct lmi_ctl_batch_request *out, uint32_t *number,
				struct lmd_error *err);
	/* Takes the result of a request. Any error ends the run. */
	enum lmd_status (*done)(void *arg, uint32_t number, const struct lmi_ctl_batch_result *r,
				struct lmd_error *err);
	void *arg;
	uint32_t n_retry; /* result: tries after the first ones */
};

/* Sends all requests and waits for their results. Requests are sent again after a lost connection,
 * a time-out, 408, 429 and 500 to 599: when the server says (Retry-After), or ever later. While a
 * server is busy (429, 503), all requests wait, and a refusal counts as a try only if no other request
 * was answered since the one before.
 *
 * LMD_IO: the server cannot be reached; LMD_DENIED: it refuses the key (401); LMD_CANCELLED: a
 * signal; or an error of next or done. Requests without a result are then given up. */
enum lmd_status lmi_ctl_batch_http_run(struct lmi_ctl_batch_http *h, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_BATCH_HTTP_H */
