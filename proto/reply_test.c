/* SPDX-License-Identifier: MIT
 *
 * Replies of newer servers, of faulty servers, and of ours to unusual requests. */
#include <string.h>

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

START_TEST(newer_server)
{
	struct lmi_wire_reply r;
	struct lmd_error err = {0};
	struct raw m;

	raw_init(&m);
	msgpack_pack_map(&m.pk, 6);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 1);
	raw_str(&m, "weather");
	raw_str(&m, "fine");
	raw_str(&m, "id");
	raw_span(&m, 'i', 16, true);
	raw_str(&m, "last");
	msgpack_pack_int(&m.pk, 2);
	raw_str(&m, "end");
	msgpack_pack_true(&m.pk);
	raw_str(&m, "items");
	msgpack_pack_array(&m.pk, 2);
	msgpack_pack_map(&m.pk, 3);
	raw_str(&m, "n");
	msgpack_pack_int(&m.pk, 1);
	raw_str(&m, "kind");
	raw_str(&m, "song");
	raw_str(&m, "text");
	msgpack_pack_array(&m.pk, 0);
	msgpack_pack_map(&m.pk, 4);
	raw_str(&m, "finish");
	raw_str(&m, "boredom");
	raw_str(&m, "mood");
	msgpack_pack_nil(&m.pk);
	raw_str(&m, "n");
	msgpack_pack_int(&m.pk, 2);
	raw_str(&m, "kind");
	raw_str(&m, "done");
	ck_assert_msg(lmi_wire_reply_decode(&r, LMI_WIRE_OP_NEXT, m.b.p, m.b.n, arena, &err) ==
			      LMD_OK,
		      "%s", err.text);
	ck_assert(r.u.next.n_items == 2 && r.u.next.end);
	ck_assert_int_eq(r.u.next.items[0].kind, LMI_WIRE_ITEM_UNKNOWN);
	ck_assert_int_eq(r.u.next.items[0].n, 1);
	ck_assert_int_eq(r.u.next.items[1].kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(r.u.next.items[1].u.done.finish, LMI_WIRE_FINISH_UNKNOWN);
	ck_assert(lmi_wire_item_final(LMI_WIRE_ITEM_DONE));
	ck_assert(!lmi_wire_item_final(LMI_WIRE_ITEM_UNKNOWN));
	ck_assert(!lmi_wire_item_final(LMI_WIRE_ITEM_TOKEN));
	lmi_wire_buf_fini(&m.b);
}
END_TEST

START_TEST(odd_replies)
{
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request to;
	struct lmi_wire_reply r;
	struct lmd_error err = {0}, keep;
	char text[5000];

	lmi_wire_request_init(&to, LMI_WIRE_OP_PING);
	lmi_wire_reply_init(&r, &to);
	r.u.ping.state = LMI_WIRE_SERVER_STATE_READY;
	ck_assert(lmi_wire_reply_encode(&b, &r, NULL) == LMD_OK);
	ck_assert(lmi_wire_reply_decode(&r, LMI_WIRE_OP_PS, b.p, b.n, arena, &err) == LMD_CORRUPT);
	ck_assert_str_eq(err.text, "reply to ps: op is \"ping\"");
	ck_assert(lmi_wire_reply_decode(&r, LMI_WIRE_OP_PING, b.p, b.n - 1, arena, &err) ==
		  LMD_CORRUPT);
	ck_assert(lmi_wire_reply_decode(&r, LMI_WIRE_OP_PING, b.p, 1, arena, &err) == LMD_CORRUPT);
	/* names that a reply cannot contain are modified */
	lmi_wire_request_init(&to, LMI_WIRE_OP_HELLO);
	lmi_wire_reply_init(&r, &to);
	memset(text, 'a', sizeof(text));
	memcpy(text, "x\ny\xFFz\xC3\xA4\x7F", 8);
	memcpy(text + 63, "\xE2\x82\xAC", 3); /* 64 is the bound */
	r.u.hello.server = (struct lmd_str){text, 70};
	r.u.hello.version = (struct lmd_str){text, 8};
	r.u.hello.v_min = r.u.hello.v_max = r.u.hello.revision = 1;
	r.u.hello.role = LMI_WIRE_ROLE_ADMIN;
	b.n = 0;
	ck_assert_msg(lmi_wire_reply_encode(&b, &r, &err) == LMD_OK, "%s", err.text);
	ck_assert(lmi_wire_reply_decode(&r, LMI_WIRE_OP_HELLO, b.p, b.n, arena, &err) == LMD_OK);
	ck_assert_uint_eq(r.u.hello.server.len, 63);
	ck_assert_uint_eq(r.u.hello.version.len, 8);
	ck_assert_mem_eq(r.u.hello.version.ptr, "x y?z\xC3\xA4 ", 8);
	/* a request without op */
	to.op = LMI_WIRE_OP_NONE;
	lmi_wire_reply_init(&r, &to);
	lmi_wire_reply_fail(&r, LMD_INVALID, "request: op is missing", -1, &keep);
	b.n = 0;
	ck_assert(lmi_wire_reply_encode(&b, &r, &err) == LMD_OK);
	ck_assert(lmi_wire_reply_decode(&r, LMI_WIRE_OP_PS, b.p, b.n, arena, &err) == LMD_OK);
	ck_assert(r.failed && r.error.code == LMD_INVALID && !r.error.has_retry_ms);
	lmi_wire_buf_fini(&b);
}
END_TEST

