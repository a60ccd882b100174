/* SPDX-License-Identifier: MIT
 *
 * The parser works in two passes.  The first one looks for the empty line, byte by byte as they
 * arrive, and applies the bounds, so that a client cannot make the server keep more than
 * LMI_HTTP_HEAD_BYTES.  The second one, when the head is complete, takes the lines apart. */
#include "daemon/http/head.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static enum lmi_http_head_result bad(struct lmi_http_head *h, int code, const char *why)
{
	h->code = code;
	h->why = why;
	return LMI_HTTP_HEAD_BAD;
}

/* ---- characters ---- */

static bool is_token_char(unsigned char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr(others, c));
}

static bool is_token(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_token_char((unsigned char)s[i]))
			return false;
	return n > 0;
}

static bool is_visible(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] <= 0x20 || (unsigned char)s[i] >= 0x7F)
			return false;
	return true;
}

static bool is_word(const struct lmd_str *s, const char *word)
{
	return s->len == strlen(word) && !strncasecmp(s->ptr, word, s->len);
}

/* ---- the first pass ---- */

/* Called at the end of a line, which begins at h->line_at and is n bytes long. */
static enum lmi_http_head_result end_line(struct lmi_http_head *h, size_t n)
{
	if (n > LMI_HTTP_HEAD_LINE)
		return h->n_line ? bad(h, 431, "a header line is longer than 8192 bytes")
				 : bad(h, 414, "the request line is longer than 8192 bytes");
	if (!n && h->n_line)
		return LMI_HTTP_HEAD_DONE;
	/* one empty line before the request is ignored, as the RFC advises */
	if (!n && h->line_at)
		return bad(h, 400, "the request line is empty");
	h->n_line += n > 0;
	if (h->n_line > LMI_HTTP_HEAD_FIELDS + 1)
		return bad(h, 431, "the request has more than 64 header fields");
	return LMI_HTTP_HEAD_MORE;
}

static enum lmi_http_head_result scan(struct lmi_http_head *h, const char *bytes, size_t n)
{
	enum lmi_http_head_result r;

	for (; h->at < n; h->at++) {
		char c = bytes[h->at];

		if (h->at >= LMI_HTTP_HEAD_BYTES)
			return bad(h, 431, "the header is longer than 16384 bytes");
		if (h->at && bytes[h->at - 1] == '\r' && c != '\n')
			return bad(h, 400, "a CR without LF");
		if (c != '\n')
			continue;
		if (!h->at || bytes[h->at - 1] != '\r')
			return bad(h, 400, "a line ends in LF without CR");
		r = end_line(h, h->at - 1 - h->line_at);
		h->line_at = h->at + 1;
		if (r == LMI_HTTP_HEAD_DONE)
			h->n_bytes = ++h->at;
		if (r != LMI_HTTP_HEAD_MORE)
			return r;
	}
	if (h->at - h->line_at > LMI_HTTP_HEAD_LINE + 1)
		return end_line(h, h->at - h->line_at);
	return LMI_HTTP_HEAD_MORE;
}

/* ---- the request line ---- */

static enum lmi_http_head_result take_target(struct lmi_http_head *h, struct lmd_str t)
{
	static const char *const schemes[] = {"http://", "https://"};
	const char *q;

	if (!t.len || !is_visible(t.ptr, t.len) || memchr(t.ptr, '#', t.len))
		return bad(h, 400, "the target of the request is not a path");
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(schemes[i]);
		const char *slash;

		if (t.len <= n || strncasecmp(t.ptr, schemes[i], n))
			continue;
		slash = memchr(t.ptr + n, '/', t.len - n);
		if (!slash || slash == t.ptr + n)
			return bad(h, 400, "the target of the request is not a path");
		h->host = (struct lmd_str){.ptr = t.ptr + n, .len = (size_t)(slash - t.ptr) - n};
		t = (struct lmd_str){.ptr = slash, .len = t.len - (size_t)(slash - t.ptr)};
		break;
	}
	if (*t.ptr != '/' && !(is_word(&t, "*") && is_word(&h->method, "OPTIONS")))
		return bad(h, 400, "the target of the request is not a path");
	q = memchr(t.ptr, '?', t.len);
	h->path = (struct lmd_str){.ptr = t.ptr, .len = q ? (size_t)(q - t.ptr) : t.len};
	if (q)
		h->query = (struct lmd_str){.ptr = q + 1, .len = t.len - h->path.len - 1};
	return LMI_HTTP_HEAD_DONE;
}

