/* SPDX-License-Identifier: MIT
 *
 * Encoding and decoding of sampler chains and biases, and the errors. */
#include <math.h>
#include <string.h>

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

START_TEST(samplers)
{
	struct lmi_wire_request r;
	struct lmd_error err = {0};
	const struct lmi_wire_sampler *s;
	struct raw m;

	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "chain");
	msgpack_pack_array(&m.pk, 3);
	raw_str(&m, "top_k");
	msgpack_pack_map(&m.pk, 4);
	raw_str(&m, "list");
	msgpack_pack_array(&m.pk, 2);
	raw_str(&m, "a");
	raw_span(&m, '\xFF', 2, true);
	raw_str(&m, "sampler");
	raw_str(&m, "dry");
	raw_str(&m, "k");
	msgpack_pack_int(&m.pk, -3);
	raw_str(&m, "p");
	msgpack_pack_float(&m.pk, 0.5f);
	msgpack_pack_map(&m.pk, 2);
	raw_str(&m, "sampler");
	raw_str(&m, "logit_bias");
	raw_str(&m, "bias");
	msgpack_pack_map(&m.pk, 2);
	raw_str(&m, "7");
	msgpack_pack_false(&m.pk);
	raw_str(&m, "2147483647");
	raw_str(&m, "inf");
	ck_assert_msg(lmi_wire_request_decode(&r, m.b.p, m.b.n, arena, &err) == LMD_OK, "%s",
		      err.text);
	s = r.u.generate.chain;
	ck_assert_uint_eq(r.u.generate.n_chain, 3);
	ck_assert_str_eq(s[0].name, "top_k");
	ck_assert_uint_eq(s[0].n_args, 0);
	ck_assert_str_eq(s[1].name, "dry");
	ck_assert_uint_eq(s[1].n_args, 3);
	ck_assert_str_eq(s[1].args[0].name, "list");
	ck_assert_int_eq(s[1].args[0].type, LMD_PARAM_STRS);
	ck_assert_mem_eq(s[1].args[0].v.s[1].ptr, "\xFF\xFF", 2);
	ck_assert_int_eq(s[1].args[1].v.i, -3);
	ck_assert(s[1].args[2].type == LMD_PARAM_FLOAT && s[1].args[2].v.f == 0.5);
	ck_assert_int_eq(s[2].args[0].type, LMD_PARAM_BIAS);
	ck_assert_uint_eq(s[2].args[0].v.n, 2);
	ck_assert(isinf(s[2].args[0].v.bias[0].bias) && s[2].args[0].v.bias[0].bias < 0);
	ck_assert_int_eq(s[2].args[0].v.bias[1].id, INT32_MAX);
	lmi_wire_buf_fini(&m.b);
}
END_TEST

/* Bytes of a field of generate, and the expected error message. */
#define CHAIN(bytes, why)                                                                          \
	{                                                                                          \
		"chain", bytes, sizeof(bytes) - 1, "generate: chain" why                           \
	}
#define BIAS(bytes, why)                                                                           \
	{                                                                                          \
		"logit_bias", bytes, sizeof(bytes) - 1, "generate: logit_bias" why                 \
	}
#define ARG(bytes) "\x91\x82\xA7sampler\xA1s\xA1p" bytes

