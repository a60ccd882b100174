/* SPDX-License-Identifier: MIT
 *
 * Malicious bytes, which the check must reject before any memory is allocated for them. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "proto/check.h"
#include "proto/proto_fixture.h"
#include "proto/reader.h"
#include "tests/lmd_check.h"

#define BYTES(s) s, sizeof(s) - 1

static const struct {
	const char *bytes;
	size_t n;
	const char *message; /* NULL: valid */
} cases[] = {
	{BYTES("\xC0"), NULL},
	{BYTES("\x80"), NULL},
	{BYTES(""), "message: empty"},
	{BYTES("\xC0\xC0"), "message: 1 bytes after its end"},
	{BYTES("\x81\xA1v\x01\x00"), "message: 1 bytes after its end"},
	/* counts that exceed the message */
	{BYTES("\xDD\xFF\xFF\xFF\xFF"), "message: byte 0: a count of 4294967295, but only 0 bytes"},
	{BYTES("\xDD\x01\x00\x00\x00"), "message: byte 0: a count of 16777216, but only 0 bytes"},
	{BYTES("\xDF\xFF\xFF\xFF\xFF"), "message: byte 0: a count of 4294967295"},
	{BYTES("\xDF\x80\x00\x00\x00\x00"), "message: byte 0: a count of 2147483648"},
	{BYTES("\xDC\xFF\xFF\xC0"), "message: byte 0: a count of 65535, but only 1 bytes follow"},
	{BYTES("\xDE\x00\x02\xA1"
	       "a\xC0"),
	 "message: byte 0: a count of 2, but only 3 bytes follow"},
	{BYTES("\x92\xC0"), "message: byte 0: a count of 2, but only 1 bytes follow"},
	{BYTES("\xDB\xFF\xFF\xFF\xFF"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xDA\x00\x03xx"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xD9\x02x"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xC6\xFF\xFF\xFF\xFF"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xC5\x00\x03xx"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xBFxxx"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xCF\x00"), "message: byte 0: unexpected end of the message"},
	{BYTES("\xCB\x00"), "message: byte 0: unexpected end of the message"},
	{BYTES("\x91\xDA"), "message: byte 1: unexpected end of the message"},
	/* types that are not allowed */
	{BYTES("\xC1"), "message: byte 0: an extension type or the byte c1"},
	{BYTES("\xC7\x00\x05"), "message: byte 0: an extension type or the byte c1"},
	{BYTES("\xC9\xFF\xFF\xFF\xFF\x05"), "message: byte 0: an extension type or the byte c1"},
	{BYTES("\xD6\xFF\x00\x00\x00\x00"), "message: byte 0: an extension type or the byte c1"},
	{BYTES("\x91\xD8\x01"), "message: byte 1: an extension type or the byte c1"},
	/* keys */
	{BYTES("\x81\x01\x01"), "message: byte 1: a key that is not a string"},
	{BYTES("\x81\xC0\x01"), "message: byte 1: a key that is not a string"},
	{BYTES("\x81\xC4\x01"
	       "a\x01"),
	 "message: byte 1: a key that is not a string"},
	{BYTES("\x81\x90\x01"), "message: byte 1: a key that is not a string"},
	{BYTES("\x81\xA0\x01"), "message: byte 1: a key of 0 bytes, allowed are 1 to 64"},
	{BYTES("\x81\xA1\xFF\x01"), "message: byte 1: a key that is not UTF-8"},
	{BYTES("\x82\xA1"
	       "a\x01\xA1"
	       "a\x02"),
	 "message: byte 4: duplicate key \"a\""},
	{BYTES("\x82\xA1"
	       "a\x01\xD9\x01"
	       "a\x02"),
	 "message: byte 4: duplicate key \"a\""},
	{BYTES("\x91\x82\xA1"
	       "a\x81\xA1"
	       "a\x01\xA1"
	       "b\x01"),
	 NULL}, /* the same key on two levels */
	/* text */
	{BYTES("\xA2\xC3\xA4"), NULL},
	{BYTES("\xA1\xC3"), "message: byte 0: a string that is not UTF-8"},
	{BYTES("\xA2\xC0\x80"), "message: byte 0: a string that is not UTF-8"},
	{BYTES("\xA3\xED\xA0\x80"), "message: byte 0: a string that is not UTF-8"},
	{BYTES("\xA4\xF4\x90\x80\x80"), "message: byte 0: a string that is not UTF-8"},
	{BYTES("\x92\x01\xA1\xFF"), "message: byte 2: a string that is not UTF-8"},
	{BYTES("\xC4\x01\xFF"), NULL},
};

