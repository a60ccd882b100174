/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a protocol message.  The first byte says how they are decoded: 0 as a
 * request, k as a reply to op k.  A request that is accepted must survive encoding and decoding;
 * memory is bounded by the arena; any message that passes the check can be converted to JSON. */
#include <string.h>

#include "proto/check.h"
#include "proto/proto_fixture.h"
#include "tests/fuzz/target.h"

#define ARENA_BYTES (8u << 20)

static void check_json(const uint8_t *p, size_t n)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	enum lmd_status checked = lmi_wire_check(p, n, &err);

	REQUIRE(checked == LMD_OK || err.text[0]);
	REQUIRE(lmi_wire_json(&b, p, n, NULL) == checked);
	REQUIRE((b.n > 0) == (checked == LMD_OK));
	lmi_wire_buf_fini(&b);
}

static void check_request(const uint8_t *p, size_t n, struct lmd_arena *arena)
{
	struct lmi_request r, again;
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	const struct lmi_wire_struct *s;

	if (lmi_request_decode(&r, p, n, arena, &err) != LMD_OK) {
		REQUIRE(err.text[0]);
		return;
	}
	if (r.op == LMI_WIRE_OP_HELLO)
		r.v = LMI_WIRE_V; /* other versions can be read but not written */
	s = lmi_wire_ops[r.op].request;
	REQUIRE(lmi_request_encode(&b, &r, NULL) == LMD_OK);
	REQUIRE(lmi_request_decode(&again, b.p, b.n, arena, NULL) == LMD_OK);
	REQUIRE(again.op == r.op && !differs(s, &r.u, &again.u));
	lmi_wire_buf_fini(&b);
}

static void check_reply(const uint8_t *p, size_t n, enum lmi_wire_op op, struct lmd_arena *arena)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	struct lmi_reply r;

	if (lmi_reply_decode(&r, op, p, n, arena, &err) != LMD_OK) {
		REQUIRE(err.text[0]);
		return;
	}
	/* a newer server may send what this version cannot encode */
	if (lmi_reply_encode(&b, &r, &err) != LMD_OK)
		REQUIRE(err.text[0] && !b.n);
	else
		REQUIRE(lmi_reply_decode(&r, op, b.p, b.n, arena, NULL) == LMD_OK);
	lmi_wire_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmd_arena *arena;
	unsigned as;

	if (!size)
		return 0;
	arena = lmi_arena_create(ARENA_BYTES);
	REQUIRE(arena);
	as = data[0] % LMI_WIRE_N_OP;
	check_json(data + 1, size - 1);
	if (as)
		check_reply(data + 1, size - 1, (enum lmi_wire_op)as, arena);
	else
		check_request(data + 1, size - 1, arena);
	lmi_arena_destroy(arena);
	return 0;
}

/* Seeds: a request of each op, then a reply to each, with all fields. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	struct fill f = {.seed = k, .full = true};
	enum lmi_wire_op op = (enum lmi_wire_op)(k / 2 + 1);
	struct lmi_wire_buf b = {0};
	struct lmi_request r;
	struct lmi_reply rep;
	uint8_t as = 0;

	if (k / 2 + 1 >= LMI_WIRE_N_OP)
		return false;
	f.arena = lmi_arena_create(0);
	REQUIRE(f.arena);
	if (k % 2) {
		as = (uint8_t)op;
		REQUIRE(lmi_wire_buf_add(&b, &as, 1));
		fill_reply(&f, op, &rep);
		REQUIRE(lmi_reply_encode(&b, &rep, NULL) == LMD_OK);
	} else {
		REQUIRE(lmi_wire_buf_add(&b, &as, 1));
		fill_request(&f, op, &r);
		REQUIRE(lmi_request_encode(&b, &r, NULL) == LMD_OK);
	}
	out->n = b.n;
	out->p = malloc(b.n);
	REQUIRE(out->p);
	memcpy(out->p, b.p, b.n);
	lmi_wire_buf_fini(&b);
	lmi_arena_destroy(f.arena);
	return true;
}
