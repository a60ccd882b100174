/* SPDX-License-Identifier: MIT
 *
 * The codec decodes what it encoded, for all values.  Values outside their bounds are in bounds_test.c. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "proto/check.h"
#include "proto/codec.h"
#include "proto/proto_fixture.h"
#include "tests/lmd_check.h"

static struct lmd_arena *arena;

static void setup(void)
{
	arena = lmi_arena_create(0);
	ck_assert_ptr_nonnull(arena);
}

static void teardown(void)
{
	lmi_arena_destroy(arena);
}

/* ---- round trips ---- */

#define N_ROUND 200

static void round_trip_request(struct fill *f, enum lmi_wire_op op)
{
	struct lmi_wire_buf b = {0}, again = {0};
	struct lmi_wire_request in, out;
	struct lmd_error err = {0};
	const char *field;

	fill_request(f, op, &in);
	ck_assert_msg(lmi_wire_request_encode(&b, &in, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_wire_request_decode(&out, b.p, b.n, f->arena, &err) == LMD_OK, "%s",
		      err.text);
	field = differs(lmi_wire_ops[op].request, &in.u, &out.u);
	ck_assert_msg(!field, "%s: %s differs", lmi_wire_ops[op].name, field);
	ck_assert_int_eq(out.op, op);
	ck_assert_uint_eq(out.v, in.v);
	ck_assert(out.rid.len == in.rid.len && !memcmp(out.rid.ptr, in.rid.ptr, in.rid.len));
	ck_assert(lmi_wire_request_encode(&again, &out, NULL) == LMD_OK);
	ck_assert(again.n == b.n && !memcmp(again.p, b.p, b.n));
	lmi_wire_buf_fini(&b);
	lmi_wire_buf_fini(&again);
}

static void round_trip_reply(struct fill *f, enum lmi_wire_op op)
{
	struct lmi_wire_buf b = {0};
	struct lmi_wire_reply in, out;
	struct lmd_error err = {0};
	const char *field;

	fill_reply(f, op, &in);
	ck_assert_msg(lmi_wire_reply_encode(&b, &in, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_wire_reply_decode(&out, op, b.p, b.n, f->arena, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert(!out.failed);
	field = differs(lmi_wire_ops[op].reply, &in.u, &out.u);
	ck_assert_msg(!field, "%s: %s differs", lmi_wire_ops[op].name, field);
	lmi_wire_buf_fini(&b);
}

START_TEST(round_trip)
{
	struct fill f = {.seed = lmd_seed("round_trip", 1 + (uint64_t)_i)};

	for (int k = 0; k < N_ROUND; k++) {
		f.arena = lmi_arena_create(0);
		f.full = k % 4 == 0;
		round_trip_request(&f, (enum lmi_wire_op)(_i + 1));
		round_trip_reply(&f, (enum lmi_wire_op)(_i + 1));
		lmi_arena_destroy(f.arena);
	}
}
END_TEST

/* Checks members by hand, to detect tables that agree only with each other. */
START_TEST(members)
{
	static const char *const words[] = {"\n\n", "###"};
	const struct lmd_str stop[2] = {{words[0], 2}, {words[1], 3}};
	struct lmi_wire_buf b = {0}, json = {0};
	struct lmi_wire_request in, out;
	const char *want = "{\"v\": 1, \"op\": \"generate\", \"rid\": \"r-1\", "
			   "\"model\": \"tiny\", \"prompt\": \"Once\", \"n\": 16, "
			   "\"stop\": [\"\\n\\n\", \"###\"], \"temp\": 0, \"class\": \"batch\"}";

	lmi_wire_request_init(&in, LMI_WIRE_OP_GENERATE);
	ck_assert(!in.u.generate.has_temp && !in.u.generate.has_top_k);
	ck_assert(in.u.generate.add_special && !in.u.generate.has_n);
	ck_assert_int_eq(in.u.generate.class, LMI_WIRE_CLASS_NORMAL);
	in.rid = (struct lmd_str){"r-1", 3};
	in.u.generate.model = (struct lmd_str){"tiny", 4};
	in.u.generate.has_prompt = true;
	in.u.generate.prompt = (struct lmd_str){"Once", 4};
	in.u.generate.has_n = true;
	in.u.generate.n = 16;
	in.u.generate.has_temp = true;
	in.u.generate.temp = 0;
	in.u.generate.stop = stop;
	in.u.generate.n_stop = 2;
	in.u.generate.class = LMI_WIRE_CLASS_BATCH;
	ck_assert(lmi_wire_request_encode(&b, &in, NULL) == LMD_OK);
	ck_assert(lmi_wire_json(&json, b.p, b.n, NULL) == LMD_OK);
	ck_assert(lmi_wire_buf_add(&json, "", 1));
	ck_assert_str_eq((char *)json.p, want);
	ck_assert(lmi_wire_request_decode(&out, b.p, b.n, arena, NULL) == LMD_OK);
	ck_assert_int_eq(out.op, LMI_WIRE_OP_GENERATE);
	ck_assert(out.u.generate.n == 16 && out.u.generate.temp == 0);
	ck_assert(out.u.generate.has_temp && !out.u.generate.has_top_p);
	ck_assert_uint_eq(out.u.generate.n_stop, 2);
	ck_assert_mem_eq(out.u.generate.stop[1].ptr, "###", 3);
	ck_assert(!out.u.generate.has_tokens && !out.u.generate.has_seed);
	lmi_wire_buf_fini(&b);
	lmi_wire_buf_fini(&json);
}
END_TEST

/* Encoded members come after the fields and replace those of the same name. */
START_TEST(members_of_the_caller)
{
	static const char pairs[] = "\xA4temp\x02\xA3rid\xA1z\xA3new\xC0\xA8messages\x90";
	const struct lmd_str names[] = {{"temp", 4}, {"rid", 3}, {"new", 3}, {"messages", 8}};
	struct lmi_wire_members m = {
		.names = names, .n = 4, .pairs = {.p = (uint8_t *)pairs, .n = sizeof(pairs) - 1}};
	struct lmi_wire_buf b = {0}, json = {0};
	struct lmi_wire_request in;
	struct lmd_error err = {0};

	lmi_wire_request_init(&in, LMI_WIRE_OP_GENERATE);
	in.rid = (struct lmd_str){"r-1", 3};
	in.u.generate.model = (struct lmd_str){"tiny", 4};
	in.u.generate.has_temp = true;
	in.u.generate.temp = 1;
	in.u.generate.has_top_k = true;
	in.u.generate.top_k = 3;
	ck_assert_msg(lmi_wire_request_encode_with(&b, &in, &m, false, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert(lmi_wire_json(&json, b.p, b.n, NULL) == LMD_OK && lmi_wire_buf_add(&json, "", 1));
	ck_assert_str_eq((char *)json.p,
			 "{\"v\": 1, \"op\": \"generate\", \"model\": \"tiny\", \"top_k\": 3, "
			 "\"temp\": 2, \"rid\": \"z\", \"new\": null, \"messages\": []}");
	b.n = json.n = 0;
	ck_assert(lmi_wire_request_encode_with(&b, &in, &m, true, &err) == LMD_OK);
	ck_assert(lmi_wire_json(&json, b.p, b.n, NULL) == LMD_OK && lmi_wire_buf_add(&json, "", 1));
	ck_assert_str_eq((char *)json.p, "{\"v\": 1, \"op\": \"generate\", \"temp\": 2, "
					 "\"rid\": \"z\", \"new\": null, \"messages\": []}");
	m.n = 0;
	ck_assert_int_eq(lmi_wire_request_encode_with(&b, &in, &m, false, &err), LMD_INVALID);
	lmi_wire_buf_fini(&b);
	lmi_wire_buf_fini(&json);
}
END_TEST

START_TEST(bytes_on_the_wire)
{
	static const uint8_t want[] = "\x82\xA1v\x01\xA2op\xA4ping";
	static const uint8_t error[] = "\x83\xA1v\x01\xA2op\xA4next\xA5"
				       "error\x83\xA4"
				       "code\xA4"
				       "busy\xA4text\xA8try late\xA8retry_ms\x32";
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request r;
	struct lmi_wire_reply rep;
	struct lmd_error keep;

	lmi_wire_request_init(&r, LMI_WIRE_OP_PING);
	ck_assert(lmi_wire_request_encode(&b, &r, NULL) == LMD_OK);
	ck_assert_uint_eq(b.n, sizeof(want) - 1);
	ck_assert_mem_eq(b.p, want, b.n);
	b.n = 0;
	lmi_wire_request_init(&r, LMI_WIRE_OP_NEXT);
	lmi_wire_reply_init(&rep, &r);
	lmi_wire_reply_fail(&rep, LMD_BUSY, "try late", 50, &keep);
	ck_assert(lmi_wire_reply_encode(&b, &rep, NULL) == LMD_OK);
	ck_assert_uint_eq(b.n, sizeof(error) - 1);
	ck_assert_mem_eq(b.p, error, b.n);
	ck_assert(lmi_wire_reply_decode(&rep, LMI_WIRE_OP_NEXT, b.p, b.n, arena, NULL) == LMD_OK);
	ck_assert(rep.failed && rep.error.code == LMD_BUSY && rep.error.retry_ms == 50);
	lmi_wire_buf_fini(&b);
}
END_TEST

START_TEST(too_long)
{
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request r;
	struct lmd_error err = {0};
	size_t n = LMI_WIRE_LIMIT_MESSAGE_BYTES;
	char *p = lmi_alloc(n, 1);

	memset(p, 'a', n);
	lmi_wire_request_init(&r, LMI_WIRE_OP_TOKENIZE);
	r.u.tokenize.model = (struct lmd_str){"m", 1};
	r.u.tokenize.text = (struct lmd_str){p, n};
	ck_assert(lmi_wire_request_encode(&b, &r, &err) == LMD_INVALID);
	ck_assert_str_eq(err.text, "tokenize: the message is longer than 16777216 bytes");
	ck_assert_uint_eq(b.n, 0);
	r.u.tokenize.text.len = n - 64;
	ck_assert(lmi_wire_request_encode(&b, &r, &err) == LMD_OK);
	ck_assert(lmi_wire_request_decode(&r, b.p, b.n, arena, &err) == LMD_OK);
	ck_assert_uint_eq(r.u.tokenize.text.len, n - 64);
	ck_assert_uint_eq(lmi_arena_used(arena), 0); /* texts are borrowed */
	lmi_free(p);
	lmi_wire_buf_fini(&b);
}
END_TEST

/* ---- memory ---- */

START_TEST(no_memory)
{
	struct fill f = {
		.seed = lmd_seed("no_memory", 9 + (uint64_t)_i), .arena = arena, .full = true};
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	struct lmi_wire_buf good = {0};
	struct lmi_wire_request in;
	bool failed = true;

	fill_request(&f, op, &in);
	ck_assert(lmi_wire_request_encode(&good, &in, NULL) == LMD_OK);
	for (uint64_t nth = 1; failed; nth++) {
		struct lmi_wire_buf b = {0}, json = {0};
		struct lmd_arena *a;
		struct lmi_wire_request out;
		enum lmd_status st = LMD_NOMEM;

		lmi_alloc_fail_nth(nth, false);
		a = lmi_arena_create(0);
		if (a)
			st = lmi_wire_request_encode(&b, &in, NULL);
		if (st == LMD_OK)
			st = lmi_wire_request_decode(&out, good.p, good.n, a, NULL);
		if (st == LMD_OK)
			st = lmi_wire_json(&json, good.p, good.n, NULL);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, failed ? LMD_NOMEM : LMD_OK);
		lmi_arena_destroy(a);
		lmi_wire_buf_fini(&b);
		lmi_wire_buf_fini(&json);
	}
	lmi_wire_buf_fini(&good);
}
END_TEST

/* Tokens have 1, 2, 3 or 5 bytes, and other encoders may take longer forms. */
START_TEST(tokens_of_all_lengths)
{
	static const int32_t edges[] = {0,   0x7F,   0x80,    0xFF,     0x100,
					0xFFFF, 0x10000, 0x12345678, INT32_MAX};
	lmd_token tokens[1000];
	struct lmi_wire_buf b = {0};
	struct lmd_arena *a = lmi_arena_create(0);
	struct lmi_wire_request in, out;
	struct raw m;

	for (int i = 0; i < 1000; i++)
		tokens[i] = edges[i * 7 % (int)LMD_LEN(edges)];
	lmi_wire_request_init(&in, LMI_WIRE_OP_DETOKENIZE);
	in.v = LMI_WIRE_V;
	in.u.detokenize.model = (struct lmd_str){.ptr = "m", .len = 1};
	in.u.detokenize.tokens = tokens;
	in.u.detokenize.n_tokens = 1000;
	ck_assert_int_eq(lmi_wire_request_encode(&b, &in, NULL), LMD_OK);
	raw_init(&m);
	msgpack_pack_array(&m.pk, 1000);
	for (int i = 0; i < 1000; i++)
		msgpack_pack_int32(&m.pk, tokens[i]);
	ck_assert_uint_gt(b.n, m.b.n);
	ck_assert_mem_eq(b.p + b.n - m.b.n, m.b.p, m.b.n);
	ck_assert_int_eq(lmi_wire_request_decode(&out, b.p, b.n, a, NULL), LMD_OK);
	ck_assert_uint_eq(out.u.detokenize.n_tokens, 1000);
	ck_assert_mem_eq(out.u.detokenize.tokens, tokens, sizeof(tokens));
	lmi_wire_buf_fini(&b);
	lmi_wire_buf_fini(&m.b);

	raw_request(&m, LMI_WIRE_OP_DETOKENIZE, "tokens", 1);
	raw_str(&m, "tokens");
	msgpack_pack_array(&m.pk, 3);
	for (int i = 0; i < 3; i++)
		msgpack_pack_fix_int64(&m.pk, edges[i]);
	ck_assert_int_eq(lmi_wire_request_decode(&out, m.b.p, m.b.n, a, NULL), LMD_OK);
	ck_assert_mem_eq(out.u.detokenize.tokens, edges, 3 * sizeof(*edges));
	lmi_wire_buf_fini(&m.b);
	lmi_arena_destroy(a);
}
END_TEST

START_TEST(small_arena)
{
	struct lmd_arena *a = lmi_arena_create(4096);
	struct lmi_wire_request r;
	struct raw m;

	raw_request(&m, LMI_WIRE_OP_DETOKENIZE, "tokens", 1);
	raw_str(&m, "tokens");
	msgpack_pack_array(&m.pk, 2000);
	for (int i = 0; i < 2000; i++)
		msgpack_pack_int(&m.pk, i);
	ck_assert(lmi_wire_request_decode(&r, m.b.p, m.b.n, a, NULL) == LMD_NOMEM);
	lmi_wire_buf_fini(&m.b);
	lmi_arena_destroy(a);
}
END_TEST

/* ---- names ---- */

START_TEST(names)
{
	for (int i = 1; i < LMI_WIRE_N_OP; i++) {
		const char *name = lmi_wire_ops[i].name;

		ck_assert_int_eq(lmi_wire_op_find(name, strlen(name)), i);
		ck_assert_int_eq(lmi_wire_op_find(name, strlen(name) - 1), LMI_WIRE_OP_NONE);
	}
	for (int i = 1; i < LMD_N_STATUS; i++)
		ck_assert_str_eq(lmi_wire_codes[i], lmd_status_text(i));
	for (int i = 0; i < LMI_WIRE_N_LIMIT; i++)
		ck_assert_int_gt(lmi_wire_limit_rows[i].value, 0);
}
END_TEST

START_TEST(json)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *want;
	} cases[] = {
		{"\xC0", 1, "null"},
		{"\xC3", 1, "true"},
		{"\xE0", 1, "-32"},
		{"\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9, "18446744073709551615"},
		{"\xD3\x80\0\0\0\0\0\0\0", 9, "-9223372036854775808"},
		{"\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A", 9, "0.1"},
		{"\xCA\x7F\x80\0\0", 5, "\"inf\""},
		{"\xCA\xFF\x80\0\0", 5, "\"-inf\""},
		{"\xCA\x7F\xC0\0\0", 5, "\"nan\""},
		{"\xA6\"\\\n\x01\xC3\xA4", 7, "\"\\\"\\\\\\n\\u0001\xC3\xA4\""},
		{"\xC4\x02\xFF\x00", 4, "{\"hex\": \"ff00\"}"},
		{"\xC4\x02ok", 4, "\"ok\""},
		{"\x81\xA2id\xC4\x10"
		 "0123456789abcdef",
		 22, "{\"id\": \"30313233343536373839616263646566\"}"},
		{"\x92\x90\x80", 3, "[[], {}]"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_wire_buf b = {0};

		ck_assert(lmi_wire_json(&b, cases[i].bytes, cases[i].n, NULL) == LMD_OK);
		ck_assert(lmi_wire_buf_add(&b, "", 1));
		ck_assert_str_eq((char *)b.p, cases[i].want);
		lmi_wire_buf_fini(&b);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proto");
	TCase *tc = tcase_create("codec");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, round_trip, 0, LMI_WIRE_N_OP - 1);
	tcase_add_test(tc, members);
	tcase_add_test(tc, members_of_the_caller);
	tcase_add_test(tc, bytes_on_the_wire);
	tcase_add_test(tc, too_long);
	tcase_add_loop_test(tc, no_memory, 0, LMI_WIRE_N_OP - 1);
	tcase_add_test(tc, small_arena);
	tcase_add_test(tc, tokens_of_all_lengths);
	tcase_add_test(tc, names);
	tcase_add_test(tc, json);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
