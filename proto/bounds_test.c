/* SPDX-License-Identifier: MIT
 *
 * The bounds of the codec: it rejects values outside them in both directions, with error messages that name the
 * field, the value and the bound. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* ---- bounds ---- */

static void refused(struct raw *m, enum lmd_status want, const char *message)
{
	struct lmd_error err = {0};
	struct lmi_wire_request r;

	ck_assert_msg(lmi_wire_request_decode(&r, m->b.p, m->b.n, arena, &err) == want, "%s: %s",
		      message, err.text);
	ck_assert_msg(!strncmp(err.text, message, strlen(message)), "\"%s\", expected \"%s\"",
		      err.text, message);
	lmi_wire_buf_fini(&m->b);
}

static void accepted(struct raw *m)
{
	struct lmd_error err = {0};
	struct lmi_wire_request r;

	ck_assert_msg(lmi_wire_request_decode(&r, m->b.p, m->b.n, arena, &err) == LMD_OK, "%s",
		      err.text);
	lmi_wire_buf_fini(&m->b);
}

/* Writes a minimal request of op; the caller then writes its field f. */
static void begin(struct raw *m, enum lmi_wire_op op, const struct lmi_wire_field *f)
{
	raw_request(m, op, f->name, 1);
	raw_str(m, f->name);
}

static void int_bounds(enum lmi_wire_op op, const struct lmi_wire_field *f, const char *at)
{
	char s[160];
	struct raw m;

	begin(&m, op, f);
	msgpack_pack_int64(&m.pk, f->u.i.min);
	accepted(&m);
	begin(&m, op, f);
	msgpack_pack_int64(&m.pk, f->u.i.max);
	accepted(&m);
	if (f->u.i.min > INT64_MIN) {
		begin(&m, op, f);
		msgpack_pack_int64(&m.pk, f->u.i.min - 1);
		(void)snprintf(s, sizeof(s), "%s%lld is below %lld", at, (long long)f->u.i.min - 1,
			       (long long)f->u.i.min);
		refused(&m, LMD_INVALID, s);
	}
	begin(&m, op, f);
	msgpack_pack_uint64(&m.pk, (uint64_t)f->u.i.max + 1);
	(void)snprintf(s, sizeof(s), "%s%llu is above %lld", at, (unsigned long long)f->u.i.max + 1,
		       (long long)f->u.i.max);
	refused(&m, LMD_INVALID, s);
	begin(&m, op, f);
	msgpack_pack_double(&m.pk, (double)f->u.i.min + 0.5);
	refused(&m, LMD_INVALID, at);
}

static void float_bounds(enum lmi_wire_op op, const struct lmi_wire_field *f, const char *at)
{
	const double bad[] = {NAN,
			      INFINITY,
			      -INFINITY,
			      f->u.f.min - 1,
			      f->u.f.max + 1,
			      nextafter(f->u.f.min, -DBL_MAX),
			      nextafter(f->u.f.max, DBL_MAX)};
	struct raw m;

	begin(&m, op, f);
	msgpack_pack_double(&m.pk, f->u.f.min);
	accepted(&m);
	begin(&m, op, f);
	msgpack_pack_double(&m.pk, f->u.f.max);
	accepted(&m);
	begin(&m, op, f);
	msgpack_pack_int(&m.pk, (int)ceil(f->u.f.min));
	accepted(&m);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		begin(&m, op, f);
		msgpack_pack_double(&m.pk, bad[i]);
		refused(&m, LMD_INVALID, at);
	}
}

static void span_bounds(enum lmi_wire_op op, const struct lmi_wire_field *f, const char *at)
{
	const uint32_t head = f->list;
	char s[160];
	struct raw m;

	if (f->u.s.max > 1u << 20)
		return; /* longer than a message */
	for (int over = 0; over < 2; over++) {
		begin(&m, op, f);
		if (head)
			msgpack_pack_array(&m.pk, 1);
		raw_span(&m, 'x', f->u.s.max + (unsigned)over, false);
		if (!over) {
			accepted(&m);
			continue;
		}
		(void)snprintf(s, sizeof(s), "%.*s%s%u bytes, the maximum is %u",
			       (int)strlen(at) - 2 * f->list, at, f->list ? "[0]: " : "",
			       f->u.s.max + 1, f->u.s.max);
		refused(&m, LMD_INVALID, s);
	}
	if (!f->u.s.min)
		return;
	begin(&m, op, f);
	if (head)
		msgpack_pack_array(&m.pk, 1);
	raw_span(&m, 'x', f->u.s.min - 1, false);
	refused(&m, LMD_INVALID, "");
}

