/* SPDX-License-Identifier: MIT
 *
 * The parser of request heads and of chunked bodies: what is accepted, what is not, and both sides
 * of each bound. */
#include "daemon/http/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/chunks.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

static struct lmi_http_head h;

static enum lmi_http_head_result parse(const char *text, size_t n)
{
	struct lmi_http_head slow = {0};
	enum lmi_http_head_result whole, r = LMI_HTTP_HEAD_MORE;

	memset(&h, 0, sizeof(h));
	whole = lmi_http_head_parse(&h, text, n);
	/* the result does not depend on how the bytes arrive */
	for (size_t i = 0; i <= n && r == LMI_HTTP_HEAD_MORE; i++)
		r = lmi_http_head_parse(&slow, text, i);
	ck_assert_int_eq(r, whole);
	ck_assert_int_eq(slow.code, h.code);
	ck_assert_uint_eq(slow.n_bytes, h.n_bytes);
	return whole;
}

static void equals(const struct lmd_str *s, const char *want)
{
	ck_assert_uint_eq(s->len, strlen(want));
	ck_assert_int_eq(memcmp(s->ptr, want, s->len), 0);
}

START_TEST(a_request)
{
	static const char text[] = "POST /v1/x%20y?a=1&b HTTP/1.1\r\nHost: localhost:8080\r\n"
				   "Content-Length:  12 \r\nX-Any: a: b\t\r\n\r\n{...";

	ck_assert_int_eq(parse(text, strlen(text)), LMI_HTTP_HEAD_DONE);
	equals(&h.method, "POST");
	equals(&h.path, "/v1/x%20y");
	equals(&h.query, "a=1&b");
	equals(&h.host, "localhost:8080");
	ck_assert(h.has_length && !h.chunked && h.keep_alive && !h.expect_continue);
	ck_assert_uint_eq(h.length, 12);
	ck_assert_uint_eq(h.n_bytes, strlen(text) - 4);
	equals(lmi_http_head_field(&h, "x-any"), "a: b");
	ck_assert_ptr_null(lmi_http_head_field(&h, "x-an"));
}
END_TEST

/* A copy needs neither the bytes nor the head that it was made of. */
START_TEST(a_copy)
{
	char text[] = "\r\nGET /p?q HTTP/1.1\r\nHost: a:1\r\nX-Any: v\r\nEmpty:\r\n\r\nGET", bytes[80];
	struct lmi_http_head copy = {0};

	ck_assert_int_eq(parse(text, strlen(text)), LMI_HTTP_HEAD_DONE);
	lmi_http_head_copy(&copy, &h, bytes);
	ck_assert_int_eq(memcmp(bytes, text, h.n_bytes), 0);
	memset(text, '#', sizeof(text));
	memset(&h, 0xff, sizeof(h));
	equals(&copy.method, "GET");
	equals(&copy.path, "/p");
	equals(&copy.query, "q");
	equals(&copy.host, "a:1");
	ck_assert(copy.keep_alive && !copy.has_length && !copy.chunked);
	ck_assert_uint_eq(copy.minor, 1);
	ck_assert_uint_eq(copy.n_field, 3);
	equals(lmi_http_head_field(&copy, "x-any"), "v");
	equals(lmi_http_head_field(&copy, "empty"), "");
}
END_TEST

#define GET  "GET / HTTP/1.1\r\n"
#define HOST "Host: a\r\n"