static enum lmi_http_head_result take_request_line(struct lmi_http_head *h, const char *s, size_t n)
{
	const char *end = s + n, *b1 = memchr(s, ' ', n);
	const char *b2 = b1 ? memchr(b1 + 1, ' ', (size_t)(end - b1 - 1)) : NULL;

	if (!b2)
		return bad(h, 400, "the request line is not METHOD PATH HTTP/1.1");
	h->method = (struct lmd_str){.ptr = s, .len = (size_t)(b1 - s)};
	if (!is_token(h->method.ptr, h->method.len))
		return bad(h, 400, "the method is not a word");
	if (end - b2 - 1 != 8 || strncmp(b2 + 1, "HTTP/", 5) || b2[7] != '.')
		return bad(h, 400, "the request line is not METHOD PATH HTTP/1.1");
	if (b2[6] != '1' || (b2[8] != '0' && b2[8] != '1'))
		return bad(h, 505, "the version of HTTP is not 1.0 or 1.1");
	h->minor = (uint32_t)(b2[8] - '0');
	return take_target(
		h, (struct lmd_str){.ptr = b1 + 1, .len = (size_t)(b2 - b1 - 1)});
}

/* ---- fields ---- */

static enum lmi_http_head_result take_field(struct lmi_http_head *h, const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n), *end = s + n, *v;
	struct lmi_http_field *f = &h->field[h->n_field];

	if (*s == ' ' || *s == '\t')
		return bad(h, 400, "a header field is continued on a second line");
	if (!colon || !is_token(s, (size_t)(colon - s)))
		return bad(h, 400, "a header line is not NAME: VALUE");
	for (v = colon + 1; v < end; v++)
		if (((unsigned char)*v < 0x20 && *v != '\t') || *v == 0x7F)
			return bad(h, 400, "a header field has a control character");
	for (v = colon + 1; v < end && (*v == ' ' || *v == '\t'); v++)
		;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	f->name = (struct lmd_str){.ptr = s, .len = (size_t)(colon - s)};
	f->value = (struct lmd_str){.ptr = v, .len = (size_t)(end - v)};
	h->n_field++;
	return LMI_HTTP_HEAD_DONE;
}

static bool take_length(struct lmi_http_head *h, const struct lmd_str *v)
{
	if (!v->len || v->len > 18)
		return false;
	for (size_t i = 0; i < v->len; i++) {
		if (v->ptr[i] < '0' || v->ptr[i] > '9')
			return false;
		h->length = h->length * 10 + (uint64_t)(v->ptr[i] - '0');
	}
	h->has_length = true;
	return true;
}

/* Takes the words of a Connection field. */
static void take_connection(struct lmi_http_head *h, const struct lmd_str *v)
{
	const char *p = v->ptr, *end = p + v->len;

	while (p < end) {
		struct lmd_str w = {.ptr = p};
		const char *comma = memchr(p, ',', (size_t)(end - p));

		comma = comma ? comma : end;
		while (w.ptr < comma && (*w.ptr == ' ' || *w.ptr == '\t'))
			w.ptr++;
		w.len = (size_t)(comma - w.ptr);
		while (w.len && (w.ptr[w.len - 1] == ' ' || w.ptr[w.len - 1] == '\t'))
			w.len--;
		if (is_word(&w, "close"))
			h->keep_alive = false;
		else if (is_word(&w, "keep-alive") && !h->minor)
			h->keep_alive = true;
		p = comma + 1;
	}
}

static bool is_host(const struct lmd_str *v)
{
	for (size_t i = 0; i < v->len; i++)
		if (strchr("/?#@\\\"<>, \t", v->ptr[i]))
			return false;
	return is_visible(v->ptr, v->len);
}

/* Checks the fields that decide where the request ends and for whom it is. */
static enum lmi_http_head_result check_fields(struct lmi_http_head *h)
{
	uint32_t n_host = 0, n_length = 0, n_coding = 0;
	struct lmd_str absolute = h->host;