START_TEST(errors)
{
	struct lmd_error err = {0};
	enum lmd_status st = lmi_wire_check(cases[_i].bytes, cases[_i].n, &err);

	if (!cases[_i].message) {
		ck_assert_msg(st == LMD_OK, "%s", err.text);
		return;
	}
	ck_assert_int_eq(st, LMD_INVALID);
	ck_assert_msg(!strncmp(err.text, cases[_i].message, strlen(cases[_i].message)),
		      "\"%s\", expected \"%s\"", err.text, cases[_i].message);
	ck_assert_int_eq(lmi_wire_check(cases[_i].bytes, cases[_i].n, NULL), LMD_INVALID);
}
END_TEST

static enum lmd_status check_raw(struct raw *m, const char **why)
{
	static struct lmd_error err;
	enum lmd_status st = lmi_wire_check(m->b.p, m->b.n, &err);

	*why = st == LMD_OK ? "" : err.text;
	lmi_wire_buf_fini(&m->b);
	return st;
}

START_TEST(depth)
{
	const char *why;
	struct raw m;

	for (int n = LMI_WIRE_LIMIT_DEPTH; n <= LMI_WIRE_LIMIT_DEPTH + 1; n++)
		for (int maps = 0; maps < 2; maps++) {
			raw_init(&m);
			for (int i = 0; i < n; i++) {
				if (maps)
					msgpack_pack_map(&m.pk, 1);
				else
					msgpack_pack_array(&m.pk, 1);
				if (maps)
					raw_str(&m, "k");
			}
			msgpack_pack_nil(&m.pk);
			ck_assert_int_eq(check_raw(&m, &why),
					 n == LMI_WIRE_LIMIT_DEPTH ? LMD_OK : LMD_INVALID);
			if (n > LMI_WIRE_LIMIT_DEPTH)
				ck_assert_ptr_nonnull(strstr(why, "nested too deeply"));
		}
}
END_TEST

START_TEST(counts)
{
	const char *why;
	struct raw m;
	char key[80];

	for (int over = 0; over < 2; over++) {
		raw_init(&m);
		msgpack_pack_map(&m.pk, LMI_WIRE_LIMIT_MAP_KEYS + (unsigned)over);
		for (int i = 0; i < LMI_WIRE_LIMIT_MAP_KEYS + over; i++) {
			(void)snprintf(key, sizeof(key), "k%d", i);
			raw_str(&m, key);
			msgpack_pack_nil(&m.pk);
		}
		ck_assert_int_eq(check_raw(&m, &why), over ? LMD_INVALID : LMD_OK);
		ck_assert_str_eq(why, over ? "message: byte 0: a map of 129 keys, the maximum "
					     "is 128"
					   : "");
		/* length of a key */
		raw_init(&m);
		msgpack_pack_map(&m.pk, 1);
		raw_span(&m, 'k', LMI_WIRE_LIMIT_KEY_BYTES + (unsigned)over, false);
		msgpack_pack_nil(&m.pk);
		ck_assert_int_eq(check_raw(&m, &why), over ? LMD_INVALID : LMD_OK);
		/* keys of all maps */
		raw_init(&m);
		msgpack_pack_array(&m.pk, LMI_WIRE_LIMIT_MESSAGE_KEYS + (unsigned)over);
		for (int i = 0; i < LMI_WIRE_LIMIT_MESSAGE_KEYS + over; i++)
			(void)lmi_wire_buf_add(&m.b, "\x81\xA1k\xC0", 4);
		ck_assert_int_eq(check_raw(&m, &why), over ? LMD_INVALID : LMD_OK);
		ck_assert_str_eq(why, over ? "message: too many keys, the maximum is 262144" : "");
		/* values: the outer array is one of them */
		raw_init(&m);
		msgpack_pack_array(&m.pk, LMI_WIRE_LIMIT_MESSAGE_VALUES - 1 + (unsigned)over);
		for (int i = 0; i < LMI_WIRE_LIMIT_MESSAGE_VALUES - 1 + over; i++)
			(void)lmi_wire_buf_add(&m.b, "\xC0", 1);
		ck_assert_int_eq(check_raw(&m, &why), over ? LMD_INVALID : LMD_OK);
		ck_assert_str_eq(why, over ? "message: too many values, the maximum is 4194304" : "");
		/* bytes */
		raw_init(&m);
		msgpack_pack_bin(&m.pk, LMI_WIRE_LIMIT_MESSAGE_BYTES - 5 + (unsigned)over);
		ck_assert_uint_eq(m.b.n, 5);
		for (int i = 0; i < LMI_WIRE_LIMIT_MESSAGE_BYTES - 5 + over; i += 4096) {
			static const char zeros[4096];
			int rest = LMI_WIRE_LIMIT_MESSAGE_BYTES - 5 + over - i;

			(void)lmi_wire_buf_add(&m.b, zeros, rest < 4096 ? (size_t)rest : 4096);
		}
		ck_assert_int_eq(check_raw(&m, &why), over ? LMD_INVALID : LMD_OK);
		ck_assert_str_eq(
			why, over ? "message: 16777217 bytes, the maximum is 16777216" : "");
	}
}
END_TEST

