/* SPDX-License-Identifier: MIT
 *
 * Traces: a span for each answer over HTTP, sent to a collector of OpenTelemetry (OTLP/HTTP with JSON,
 * opentelemetry-proto 1.x; the attributes are those of the semantic conventions for generative AI).
 *
 * Spans are collected on the loop's thread and sent together, by a thread of their own, a second after the
 * first of them or when there are many.  They never hold up a request: what does not fit in the buffer while
 * the collector does not answer is dropped and counted. */
#include "daemon/traces.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "daemon/daemon_impl.h"
#include "hub/hub.h"
#include "llamad/version.h"
#include "proto/buf.h"

#define PENDING_BYTES	(512u << 10)
#define MANY_BYTES	(PENDING_BYTES / 2) /* sent at once */
#define SEND_AFTER_NS	(1000 * (uint64_t)LMI_NS_PER_MS)
#define WARN_EVERY_NS	(60 * 1000 * (uint64_t)LMI_NS_PER_MS)
#define SPAN_BYTES	4096
#define KIND_SERVER	2 /* SPAN_KIND_SERVER */

struct lmi_daemon_traces {
	struct lmi_daemon *d;
	struct lmi_jobs *jobs;
	char url[1024];
	struct lmi_wire_buf spans; /* JSON objects with commas between */
	uint32_t n_span, n_dropped;
	uint64_t send_at, warned_at;
	/* being sent */
	struct lmi_job job;
	bool runs;
	struct lmi_wire_buf body;
	struct lmd_error err;
};

/* ---- the identity of a trace ---- */

bool lmi_daemon_traceparent_parse(struct lmi_daemon_traceparent *out, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	*out = (struct lmi_daemon_traceparent){0};
	/* 00-TRACE-SPAN-FLAGS; a later version may have more fields, version ff is invalid */
	if (strspn(text, digits) != 2 || text[2] != '-' || !strncmp(text, "ff", 2) ||
	    strspn(text + 3, digits) != 32 || text[35] != '-' || strspn(text + 36, digits) != 16 ||
	    text[52] != '-' || strspn(text + 53, digits) != 2 ||
	    (text[55] && (!strncmp(text, "00", 2) || text[55] != '-')))
		return false;
	memcpy(out->trace, text + 3, 32);
	memcpy(out->span, text + 36, 16);
	out->sampled = (strchr(digits, text[54]) - digits) & 1;
	return strspn(out->trace, "0") != 32 && strspn(out->span, "0") != 16;
}

