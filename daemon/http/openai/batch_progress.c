/* SPDX-License-Identifier: MIT
 *
 * A result begins with its id, so that reading needs no JSON parser:
 *     {"id":"batch_req_BATCH_7","custom_id":"a","response":{...},"error":null}
 *     {"id":"batch_req_BATCH_8","custom_id":"b","response":null,"error":{"code":"...","message":"..."}} */
#include "daemon/http/openai/batch_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "proto/buf.h"

#define HEAD "{\"id\":\"batch_req_"
#define TAIL "},\"error\":null}"
#define TAIL_ERROR "\"}}"

bool lmi_openai_batch_progress_init(struct lmi_openai_batch_progress *p, uint32_t n_line)
{
	*p = (struct lmi_openai_batch_progress){.n_line = n_line};
	p->done = lmi_alloc(n_line / 8 + 1, 1);
	return p->done != NULL;
}

void lmi_openai_batch_progress_fini(struct lmi_openai_batch_progress *p)
{
	lmi_free(p->done);
	*p = (struct lmi_openai_batch_progress){0};
}

bool lmi_openai_batch_progress_mark(struct lmi_openai_batch_progress *p, uint32_t line, bool failed)
{
	if (line >= p->n_line || lmi_openai_batch_progress_is_done(p, line))
		return false;
	p->done[line / 8] |= (uint8_t)(1u << line % 8);
	p->n_failed += failed;
	p->n_completed += !failed;
	return true;
}

bool lmi_openai_batch_progress_is_done(const struct lmi_openai_batch_progress *p, uint32_t line)
{
	return line < p->n_line && p->done[line / 8] >> line % 8 & 1;
}

void lmi_openai_batch_line_id(char id[LMI_OPENAI_BATCH_LINE_ID], const char *batch, uint32_t line)
{
	(void)snprintf(id, LMI_OPENAI_BATCH_LINE_ID, "%.32s_%u", batch, line);
}

static bool add(struct lmi_wire_buf *to, const char *text)
{
	return lmi_wire_buf_add(to, text, strlen(text));
}

/* Appends the beginning of a result. */
static bool add_head(struct lmi_wire_buf *to, const char *id, const json_t *custom_id)
{
	char *custom = custom_id ? json_dumps(custom_id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	const char *name = custom_id ? custom : "null";
	char text[96];
	bool good;

	(void)snprintf(text, sizeof(text), HEAD "%.48s\",\"custom_id\":", id);
	good = name && add(to, text) && add(to, name);
	free(custom);
	return good;
}

bool lmi_openai_batch_result(struct lmi_wire_buf *to, const char *id, const json_t *custom_id, int code,
			     const char *body, size_t n)
{
	char text[160];

	(void)snprintf(text, sizeof(text),
		       ",\"response\":{\"status_code\":%d,\"request_id\":\"%.48s\",\"body\":", code, id);
	return add_head(to, id, custom_id) && add(to, text) && lmi_wire_buf_add(to, body, n) &&
	       add(to, TAIL "\n");
}

bool lmi_openai_batch_result_error(struct lmi_wire_buf *to, const char *id, const json_t *custom_id,
				   const char *code, const char *text)
{
	return add_head(to, id, custom_id) && add(to, ",\"response\":null,\"error\":{\"code\":\"") &&
	       add(to, code) && add(to, "\",\"message\":\"") && add(to, text) &&
	       add(to, TAIL_ERROR "\n");
}

static bool ends_with(const char *text, size_t n, const char *tail)
{
	size_t n_tail = strlen(tail);

	return n >= n_tail && !memcmp(text + n - n_tail, tail, n_tail);
}

/* Reads the number of the line from a result of n bytes; returns false if it is none of this batch. */
static bool read_number(const char *batch, const char *text, size_t n, uint32_t *line)
{
	size_t n_batch = strlen(batch), at = strlen(HEAD);
	uint64_t v = 0;

	if (n < at + n_batch + 2 + strlen(TAIL) || memchr(text, 0, n) || memcmp(text, HEAD, at) ||
	    memcmp(text + at, batch, n_batch) ||
	    (!ends_with(text, n, TAIL) && !ends_with(text, n, TAIL_ERROR)))
		return false;
	at += n_batch;
	if (text[at++] != '_' || text[at] < '0' || text[at] > '9')
		return false;
	for (; at < n && text[at] >= '0' && text[at] <= '9' && v <= UINT32_MAX; at++)
		v = v * 10 + (uint64_t)(text[at] - '0');
	*line = (uint32_t)v;
	return v <= UINT32_MAX && at < n && text[at] == '"';
}

size_t lmi_openai_batch_progress_read(struct lmi_openai_batch_progress *p, const char *batch,
				      const char *text, size_t n, bool failed)
{
	size_t at = 0;

	while (at < n) {
		const char *end = memchr(text + at, '\n', n - at);
		uint32_t line;

		if (!end || !read_number(batch, text + at, (size_t)(end - text) - at, &line) ||
		    !lmi_openai_batch_progress_mark(p, line, failed))
			break;
		at = (size_t)(end - text) + 1;
	}
	return at;
}
