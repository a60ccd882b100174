/* SPDX-License-Identifier: MIT
 *
 * Writes responses: status line, header fields, body or stream. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/http/http_impl.h"
#include "daemon/http/replay.h"

#define HEAD_MAX 2048

static const struct {
	int code;
	const char *text;
} reasons[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{410, "Gone"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

const char *lmi_http_reason(int code)
{
	for (size_t i = 0; i < LMD_LEN(reasons); i++)
		if (reasons[i].code == code)
			return reasons[i].text;
	return "Unknown";
}

static const char *date(struct lmi_http_server *h)
{
	int64_t now = h->o.ops.wall_ns(h->o.arg) / 1000000000;
	time_t t = (time_t)now;
	struct tm tm;

	if (now != h->date_s && gmtime_r(&t, &tm)) {
		h->date_s = now;
		(void)strftime(h->date, sizeof(h->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return h->date;
}

/* Makes the head of a response.  length < 0: that of the body is unknown.  Returns its length. */
static size_t make_head(struct lmi_http_exchange *x, char text[HEAD_MAX], int code, const char *type,
			const char *fields, int64_t length)
{
	char size[48] = "";
	int n;

	if (length >= 0 && code != 204)
		snprintf(size, sizeof(size), "Content-Length: %" PRId64 "\r\n", length);
	else if (x->chunked)
		snprintf(size, sizeof(size), "Transfer-Encoding: chunked\r\n");
	n = snprintf(text, HEAD_MAX,
		     "HTTP/1.1 %d %s\r\nDate: %s\r\n%s%s%s%s%s%s%s%s%s\r\n", code,
		     lmi_http_reason(code), date(x->h), type ? "Content-Type: " : "",
		     type ? type : "", type ? "\r\n" : "", size,
		     x->cors ? "Access-Control-Allow-Origin: " : "", x->cors ? x->cors : "",
		     x->cors ? "\r\nVary: Origin\r\n" : "", fields,
		     lmi_http_conn_stays(x->conn) ? x->head.minor ? "" : "Connection: keep-alive\r\n"
						  : "Connection: close\r\n");
	x->code = code;
	x->h->n_class[code / 100 % 6]++;
	return n < HEAD_MAX ? (size_t)n : HEAD_MAX - 1;
}

static void done(struct lmi_http_exchange *x)
{
	x->phase = LMI_HTTP_PHASE_DONE;
	if (x->conn)
		lmi_http_conn_answered(x->conn);
	else if (x->replay)
		lmi_http_replay_answered(x);
}

void lmi_http_respond(struct lmi_http_exchange *x, int code, const char *type, const char *fields,
		      const void *bytes, size_t n)
{
	char head[HEAD_MAX];
	struct iovec parts[] = {{.iov_base = head}, {.iov_base = (void *)bytes, .iov_len = n}};

	if (x->phase != LMI_HTTP_PHASE_PENDING)
		return;
	if (x->replay)
		lmi_http_replay_error(x, bytes, n);
	if (!x->conn) {
		x->code = code;
		done(x);
		return;
	}
	parts[0].iov_len = make_head(x, head, code, type, fields, (int64_t)n);
	lmi_http_conn_write_parts(x->conn, parts, n && x->method != LMI_HTTP_HEAD ? 2 : 1);
	done(x);
}

void lmi_http_respond_error(struct lmi_http_exchange *x, const struct lmi_http_error *e,
			    const char *fields)
{
	struct lmi_json_text j = {0};
	char all[HEAD_MAX / 2], retry[48] = "";
	struct lmd_error err;

	x->log_end = x->log_end ? x->log_end : "error";
	if (e->retry_ms)
		snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", (e->retry_ms + 999) / 1000);
	snprintf(all, sizeof(all), "%s%s", fields, retry);
	x->api->error(&j, e);
	if (lmi_json_text_finish(&j, &err) == LMD_OK)
		lmi_http_respond(x, e->code, "application/json", all, j.text, j.bytes);
	else
		lmi_http_respond(x, e->code, "text/plain", all, e->text, strlen(e->text));
	lmi_json_text_fini(&j);
}

void lmi_http_respond_text(struct lmi_http_exchange *x, int code, const char *fields,
			   const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	struct lmi_http_error e = {.code = code, .cause = LMD_INVALID, .text = text};
	va_list ap;

	e.cause = code == 401 || code == 403   ? LMD_DENIED
		  : code == 404 || code == 405 ? LMD_NOTFOUND
		  : code >= 500                ? LMD_INTERNAL
					       : LMD_INVALID;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lmi_http_respond_error(x, &e, fields);
}

