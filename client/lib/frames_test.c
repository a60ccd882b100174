/* SPDX-License-Identifier: MIT
 *
 * Frames of replies, fed in pieces of every length; lengths that lie. */
#include <string.h>

#include "client/lib/frames.h"
#include "core/base/alloc.h"
#include "tests/lmd_check.h"

static const uint8_t hello[8] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};

/* Writes a handshake and two replies: number 7 "abc", number 8 without a body. */
static size_t stream(uint8_t *out, bool ipc)
{
	size_t n = sizeof(hello);

	memcpy(out, hello, n);
	n += lmi_client_frame_head(ipc, 7, 3, out + n);
	memcpy(out + n, "abc", 3);
	n += 3;
	return n + lmi_client_frame_head(ipc, 8, 0, out + n);
}

START_TEST(pieces_of_every_length)
{
	uint8_t bytes[64];
	size_t n = stream(bytes, _i != 0);

	for (size_t piece = 1; piece <= n; piece++) {
		struct lmi_client_frames f = {.ipc = _i != 0};
		struct lmi_client_frame_message m;
		uint32_t n_message = 0, n_hello = 0;

		for (size_t at = 0; at < n; at += piece) {
			const uint8_t *p = bytes + at;
			size_t left = n - at < piece ? n - at : piece;
			enum lmi_client_frame_event e;

			while ((e = lmi_client_frames_feed(&f, &p, &left, &m)) !=
			       LMI_CLIENT_FRAME_MORE) {
				if (e == LMI_CLIENT_FRAME_HANDSHAKE) {
					n_hello++;
					continue;
				}
				ck_assert_int_eq(e, LMI_CLIENT_FRAME_MESSAGE);
				ck_assert_uint_eq(m.number, 7 + n_message);
				ck_assert_uint_eq(m.n, n_message ? 0 : 3);
				ck_assert(!m.n || !memcmp(m.own_body, "abc", 3));
				lmi_free(m.own_body);
				n_message++;
			}
		}
		ck_assert_uint_eq(n_hello, 1);
		ck_assert_uint_eq(n_message, 2);
		lmi_client_frames_fini(&f);
	}
}
END_TEST

static enum lmi_client_frame_event feed(struct lmi_client_frames *f, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	struct lmi_client_frame_message m;

	return lmi_client_frames_feed(f, &p, &n, &m);
}

START_TEST(what_is_not_the_protocol)
{
	static const uint8_t pair[8] = {0, 'S', 'P', 0, 0, 0x10, 0, 0};
	uint8_t head[LMI_CLIENT_FRAME_HEAD_BYTES];
	struct lmi_client_frames f = {0};
	uint32_t n;

	ck_assert_int_eq(feed(&f, "HTTP/1.1 400", 12), LMI_CLIENT_FRAME_BAD);
	lmi_client_frames_fini(&f);
	ck_assert_int_eq(feed(&f, pair, 8), LMI_CLIENT_FRAME_BAD);
	lmi_client_frames_fini(&f);

	/* a length that has no room for the number; one that is too long; a byte that is not 1 */
	for (int i = 0; i < 3; i++) {
		f.ipc = true;
		ck_assert_int_eq(feed(&f, hello, 8), LMI_CLIENT_FRAME_HANDSHAKE);
		n = lmi_client_frame_head(true, 1, i == 1 ? LMI_CLIENT_REPLY_MAX + 1 : 0, head);
		head[8] = i == 0 ? 3 : head[8];
		head[0] = i == 2 ? 2 : head[0];
		ck_assert_int_eq(feed(&f, head, n), LMI_CLIENT_FRAME_BAD);
		lmi_client_frames_fini(&f);
	}
}
END_TEST

/* A long reply that is only announced costs no memory. */
START_TEST(memory_grows_with_the_bytes)
{
	uint8_t head[LMI_CLIENT_FRAME_HEAD_BYTES];
	struct lmi_client_frames f = {0};
	uint32_t n = lmi_client_frame_head(false, 1, LMI_CLIENT_REPLY_MAX, head);

	ck_assert_int_eq(feed(&f, hello, 8), LMI_CLIENT_FRAME_HANDSHAKE);
	ck_assert_int_eq(feed(&f, head, n), LMI_CLIENT_FRAME_MORE);
	ck_assert_uint_eq(f.cap, 0);
	ck_assert_int_eq(feed(&f, "abcd", 4), LMI_CLIENT_FRAME_MORE);
	ck_assert_uint_le(f.cap, 4096);
	lmi_alloc_fail_nth(1, true);
	ck_assert_int_eq(feed(&f, (uint8_t[8192]){0}, 8192), LMI_CLIENT_FRAME_NOMEM);
	lmi_alloc_fail_nth(0, false);
	lmi_client_frames_fini(&f);

	/* nor does it take more than it needs */
	n = lmi_client_frame_head(false, 1, 5000, head);
	ck_assert_int_eq(feed(&f, hello, 8), LMI_CLIENT_FRAME_HANDSHAKE);
	ck_assert_int_eq(feed(&f, head, n), LMI_CLIENT_FRAME_MORE);
	ck_assert_int_eq(feed(&f, (uint8_t[4999]){0}, 4999), LMI_CLIENT_FRAME_MORE);
	ck_assert_uint_eq(f.cap, 5000);
	lmi_client_frames_fini(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frames");
	TCase *t = tcase_create("frames");

	tcase_add_loop_test(t, pieces_of_every_length, 0, 2);
	tcase_add_test(t, what_is_not_the_protocol);
	tcase_add_test(t, memory_grows_with_the_bytes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