static const struct {
	const char *field, *bytes;
	size_t n;
	const char *message;
} refused[] = {
	CHAIN("\x91\x05", "[0]: a whole number is neither a sampler's name nor a map"),
	CHAIN("\x91\xA0", "[0]: a name of 0 bytes, allowed are 1 to 48"),
	CHAIN("\x91\xA3"
	      "a b",
	      "[0]: \"a b\" is not a name"),
	CHAIN("\x91\xA3"
	      "a\0b",
	      "[0]: \"a\\x00b\" is not a name"),
	CHAIN("\x91\x81\xA7sampler\x05", "[0].sampler: a whole number is not a name"),
	CHAIN("\x91\x82\xA7sampler\xA1s\xA1 \x05", "[0]. : \" \" is not a name"),
	CHAIN("\x91\x80", "[0]: sampler is missing"),
	CHAIN(ARG("\xC0"), "[0].p: null is not allowed"),
	CHAIN(ARG("\xCB\x7F\xF8\0\0\0\0\0\0"), "[0].p: nan is not allowed"),
	CHAIN(ARG("\xCF\x80\0\0\0\0\0\0\0"),
	      "[0].p: 9223372036854775808 is above 9223372036854775807"),
	CHAIN(ARG("\x92\xA1x\x05"), "[0].p[1]: a whole number is not a string"),
	CHAIN(ARG("\x92\x05\xA1x"), "[0].p[1]: is not a token from 0 to 2147483647"),
	CHAIN(ARG("\x91\xFF"), "[0].p[0]: is not a token from 0 to 2147483647"),
	CHAIN(ARG("\x91\xCE\x80\0\0\0"), "[0].p[0]: is not a token from 0 to 2147483647"),
	CHAIN(ARG("\x91\x91\x05"), "[0].p[0]: a list is not a pair of a token and a number"),
	CHAIN(ARG("\x92\x92\x05\x05\x05"),
	      "[0].p[1]: a whole number is not a pair of a token and a number"),
	CHAIN(ARG("\x81\xA1x\x05"), "[0].p.x: is not a token from 0 to 2147483647"),
	CHAIN(ARG("\x81\xA2"
		  "05\x05"),
	      "[0].p.05: is not a token"),
	CHAIN(ARG("\x81\xAA"
		  "2147483648\x05"),
	      "[0].p.2147483648: is not a token"),
	CHAIN(ARG("\x81\xAB"
		  "12345678901\x05"),
	      "[0].p.12345678901: is not a token"),
	CHAIN(ARG("\x81\xA1"
		  "5\xC3"),
	      "[0].p.5: a bool is not a number or false"),
	BIAS("\x05", ": a whole number is not a list of pairs"),
	BIAS("\x91\x92\xFF\x05", "[0]: its first value is not a token from 0 to 2147483647"),
	BIAS("\x91\x92\xCE\x80\0\0\0\x05", "[0]: its first value is not a token from 0 to 2147483647"),
	BIAS("\x91\x92\x05\xA3nan", "[0]: a string is not a number or false"),
	BIAS("\x91\x92\x05\xC0", "[0]: null is not a number or false"),
	BIAS("\x91\x92\x05\xCB\x7F\xF8\0\0\0\0\0\0", "[0]: nan does not fit into a 32-bit float"),
	BIAS("\x91\x92\x05\xCB\x7E\x37\xE4\x3C\x88\x00\x75\x9C",
	     "[0]: 1e+300 does not fit into a 32-bit float"),
};

START_TEST(errors)
{
	struct lmd_error err = {0};
	struct lmi_wire_request r;
	struct raw m;

	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, refused[_i].field);
	ck_assert(lmi_wire_buf_add(&m.b, refused[_i].bytes, refused[_i].n));
	ck_assert_int_eq(lmi_wire_request_decode(&r, m.b.p, m.b.n, arena, &err), LMD_INVALID);
	ck_assert_msg(!strncmp(err.text, refused[_i].message, strlen(refused[_i].message)),
		      "\"%s\", expected \"%s\"", err.text, refused[_i].message);
	lmi_wire_buf_fini(&m.b);
}
END_TEST