static void list_bounds(enum lmi_wire_op op, const struct lmi_wire_field *f, const char *at)
{
	char s[160];
	struct raw m;

	for (uint32_t n = f->max_items; n <= f->max_items + 1; n++) {
		begin(&m, op, f);
		msgpack_pack_array(&m.pk, n);
		for (uint32_t i = 0; i < n; i++)
			switch (f->type) {
			case LMI_WIRE_T_TOKEN:
				msgpack_pack_int(&m.pk, 5);
				break;
			case LMI_WIRE_T_BIAS:
				msgpack_pack_array(&m.pk, 2);
				msgpack_pack_int(&m.pk, 5);
				msgpack_pack_double(&m.pk, 5);
				break;
			case LMI_WIRE_T_OBJECT: /* the required field of its type */
				msgpack_pack_map(&m.pk, 1);
				raw_str(&m, strcmp(f->name, "messages") ? "text" : "role");
				raw_str(&m, "user");
				break;
			default:
				raw_str(&m, "x");
			}
		if (n == f->max_items) {
			accepted(&m);
			continue;
		}
		(void)snprintf(s, sizeof(s), "%s%u entries, the maximum is %u", at, n,
			       f->max_items);
		refused(&m, LMD_INVALID, s);
	}
}

/* Values of every type: a field accepts only those of its own type. */
static void wrong_types(enum lmi_wire_op op, const struct lmi_wire_field *f, const char *at)
{
	for (int kind = 0; kind < 7; kind++) {
		bool number = f->type == LMI_WIRE_T_INT || f->type == LMI_WIRE_T_FLOAT;
		bool span = f->type == LMI_WIRE_T_TEXT || f->type == LMI_WIRE_T_BYTES;
		struct raw m;

		begin(&m, op, f);
		switch (kind) {
		case 0:
			msgpack_pack_true(&m.pk);
			break;
		case 1:
			msgpack_pack_int(&m.pk, 1);
			break;
		case 2:
			raw_str(&m, "?");
			break;
		case 3:
			raw_span(&m, 'b', 3, true);
			break;
		case 4:
			msgpack_pack_array(&m.pk, 1);
			msgpack_pack_nil(&m.pk);
			break;
		case 5:
			msgpack_pack_map(&m.pk, 1);
			raw_str(&m, "1");
			msgpack_pack_nil(&m.pk);
			break;
		case 6:
			msgpack_pack_double(&m.pk, 0.25);
			break;
		}
		if (!f->list &&
		    ((kind == 0 && f->type == LMI_WIRE_T_BOOL) ||
		     ((kind == 1 || kind == 6) && number) ||
		     (kind == 2 && (span || f->type == LMI_WIRE_T_STRING)) || (kind == 3 && span)))
			lmi_wire_buf_fini(&m.b); /* its own type; see the tests of bounds */
		else
			refused(&m, LMD_INVALID, f->list && (kind == 4 || kind == 5) ? "" : at);
	}
}

START_TEST(bounds_of_requests)
{
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	const struct lmi_wire_struct *s = lmi_wire_ops[op].request;

	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct lmi_wire_field *f = &s->fields[i];
		char at[100];

		(void)snprintf(at, sizeof(at), "%s: %s: ", s->name, f->name);
		wrong_types(op, f, at);
		if (f->list)
			list_bounds(op, f, at);
		if (f->type == LMI_WIRE_T_INT)
			int_bounds(op, f, at);
		else if (f->type == LMI_WIRE_T_FLOAT)
			float_bounds(op, f, at);
		else if (f->type == LMI_WIRE_T_STRING || f->type == LMI_WIRE_T_TEXT ||
			 f->type == LMI_WIRE_T_BYTES)
			span_bounds(op, f, at);
	}
}
END_TEST