/* The maximum number of key comparisons that a message can cause. */
START_TEST(many_keys)
{
	const char *why;
	struct raw m;

	raw_init(&m);
	msgpack_pack_array(&m.pk, LMI_WIRE_LIMIT_MESSAGE_KEYS / LMI_WIRE_LIMIT_MAP_KEYS);
	for (int k = 0; k < LMI_WIRE_LIMIT_MESSAGE_KEYS / LMI_WIRE_LIMIT_MAP_KEYS; k++) {
		msgpack_pack_map(&m.pk, LMI_WIRE_LIMIT_MAP_KEYS);
		for (int i = 0; i < LMI_WIRE_LIMIT_MAP_KEYS; i++) {
			char key[] = "the same for long, and then ...";

			key[sizeof(key) - 2] = (char)('0' + i / 16);
			key[sizeof(key) - 3] = (char)('0' + i % 16);
			raw_str(&m, key);
			msgpack_pack_nil(&m.pk);
		}
	}
	ck_assert_int_eq(check_raw(&m, &why), LMD_OK);
}
END_TEST

/* Every message, truncated at every byte, must be rejected without allocating from the arena. */
START_TEST(truncated)
{
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	struct fill f = {.seed = lmd_seed("truncated", 77 + (uint64_t)_i), .full = true};
	struct lmd_arena *a = lmi_arena_create(0);
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request r;
	struct lmi_wire_reply rep;

	f.arena = lmi_arena_create(0);
	fill_request(&f, op, &r);
	ck_assert(lmi_wire_request_encode(&b, &r, NULL) == LMD_OK);
	for (size_t n = 0; n < b.n; n++) {
		uint8_t *exact = lmi_alloc(n ? n : 1, 1); /* exact size, so that sanitizers detect reads past the end */

		memcpy(exact, b.p, n);
		ck_assert_int_eq(lmi_wire_request_decode(&r, exact, n, a, NULL), LMD_INVALID);
		lmi_free(exact);
	}
	b.n = 0;
	fill_reply(&f, op, &rep);
	ck_assert(lmi_wire_reply_encode(&b, &rep, NULL) == LMD_OK);
	for (size_t n = 0; n < b.n; n++)
		ck_assert_int_eq(lmi_wire_reply_decode(&rep, op, b.p, n, a, NULL), LMD_CORRUPT);
	ck_assert_uint_eq(lmi_arena_used(a), 0);
	lmi_wire_buf_fini(&b);
	lmi_arena_destroy(f.arena);
	lmi_arena_destroy(a);
}
END_TEST

/* Modified bytes: any result but no crash; an accepted message can be encoded again. */
START_TEST(mutated)
{
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	struct fill f = {.seed = lmd_seed("mutated", 177 + (uint64_t)_i), .full = true};
	uint64_t rng = f.seed;
	struct lmi_wire_buf b = {0}, out = {0};
	struct lmi_wire_request r;
	uint32_t n_ok = 0;

	f.arena = lmi_arena_create(0);
	fill_request(&f, op, &r);
	ck_assert(lmi_wire_request_encode(&b, &r, NULL) == LMD_OK);
	for (int k = 0; k < 3000; k++) {
		struct lmd_arena *a = lmi_arena_create(1 << 20);
		uint8_t *p = lmi_alloc(b.n, 1);
		struct lmd_error err = {0};

		memcpy(p, b.p, b.n);
		for (uint64_t i = lmd_rand(&rng) % 4 + 1; i; i--)
			p[lmd_rand(&rng) % b.n] = (uint8_t)lmd_rand(&rng);
		if (lmi_wire_request_decode(&r, p, b.n, a, &err) == LMD_OK) {
			out.n = 0;
			ck_assert_msg(lmi_wire_request_encode(&out, &r, &err) == LMD_OK, "%s",
				      err.text);
			n_ok++;
		} else {
			ck_assert_uint_gt(strlen(err.text), 0);
		}
		lmi_free(p);
		lmi_arena_destroy(a);
	}
	ck_assert_uint_gt(n_ok, 0);
	lmi_wire_buf_fini(&b);
	lmi_wire_buf_fini(&out);
	lmi_arena_destroy(f.arena);
}
END_TEST

