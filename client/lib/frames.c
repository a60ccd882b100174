/* SPDX-License-Identifier: MIT
 *
 * Parses replies.  Nothing is allocated for a length that was only announced: a body grows with the
 * bytes that arrive. */
#include "client/lib/frames.h"

#include <string.h>

#include "core/base/alloc.h"

#define NUMBER_BYTES 4u
#define NUMBER_BIT   0x80000000u
#define FIRST_CAP    4096u

const uint8_t lmi_client_handshake[LMI_CLIENT_HANDSHAKE_BYTES] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
static const uint8_t server_handshake[LMI_CLIENT_HANDSHAKE_BYTES] = {0, 'S', 'P', 0,
								     0, 0x31, 0, 0};

static void put_be(uint8_t *out, uint64_t v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

static uint64_t get_be(const uint8_t *p, uint32_t n)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

uint32_t lmi_client_frame_head(bool ipc, uint32_t number, uint64_t n,
			       uint8_t out[LMI_CLIENT_FRAME_HEAD_BYTES])
{
	uint32_t at = 0;

	if (ipc)
		out[at++] = 1;
	put_be(out + at, n + NUMBER_BYTES, 8);
	put_be(out + at + 8, number | NUMBER_BIT, NUMBER_BYTES);
	return at + 8 + NUMBER_BYTES;
}

/* Moves bytes into `head` until it has `want` of them. */
static bool fill_head(struct lmi_client_frames *f, uint32_t want, const uint8_t **p, size_t *n)
{
	while (f->n_head < want && *n) {
		f->head[f->n_head++] = *(*p)++;
		--*n;
	}
	return f->n_head == want;
}

static bool grow(struct lmi_client_frames *f, uint64_t need)
{
	uint64_t cap = f->cap ? f->cap : FIRST_CAP;
	uint8_t *body;

	if (need <= f->cap)
		return true;
	while (cap < need)
		cap *= 2;
	if (cap > f->len)
		cap = f->len;
	body = lmi_realloc(f->body, cap, 1);
	if (!body)
		return false;
	f->body = body;
	f->cap = cap;
	return true;
}

static enum lmi_client_frame_event feed_body(struct lmi_client_frames *f, const uint8_t **p,
					     size_t *n, struct lmi_client_frame_message *out)
{
	uint64_t left = f->len - f->got, take = *n < left ? *n : left;

	if (take && !grow(f, f->got + take))
		return LMI_CLIENT_FRAME_NOMEM;
	if (take)
		memcpy(f->body + f->got, *p, take);
	f->got += take;
	*p += take;
	*n -= take;
	if (f->got < f->len)
		return LMI_CLIENT_FRAME_MORE;
	*out = (struct lmi_client_frame_message){
		.number = (uint32_t)get_be(f->head + f->n_head - NUMBER_BYTES, NUMBER_BYTES) &
			  ~NUMBER_BIT,
		.own_body = f->body,
		.n = f->len};
	f->body = NULL;
	f->cap = f->got = 0;
	f->n_head = 0;
	f->in_body = false;
	return LMI_CLIENT_FRAME_MESSAGE;
}

enum lmi_client_frame_event lmi_client_frames_feed(struct lmi_client_frames *f, const uint8_t **p,
						   size_t *n, struct lmi_client_frame_message *out)
{
	uint32_t first = f->ipc ? 1 : 0;
	uint64_t len;

	if (!f->handshake_done) {
		if (!fill_head(f, LMI_CLIENT_HANDSHAKE_BYTES, p, n))
			return LMI_CLIENT_FRAME_MORE;
		f->handshake_done = true;
		f->n_head = 0;
		return memcmp(f->head, server_handshake, sizeof(server_handshake))
			       ? LMI_CLIENT_FRAME_BAD
			       : LMI_CLIENT_FRAME_HANDSHAKE;
	}
	if (!f->in_body) {
		if (!fill_head(f, first + 8 + NUMBER_BYTES, p, n))
			return LMI_CLIENT_FRAME_MORE;
		len = get_be(f->head + first, 8);
		if ((first && f->head[0] != 1) || len < NUMBER_BYTES ||
		    len - NUMBER_BYTES > LMI_CLIENT_REPLY_MAX)
			return LMI_CLIENT_FRAME_BAD;
		f->len = len - NUMBER_BYTES;
		f->in_body = true;
	}
	return feed_body(f, p, n, out);
}

void lmi_client_frames_fini(struct lmi_client_frames *f)
{
	lmi_free(f->body);
	*f = (struct lmi_client_frames){.ipc = f->ipc};
}
