/* SPDX-License-Identifier: MIT
 *
 * Streams from an HTTP server by the multi interface of libcurl: one thread, one slot for each
 * connection. A slot reads the lines of its stream as they come and notes when texts come. */
#include "client/llamactl/load_http.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/transfers.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "proto/buf.h"

#define POLL_MS	    200
#define LINE_BYTES  (1u << 20) /* of a stream, or of an error's response */
#define DATA	    "data:"

struct slot {
	struct run *run;
	CURL *curl;
	bool busy, too_long;
	char *body;		 /* of the request */
	struct lmi_wire_buf line; /* the part of a line that has come; of an error: the response */
	uint64_t due_ns, first_ns, last_ns; /* planned beginning, first and latest text; 0: none */
	uint64_t n_text;
	uint64_t n_prompt, n_cached, n_token;
	bool counted, done;
	char reason[CURL_ERROR_SIZE];
};

struct run {
	const struct lmi_ctl_load *l;
	struct lmi_ctl_load_result *out;
	struct lmi_ctl_transfers transfers;
	struct slot *slots; /* [l->n_client] */
	uint64_t n_sent;
	uint64_t due_ns; /* of the next request in an open loop */
	uint32_t n_busy;
};

/* ---- a stream ---- */

static void on_text(struct slot *s)
{
	uint64_t now = lmi_clock_monotonic_ns();

	if (!s->n_text++)
		s->first_ns = now;
	else
		lmi_ctl_latencies_add(&s->run->out->between, now - s->last_ns);
	s->last_ns = now;
}

static bool has_text(const json_t *choice)
{
	static const char *const members[] = {"content", "reasoning_content", "reasoning", "text"};
	const json_t *delta = json_object_get(choice, "delta");

	for (size_t i = 0; i < LMD_LEN(members); i++)
		if (json_string_length(json_object_get(delta ? delta : choice, members[i])))
			return true;
	return false;
}

static uint64_t number(const json_t *o, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(o, name));

	return v > 0 ? (uint64_t)v : 0;
}

static void on_event(struct slot *s, const char *text, size_t n)
{
	json_t *o = json_loadb(text, n, JSON_ALLOW_NUL, NULL), *usage = json_object_get(o, "usage");

	if (has_text(json_array_get(json_object_get(o, "choices"), 0)))
		on_text(s);
	if (json_is_object(usage)) {
		s->counted = true;
		s->n_prompt = number(usage, "prompt_tokens");
		s->n_token = number(usage, "completion_tokens");
		s->n_cached = number(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
	}
	if (json_object_get(o, "error"))
		(void)snprintf(s->reason, sizeof(s->reason), "%.*s", (int)n, text);
	json_decref(o);
}

static void on_line(struct slot *s, const char *line, size_t n)
{
	const size_t skip = strlen(DATA);

	n -= n && line[n - 1] == '\r';
	if (n <= skip || memcmp(line, DATA, skip) != 0)
		return;
	line += skip;
	n -= skip;
	while (n && *line == ' ') {
		line++;
		n--;
	}
	if (n == 6 && !memcmp(line, "[DONE]", n))
		s->done = true;
	else
		on_event(s, line, n);
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct slot *s = arg;
	const char *p = data, *end = data + one * n;
	long code = 0;

	n *= one;
	(void)curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &code);
	while (p < end) {
		const char *stop = code == 200 ? memchr(p, '\n', (size_t)(end - p)) : NULL;
		size_t part = (size_t)((stop ? stop : end) - p);

		s->too_long = part > LINE_BYTES - s->line.n;
		if (s->too_long || !lmi_wire_buf_add(&s->line, p, part))
			return 0;
		p += part;
		if (!stop)
			break;
		on_line(s, (const char *)s->line.p, s->line.n);
		s->line.n = 0;
		p++;
	}
	return n;
}

