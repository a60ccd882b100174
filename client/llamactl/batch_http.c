/* SPDX-License-Identifier: MIT
 *
 * Many requests to an HTTP server, by the multi interface of libcurl: one thread, one slot for each
 * request at a time. A slot is idle, has a transfer that runs, or waits until its request is sent
 * again. The loop ends when no slot is busy and there are no more requests. */
#include "client/llamactl/batch_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/llamactl/http_target.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/transfers.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "proto/buf.h"

#define POLL_MS	     1000
#define FIRST_WAIT_MS 500u   /* before the second try, and twice that before each further one */
#define LAST_WAIT_MS  60000u
#define REQUEST_ID    "x-request-id:"

enum slot_state { IDLE, RUNNING, WAITING };

struct slot {
	struct run *run;
	enum slot_state state;
	struct lmi_ctl_batch_request q;
	uint32_t number, tries;
	uint64_t n_answered; /* of the run when this request began or was last refused */
	int64_t due_ms;	     /* WAITING: when it is sent again */
	CURL *curl;	     /* kept for all requests of the slot */
	struct lmi_wire_buf body;
	bool too_long;
	char request_id[128];
	char reason[CURL_ERROR_SIZE];
};

struct run {
	struct lmi_ctl_batch_http *h;
	struct lmi_ctl_transfers transfers;
	struct lmi_ctl_http_target target;
	struct slot *slot; /* [h->parallel] */
	uint32_t n_busy;
	uint64_t n_answered; /* requests that the server had time for */
	int64_t hold_ms; /* no request is sent before */
	bool no_more;
};

static int64_t now_ms(void)
{
	return (int64_t)(lmi_clock_monotonic_ns() / LMI_NS_PER_MS);
}

/* ---- a transfer ---- */

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct slot *s = arg;
	size_t skip = strlen(REQUEST_ID), len;

	if (n > skip && !strncasecmp(line, REQUEST_ID, skip)) {
		while (skip < n && strchr(" \t", line[skip]))
			skip++;
		len = n - skip;
		while (len && strchr(" \t\r\n", line[skip + len - 1]))
			len--;
		(void)snprintf(s->request_id, sizeof(s->request_id), "%.*s", (int)len, line + skip);
	}
	return one * n;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct slot *s = arg;

	n *= one;
	s->too_long = n > LMI_CTL_BATCH_RESPONSE_BYTES - s->body.n;
	return !s->too_long && lmi_wire_buf_add(&s->body, data, n) ? n : 0;
}

static bool slot_init(struct slot *s, struct run *r)
{
	CURL *c = s->curl = lmi_ctl_http_target_handle(&r->target);

	s->run = r;
	if (!c)
		return false;
	(void)curl_easy_setopt(c, CURLOPT_PRIVATE, s);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->h->timeout_ms);
	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->reason);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, s);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, s);
	return true;
}

/* Sends the request of the slot, again or for the first time. */
static enum lmd_status send_request(struct slot *s, struct lmd_error *err)
{
	struct run *r = s->run;
	enum lmd_status st;

	s->tries++;
	s->body.n = 0;
	s->too_long = false;
	s->request_id[0] = s->reason[0] = 0;
	if (!lmi_ctl_http_target_request(&r->target, s->curl, s->q.path, s->q.body))
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	st = lmi_ctl_transfers_start(&r->transfers, s->curl, err);
	if (st == LMD_OK)
		s->state = RUNNING;
	return st;
}

/* ---- after a transfer ---- */

/* Returns the time before the next try: as long as the server said, or ever longer. */
static int64_t wait_ms(const struct slot *s)
{
	uint32_t again = s->tries ? s->tries - 1 : 0, doublings = again < 8 ? again : 8;
	uint64_t ms = (uint64_t)FIRST_WAIT_MS << doublings;
	curl_off_t said = 0;

	(void)curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &said);
	if (said > 0)
		return said < LMI_CTL_BATCH_WAIT_MS / 1000 ? said * 1000 : LMI_CTL_BATCH_WAIT_MS;
	ms = ms < LAST_WAIT_MS ? ms : LAST_WAIT_MS;
	/* not all at once */
	return (int64_t)(ms + ms * (uint64_t)(s - s->run->slot) / (4u * s->run->h->parallel));
}

/* Decides whether the request is sent again, and then when. */
static bool repeat(struct slot *s, long code)
{
	struct run *r = s->run;
	bool busy = code == 429 || code == 503;

	if (code && code != 408 && !busy && code < 500)
		return false;
	if (busy && s->n_answered != r->n_answered)
		s->tries--;
	s->n_answered = r->n_answered;
	if (s->tries > r->h->retries)
		return false;
	s->due_ms = now_ms() + wait_ms(s);
	if (busy && s->due_ms > r->hold_ms)
		r->hold_ms = s->due_ms;
	s->state = WAITING;
	r->h->n_retry++;
	return true;
}

static enum lmd_status finish(struct slot *s, const struct lmi_ctl_batch_result *result,
			      struct lmd_error *err)
{
	s->state = IDLE;
	s->run->n_busy--;
	lmi_ctl_batch_request_fini(&s->q);
	return s->run->h->done(s->run->h->arg, s->number, result, err);
}

