/* SPDX-License-Identifier: MIT
 *
 * head.h - the head of an HTTP/1 request: request line and header fields (RFC 9110, RFC 9112).
 *
 * The parser accepts less than the RFC allows, so that no server or proxy on the way can read a
 * request differently: lines end in CR LF, there is one length at most, fields are not folded.
 * Requests outside these rules are answered with an error, and the connection is closed.
 *
 * Pure: no clock, no socket, no allocation. */
#ifndef LLAMAD_DAEMON_HTTP_HEAD_H
#define LLAMAD_DAEMON_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

#define LMI_HTTP_HEAD_BYTES  (16u << 10) /* the whole head */
#define LMI_HTTP_HEAD_LINE   (8u << 10)  /* a line without its CR LF */
#define LMI_HTTP_HEAD_FIELDS 64u

struct lmi_http_field {
	struct lmd_str name, value;
};

enum lmi_http_head_result {
	LMI_HTTP_HEAD_MORE, /* not complete */
	LMI_HTTP_HEAD_DONE,
	LMI_HTTP_HEAD_BAD, /* sets code and why */
};

/* All strings point into the bytes that were parsed. */
struct lmi_http_head {
	size_t n_bytes; /* length of the head, including the empty line */
	struct lmd_str method, path, query; /* path is not decoded and begins with '/', or is "*" */
	uint32_t minor;                     /* HTTP/1.minor: 0 or 1 */
	struct lmd_str host;                /* "" in HTTP/1.0 without Host */
	struct lmi_http_field field[LMI_HTTP_HEAD_FIELDS];
	uint32_t n_field;
	bool chunked, has_length;
	uint64_t length; /* of the body, if has_length */
	bool keep_alive; /* the client wants to send more requests */
	bool expect_continue;
	int code;        /* status code of the error */
	const char *why; /* what is wrong with the request */
	/* private: the bytes, and how far they have been scanned */
	const char *bytes;
	size_t at, line_at;
	uint32_t n_line;
};

/* Parses the first n bytes of a connection, or those after the previous request.  *h is zeroed
 * before the first call; each further call for the same head has all earlier bytes and more. */
enum lmi_http_head_result lmi_http_head_parse(struct lmi_http_head *h, const char *bytes, size_t n);

/* Copies a head that is complete, and its n_bytes bytes to `bytes`, into which the copy points. */
void lmi_http_head_copy(struct lmi_http_head *out, const struct lmi_http_head *h, char *bytes);

/* Returns the value of the first field with that name, in any case of letters; NULL: none. */
const struct lmd_str *lmi_http_head_field(const struct lmi_http_head *h, const char *name);

/* Decodes %XX, and '+' to a blank if `plus` is set.  Writes at most n bytes and a zero to out.
 * Returns false if an escape is malformed or stands for a zero byte. */
bool lmi_http_percent_decode(char *out, const char *text, size_t n, bool plus);

#endif /* LLAMAD_DAEMON_HTTP_HEAD_H */
