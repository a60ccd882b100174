/* SPDX-License-Identifier: MIT
 *
 * The frame parser.  Buffers of long messages are freed after use. */
#include "daemon/front/frame.h"

#include <string.h>

#include "core/base/alloc.h"

#define KEEP_BYTES  65536u /* larger buffers are freed between messages */
#define FIRST_BYTES 4096u
#define LONG_TIMES  4u

const uint8_t lmi_front_frame_hello[LMI_FRONT_FRAME_HELLO_BYTES] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};
static const uint8_t peer_hello[LMI_FRONT_FRAME_HELLO_BYTES] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

/* Parses a complete length; returns false if it is invalid. */
static bool begin(struct lmi_front_frames *f)
{
	const uint8_t *p = f->head;
	uint64_t len = 0, max = f->max + LMI_FRONT_FRAME_ROUTE_BYTES;

	if (f->ipc && *p++ != 1)
		return false;
	for (int i = 0; i < 8; i++)
		len = len << 8 | p[i];
	if (len < 4 || len / LONG_TIMES > max)
		return false;
	f->too_long = len > max;
	f->in_body = true;
	f->len = len;
	f->got = 0;
	return true;
}

static bool grow(struct lmi_front_frames *f, uint64_t want)
{
	uint64_t cap = f->cap ? f->cap : FIRST_BYTES;
	uint8_t *p;

	while (cap < want)
		cap *= 2;
	if (cap == f->cap)
		return true;
	p = lmi_realloc(f->buf, cap, 1);
	if (!p)
		return false;
	f->buf = p;
	f->cap = cap;
	return true;
}

/* Stores n bytes of the message; returns false if out of memory. */
static bool take(struct lmi_front_frames *f, const uint8_t *p, uint64_t n)
{
	uint64_t keep = f->too_long ? LMI_FRONT_FRAME_ROUTE_BYTES : f->len;
	uint64_t more = f->got >= keep ? 0 : n < keep - f->got ? n : keep - f->got;

	if (more && !grow(f, f->got + more))
		return false;
	if (more)
		memcpy(f->buf + f->got, p, more);
	f->got += n;
	return true;
}

/* Finds the end of the route of a complete message and fills *out. */
static enum lmi_front_frame_event end(struct lmi_front_frames *f, struct lmi_front_frame *out)
{
	uint32_t n = 0;

	f->in_body = false;
	f->n_head = 0;
	f->got = 0;
	do {
		n += 4;
		if (n > f->len || n > LMI_FRONT_FRAME_ROUTE_BYTES)
			return LMI_FRONT_FRAME_BAD;
	} while (!(f->buf[n - 4] & 0x80));
	*out = (struct lmi_front_frame){.route = f->buf, .n_route = n, .n_body = f->len - n};
	if (f->too_long || out->n_body > f->max)
		return LMI_FRONT_FRAME_LONG;
	out->body = f->buf + n;
	return LMI_FRONT_FRAME_MESSAGE;
}

static enum lmi_front_frame_event head(struct lmi_front_frames *f, const uint8_t **p, size_t *n)
{
	uint32_t want = !f->handshake_done ? LMI_FRONT_FRAME_HELLO_BYTES : f->ipc ? 9 : 8;
	uint32_t take_n = (uint32_t)(*n < want - f->n_head ? *n : want - f->n_head);

	memcpy(f->head + f->n_head, *p, take_n);
	f->n_head += take_n;
	*p += take_n;
	*n -= take_n;
	if (f->n_head < want)
		return LMI_FRONT_FRAME_MORE;
	if (f->handshake_done)
		return begin(f) ? LMI_FRONT_FRAME_MORE : LMI_FRONT_FRAME_BAD;
	f->handshake_done = true;
	f->n_head = 0;
	return memcmp(f->head, peer_hello, sizeof(peer_hello)) ? LMI_FRONT_FRAME_BAD
							       : LMI_FRONT_FRAME_HANDSHAKE;
}

enum lmi_front_frame_event lmi_front_frames_feed(struct lmi_front_frames *f, const uint8_t **p,
						 size_t *n, struct lmi_front_frame *out)
{
	if (!f->in_body && f->cap > KEEP_BYTES)
		lmi_front_frames_fini(f);
	while (*n) {
		uint64_t part;

		if (!f->in_body) {
			enum lmi_front_frame_event ev = head(f, p, n);

			if (ev != LMI_FRONT_FRAME_MORE)
				return ev;
			continue;
		}
		part = f->len - f->got < *n ? f->len - f->got : *n;
		if (!take(f, *p, part))
			return LMI_FRONT_FRAME_NOMEM;
		*p += part;
		*n -= (size_t)part;
		if (f->got == f->len)
			return end(f, out);
	}
	return LMI_FRONT_FRAME_MORE;
}

bool lmi_front_frames_incomplete(const struct lmi_front_frames *f)
{
	return !f->handshake_done || f->n_head > 0;
}

uint64_t lmi_front_frames_expects(const struct lmi_front_frames *f)
{
	return f->in_body && !f->too_long ? f->len : 0;
}

uint32_t lmi_front_frame_head(bool ipc, uint64_t n, uint8_t out[LMI_FRONT_FRAME_HEAD_BYTES])
{
	uint32_t at = 0;

	if (ipc)
		out[at++] = 1;
	for (int i = 7; i >= 0; i--)
		out[at++] = (uint8_t)(n >> (8 * i));
	return at;
}

void lmi_front_frames_fini(struct lmi_front_frames *f)
{
	lmi_free(f->buf);
	f->buf = NULL;
	f->cap = 0;
}
