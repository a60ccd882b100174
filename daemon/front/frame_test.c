/* SPDX-License-Identifier: MIT
 *
 * Frames: the result does not depend on how the bytes are split, and bounds hold. */
#include "daemon/front/frame.h"

#include <string.h>

#include "core/base/alloc.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define MAX 100u

static uint8_t bytes[4096];
static size_t n_bytes;

static void put(const void *p, size_t n)
{
	ck_assert_uint_le(n_bytes + n, sizeof(bytes));
	memcpy(bytes + n_bytes, p, n);
	n_bytes += n;
}

static void put_hello(void)
{
	n_bytes = 0;
	put("\0SP\0\0\x30\0\0", 8);
}

/* A message of n bytes `fill` after the numbers of `hops` proxies and its own number. */
static void put_message(bool ipc, uint32_t hops, uint64_t n, uint8_t fill)
{
	uint8_t head[LMI_FRONT_FRAME_HEAD_BYTES], body[600];

	ck_assert_uint_le(n, sizeof(body));
	memset(body, fill, n);
	put(head, lmi_front_frame_head(ipc, n + 4 * hops + 4, head));
	for (uint32_t i = 0; i < hops; i++)
		put("\0\0\0\1", 4);
	put("\x80\0\0\x07", 4);
	put(body, n);
}

struct seen {
	uint32_t n_greeted, n_message, n_long, n_bad;
	uint64_t n_body, n_route;
	uint8_t last;
};

/* Feeds all bytes in pieces of `step`. */
static struct seen feed(bool ipc, size_t step)
{
	struct lmi_front_frames f = {.ipc = ipc, .max = MAX};
	struct lmi_front_frame out;
	struct seen s = {0};

	for (size_t at = 0; at < n_bytes && !s.n_bad; at += step) {
		const uint8_t *p = bytes + at;
		size_t n = at + step < n_bytes ? step : n_bytes - at;
		enum lmi_front_frame_event ev;

		do {
			ev = lmi_front_frames_feed(&f, &p, &n, &out);
			s.n_greeted += ev == LMI_FRONT_FRAME_HANDSHAKE;
			s.n_message += ev == LMI_FRONT_FRAME_MESSAGE;
			s.n_long += ev == LMI_FRONT_FRAME_LONG;
			s.n_bad += ev == LMI_FRONT_FRAME_BAD;
			if (ev == LMI_FRONT_FRAME_MESSAGE || ev == LMI_FRONT_FRAME_LONG) {
				s.n_body = out.n_body;
				s.n_route = out.n_route;
				ck_assert_int_eq(out.route[out.n_route - 4], 0x80);
				ck_assert_int_eq(out.route[out.n_route - 1], 7);
			}
			if (ev == LMI_FRONT_FRAME_MESSAGE && out.n_body)
				s.last = out.body[out.n_body - 1];
		} while (ev != LMI_FRONT_FRAME_MORE && ev != LMI_FRONT_FRAME_BAD);
	}
	if (!s.n_bad)
		ck_assert(!lmi_front_frames_incomplete(&f));
	lmi_front_frames_fini(&f);
	return s;
}

START_TEST(any_pieces)
{
	for (int ipc = 0; ipc < 2; ipc++) {
		put_hello();
		put_message(ipc, 0, 0, 0);
		put_message(ipc, 0, 1, 'a');
		put_message(ipc, 3, MAX, 'b');
		put_message(ipc, 0, MAX + 1, 'c');
		put_message(ipc, 7, 5, 'd');
		for (size_t step = 1; step <= n_bytes; step++) {
			struct seen s = feed(ipc, step);

			ck_assert(s.n_greeted == 1 && s.n_message == 4 && s.n_long == 1);
			ck_assert(s.last == 'd' && s.n_body == 5 && s.n_route == 32 && !s.n_bad);
		}
	}
}
END_TEST