/* ---- errors ---- */

#define HEAD "\xA1v\x01"

static const struct {
	enum lmi_wire_op op;
	const char *bytes;
	size_t n;
	const char *message;
} refused[] = {
#define CASE(op, bytes, why)                                                                       \
	{                                                                                          \
		LMI_WIRE_OP_##op, bytes, sizeof(bytes) - 1, why                                    \
	}
	CASE(PING, "\x90", "reply to ping: a list is not a map"),
	CASE(PING, "\x80", "reply to ping: v is missing or not 1 to 65535"),
	CASE(PING, "\x81\xA1v\x00", "reply to ping: v is missing or not 1 to 65535"),
	CASE(PING, "\x81\xA1v\xCF\x80\0\0\0\0\0\0\0", "reply to ping: v is missing"),
	CASE(PING, "\x81" HEAD, "reply to ping: state is missing"),
	CASE(PING, "\x82" HEAD "\xA3rid\x05", "reply to ping: rid: 5 is not a string"),
	CASE(PING,
	     "\x82" HEAD "\xA5"
	     "error\x05",
	     "reply to ping: error: 5 is not a map"),
	CASE(PING,
	     "\x82" HEAD "\xA5"
	     "error\x80",
	     "reply to ping: error: code is missing"),
	CASE(PING,
	     "\x82" HEAD "\xA5"
	     "error\x81\xA4"
	     "code\x05",
	     "reply to ping: error.code: 5 is not an error code"),
	CASE(PING, "\x82" HEAD "\xA5state\xCF\x80\0\0\0\0\0\0\0",
	     "reply to ping: state: 9223372036854775808 is not a word"),
	CASE(INFO, "\x82" HEAD "\xA5model\x05", "reply to info: model: 5 is not a map"),
	CASE(INFO,
	     "\x82" HEAD "\xA5model\x81\xA7"
	     "aliases\x91\x05",
	     "reply to info: model.aliases[0]: 5 is not a string"),
	CASE(INFO, "\x82" HEAD "\xA5model\x80", "reply to info: model: name is missing"),
	CASE(NEXT, "\x82" HEAD "\xA5items\x91\x05", "reply to next: items[0]: 5 is not a map"),
	CASE(NEXT, "\x82" HEAD "\xA5items\x91\x80", "reply to next: items[0]: kind is missing"),
	CASE(NEXT,
	     "\x82" HEAD "\xA5items\x91\x81\xA4kind\xA4"
	     "done",
	     "reply to next: items[0]: n is missing"),
	CASE(NEXT,
	     "\x82" HEAD "\xA5items\x91\x82\xA4kind\xA4"
	     "done\xA1n\x01",
	     "reply to next: items[0]: finish is missing"),
#undef CASE
};

START_TEST(errors)
{
	struct lmd_error err = {0};
	struct lmi_wire_reply r;

	ck_assert_int_eq(lmi_wire_reply_decode(&r, refused[_i].op, refused[_i].bytes, refused[_i].n,
					       arena, &err),
			 LMD_CORRUPT);
	ck_assert_msg(!strncmp(err.text, refused[_i].message, strlen(refused[_i].message)),
		      "\"%s\", expected \"%s\"", err.text, refused[_i].message);
}
END_TEST

