/* SPDX-License-Identifier: MIT
 *
 * A state machine over bytes; only the content of a chunk is taken as a whole. */
#include "daemon/http/chunks.h"

#include <string.h>

enum {
	SIZE,      /* hex digits */
	EXTENSION, /* after ';' */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	LINE_START, /* of a trailer field */
	LINE,
	LINE_LF,
	END_LF,
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int after_size(const struct lmi_http_chunks *c, char byte)
{
	if (byte == '\r' && c->n_digit)
		return SIZE_LF;
	return (byte == ';' || byte == ' ' || byte == '\t') && c->n_digit ? EXTENSION : -1;
}

/* Returns the state after a byte, or -1 if it is not allowed. */
static int step(struct lmi_http_chunks *c, char byte)
{
	int d;

	switch (c->state) {
	case SIZE:
		d = digit(byte);
		if (d < 0)
			return after_size(c, byte);
		c->left = c->left << 4 | (uint64_t)d;
		return ++c->n_digit <= 8 ? SIZE : -1;
	case EXTENSION:
		if (byte == '\r')
			return SIZE_LF;
		return (unsigned char)byte >= 0x20 || byte == '\t' ? EXTENSION : -1;
	case SIZE_LF:
		c->n_digit = c->n_line = 0;
		return byte != '\n' ? -1 : c->left ? DATA : LINE_START;
	case DATA_CR:
		return byte == '\r' ? DATA_LF : -1;
	case DATA_LF:
		return byte == '\n' ? SIZE : -1;
	case LINE_START:
	case LINE:
		if (byte == '\r')
			return c->state == LINE ? LINE_LF : END_LF;
		return (unsigned char)byte >= 0x20 || byte == '\t' ? LINE : -1;
	case LINE_LF:
		return byte == '\n' ? LINE_START : -1;
	default:
		return -1;
	}
}

enum lmi_http_chunks_result lmi_http_chunks_read(struct lmi_http_chunks *c, const char *bytes,
						 size_t n, size_t *n_read, const char **data,
						 size_t *n_data)
{
	*n_data = 0;
	*data = NULL;
	for (size_t i = 0; i < n; i++) {
		if (c->state == DATA) {
			*data = bytes + i;
			*n_data = c->left < n - i ? (size_t)c->left : n - i;
			c->left -= *n_data;
			if (!c->left)
				c->state = DATA_CR;
			*n_read = i + *n_data;
			return LMI_HTTP_CHUNKS_MORE;
		}
		if (c->state == END_LF) {
			*n_read = i + 1;
			return bytes[i] == '\n' ? LMI_HTTP_CHUNKS_DONE : LMI_HTTP_CHUNKS_BAD;
		}
		c->n_line += c->state <= EXTENSION;
		c->n_trailer += c->state >= LINE_START;
		c->state = step(c, bytes[i]);
		if (c->state < 0 || c->n_line > LMI_HTTP_CHUNKS_LINE ||
		    c->n_trailer > LMI_HTTP_CHUNKS_TRAILER)
			return LMI_HTTP_CHUNKS_BAD;
	}
	*n_read = n;
	return LMI_HTTP_CHUNKS_MORE;
}