/* Writes n random hex digits and a zero; not all of them are 0. */
static bool random_hex(char *out, size_t n)
{
	uint8_t b[16];

	if (getrandom(b, n / 2, 0) != (ssize_t)(n / 2))
		return false;
	b[0] |= 1;
	for (size_t i = 0; i < n / 2; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", b[i]);
	return true;
}

/* ---- JSON ---- */

static void put_attribute(struct lmi_json_text *j, const char *key)
{
	lmi_json_text_object(j);
	lmi_json_text_key(j, "key");
	lmi_json_text_str(j, key);
	lmi_json_text_key(j, "value");
	lmi_json_text_object(j);
}

static void end_attribute(struct lmi_json_text *j)
{
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

static void put_text(struct lmi_json_text *j, const char *key, const char *text, size_t n)
{
	put_attribute(j, key);
	lmi_json_text_key(j, "stringValue");
	lmi_json_text_strn(j, text, n);
	end_attribute(j);
}

/* 64-bit integers are strings in the JSON of protobuf. */
static void put_string_of(struct lmi_json_text *j, const char *key, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	lmi_json_text_key(j, key);
	lmi_json_text_str(j, text);
}

static void put_int(struct lmi_json_text *j, const char *key, uint64_t v)
{
	put_attribute(j, key);
	put_string_of(j, "intValue", v);
	end_attribute(j);
}

static void put_seconds(struct lmi_json_text *j, const char *key, uint64_t ns)
{
	put_attribute(j, key);
	lmi_json_text_key(j, "doubleValue");
	lmi_json_text_real(j, (double)ns / 1e9);
	end_attribute(j);
}

static void put_attributes(struct lmi_json_text *j, const struct lmi_http_generated *g)
{
	const char *operation = g->chat ? "chat" : "text_completion";

	lmi_json_text_array(j);
	put_text(j, "gen_ai.operation.name", operation, strlen(operation));
	put_text(j, "gen_ai.system", "llamad", strlen("llamad"));
	put_text(j, "gen_ai.request.model", g->model.ptr, g->model.len);
	put_text(j, "url.path", g->path.ptr, g->path.len);
	put_int(j, "gen_ai.usage.input_tokens", g->n_prompt);
	put_int(j, "gen_ai.usage.output_tokens", g->n_out);
	put_int(j, "llamad.cached_tokens", g->n_cached);
	put_attribute(j, "gen_ai.response.finish_reasons");
	lmi_json_text_key(j, "arrayValue");
	lmi_json_text_object(j);
	lmi_json_text_key(j, "values");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_json_text_key(j, "stringValue");
	lmi_json_text_str(j, g->finish);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	end_attribute(j);
	put_seconds(j, "llamad.queue_time", g->queue_ns);
	put_seconds(j, "llamad.prompt_time", g->prompt_ns);
	put_seconds(j, "llamad.decode_time", g->out_ns);
	put_seconds(j, "gen_ai.server.time_to_first_token", g->first_ns);
	lmi_json_text_end(j);
}

static void put_span(struct lmi_json_text *j, const struct lmi_http_generated *g,
		     const struct lmi_daemon_traceparent *parent, const char *span, int64_t end_ns)
{
	lmi_json_text_object(j);
	lmi_json_text_key(j, "traceId");
	lmi_json_text_str(j, parent->trace);
	lmi_json_text_key(j, "spanId");
	lmi_json_text_str(j, span);
	if (*parent->span) {
		lmi_json_text_key(j, "parentSpanId");
		lmi_json_text_str(j, parent->span);
	}
	lmi_json_text_key(j, "name");
	lmi_json_text_strn(j, g->path.ptr, g->path.len);
	lmi_json_text_key(j, "kind");
	lmi_json_text_int(j, KIND_SERVER);
	put_string_of(j, "startTimeUnixNano", (uint64_t)end_ns - g->all_ns);
	put_string_of(j, "endTimeUnixNano", (uint64_t)end_ns);
	lmi_json_text_key(j, "attributes");
	put_attributes(j, g);
	lmi_json_text_end(j);
}

/* ---- sending ---- */

static void run(void *arg)
{
	struct lmi_daemon_traces *t = arg;
	const struct lmi_hub_opts o = {0};

	t->err.status = lmi_hub_post(t->url, "application/json", t->body.p, t->body.n, &o, &t->err);
}

static void done(void *arg)
{
	struct lmi_daemon_traces *t = arg;
	uint64_t now = lmi_loop_now();

	t->runs = false;
	lmi_wire_buf_fini(&t->body);
	if (t->err.status == LMD_OK || t->err.status == LMD_CANCELLED ||
	    (t->warned_at && now - t->warned_at < WARN_EVERY_NS))
		return;
	t->warned_at = now;
	LMI_DAEMON_LOG(t->d, LMD_LOG_WARN, "traces are lost: %s", t->err.text);
}

static bool add_text(struct lmi_wire_buf *b, const char *text)
{
	return lmi_wire_buf_add(b, text, strlen(text));
}

static void send_spans(struct lmi_daemon_traces *t)
{
	static const char head[] =
		"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
		"{\"stringValue\":\"llamad\"}},{\"key\":\"service.version\",\"value\":{\"stringValue\":\""
		LMD_VERSION "\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"llamad\"},\"spans\":[";
	struct lmd_error err = {0};

	if (add_text(&t->body, head) && lmi_wire_buf_add(&t->body, t->spans.p, t->spans.n) &&
	    add_text(&t->body, "]}]}]}")) {
		t->err = (struct lmd_error){0};
		t->job = (struct lmi_job){.run = run, .done = done, .arg = t};
		t->runs = lmi_jobs_submit(t->jobs, &t->job, &err) == LMD_OK;
	}
	if (!t->runs)
		lmi_wire_buf_fini(&t->body);
	lmi_wire_buf_fini(&t->spans);
	t->n_span = 0;
	if (t->n_dropped)
		LMI_DAEMON_LOG(t->d, LMD_LOG_WARN, "traces: %u spans were dropped, the collector is too slow",
			       t->n_dropped);
	t->n_dropped = 0;
}

uint64_t lmi_daemon_traces_tick(struct lmi_daemon *d, uint64_t now)
{
	struct lmi_daemon_traces *t = d->traces;

	if (!t || !t->n_span || t->runs || d->phase == LMI_DAEMON_PHASE_ENDING)
		return UINT64_MAX;
	if (now < t->send_at)
		return t->send_at;
	send_spans(t);
	return UINT64_MAX;
}

void lmi_daemon_trace(void *arg, const struct lmi_http_generated *g)
{
	struct lmi_daemon *d = arg;
	struct lmi_daemon_traces *t = d->traces;
	struct lmi_daemon_traceparent parent;
	struct lmi_json_text j = {.max_bytes = SPAN_BYTES, .flags = LMI_JSON_TEXT_LENIENT};
	struct lmd_error err;
	char span[17];

	if (!t || (g->traceparent && lmi_daemon_traceparent_parse(&parent, g->traceparent) &&
		   !parent.sampled))
		return;
	if (!g->traceparent || !lmi_daemon_traceparent_parse(&parent, g->traceparent)) {
		parent = (struct lmi_daemon_traceparent){0};
		if (!random_hex(parent.trace, 32))
			return;
	}
	if (!random_hex(span, 16))
		return;
	put_span(&j, g, &parent, span, lmi_daemon_wall_ns(d));
	if (t->spans.n > PENDING_BYTES || lmi_json_text_finish(&j, &err) != LMD_OK ||
	    (t->n_span && !add_text(&t->spans, ",")) ||
	    !lmi_wire_buf_add(&t->spans, j.text, j.bytes)) {
		t->n_dropped++;
	} else if (!t->n_span++) {
		t->send_at = lmi_loop_now() + SEND_AFTER_NS;
	} else if (t->spans.n > MANY_BYTES) {
		t->send_at = 0;
	}
	lmi_json_text_fini(&j);
}

enum lmd_status lmi_daemon_start_traces(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_jobs_opts opts = {
		.mailbox = &d->mailbox, .name = "traces", .n_thread = 1, .n_max = 1};
	const char *url = d->config->traces_url;
	struct lmi_daemon_traces *t;
	size_t n;

	if (!url)
		return LMD_OK;
	d->traces = t = lmi_alloc(1, sizeof(*t));
	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for traces");
	t->d = d;
	n = strlen(url);
	n -= n && url[n - 1] == '/'; /* as in http://HOST:PORT/ */
	if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || n > sizeof(t->url) ||
	    snprintf(t->url, sizeof(t->url), "%.*s/v1/traces", (int)n, url) >= (int)sizeof(t->url))
		return lmd_fail(err, LMD_INVALID,
				"traces_url: %.200s is not http://HOST:PORT or https://HOST:PORT of a "
				"collector",
				url);
	return lmi_jobs_create(&t->jobs, &opts, err);
}

void lmi_daemon_close_traces(struct lmi_daemon *d)
{
	if (!d->traces)
		return;
	if (d->traces->runs)
		lmi_jobs_cancel(&d->traces->job);
	if (d->traces->jobs)
		lmi_jobs_stop(d->traces->jobs);
}

void lmi_daemon_stop_traces(struct lmi_daemon *d)
{
	struct lmi_daemon_traces *t = d->traces;

	if (!t)
		return;
	lmi_jobs_destroy(t->jobs);
	lmi_wire_buf_fini(&t->spans);
	lmi_wire_buf_fini(&t->body);
	lmi_free(t);
	d->traces = NULL;
}