/* Numbers of another type than in the table, and unknown codes. */
START_TEST(lenient)
{
	static const char stats[] = "\x82" HEAD "\xA7metrics\x91\x83\xA4name\xA1x\xA4kind\xA1?"
				    "\xA5value\xCF\x80\0\0\0\0\0\0\0";
	static const char error[] = "\x82" HEAD "\xA5"
				    "error\x82\xA4"
				    "code\xA3hot\xA4text\xA2"
				    "\n\n";
	struct lmd_error err = {0};
	struct lmi_wire_reply r;

	ck_assert_msg(lmi_wire_reply_decode(&r, LMI_WIRE_OP_STATS, stats, sizeof(stats) - 1, arena,
					    &err) == LMD_OK,
		      "%s", err.text);
	ck_assert(r.u.stats.metrics[0].value == 0x1p63);
	ck_assert_int_eq(r.u.stats.metrics[0].kind, LMI_WIRE_METRIC_KIND_UNKNOWN);
	ck_assert_msg(lmi_wire_reply_decode(&r, LMI_WIRE_OP_STATS, error, sizeof(error) - 1, arena,
					    &err) == LMD_OK,
		      "%s", err.text);
	ck_assert(r.failed && r.error.code == LMD_INTERNAL && r.error.text.len == 2);
}
END_TEST

/* ---- writing ---- */

static void encode_refused(const struct lmi_wire_reply *r, const char *message)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_wire_reply_encode(&b, r, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, message);
	ck_assert_uint_eq(b.n, 0);
	lmi_wire_buf_fini(&b);
}

START_TEST(refused_to_write)
{
	struct lmi_wire_item item = {.kind = LMI_WIRE_ITEM_UNKNOWN, .n = 1};
	struct lmi_wire_request to = {.v = 1};
	struct lmi_wire_reply r;
	struct lmd_error keep;

	lmi_wire_reply_init(&r, &to);
	encode_refused(&r, "reply to a request: op is missing");
	to.op = LMI_WIRE_OP_NEXT;
	lmi_wire_reply_init(&r, &to);
	r.u.next.items = &item;
	r.u.next.n_items = 1;
	encode_refused(&r, "reply to next: items[0]: 0 is not a kind of item");
	item.kind = LMI_WIRE_ITEM_DONE;
	encode_refused(&r, "reply to next: items[0].finish: 0 is no finish");
	item.kind = LMI_WIRE_ITEM_TOKEN;
	item.u.token.token = -1;
	encode_refused(&r, "reply to next: items[0].token: -1 is not a token");
	item.n = 0;
	encode_refused(&r, "reply to next: items[0].n: 0 is below 1");
	r.rid = (struct lmd_str){"a\nb", 3};
	encode_refused(&r, "reply to next: rid: is not one line of at most 64 bytes of UTF-8");
	lmi_wire_reply_init(&r, &to);
	lmi_wire_reply_fail(&r, LMD_OK, "fine", 0, &keep);
	encode_refused(&r, "reply to next: error.code: 0 is not an error code");
}
END_TEST

/* Requests that only a client without this codec could send. */
START_TEST(requests_refused_to_write)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	struct lmi_wire_request r;

	lmi_wire_request_init(&r, LMI_WIRE_OP_NONE);
	ck_assert_int_eq(lmi_wire_request_encode(&b, &r, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "request: op is missing");
	lmi_wire_request_init(&r, LMI_WIRE_OP_RM);
	r.u.rm.name = (struct lmd_str){"x", 1};
	ck_assert_int_eq(lmi_wire_request_encode(&b, &r, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "rm: rid is missing");
	r.rid = (struct lmd_str){"r", 1};
	ck_assert_int_eq(lmi_wire_request_encode(&b, &r, &err), LMD_OK);
	lmi_wire_buf_fini(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proto replies");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, newer_server);
	tcase_add_test(tc, odd_replies);
	tcase_add_loop_test(tc, errors, 0, (int)LMD_LEN(refused));
	tcase_add_test(tc, lenient);
	tcase_add_test(tc, refused_to_write);
	tcase_add_test(tc, requests_refused_to_write);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