START_TEST(bounds)
{
	static const struct {
		uint64_t n;
		uint32_t hops;
		uint32_t message, too_long, bad;
	} cases[] = {
		{MAX, 0, 1, 0, 0},
		{MAX + 1, 0, 0, 1, 0},
		{MAX, 7, 1, 0, 0},
		{MAX + 1, 7, 0, 1, 0},
		{4 * MAX, 0, 0, 1, 0},
		{4 * (MAX + 32) - 4, 0, 0, 1, 0},
		{4 * (MAX + 32), 0, 0, 0, 1},
		{0, 8, 0, 0, 1},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct seen s;

		put_hello();
		put_message(true, cases[i].hops, cases[i].n, 'x');
		s = feed(true, 17);
		ck_assert_msg(s.n_message == cases[i].message && s.n_long == cases[i].too_long &&
				      s.n_bad == cases[i].bad,
			      "case %zu: %u %u %u", i, s.n_message, s.n_long, s.n_bad);
		if (s.n_long)
			ck_assert_uint_eq(s.n_body, cases[i].n);
	}
}
END_TEST

START_TEST(what_is_none)
{
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
		{"GET / HTTP", 10},
		{"\0SP\0\0\x31\0\0", 8}, /* a REP peer */
		{"\0SP\0\0\x30\0\1", 8},
		{"\0SP\0\0\x30\0\0\2\0\0\0\0\0\0\0\4", 17}, /* not the byte 1 */
		{"\0SP\0\0\x30\0\0\1\0\0\0\0\0\0\0\3", 17}, /* too short for a number */
		{"\0SP\0\0\x30\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 17},
		{"\0SP\0\0\x30\0\0\1\0\0\0\0\0\0\0\4\0\0\0\1", 21}, /* a route that does not end */
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		n_bytes = 0;
		put(cases[i].bytes, cases[i].n);
		for (size_t step = 1; step <= n_bytes; step++)
			ck_assert_msg(feed(true, step).n_bad == 1, "case %zu, step %zu", i, step);
	}
}
END_TEST

/* An announced length does not allocate memory. */
START_TEST(memory_follows_bytes)
{
	struct lmi_front_frames f = {.ipc = true, .max = 64u << 20};
	uint8_t head[LMI_FRONT_FRAME_HEAD_BYTES];
	struct lmi_front_frame out;
	const uint8_t *p = bytes;
	size_t n;

	put_hello();
	put(head, lmi_front_frame_head(true, 64u << 20, head));
	put("\x80\0\0\x07", 4);
	n = n_bytes;
	ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_HANDSHAKE);
	ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_MORE);
	ck_assert_uint_le(f.cap, 8192);
	ck_assert(lmi_front_frames_incomplete(&f));
	lmi_front_frames_fini(&f);
}
END_TEST

/* The buffer of a short message is kept for the next one, that of a long message is freed. */
START_TEST(buffers_between_messages)
{
	static const uint64_t size[] = {100, 100000};
	static uint8_t body[100000];

	for (size_t i = 0; i < LMD_LEN(size); i++) {
		struct lmi_front_frames f = {.ipc = true, .max = size[i]};
		uint8_t head[LMI_FRONT_FRAME_HEAD_BYTES];
		const uint8_t *p = bytes;
		struct lmi_front_frame out;
		size_t n;

		put_hello();
		put(head, lmi_front_frame_head(true, size[i] + 4, head));
		put("\x80\0\0\x07", 4);
		n = n_bytes;
		ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_HANDSHAKE);
		ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_MORE);
		p = body;
		n = size[i];
		ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_MESSAGE);
		ck_assert_uint_gt(f.cap, 0);
		n = 0;
		ck_assert_int_eq(lmi_front_frames_feed(&f, &p, &n, &out), LMI_FRONT_FRAME_MORE);
		ck_assert_int_eq(f.cap > 0, i == 0);
		lmi_front_frames_fini(&f);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frames");
	TCase *t = tcase_create("frames");

	tcase_add_test(t, any_pieces);
	tcase_add_test(t, bounds);
	tcase_add_test(t, what_is_none);
	tcase_add_test(t, memory_follows_bytes);
	tcase_add_test(t, buffers_between_messages);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