/* All forms of a bias, and their bounds. */
START_TEST(biases)
{
	static const char bytes[] = "\x95\x92\0\x01\x92\x01\xC2\x92\x02\xA3inf\x92\x03\xA4-inf"
				    "\x92\xCE\x7F\xFF\xFF\xFF\xCA\x40\x20\0\0";
	const float want[] = {1, -INFINITY, INFINITY, -INFINITY, 2.5f};
	struct lmd_error err = {0};
	struct lmi_wire_request r;
	struct raw m;

	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "logit_bias");
	ck_assert(lmi_wire_buf_add(&m.b, bytes, sizeof(bytes) - 1));
	ck_assert_msg(lmi_wire_request_decode(&r, m.b.p, m.b.n, arena, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_uint_eq(r.u.generate.n_logit_bias, LMD_LEN(want));
	for (uint32_t i = 0; i < LMD_LEN(want); i++) {
		ck_assert_int_eq(r.u.generate.logit_bias[i].id, i < 4 ? (int)i : INT32_MAX);
		ck_assert_mem_eq(&r.u.generate.logit_bias[i].bias, &want[i], sizeof(float));
	}
	lmi_wire_buf_fini(&m.b);
}
END_TEST

static void encode_refused(const struct lmi_wire_sampler *chain, const struct lmd_bias *bias,
			   const char *message)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	struct lmi_wire_request r;

	lmi_wire_request_init(&r, LMI_WIRE_OP_GENERATE);
	r.rid = r.u.generate.model = r.u.generate.prompt = (struct lmd_str){"x", 1};
	r.u.generate.has_prompt = true;
	r.u.generate.has_chain = chain != NULL;
	r.u.generate.chain = chain;
	r.u.generate.n_chain = chain ? 1 : 0;
	r.u.generate.logit_bias = bias;
	r.u.generate.n_logit_bias = bias ? 1 : 0;
	ck_assert_int_eq(lmi_wire_request_encode(&b, &r, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, message);
	ck_assert_uint_eq(b.n, 0);
	lmi_wire_buf_fini(&b);
}

START_TEST(refused_to_write)
{
	const struct lmd_bias nan_bias = {5, NAN}, no_token = {-1, 0};
	struct lmi_wire_arg args[LMI_WIRE_LIMIT_MAP_KEYS] = {
		{.name = "p", .type = LMD_PARAM_FLOAT}};
	struct lmi_wire_sampler s = {.name = "s", .args = args, .n_args = 1};

	encode_refused(NULL, &nan_bias, "generate: logit_bias[0]: nan is not allowed");
	encode_refused(NULL, &no_token, "generate: logit_bias[0]: -1 is not a token");
	args[0].v.f = NAN;
	encode_refused(&s, NULL, "generate: chain[0].p: nan is not allowed");
	args[0].type = LMD_PARAM_BIAS;
	args[0].v = (struct lmd_param_value){.n = 1, .bias = &no_token};
	encode_refused(&s, NULL, "generate: chain[0].p: -1 is not a token");
	args[0].type = LMD_PARAM_STRS;
	args[0].v = (struct lmd_param_value){.n = LMI_WIRE_ARG_LIST_MAX + 1};
	encode_refused(&s, NULL,
		       "generate: chain[0].p: 1048577 entries, the maximum is 1048576");
	args[0] = (struct lmi_wire_arg){.name = "sampler", .type = LMD_PARAM_INT};
	encode_refused(&s, NULL, "generate: chain[0].sampler: duplicate name");
	args[0].name = "a b";
	encode_refused(&s, NULL, "generate: chain[0]: \"a b\" is not a name");
	args[0].name = "p";
	args[1] = args[0];
	s.n_args = 2;
	encode_refused(&s, NULL, "generate: chain[0].p: duplicate name");
	s.n_args = LMI_WIRE_LIMIT_MAP_KEYS;
	encode_refused(&s, NULL, "generate: chain[0]: 128 parameters, the maximum is 127");
	s.name = "";
	encode_refused(&s, NULL, "generate: chain[0]: a name of 0 bytes, allowed are 1 to 48");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proto chain");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, samplers);
	tcase_add_loop_test(tc, errors, 0, (int)LMD_LEN(refused));
	tcase_add_test(tc, biases);
	tcase_add_test(tc, refused_to_write);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