START_TEST(missing_and_unknown)
{
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	const struct lmi_wire_struct *s = lmi_wire_ops[op].request;
	char text[160];
	struct raw m;

	raw_request(&m, op, NULL, 0);
	accepted(&m);
	raw_request(&m, op, NULL, 1);
	raw_str(&m, "tempp");
	msgpack_pack_int(&m.pk, 1);
	(void)snprintf(text, sizeof(text), "%s: tempp: unknown field", s->name);
	refused(&m, LMD_INVALID, text);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct lmi_wire_field *f = &s->fields[i];
		bool required = f->presence == LMI_WIRE_REQUIRED;

		for (uint32_t k = 0; k < s->n_one_of; k++)
			required |= s->one_of[k] == i;
		(void)snprintf(text, sizeof(text), "%s: ", s->name);
		raw_request(&m, op, f->name, 0);
		if (required)
			refused(&m, LMD_INVALID, text);
		else
			accepted(&m);
		begin(&m, op, f);
		msgpack_pack_nil(&m.pk); /* counts as missing */
		if (required)
			refused(&m, LMD_INVALID, text);
		else
			accepted(&m);
	}
}
END_TEST

/* The encoder rejects what the decoder would reject. */
START_TEST(bounds_of_encoding)
{
	enum lmi_wire_op op = (enum lmi_wire_op)(_i + 1);
	const struct lmi_wire_struct *s = lmi_wire_ops[op].request;
	struct fill fill = {.seed = 5, .arena = arena};

	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct lmi_wire_field *f = &s->fields[i];
		struct lmi_wire_buf b = {0};
		struct lmi_wire_request r;
		char *p = (char *)&r.u, at[100];
		struct lmd_error err = {0};

		fill_request(&fill, op, &r);
		if (f->presence == LMI_WIRE_OPTIONAL && !*(bool *)(p + f->has_at) && s->n_one_of)
			continue;
		if (f->presence == LMI_WIRE_OPTIONAL)
			*(bool *)(p + f->has_at) = true;
		if (f->list)
			*(uint32_t *)(p + f->n_at) = f->max_items + 1;
		else if (f->type == LMI_WIRE_T_INT && f->u.i.max < INT64_MAX)
			*(int64_t *)(p + f->at) = f->u.i.max + 1;
		else if (f->type == LMI_WIRE_T_INT && f->u.i.min > INT64_MIN)
			*(int64_t *)(p + f->at) = f->u.i.min - 1;
		else if (f->type == LMI_WIRE_T_FLOAT)
			*(double *)(p + f->at) = i % 2 ? NAN : f->u.f.max * 2 + 1;
		else if (f->type == LMI_WIRE_T_STRING)
			*(struct lmd_str *)(p + f->at) = (struct lmd_str){"a\nb", 3};
		else if (f->type == LMI_WIRE_T_ENUM)
			*(int *)(p + f->at) = 99;
		else
			continue;
		ck_assert(lmi_wire_buf_add(&b, "keep", 4));
		ck_assert_msg(lmi_wire_request_encode(&b, &r, &err) == LMD_INVALID, "%s: %s",
			      s->name, f->name);
		(void)snprintf(at, sizeof(at), "%s: %s: ", s->name, f->name);
		ck_assert_msg(!strncmp(err.text, at, strlen(at)), "%s", err.text);
		ck_assert_uint_eq(b.n, 4);
		lmi_wire_buf_fini(&b);
	}
}
END_TEST

/* ---- sentences ---- */

START_TEST(sentences)
{
	struct raw m;

	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "temp");
	msgpack_pack_double(&m.pk, 7.5);
	refused(&m, LMD_INVALID, "generate: temp: 7.5 is above 5");
	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "class");
	raw_str(&m, "urgent");
	refused(&m, LMD_INVALID,
		"generate: class: \"urgent\" is not one of interactive, normal, batch");
	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "tokens");
	msgpack_pack_array(&m.pk, 1);
	msgpack_pack_int(&m.pk, 1);
	refused(&m, LMD_INVALID, "generate: only one of prompt, tokens, messages is allowed");
	raw_request(&m, LMI_WIRE_OP_GENERATE, "prompt", 0);
	refused(&m, LMD_INVALID, "generate: one of prompt, tokens, messages is required");
	raw_request(&m, LMI_WIRE_OP_GENERATE, "model", 0);
	refused(&m, LMD_INVALID, "generate: model is missing");
	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "stop");
	msgpack_pack_array(&m.pk, 2);
	raw_str(&m, "a");
	msgpack_pack_int(&m.pk, 3);
	refused(&m, LMD_INVALID, "generate: stop[1]: 3 is not a string or bytes");
	raw_request(&m, LMI_WIRE_OP_GENERATE, NULL, 1);
	raw_str(&m, "chain");
	msgpack_pack_array(&m.pk, 1);
	msgpack_pack_map(&m.pk, 1);
	raw_str(&m, "k");
	msgpack_pack_int(&m.pk, 3);
	refused(&m, LMD_INVALID, "generate: chain[0]: sampler is missing");
	raw_request(&m, LMI_WIRE_OP_NEXT, "id", 1);
	raw_str(&m, "id");
	raw_span(&m, 'x', 15, true);
	refused(&m, LMD_INVALID, "next: id: 15 bytes, but an id has 16 bytes");
}
END_TEST