void lmi_http_respond_bad(struct lmi_http_conn *c, int code, const char *why)
{
	char text[HEAD_MAX];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: text/plain\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
			 code, lmi_http_reason(code), date(c->h), strlen(why) + 1, why);

	c->h->n_class[code / 100 % 6]++;
	LMI_HTTP_LOG(c->h, LMD_LOG_DEBUG, "request not accepted: %s; status=%d", why, code);
	lmi_http_conn_write(c, text, (size_t)n);
	lmi_http_conn_end(c);
}

/* ---- what endpoints use ---- */

void lmi_http_reply_text(struct lmi_http_exchange *x, int code, const char *type, const void *bytes,
			 size_t n)
{
	lmi_http_respond(x, code, type, "", bytes, n);
}

void lmi_http_reply(struct lmi_http_exchange *x, int code, struct lmi_json_text *j)
{
	struct lmd_error err = {0};

	if (lmi_json_text_finish(j, &err) == LMD_OK)
		lmi_http_respond(x, code, "application/json", "", j->text, j->bytes);
	else
		lmi_http_respond_text(x, 500, "", "the answer cannot be written as JSON: %s", err.text);
	lmi_json_text_fini(j);
}

void lmi_http_reply_error(struct lmi_http_exchange *x, const struct lmi_http_error *e)
{
	lmi_http_respond_error(x, e, "");
}

void lmi_http_reply_status(struct lmi_http_exchange *x, const struct lmd_error *err,
			   uint32_t retry_ms)
{
	const struct lmi_http_error e = {.code = lmi_http_code_for(x->h, &x->principal, err->status),
					 .cause = err->status,
					 .text = err->text,
					 .retry_ms = retry_ms};

	lmi_http_respond_error(x, &e, "");
}

void lmi_http_reply_invalid(struct lmi_http_exchange *x, const char *param, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	const struct lmi_http_error e = {
		.code = 400, .cause = LMD_INVALID, .text = text, .param = param};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lmi_http_respond_error(x, &e, "");
}

void lmi_http_stream_begin(struct lmi_http_exchange *x, const char *type)
{
	char fields[LMI_HTTP_REPLAY_NAME + 128], kept[LMI_HTTP_REPLAY_NAME + 32], head[HEAD_MAX];
	struct lmd_str held;

	if (x->phase != LMI_HTTP_PHASE_PENDING)
		return;
	x->phase = LMI_HTTP_PHASE_STREAM;
	x->code = 200;
	if (!x->conn)
		return;
	x->chunked = x->head.minor > 0;
	if (!x->chunked)
		x->conn->keep_alive = false; /* the end of the connection is that of the stream */
	lmi_http_replay_fields(x, kept, sizeof(kept));
	(void)snprintf(fields, sizeof(fields),
		       "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n%s", kept);
	held.len = make_head(x, head, 200, type, fields, -1);
	held.ptr = lmi_arena_strndup(x->arena, head, held.len);
	if (held.ptr) /* the first bytes of the stream are there, or soon */
		lmi_http_conn_hold(x->conn, held);
	else
		lmi_http_conn_write(x->conn, head, held.len);
}

bool lmi_http_stream_send_parts(struct lmi_http_exchange *x, const struct iovec *parts, int n_parts)
{
	struct iovec all[LMI_HTTP_PARTS];
	char size[24];
	size_t n = 0;

	if (!x->chunked) {
		lmi_http_conn_write_parts(x->conn, parts, n_parts);
		return lmi_http_conn_unsent(x->conn) <= LMI_HTTP_OUT_HIGH;
	}
	assert(n_parts <= LMI_HTTP_PARTS - 2);
	for (int i = 0; i < n_parts; i++) {
		all[i + 1] = parts[i];
		n += parts[i].iov_len;
	}
	all[0] = (struct iovec){.iov_base = size,
				.iov_len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", n)};
	all[n_parts + 1] = (struct iovec){.iov_base = "\r\n", .iov_len = 2};
	lmi_http_conn_write_parts(x->conn, all, n_parts + 2);
	return lmi_http_conn_unsent(x->conn) <= LMI_HTTP_OUT_HIGH;
}

bool lmi_http_stream_send(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	const struct iovec part = {.iov_base = (void *)bytes, .iov_len = n};

	return lmi_http_stream_send_parts(x, &part, 1);
}

bool lmi_http_stream_write(struct lmi_http_exchange *x, const void *bytes, size_t n)
{
	if (x->phase != LMI_HTTP_PHASE_STREAM || !n || x->method == LMI_HTTP_HEAD)
		return true;
	return x->replay ? lmi_http_replay_write(x, bytes, n) : lmi_http_stream_send(x, bytes, n);
}

void lmi_http_stream_end(struct lmi_http_exchange *x)
{
	if (x->phase != LMI_HTTP_PHASE_STREAM)
		return;
	if (x->replay)
		lmi_http_replay_end(x);
	if (x->conn && x->chunked && x->method != LMI_HTTP_HEAD)
		lmi_http_conn_write(x->conn, "0\r\n\r\n", 5);
	done(x);
}