	h->keep_alive = h->minor == 1;
	for (uint32_t i = 0; i < h->n_field; i++) {
		const struct lmd_str *name = &h->field[i].name, *v = &h->field[i].value;

		if (is_word(name, "host")) {
			n_host++;
			h->host = *v;
		} else if (is_word(name, "content-length")) {
			if (n_length++)
				return bad(h, 400, "the request has two Content-Length fields");
			if (!take_length(h, v))
				return bad(h, 400, "Content-Length is not a number");
		} else if (is_word(name, "transfer-encoding")) {
			if (n_coding++ || !is_word(v, "chunked"))
				return bad(h, 501, "Transfer-Encoding is not chunked");
			h->chunked = true;
		} else if (is_word(name, "connection")) {
			take_connection(h, v);
		} else if (is_word(name, "expect")) {
			if (!is_word(v, "100-continue"))
				return bad(h, 417, "Expect is not 100-continue");
			h->expect_continue = h->minor == 1;
		}
	}
	if (n_host > 1 || (!n_host && h->minor))
		return bad(h, 400, "the request must have one Host field");
	if (n_host && !is_host(&h->host))
		return bad(h, 400, "Host is not a name or an address");
	if (h->chunked && (n_length || !h->minor))
		return bad(h, 400, n_length ? "the request has Content-Length and Transfer-Encoding"
					    : "the request is HTTP/1.0 with Transfer-Encoding");
	if (absolute.len)
		h->host = absolute;
	if (!is_host(&h->host))
		return bad(h, 400, "the target of the request is not a path");
	return LMI_HTTP_HEAD_DONE;
}

enum lmi_http_head_result lmi_http_head_parse(struct lmi_http_head *h, const char *bytes, size_t n)
{
	enum lmi_http_head_result r = scan(h, bytes, n);
	const char *p = bytes, *end = bytes + h->n_bytes;
	bool first = true;

	h->bytes = bytes;
	if (r != LMI_HTTP_HEAD_DONE)
		return r;
	while (p < end && r == LMI_HTTP_HEAD_DONE) {
		const char *cr = memchr(p, '\r', (size_t)(end - p));
		size_t len = (size_t)(cr - p);

		if (len && first)
			r = take_request_line(h, p, len);
		else if (len)
			r = take_field(h, p, len);
		first = first && !len;
		p = cr + 2;
	}
	return r == LMI_HTTP_HEAD_DONE ? check_fields(h) : r;
}

/* ---- use ---- */

void lmi_http_head_copy(struct lmi_http_head *out, const struct lmi_http_head *h, char *bytes)
{
	struct lmd_str *const own[] = {&out->method, &out->path, &out->query, &out->host};

	memcpy(bytes, h->bytes, h->n_bytes);
	memcpy(out, h, offsetof(struct lmi_http_head, field));
	memcpy(out->field, h->field, h->n_field * sizeof(*h->field));
	memcpy(&out->n_field, &h->n_field,
	       sizeof(*h) - offsetof(struct lmi_http_head, n_field));
	out->bytes = bytes;
	for (size_t i = 0; i < LMD_LEN(own); i++)
		if (own[i]->ptr)
			own[i]->ptr = bytes + (own[i]->ptr - h->bytes);
	for (uint32_t i = 0; i < out->n_field; i++) {
		out->field[i].name.ptr = bytes + (h->field[i].name.ptr - h->bytes);
		out->field[i].value.ptr = bytes + (h->field[i].value.ptr - h->bytes);
	}
}

const struct lmd_str *lmi_http_head_field(const struct lmi_http_head *h, const char *name)
{
	for (uint32_t i = 0; i < h->n_field; i++)
		if (is_word(&h->field[i].name, name))
			return &h->field[i].value;
	return NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool lmi_http_percent_decode(char *out, const char *text, size_t n, bool plus)
{
	for (size_t i = 0; i < n; i++) {
		int hi, lo;

		if (text[i] != '%') {
			*out++ = plus && text[i] == '+' ? ' ' : text[i];
			continue;
		}
		if (n - i < 3)
			return false;
		hi = hex(text[i + 1]);
		lo = hex(text[i + 2]);
		if (hi < 0 || lo < 0 || !(hi | lo))
			return false;
		*out++ = (char)(hi << 4 | lo);
		i += 2;
	}
	*out = 0;
	return true;
}