static const struct {
	const char *text;
	int code; /* 0: accepted */
} cases[] = {
	{GET HOST "\r\n", 0},
	{"\r\n" GET HOST "\r\n", 0},
	{"GET / HTTP/1.0\r\n\r\n", 0},
	{"GET / HTTP/1.0\r\n" HOST "\r\n", 0},
	{"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 0},
	{"GET http://b:80/x HTTP/1.1\r\n" HOST "\r\n", 0},
	{GET HOST "Transfer-Encoding: CHUNKED\r\n\r\n", 0},
	{GET HOST "Expect: 100-continue\r\n\r\n", 0},
	{GET HOST "Content-Length: 0\r\n\r\n", 0},
	{GET HOST "X:\r\n\r\n", 0},
	{GET HOST "X: \xE4\r\n\r\n", 0},
	/* ends of lines */
	{"GET / HTTP/1.1\nHost: a\n\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
	{GET HOST "X: a\rb\r\n\r\n", 400},
	{GET HOST "\r\r\n", 400},
	{"\n" GET HOST "\r\n", 400},
	{"\r\n\r\n" GET HOST "\r\n", 400},
	/* the request line */
	{"GET /\r\n\r\n", 400},
	{"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET / HTTP/1.1 \r\n" HOST "\r\n", 400},
	{" GET / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET /a#b HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET * HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET /a\tb HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET /\xE4 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"G@T / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET http:// HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET http://u@b/ HTTP/1.1\r\n" HOST "\r\n", 400},
	{"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
	{"GET / HTTP/1.2\r\n" HOST "\r\n", 505},
	{"GET / HTTX/1.1\r\n" HOST "\r\n", 400},
	{"GET / http/1.1\r\n" HOST "\r\n", 400},
	/* fields */
	{GET HOST "X : a\r\n\r\n", 400},
	{GET HOST "X\r\n\r\n", 400},
	{GET HOST ": a\r\n\r\n", 400},
	{GET HOST "X: a\r\n b\r\n\r\n", 400},
	{GET HOST "X: a\r\n\tb\r\n\r\n", 400},
	{GET " Host: a\r\n\r\n", 400},
	{GET HOST "X: a\x01\r\n\r\n", 400},
	{GET HOST "X: a\x7F\r\n\r\n", 400},
	{GET HOST "X(: a\r\n\r\n", 400},
	/* Host */
	{GET "\r\n", 400},
	{GET HOST HOST "\r\n", 400},
	{"GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400},
	{GET "Host: a b\r\n\r\n", 400},
	{GET "Host: a/b\r\n\r\n", 400},
	{GET "Host: a,b\r\n\r\n", 400},
	/* lengths */
	{GET HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
	{GET HOST "Content-Length: 5, 5\r\n\r\n", 400},
	{GET HOST "Content-Length: +5\r\n\r\n", 400},
	{GET HOST "Content-Length: -5\r\n\r\n", 400},
	{GET HOST "Content-Length: 0x5\r\n\r\n", 400},
	{GET HOST "Content-Length: 5 5\r\n\r\n", 400},
	{GET HOST "Content-Length:\r\n\r\n", 400},
	{GET HOST "Content-Length: 18446744073709551621\r\n\r\n", 400},
	{GET HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{GET HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
	{"GET / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400},
	{GET HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
	{GET HOST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501},
	{GET HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
	{GET HOST "Transfer-Encoding: xchunked\r\n\r\n", 501},
	{GET HOST "Transfer-Encoding:\r\n\r\n", 501},
	{GET HOST "Expect: tea\r\n\r\n", 417},
};

START_TEST(accepted_and_refused)
{
	enum lmi_http_head_result r = parse(cases[_i].text, strlen(cases[_i].text));

	ck_assert_msg(r == (cases[_i].code ? LMI_HTTP_HEAD_BAD : LMI_HTTP_HEAD_DONE), "%s",
		      cases[_i].text);
	ck_assert_msg(h.code == cases[_i].code, "%d: %s", h.code, cases[_i].text);
	ck_assert(!h.code == !h.why);
}
END_TEST

static const struct {
	const char *text;
	bool keep;
} connections[] = {
	{GET HOST "\r\n", true},
	{GET HOST "Connection: close\r\n\r\n", false},
	{GET HOST "Connection: x ,\tCLOSE ,\r\n\r\n", false},
	{GET HOST "Connection: closed\r\n\r\n", true},
	{GET HOST "Connection: keep-alive\r\nConnection: close\r\n\r\n", false},
	{"GET / HTTP/1.0\r\n\r\n", false},
	{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
};

START_TEST(connection)
{
	ck_assert_int_eq(parse(connections[_i].text, strlen(connections[_i].text)),
			 LMI_HTTP_HEAD_DONE);
	ck_assert_int_eq(h.keep_alive, connections[_i].keep);
}
END_TEST

/* Each bound, and one more. */
START_TEST(bounds)
{
	static char text[64 << 10];
	size_t at;

	for (unsigned n = 63; n <= 65; n++) { /* fields, with Host */
		at = (size_t)sprintf(text, GET HOST);
		for (unsigned i = 1; i < n; i++)
			at += (size_t)sprintf(text + at, "F%u: %u\r\n", i, i);
		at += (size_t)sprintf(text + at, "\r\n");
		ck_assert_int_eq(parse(text, at),
				 n <= 64 ? LMI_HTTP_HEAD_DONE : LMI_HTTP_HEAD_BAD);
		ck_assert_int_eq(h.code, n <= 64 ? 0 : 431);
	}
	for (unsigned n = 8191; n <= 8193; n++) { /* a line */
		at = (size_t)sprintf(text, GET HOST "X: %0*d\r\n\r\n", (int)n - 3, 0);
		(void)parse(text, at);
		ck_assert_int_eq(h.code, n <= 8192 ? 0 : 431);
		at = (size_t)sprintf(text, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", (int)n - 14, 0);
		(void)parse(text, at);
		ck_assert_int_eq(h.code, n <= 8192 ? 0 : 414);
	}
	for (unsigned n = 16383; n <= 16385; n++) { /* the head */
		at = (size_t)sprintf(text, GET HOST "X: %08000d\r\nY: %0500d\r\nZ: %0*d\r\n\r\n",
				     0, 0, (int)n - 8542, 0);
		ck_assert_uint_eq(at, n);
		(void)parse(text, at);
		ck_assert_int_eq(h.code, n <= 16384 ? 0 : 431);
	}
	/* without an end, the bounds hold as well */
	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(parse(text, 8193), LMI_HTTP_HEAD_MORE);
	ck_assert_int_eq(parse(text, 8194), LMI_HTTP_HEAD_BAD);
	ck_assert_int_eq(h.code, 414);
}
END_TEST

START_TEST(percent)
{
	char out[32];

	ck_assert(lmi_http_percent_decode(out, "a%20b+c%2f%C3%a4", 16, false));
	ck_assert_str_eq(out, "a b+c/\xC3\xA4");
	ck_assert(lmi_http_percent_decode(out, "a+b", 3, true));
	ck_assert_str_eq(out, "a b");
	ck_assert(!lmi_http_percent_decode(out, "a%", 2, false));
	ck_assert(!lmi_http_percent_decode(out, "a%2", 3, false));
	ck_assert(!lmi_http_percent_decode(out, "a%2g", 4, false));
	ck_assert(!lmi_http_percent_decode(out, "a%00", 4, false));
}
END_TEST

/* ---- chunks ---- */

static const struct {
	const char *text, *want; /* NULL: refused */
	size_t n_after;          /* bytes after the body */
} bodies[] = {
	{"0\r\n\r\n", "", 0},
	{"5\r\nhello\r\n0\r\n\r\nGET ", "hello", 4},
	{"5\r\nhello\r\n01\r\n \r\n5;a=\"b\"\r\nworld\r\n00\r\nT: x\r\nU: y\r\n\r\n", "hello world", 0},
	{"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", 0},
	{"5\nhello\r\n0\r\n\r\n", NULL, 0},
	{"5\r\nhello0\r\n\r\n", NULL, 0},
	{"5\r\nhello\n0\r\n\r\n", NULL, 0},
	{"\r\n0\r\n\r\n", NULL, 0},
	{"-5\r\nhello\r\n0\r\n\r\n", NULL, 0},
	{"+5\r\nhello\r\n0\r\n\r\n", NULL, 0},
	{"0x5\r\nhello\r\n0\r\n\r\n", NULL, 0},
	{" 5\r\nhello\r\n0\r\n\r\n", NULL, 0},
	{";5\r\nhello\r\n0\r\n\r\n", NULL, 0},
	{"5\r\nhello\r\n0\r\n\r\r\n", NULL, 0},
	{"5\r\nhello\r\n0\r\nT: x\n\r\n", NULL, 0},
	{"100000000\r\n", NULL, 0},
	{"000000005\r\nhello\r\n0\r\n\r\n", NULL, 0},
};

static enum lmi_http_chunks_result read_body(const char *text, size_t piece, char *out, size_t *n_rest)
{
	enum lmi_http_chunks_result r = LMI_HTTP_CHUNKS_MORE;
	struct lmi_http_chunks c = {0};
	size_t n = strlen(text), at = 0, n_out = 0;

	while (r == LMI_HTTP_CHUNKS_MORE && at < n) {
		size_t m = n - at < piece ? n - at : piece, used = 0, n_data = 0;
		const char *data;

		r = lmi_http_chunks_read(&c, text + at, m, &used, &data, &n_data);
		if (r == LMI_HTTP_CHUNKS_BAD)
			return r;
		ck_assert_uint_le(used, m);
		ck_assert_uint_gt(used, 0);
		memcpy(out + n_out, data ? data : "", n_data);
		n_out += n_data;
		at += used;
	}
	out[n_out] = 0;
	*n_rest = n - at;
	return r;
}

START_TEST(chunked_bodies)
{
	char out[256];
	size_t rest;

	for (size_t piece = 1; piece < 40; piece++) {
		enum lmi_http_chunks_result r = read_body(bodies[_i].text, piece, out, &rest);

		ck_assert_msg(r == (bodies[_i].want ? LMI_HTTP_CHUNKS_DONE : LMI_HTTP_CHUNKS_BAD),
			      "%s", bodies[_i].text);
		if (!bodies[_i].want)
			continue;
		ck_assert_str_eq(out, bodies[_i].want);
		ck_assert_uint_eq(rest, bodies[_i].n_after);
	}
}
END_TEST

START_TEST(chunk_bounds)
{
	static char text[20000], out[16];
	size_t rest;

	sprintf(text, "1;%0253d\r\nx\r\n0\r\n\r\n", 0); /* a line of 256 bytes with its CR */
	ck_assert_int_eq(read_body(text, 100, out, &rest), LMI_HTTP_CHUNKS_DONE);
	sprintf(text, "1;%0254d\r\nx\r\n0\r\n\r\n", 0);
	ck_assert_int_eq(read_body(text, 100, out, &rest), LMI_HTTP_CHUNKS_BAD);
	sprintf(text, "0\r\nT: %08000d\r\n\r\n", 0);
	ck_assert_int_eq(read_body(text, 100, out, &rest), LMI_HTTP_CHUNKS_DONE);
	sprintf(text, "0\r\nT: %08200d\r\n\r\n", 0);
	ck_assert_int_eq(read_body(text, 100, out, &rest), LMI_HTTP_CHUNKS_BAD);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("head");
	TCase *t = tcase_create("head");

	tcase_add_test(t, a_request);
	tcase_add_test(t, a_copy);
	tcase_add_loop_test(t, accepted_and_refused, 0, (int)LMD_LEN(cases));
	tcase_add_loop_test(t, connection, 0, (int)LMD_LEN(connections));
	tcase_add_test(t, bounds);
	tcase_add_test(t, percent);
	tcase_add_loop_test(t, chunked_bodies, 0, (int)LMD_LEN(bodies));
	tcase_add_test(t, chunk_bounds);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
