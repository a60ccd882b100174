/* SPDX-License-Identifier: MIT
 *
 * chunks.h - the chunked transfer coding of a request's body (RFC 9112, section 7.1).
 *
 * Extensions of chunks and trailer fields are read and ignored.  Pure: no clock, no socket, no
 * allocation. */
#ifndef LLAMAD_DAEMON_HTTP_CHUNKS_H
#define LLAMAD_DAEMON_HTTP_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

/* Maximum length of the line before a chunk, and of all trailer fields. */
#define LMI_HTTP_CHUNKS_LINE    256u
#define LMI_HTTP_CHUNKS_TRAILER 8192u

enum lmi_http_chunks_result {
	LMI_HTTP_CHUNKS_MORE, /* all bytes were read */
	LMI_HTTP_CHUNKS_DONE, /* the body is complete */
	LMI_HTTP_CHUNKS_BAD,  /* not a chunked body */
};

/* Zeroed at the beginning of a body. */
struct lmi_http_chunks {
	int state;
	uint64_t left; /* bytes of the current chunk that have not arrived */
	uint32_t n_digit, n_line, n_trailer;
};

/* Reads up to n bytes; *n_read is the number of those that belong to the body's coding.  *data and
 * *n_data are content: bytes of one chunk, which point into `bytes`.  Call it again with the bytes
 * after *n_read while it returns MORE and there are any. */
enum lmi_http_chunks_result lmi_http_chunks_read(struct lmi_http_chunks *c, const char *bytes,
						 size_t n, size_t *n_read, const char **data,
						 size_t *n_data);

#endif /* LLAMAD_DAEMON_HTTP_CHUNKS_H */
