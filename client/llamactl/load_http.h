/* SPDX-License-Identifier: MIT
 *
 * load_http.h - loads an HTTP server with streams and measures them.
 *
 * In a closed loop each of n clients sends its next request when its last one has ended. In an open
 * loop requests come at times of their own, whether the server keeps up or not; a request for which no
 * connection is free waits, and that counts as time to its first token. */
#ifndef LLAMAD_LLAMACTL_LOAD_HTTP_H
#define LLAMAD_LLAMACTL_LOAD_HTTP_H

#include "client/llamactl/http_target.h"
#include "client/llamactl/latencies.h"
#include "client/llamactl/load_requests.h"

#define LMI_CTL_LOAD_CLIENTS 4096

struct lmi_ctl_load {
	const struct lmi_ctl_http_target *target;
	const struct lmi_ctl_load_requests *requests;
	bool open;	    /* loop, of requests->rate */
	uint32_t n_client;  /* connections, 1 to LMI_CTL_LOAD_CLIENTS */
	uint64_t first, n_request; /* the first request's number, how many there are */
	int64_t timeout_ms; /* of a request */
	/* What a good request keeps: time to its first token, mean time between its tokens; ns. */
	uint64_t good_first_ns, good_between_ns;
	/* Called a few times a second; NULL: not. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

struct lmi_ctl_load_result {
	uint64_t n_answered, n_failed, n_good;
	/* failed with 429 or 503; and how many of them said when to come back */
	uint64_t n_refused, n_retry;
	uint64_t ns; /* from the first request's beginning to the last one's end */
	/* As the server counts them in its answers; n_uncounted: answers without such counts. */
	uint64_t n_prompt, n_cached, n_token, n_uncounted;
	/* of answered requests; between: from text to text, those of failed requests included */
	struct lmi_ctl_latencies first, between, whole;
	struct lmi_ctl_latencies refused; /* from a request to its refusal */
	char error[256]; /* of the first request that failed */
};

/* Sends the requests and waits for their ends. *out is filled after errors, too. LMD_IO: the server
 * cannot be reached; LMD_DENIED: it refuses the key; LMD_CANCELLED: a signal. */
enum lmd_status lmi_ctl_load_run(const struct lmi_ctl_load *l, struct lmi_ctl_load_result *out,
				 struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_LOAD_HTTP_H */
