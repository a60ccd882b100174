/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a connection of the socket, read by the daemon or by a client.  The
 * first byte chooses the side, the form of the lengths, and whether a good handshake comes first;
 * the rest are the bytes.  The events do not depend on how the bytes are split, memory follows the
 * bytes that arrived instead of the lengths that they announce, and nothing is left. */
#include <stdlib.h>
#include <string.h>

#include "client/lib/frames.h"
#include "core/base/alloc.h"
#include "daemon/front/frame.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

#define AS_CLIENT      1u /* bits of the first byte */
#define AS_IPC	       2u
#define WITH_HANDSHAKE 4u

#define MESSAGE_MAX 1000u /* of the daemon's side */

/* What the parser has reported. */
struct summary {
	uint32_t n_handshake, n_message, n_long;
	bool bad;
	uint64_t sum; /* of the contents */
};

static void add(struct summary *s, const void *bytes, uint64_t n)
{
	const uint8_t *p = bytes;

	s->sum = s->sum * 31 + n;
	for (uint64_t i = 0; i < n; i++)
		s->sum = s->sum * 31 + p[i];
}

static void feed_daemon(struct lmi_front_frames *f, const uint8_t *p, size_t n, struct summary *s)
{
	struct lmi_front_frame m;

	for (;;) {
		enum lmi_front_frame_event ev = lmi_front_frames_feed(f, &p, &n, &m);

		REQUIRE(f->cap <= 2 * (4096 + MESSAGE_MAX + LMI_FRONT_FRAME_ROUTE_BYTES));
		REQUIRE(ev != LMI_FRONT_FRAME_NOMEM);
		if (ev == LMI_FRONT_FRAME_MORE) {
			REQUIRE(!n);
			return;
		}
		s->bad = ev == LMI_FRONT_FRAME_BAD;
		if (s->bad)
			return;
		s->n_handshake += ev == LMI_FRONT_FRAME_HANDSHAKE;
		s->n_message += ev == LMI_FRONT_FRAME_MESSAGE;
		s->n_long += ev == LMI_FRONT_FRAME_LONG;
		if (ev == LMI_FRONT_FRAME_HANDSHAKE)
			continue;
		REQUIRE(m.n_route >= 4 && m.n_route <= LMI_FRONT_FRAME_ROUTE_BYTES);
		REQUIRE(m.route[m.n_route - 4] & 0x80);
		add(s, m.route, m.n_route);
		REQUIRE((ev == LMI_FRONT_FRAME_MESSAGE) == (m.n_body <= MESSAGE_MAX));
		if (ev == LMI_FRONT_FRAME_MESSAGE)
			add(s, m.body, m.n_body);
	}
}

static void feed_client(struct lmi_client_frames *f, const uint8_t *p, size_t n, size_t total,
			struct summary *s)
{
	struct lmi_client_frame_message m;

	for (;;) {
		enum lmi_client_frame_event ev = lmi_client_frames_feed(f, &p, &n, &m);

		REQUIRE(f->cap <= 2 * (uint64_t)total + 4096 && ev != LMI_CLIENT_FRAME_NOMEM);
		if (ev == LMI_CLIENT_FRAME_MORE) {
			REQUIRE(!n);
			return;
		}
		s->bad = ev == LMI_CLIENT_FRAME_BAD;
		if (s->bad)
			return;
		s->n_handshake += ev == LMI_CLIENT_FRAME_HANDSHAKE;
		if (ev != LMI_CLIENT_FRAME_MESSAGE)
			continue;
		s->n_message++;
		REQUIRE(m.n <= LMI_CLIENT_REPLY_MAX && !!m.own_body == !!m.n);
		add(s, &m.number, sizeof(m.number));
		add(s, m.own_body, m.n);
		lmi_free(m.own_body);
	}
}

/* Feeds the bytes in pieces. */
static struct summary run(uint8_t as, const uint8_t *p, size_t n, size_t piece)
{
	struct lmi_front_frames server = {.ipc = as & AS_IPC, .max = MESSAGE_MAX};
	struct lmi_client_frames client = {.ipc = as & AS_IPC};
	struct summary s = {0};

	if (as & WITH_HANDSHAKE) { /* each side reads what the other one sends */
		feed_daemon(&server, lmi_client_handshake, LMI_CLIENT_HANDSHAKE_BYTES, &s);
		feed_client(&client, lmi_front_frame_hello, LMI_FRONT_FRAME_HELLO_BYTES, 8, &s);
		REQUIRE(s.n_handshake == 2);
	}
	for (size_t at = 0; at < n && !s.bad; at += piece) {
		size_t m = n - at < piece ? n - at : piece;

		if (as & AS_CLIENT)
			feed_client(&client, p + at, m, at + m, &s);
		else
			feed_daemon(&server, p + at, m, &s);
	}
	lmi_front_frames_fini(&server);
	lmi_client_frames_fini(&client);
	return s;
}

static bool same(const struct summary *a, const struct summary *b)
{
	return a->n_handshake == b->n_handshake && a->n_message == b->n_message &&
	       a->n_long == b->n_long && a->bad == b->bad && a->sum == b->sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = {1, 7, 4096};
	struct lmi_alloc_stats before, after;
	struct summary whole;

	if (!size || size > (64u << 10))
		return 0;
	lmi_alloc_stats(&before);
	whole = run(data[0], data + 1, size - 1, size);
	for (size_t i = 0; i < LMD_LEN(pieces); i++) {
		struct summary s = run(data[0], data + 1, size - 1, pieces[i]);

		REQUIRE(same(&whole, &s));
	}
	lmi_alloc_stats(&after);
	REQUIRE(after.n_live == before.n_live);
	return 0;
}

/* A stream for each value of the first byte: messages without and with a body, one after the
 * numbers of two proxies, one that is too long, and the beginning of another. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	static const uint64_t sizes[] = {0, 3, MESSAGE_MAX, MESSAGE_MAX + 1, 5000};
	uint8_t as = (uint8_t)k;
	uint8_t *p;
	size_t n = 0;

	if (k >= 8)
		return false;
	p = calloc(1, 16384);
	REQUIRE(p);
	p[n++] = as;
	if (!(as & WITH_HANDSHAKE)) {
		memcpy(p + n, as & AS_CLIENT ? lmi_front_frame_hello : lmi_client_handshake, 8);
		n += 8;
	}
	for (size_t i = 0; i < LMD_LEN(sizes); i++) {
		n += lmi_client_frame_head(as & AS_IPC, (uint32_t)i + 7, sizes[i], p + n);
		memset(p + n, 'a' + (int)i, sizes[i]);
		n += sizes[i];
	}
	if (!(as & AS_CLIENT)) {
		n += lmi_front_frame_head(as & AS_IPC, 14, p + n);
		memcpy(p + n, "\0\0\0\1\0\0\0\2\x80\0\0\x09hi", 14);
		n += 14;
	}
	n += lmi_client_frame_head(as & AS_IPC, 9, 900, p + n);
	*out = (struct fuzz_bytes){p, n};
	return true;
}