/* All code points, and every pair of bytes. */
START_TEST(utf8)
{
	for (uint32_t c = 0; c < 0x110000; c++) {
		char s[4];
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

		if (n == 1)
			s[0] = (char)c;
		for (size_t i = 1; i < n; i++)
			s[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 63));
		if (n > 1)
			s[0] = (char)(0xF00 >> n | c >> 6 * (n - 1));
		ck_assert_uint_eq(lmi_utf8_valid_prefix(s, n), c >= 0xD800 && c < 0xE000 ? 0 : n);
		ck_assert_uint_eq(lmi_utf8_valid_prefix(s, n - 1), 0);
	}
	for (uint32_t c = 0; c < 0x10000; c++) {
		const char s[2] = {(char)(c >> 8), (char)c};
		size_t want = c >> 8 < 0x80 ? ((c & 255) < 0x80 ? 2 : 1)
			      : c >> 8 >= 0xC2 && c >> 8 < 0xE0 && (c & 0xC0) == 0x80 ? 2
										      : 0;

		ck_assert_uint_eq(lmi_utf8_valid_prefix(s, 2), want);
	}
}
END_TEST

/* Long texts are checked by words of 8 bytes: a fault is found at every place of a word. */
START_TEST(utf8_words)
{
	char s[40];

	for (size_t n = 0; n <= sizeof(s); n++)
		for (size_t at = 0; at < n; at++) {
			memset(s, 'a', sizeof(s));
			s[at] = (char)0xFF;
			ck_assert_uint_eq(lmi_utf8_valid_prefix(s, n), at);
			s[at] = (char)0xC3;
			if (at + 1 < n)
				s[at + 1] = (char)0xA4;
			ck_assert_uint_eq(lmi_utf8_valid_prefix(s, n), at + 1 < n ? n : at);
		}
}
END_TEST

/* Skipping a run of values gives what reading them one by one gives, from every byte of random bytes. */
START_TEST(runs_of_scalars)
{
	uint8_t p[300];
	uint32_t state = 1;

	for (uint32_t i = 0; i < sizeof(p); i++) {
		state = state * 1664525u + 1013904223u;
		p[i] = (uint8_t)(i % 3 ? state >> 24 : 0xC0 + (state >> 27));
	}
	for (const uint8_t *from = p, *end = p + sizeof(p); from < end; from++) {
		uint64_t left = 9;
		const uint8_t *at = from, *to = lmi_wire_mp_skip_scalars(from, end, &left);

		for (uint64_t i = 9;; i--) {
			struct lmi_wire_mp v;
			size_t n = i ? lmi_wire_mp_read(at, end, &v) : 0;

			if (!n || v.kind == LMI_WIRE_MP_STR || v.kind == LMI_WIRE_MP_BIN ||
			    v.kind == LMI_WIRE_MP_ARRAY || v.kind == LMI_WIRE_MP_MAP) {
				ck_assert_ptr_eq(to, at);
				ck_assert_uint_eq(left, i);
				break;
			}
			at += n;
		}
	}
}
END_TEST

/* The type of a value depends only on its first byte. */
START_TEST(first_bytes)
{
	static const uint8_t zeros[16];

	for (int first = 0; first < 256; first++) {
		uint8_t p[16];
		struct lmi_wire_mp v;
		size_t n;

		memcpy(p, zeros, sizeof(p));
		p[0] = (uint8_t)first;
		n = lmi_wire_mp_read(p, p + sizeof(p), &v);
		if (first == 0xC1 || (first >= 0xC7 && first <= 0xC9) ||
		    (first >= 0xD4 && first <= 0xD8)) {
			ck_assert(!n && v.kind == LMI_WIRE_MP_BAD);
			continue;
		}
		if (first > 0xAF && first < 0xC0) { /* longer than the input */
			ck_assert(!n && v.kind == LMI_WIRE_MP_CUT);
			continue;
		}
		ck_assert_msg(n > 0, "%02x", (unsigned)first);
		ck_assert(v.kind != LMI_WIRE_MP_BAD && v.kind != LMI_WIRE_MP_CUT);
		ck_assert_ptr_eq(lmi_wire_mp_read(p, p + n - 1, &v) ? p : NULL, NULL);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proto check");
	TCase *tc = tcase_create("bytes");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, errors, 0, (int)LMD_LEN(cases));
	tcase_add_test(tc, depth);
	tcase_add_test(tc, counts);
	tcase_add_test(tc, many_keys);
	tcase_add_loop_test(tc, truncated, 0, LMI_WIRE_N_OP - 1);
	tcase_add_loop_test(tc, mutated, 0, LMI_WIRE_N_OP - 1);
	tcase_add_test(tc, utf8);
	tcase_add_test(tc, utf8_words);
	tcase_add_test(tc, runs_of_scalars);
	tcase_add_test(tc, first_bytes);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
