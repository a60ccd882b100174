/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as requests of HTTP, one after the other, as a connection reads them.  The
 * result does not depend on how the bytes arrive, and a head that is accepted obeys the rules that
 * others on the way may rely on. */
#include <string.h>

#include "daemon/http/chunks.h"
#include "daemon/http/head.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

static bool has(const struct lmd_str *s, char c)
{
	return s->len && memchr(s->ptr, c, s->len);
}

static void check_head(const struct lmi_http_head *h, const char *text)
{
	char out[LMI_HTTP_HEAD_LINE + 1];

	REQUIRE(h->n_bytes <= LMI_HTTP_HEAD_BYTES && h->n_field <= LMI_HTTP_HEAD_FIELDS);
	REQUIRE(memcmp(text + h->n_bytes - 4, "\r\n\r\n", 4) == 0);
	REQUIRE(!(h->chunked && h->has_length));
	REQUIRE(h->host.len || !h->minor || lmi_http_head_field(h, "host"));
	REQUIRE(h->path.len && !has(&h->path, ' ') && !has(&h->path, '?'));
	for (uint32_t i = 0; i < h->n_field; i++) {
		REQUIRE(h->field[i].name.len && !has(&h->field[i].name, ' '));
		REQUIRE(!has(&h->field[i].value, '\r') && !has(&h->field[i].value, '\n'));
	}
	(void)lmi_http_percent_decode(out, h->path.ptr, h->path.len, false);
	(void)lmi_http_percent_decode(out, h->query.ptr, h->query.len, true);
}

static enum lmi_http_head_result head(const char *text, size_t n, size_t piece, size_t *used)
{
	static struct lmi_http_head h;
	enum lmi_http_head_result r = LMI_HTTP_HEAD_MORE;

	memset(&h, 0, sizeof(h));
	for (size_t at = 0; at < n && r == LMI_HTTP_HEAD_MORE;) {
		at = n - at < piece ? n : at + piece;
		r = lmi_http_head_parse(&h, text, at);
	}
	if (r == LMI_HTTP_HEAD_DONE)
		check_head(&h, text);
	if (r == LMI_HTTP_HEAD_BAD)
		REQUIRE(h.code >= 400 && h.code < 600 && h.why);
	*used = r == LMI_HTTP_HEAD_DONE ? h.n_bytes : 0;
	return r;
}

static enum lmi_http_chunks_result body(const char *text, size_t n, size_t piece, uint64_t *sum)
{
	enum lmi_http_chunks_result r = LMI_HTTP_CHUNKS_MORE;
	struct lmi_http_chunks c = {0};

	*sum = 0;
	for (size_t at = 0; at < n && r == LMI_HTTP_CHUNKS_MORE;) {
		size_t m = n - at < piece ? n - at : piece, used = 0, n_data = 0;
		const char *bytes;

		r = lmi_http_chunks_read(&c, text + at, m, &used, &bytes, &n_data);
		REQUIRE(r == LMI_HTTP_CHUNKS_BAD || (used > 0 && used <= m));
		for (size_t i = 0; i < n_data; i++)
			*sum = *sum * 31 + (unsigned char)bytes[i];
		at += used;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	enum lmi_http_head_result r;
	size_t used, again;
	uint64_t a, b;

	if (size > (64u << 10))
		return 0;
	REQUIRE(body(text, size, size + 1, &a) == body(text, size, 3, &b) && a == b);
	do {
		r = head(text, size, size + 1, &used);
		REQUIRE(head(text, size, 7, &again) == r && used == again);
		text += used;
		size -= used;
	} while (r == LMI_HTTP_HEAD_DONE);
	return 0;
}

static const char *const seeds[] = {
	"GET /v1/models?a=%20b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n{ }",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
	"5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
	"OPTIONS * HTTP/1.0\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(seeds))
		return false;
	*out = (struct fuzz_bytes){(uint8_t *)strdup(seeds[k]), strlen(seeds[k])};
	REQUIRE(out->p);
	return true;
}