static enum lmd_status send_request(struct slot *s, uint64_t due_ns, struct lmd_error *err)
{
	struct run *r = s->run;
	const struct lmi_ctl_load *l = r->l;
	enum lmd_status st;

	s->body = lmi_ctl_load_body(l->requests, l->first + r->n_sent);
	s->line.n = 0;
	s->too_long = s->counted = s->done = false;
	s->due_ns = due_ns;
	s->first_ns = s->last_ns = s->n_text = 0;
	s->n_prompt = s->n_cached = s->n_token = 0;
	s->reason[0] = 0;
	if (!s->body || !lmi_ctl_http_target_request(l->target, s->curl,
						     lmi_ctl_load_path(l->requests), s->body))
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	st = lmi_ctl_transfers_start(&r->transfers, s->curl, err);
	if (st != LMD_OK)
		return st;
	s->busy = true;
	r->n_busy++;
	r->n_sent++;
	return LMD_OK;
}

/* ---- the end of a stream ---- */

static void count_answer(struct slot *s)
{
	struct lmi_ctl_load_result *out = s->run->out;
	const struct lmi_ctl_load *l = s->run->l;
	uint64_t first = s->first_ns - s->due_ns, rest = s->last_ns - s->first_ns;
	uint64_t n = s->counted && s->n_token ? s->n_token : s->n_text;

	out->n_answered++;
	out->n_prompt += s->n_prompt;
	out->n_cached += s->n_cached;
	out->n_token += s->n_token;
	out->n_uncounted += !s->counted;
	lmi_ctl_latencies_add(&out->first, first);
	lmi_ctl_latencies_add(&out->whole, s->last_ns - s->due_ns);
	if (first <= l->good_first_ns && (n < 2 || rest / (n - 1) <= l->good_between_ns))
		out->n_good++;
}

static void count_failure(struct slot *s, const char *reason, size_t n)
{
	struct lmi_ctl_load_result *out = s->run->out;

	if (!out->n_failed++)
		(void)lmi_printable(out->error, sizeof(out->error), reason, n);
}

static void count_refusal(struct slot *s)
{
	struct lmi_ctl_load_result *out = s->run->out;
	curl_off_t us = 0, retry_s = 0;

	(void)curl_easy_getinfo(s->curl, CURLINFO_TOTAL_TIME_T, &us);
	(void)curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &retry_s);
	out->n_refused++;
	out->n_retry += retry_s > 0;
	lmi_ctl_latencies_add(&out->refused, (uint64_t)us * 1000);
}

static enum lmd_status on_end(void *transfer, CURLcode code, struct lmd_error *err)
{
	struct slot *s = transfer;
	struct run *r = s->run;
	const char *reason = *s->reason ? s->reason : curl_easy_strerror(code);
	long status = 0;

	(void)curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	free(s->body);
	s->body = NULL;
	s->busy = false;
	r->n_busy--;
	if (lmi_ctl_transfer_unreachable(code) && !r->out->n_answered)
		return lmd_fail(err, LMD_IO, "%s: %.200s", r->l->target->base, reason);
	if (code == CURLE_OK && status == 401)
		return lmd_fail(err, LMD_DENIED, "the server refuses the key (401)");
	if (code == CURLE_OK && (status == 429 || status == 503))
		count_refusal(s);
	if (s->too_long)
		count_failure(s, "a line of the stream exceeds 1 MiB", 34);
	else if (code != CURLE_OK)
		count_failure(s, reason, strlen(reason));
	else if (status != 200)
		count_failure(s, s->line.n ? (const char *)s->line.p : "no text", s->line.n ? s->line.n : 7);
	else if (*s->reason)
		count_failure(s, s->reason, strlen(s->reason));
	else if (!s->n_text)
		count_failure(s, "an answer without a text", 24);
	else if (!s->done)
		count_failure(s, "a stream without its end", 24);
	else
		count_answer(s);
	return LMD_OK;
}

/* ---- the loop ---- */