/* The transfer ended without a response. */
static enum lmd_status without_response(struct slot *s, CURLcode code, struct lmd_error *err)
{
	const char *reason = *s->reason ? s->reason : curl_easy_strerror(code);
	bool unreachable = lmi_ctl_transfer_unreachable(code);
	struct lmi_ctl_batch_result r = {.error_code = code == CURLE_OPERATION_TIMEDOUT
							       ? "timeout"
							       : "connection_error",
					 .error = reason};
	char url[200];

	if (s->too_long) {
		r.error_code = "response_too_long";
		r.error = "the response exceeds the limit of 64 MiB";
		return finish(s, &r, err);
	}
	if (code == CURLE_OUT_OF_MEMORY || code == CURLE_WRITE_ERROR)
		return lmd_fail(err, LMD_NOMEM, "no memory for a response");
	if (!(unreachable && !s->run->n_answered) && repeat(s, 0))
		return LMD_OK;
	if (unreachable) /* so are the others */
		return lmd_fail(err, LMD_IO, "%s: %s",
				lmi_printable_path(url, sizeof(url), s->run->h->url), reason);
	return finish(s, &r, err);
}

static enum lmd_status on_end(void *transfer, CURLcode code, struct lmd_error *err)
{
	struct slot *s = transfer;
	struct lmi_ctl_batch_result r = {.request_id = s->request_id,
					 .body = s->body.n ? (const char *)s->body.p : "",
					 .n = s->body.n};
	char shown[200];

	if (code != CURLE_OK)
		return without_response(s, code, err);
	(void)curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &r.code);
	if (r.code == 401)
		return lmd_fail(err, LMD_DENIED, "the server refuses the key (401): %s",
				lmi_printable(shown, sizeof(shown), r.body, r.n));
	if (r.code != 429 && r.code < 500)
		s->run->n_answered++;
	return repeat(s, r.code) ? LMD_OK : finish(s, &r, err);
}

/* ---- the loop ---- */

/* Starts what is due. */
static enum lmd_status start_due(struct run *r, struct lmd_error *err)
{
	int64_t now = now_ms();
	enum lmd_status st = LMD_OK;

	if (now < r->hold_ms)
		return LMD_OK;
	for (uint32_t i = 0; i < r->h->parallel && st == LMD_OK; i++) {
		struct slot *s = &r->slot[i];

		if (s->state == WAITING && s->due_ms <= now)
			st = send_request(s, err);
		if (s->state != IDLE || r->no_more)
			continue;
		st = r->h->next(r->h->arg, &s->q, &s->number, err);
		if (st == LMD_NOTFOUND) {
			r->no_more = true;
			st = LMD_OK;
		} else if (st == LMD_OK) {
			r->n_busy++;
			s->tries = 0;
			s->n_answered = r->n_answered;
			st = send_request(s, err);
		}
	}
	return st;
}

/* Waits until something happens, at most until the next request is due. */
static void wait_for_work(struct run *r)
{
	int64_t now = now_ms(), left = POLL_MS;

	for (uint32_t i = 0; i < r->h->parallel; i++) {
		const struct slot *s = &r->slot[i];
		int64_t due = s->state == WAITING && s->due_ms > r->hold_ms ? s->due_ms : r->hold_ms;

		if (s->state == WAITING || (s->state == IDLE && !r->no_more))
			left = due - now < left ? due - now : left;
	}
	left = left > 0 ? left : 0;
	lmi_ctl_transfers_wait(&r->transfers, (int)left);
}

static enum lmd_status loop(struct run *r, struct lmd_error *err)
{
	enum lmd_status st = start_due(r, err);

	while (st == LMD_OK && (r->n_busy || !r->no_more)) {
		wait_for_work(r);
		if (lmi_ctl_interrupted())
			return lmd_fail(err, LMD_CANCELLED,
					"stopped by a signal; the same command continues");
		st = lmi_ctl_transfers_perform(&r->transfers, on_end, err);
		if (st == LMD_OK)
			st = start_due(r, err);
	}
	return st;
}

/* ---- the whole ---- */

static enum lmd_status run_init(struct run *r, struct lmd_error *err)
{
	const struct lmi_ctl_batch_http *h = r->h;
	bool good;
	enum lmd_status st = lmi_ctl_http_target_init(&r->target, h->url, h->key, h->ca_file, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_transfers_init(&r->transfers, err);
	if (st != LMD_OK)
		return st;
	r->slot = lmi_alloc(h->parallel, sizeof(*r->slot));
	good = r->slot;
	for (uint32_t i = 0; i < h->parallel && good; i++)
		good = slot_init(&r->slot[i], r);
	return good ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for transfers");
}

static void run_fini(struct run *r)
{
	for (uint32_t i = 0; r->slot && i < r->h->parallel; i++) {
		struct slot *s = &r->slot[i];

		if (s->state == RUNNING)
			lmi_ctl_transfers_stop(&r->transfers, s->curl);
		curl_easy_cleanup(s->curl);
		lmi_ctl_batch_request_fini(&s->q);
		lmi_wire_buf_fini(&s->body);
	}
	lmi_ctl_transfers_fini(&r->transfers);
	lmi_ctl_http_target_fini(&r->target);
	lmi_free(r->slot);
}

enum lmd_status lmi_ctl_batch_http_run(struct lmi_ctl_batch_http *h, struct lmd_error *err)
{
	struct run r = {.h = h, .transfers.wake = -1};
	enum lmd_status st = run_init(&r, err);

	if (st == LMD_OK)
		st = loop(&r, err);
	run_fini(&r);
	return st;
}
