/* SPDX-License-Identifier: MIT
 *
 * The text is a line of JSON with the counts and the bits in hexadecimal, followed by the results:
 *     {"lines":9,"completed":2,"failed":1,"output":512,"errors":99,"done":"0d00"} */
#include "daemon/http/openai/batch_progress.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "proto/buf.h"

static size_t n_bytes(uint32_t n_line)
{
	return n_line / 8 + 1;
}

bool lmi_openai_batch_progress_init(struct lmi_openai_batch_progress *p, uint32_t n_line)
{
	*p = (struct lmi_openai_batch_progress){.n_line = n_line};
	p->done = lmi_alloc(n_bytes(n_line), 1);
	return p->done != NULL;
}

void lmi_openai_batch_progress_fini(struct lmi_openai_batch_progress *p)
{
	lmi_free(p->done);
	lmi_wire_buf_fini(&p->out);
	lmi_wire_buf_fini(&p->errors);
	*p = (struct lmi_openai_batch_progress){0};
}

void lmi_openai_batch_progress_mark(struct lmi_openai_batch_progress *p, uint32_t line)
{
	if (line < p->n_line)
		p->done[line / 8] |= (uint8_t)(1u << line % 8);
}

bool lmi_openai_batch_progress_is_done(const struct lmi_openai_batch_progress *p, uint32_t line)
{
	return line < p->n_line && p->done[line / 8] >> line % 8 & 1;
}

bool lmi_openai_batch_progress_emit(const struct lmi_openai_batch_progress *p,
				    struct lmi_wire_buf *to)
{
	char text[160];
	bool good;

	(void)snprintf(text, sizeof(text),
		       "{\"lines\":%u,\"completed\":%u,\"failed\":%u,\"output\":%zu,\"errors\":%zu,"
		       "\"done\":\"",
		       p->n_line, p->n_completed, p->n_failed, p->out.n, p->errors.n);
	good = lmi_wire_buf_add(to, text, strlen(text));
	for (size_t i = 0; i < n_bytes(p->n_line) && good; i++) {
		(void)snprintf(text, sizeof(text), "%02x", p->done[i]);
		good = lmi_wire_buf_add(to, text, 2);
	}
	good = good && lmi_wire_buf_add(to, "\"}\n", 3);
	if (p->out.n)
		good = good && lmi_wire_buf_add(to, p->out.p, p->out.n);
	if (p->errors.n)
		good = good && lmi_wire_buf_add(to, p->errors.p, p->errors.n);
	return good;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_bits(struct lmi_openai_batch_progress *p, const json_t *hex)
{
	const char *s = json_string_value(hex);

	if (!s || json_string_length(hex) != 2 * n_bytes(p->n_line))
		return false;
	for (size_t i = 0; i < n_bytes(p->n_line); i++) {
		int hi = nibble(s[2 * i]), lo = nibble(s[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		p->done[i] = (uint8_t)(hi * 16 + lo);
	}
	return true;
}

static uint32_t n_done(const struct lmi_openai_batch_progress *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_line; i++)
		n += lmi_openai_batch_progress_is_done(p, i);
	return n;
}

/* Reads the head and checks it against the n bytes of results that follow. */
static bool read_head(struct lmi_openai_batch_progress *p, const json_t *v, size_t n,
		      size_t *n_out)
{
	json_int_t lines, completed, failed, output, errors;
	const json_t *done;

	if (json_unpack((json_t *)v, "{s:I,s:I,s:I,s:I,s:I,s:o}", "lines", &lines, "completed",
			&completed, "failed", &failed, "output", &output, "errors", &errors, "done",
			&done) ||
	    lines != (json_int_t)p->n_line || completed < 0 || failed < 0 || output < 0 ||
	    errors < 0 || completed > lines || failed > lines ||
	    (uint64_t)output > n || (uint64_t)errors != n - (uint64_t)output ||
	    !read_bits(p, done) || completed + failed != (json_int_t)n_done(p))
		return false;
	p->n_completed = (uint32_t)completed;
	p->n_failed = (uint32_t)failed;
	*n_out = (size_t)output;
	return true;
}

enum lmd_status lmi_openai_batch_progress_parse(struct lmi_openai_batch_progress *p,
						const char *text, size_t n, struct lmd_error *err)
{
	const char *end = n ? memchr(text, '\n', n) : NULL, *rest = end ? end + 1 : text;
	size_t n_rest = n - (size_t)(rest - text), n_out = 0;
	struct lmi_openai_batch_progress q;
	json_t *v = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
	enum lmd_status st = LMD_OK;

	if (!lmi_openai_batch_progress_init(&q, p->n_line))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	else if (!read_head(&q, v, n_rest, &n_out))
		st = lmd_fail(err, LMD_CORRUPT, "the progress of the batch cannot be read");
	else if ((n_out && !lmi_wire_buf_add(&q.out, rest, n_out)) ||
		 (n_rest > n_out && !lmi_wire_buf_add(&q.errors, rest + n_out, n_rest - n_out)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	json_decref(v);
	if (st != LMD_OK) {
		lmi_openai_batch_progress_fini(&q);
		return st;
	}
	lmi_openai_batch_progress_fini(p);
	*p = q;
	return LMD_OK;
}