static struct slot *idle_slot(struct run *r)
{
	for (uint32_t i = 0; i < r->l->n_client && r->n_busy < r->l->n_client; i++)
		if (!r->slots[i].busy)
			return &r->slots[i];
	return NULL;
}

/* Sends what is due and has a connection. */
static enum lmd_status send_due(struct run *r, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct slot *s;

	while (st == LMD_OK && r->n_sent < r->l->n_request && (s = idle_slot(r))) {
		uint64_t now = lmi_clock_monotonic_ns(), due = r->l->open ? r->due_ns : now;

		if (due > now)
			break;
		r->due_ns += r->l->open ? lmi_ctl_load_gap_ns(r->l->requests, r->l->first + r->n_sent) : 0;
		st = send_request(s, due, err);
	}
	return st;
}

static void wait_for_work(struct run *r)
{
	uint64_t now = lmi_clock_monotonic_ns();
	int left = POLL_MS;

	if (r->l->open && r->n_sent < r->l->n_request && r->n_busy < r->l->n_client) {
		uint64_t ms = r->due_ns > now ? (r->due_ns - now) / LMI_NS_PER_MS : 0;

		left = ms < POLL_MS ? (int)ms : POLL_MS;
	}
	lmi_ctl_transfers_wait(&r->transfers, left);
}

static enum lmd_status loop(struct run *r, struct lmd_error *err)
{
	enum lmd_status st = send_due(r, err);

	while (st == LMD_OK && (r->n_busy || r->n_sent < r->l->n_request)) {
		wait_for_work(r);
		if (lmi_ctl_interrupted())
			return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
		st = lmi_ctl_transfers_perform(&r->transfers, on_end, err);
		if (st == LMD_OK)
			st = send_due(r, err);
		if (r->l->progress)
			r->l->progress(r->l->arg, r->n_sent - r->n_busy, r->l->n_request);
	}
	return st;
}

/* ---- the whole ---- */

static bool slot_init(struct slot *s, struct run *r)
{
	CURL *c = s->curl = lmi_ctl_http_target_handle(r->l->target);

	s->run = r;
	if (!c)
		return false;
	(void)curl_easy_setopt(c, CURLOPT_PRIVATE, s);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->l->timeout_ms);
	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->reason);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, s);
	return true;
}

static enum lmd_status run_init(struct run *r, struct lmd_error *err)
{
	enum lmd_status st = lmi_ctl_transfers_init(&r->transfers, err);
	bool good;

	if (st != LMD_OK)
		return st;
	r->slots = lmi_alloc(r->l->n_client, sizeof(*r->slots));
	good = r->slots;
	for (uint32_t i = 0; i < r->l->n_client && good; i++)
		good = slot_init(&r->slots[i], r);
	return good ? LMD_OK
		    : lmd_fail(err, LMD_NOMEM, "no memory for %u connections", r->l->n_client);
}

static void run_fini(struct run *r)
{
	for (uint32_t i = 0; r->slots && i < r->l->n_client; i++) {
		struct slot *s = &r->slots[i];

		if (s->busy)
			lmi_ctl_transfers_stop(&r->transfers, s->curl);
		curl_easy_cleanup(s->curl);
		free(s->body);
		lmi_wire_buf_fini(&s->line);
	}
	lmi_ctl_transfers_fini(&r->transfers);
	lmi_free(r->slots);
}

enum lmd_status lmi_ctl_load_run(const struct lmi_ctl_load *l, struct lmi_ctl_load_result *out,
				 struct lmd_error *err)
{
	struct run r = {.l = l, .out = out, .transfers.wake = -1};
	enum lmd_status st;
	uint64_t begin_ns;

	*out = (struct lmi_ctl_load_result){0};
	st = run_init(&r, err);
	begin_ns = r.due_ns = lmi_clock_monotonic_ns();
	if (st == LMD_OK)
		st = loop(&r, err);
	out->ns = lmi_clock_monotonic_ns() - begin_ns;
	run_fini(&r);
	return st;
}