/* After an error, v, op and rid are known as far as possible, so that the request can be
 * answered. */
START_TEST(heads)
{
	struct lmd_error err = {0};
	struct lmi_wire_request r;
	struct raw m;

	raw_init(&m);
	msgpack_pack_map(&m.pk, 3);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 7);
	raw_str(&m, "rid");
	raw_str(&m, "x-1");
	raw_str(&m, "op");
	raw_str(&m, "ping");
	ck_assert(lmi_wire_request_decode(&r, m.b.p, m.b.n, arena, &err) == LMD_UNSUPPORTED);
	ck_assert_str_eq(err.text, "ping: v: version 7 is not supported, only 1 to 1");
	ck_assert(r.op == LMI_WIRE_OP_PING && r.v == 7 && r.rid.len == 3);
	lmi_wire_buf_fini(&m.b);

	raw_init(&m);
	msgpack_pack_map(&m.pk, 2);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 7);
	raw_str(&m, "op");
	raw_str(&m, "hello");
	accepted(&m);

	raw_init(&m);
	msgpack_pack_map(&m.pk, 1);
	raw_str(&m, "op");
	raw_str(&m, "ping");
	refused(&m, LMD_INVALID, "ping: v is missing or not 1 to 65535");
	raw_init(&m);
	msgpack_pack_map(&m.pk, 1);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 1);
	refused(&m, LMD_INVALID, "request: op is missing");
	raw_init(&m);
	msgpack_pack_map(&m.pk, 2);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 1);
	raw_str(&m, "op");
	raw_str(&m, "fly");
	refused(&m, LMD_UNSUPPORTED, "request: op \"fly\" is unknown");

	for (size_t n = LMI_WIRE_LIMIT_RID_BYTES; n <= LMI_WIRE_LIMIT_RID_BYTES + 1; n++) {
		raw_init(&m);
		msgpack_pack_map(&m.pk, 3);
		raw_str(&m, "v");
		msgpack_pack_int(&m.pk, 1);
		raw_str(&m, "op");
		raw_str(&m, "ping");
		raw_str(&m, "rid");
		raw_span(&m, 'r', n, false);
		if (n == LMI_WIRE_LIMIT_RID_BYTES)
			accepted(&m);
		else
			refused(&m, LMD_INVALID, "ping: rid: 65 bytes, the maximum is 64");
	}
	raw_init(&m);
	msgpack_pack_map(&m.pk, 3);
	raw_str(&m, "v");
	msgpack_pack_int(&m.pk, 1);
	raw_str(&m, "op");
	raw_str(&m, "rm");
	raw_str(&m, "name");
	raw_str(&m, "x");
	refused(&m, LMD_INVALID, "rm: rid is missing");
}
END_TEST

START_TEST(faulty_token_is_named)
{
	static const int64_t faults[] = {-1, 1ll << 31, 1ll << 40, INT64_MIN};

	for (size_t i = 0; i < LMD_LEN(faults); i++) {
		char want[120];
		struct raw m;

		raw_request(&m, LMI_WIRE_OP_DETOKENIZE, "tokens", 1);
		raw_str(&m, "tokens");
		msgpack_pack_array(&m.pk, 100);
		for (int k = 0; k < 100; k++)
			msgpack_pack_int64(&m.pk, k == 70 ? faults[i] : k * 300);
		(void)snprintf(want, sizeof(want),
			       "detokenize: tokens[70]: %lld is not a token from 0 to 2147483647",
			       (long long)faults[i]);
		refused(&m, LMD_INVALID, want);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bounds");
	TCase *tc = tcase_create("bounds");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, bounds_of_requests, 0, LMI_WIRE_N_OP - 1);
	tcase_add_loop_test(tc, missing_and_unknown, 0, LMI_WIRE_N_OP - 1);
	tcase_add_loop_test(tc, bounds_of_encoding, 0, LMI_WIRE_N_OP - 1);
	tcase_add_test(tc, sentences);
	tcase_add_test(tc, heads);
	tcase_add_test(tc, faulty_token_is_named);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
