/* SPDX-License-Identifier: MIT
 *
 * Prints messages for tests in other languages and for the documentation.
 *     wire session           prints the example session of docs/protocol.md
 *     wire emit N SEED       prints N requests and N replies of each op, one per line:
 *                            OP request|reply HEX JSON
 *     wire read              reads lines OP request|reply HEX from standard input, decodes and
 *                            encodes each message, and prints it as HEX, or the error */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/proto_fixture.h"

#define LINE_MAX_BYTES (1 << 20)

static void die(const char *what, const struct lmd_error *err)
{
	fprintf(stderr, "wire: %s: %s\n", what, err ? err->text : "no memory");
	exit(1);
}

static void print_hex(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

static void print_json(const struct lmi_wire_buf *m)
{
	struct lmi_wire_buf json = {0};
	struct lmd_error err;

	if (lmi_wire_json(&json, m->p, m->n, &err) != LMD_OK)
		die("json", &err);
	(void)fwrite(json.p, 1, json.n, stdout);
	lmi_wire_buf_fini(&json);
}

/* ---- session ---- */

static void dump(const struct lmi_wire_buf *m)
{
	for (size_t at = 0; at < m->n; at += 16) {
		printf("    ");
		for (size_t i = at; i < at + 16; i++)
			if (i < m->n)
				printf("%02x ", m->p[i]);
			else
				printf("   ");
		putchar(' ');
		for (size_t i = at; i < at + 16 && i < m->n; i++)
			putchar(m->p[i] >= 0x20 && m->p[i] < 0x7F ? m->p[i] : '.');
		putchar('\n');
	}
}

static void show(const char *who, const struct lmi_wire_buf *m)
{
	printf("\n%s, %zu bytes:\n\n    ", who, m->n);
	print_json(m);
	printf("\n\n");
	dump(m);
}

static void show_request(const struct lmi_wire_request *r)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err;

	if (lmi_wire_request_encode(&b, r, &err) != LMD_OK)
		die("session", &err);
	show("Client", &b);
	lmi_wire_buf_fini(&b);
}

static void show_reply(const struct lmi_wire_reply *r)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err;

	if (lmi_wire_reply_encode(&b, r, &err) != LMD_OK)
		die("session", &err);
	show("Server", &b);
	lmi_wire_buf_fini(&b);
}

#define STR(s) ((struct lmd_str){.ptr = (s), .len = sizeof(s) - 1})

static const struct lmi_wire_id stream = {{0x5e, 0x1c, 0x93, 0x07, 0xd2, 0x4a, 0x40, 0x8f, 0xb6,
					   0x21, 0xee, 0x0b, 0x7d, 0x55, 0x3a, 0x90}};

static void session_hello(void)
{
	static const struct lmd_str features[] = {STR("generate"), STR("next"), STR("cancel")};
	struct lmi_wire_request r;
	struct lmi_wire_reply a;

	lmi_wire_request_init(&r, LMI_WIRE_OP_HELLO);
	r.u.hello.client = STR("example");
	show_request(&r);
	lmi_wire_reply_init(&a, &r);
	a.u.hello.server = STR("llamad");
	a.u.hello.version = STR("0.1.0");
	a.u.hello.v_min = LMI_WIRE_V_MIN;
	a.u.hello.v_max = LMI_WIRE_V;
	a.u.hello.revision = LMI_WIRE_REVISION;
	a.u.hello.boot = stream;
	a.u.hello.boot.b[0] = 0x31;
	a.u.hello.role = LMI_WIRE_ROLE_USER;
	a.u.hello.features = features;
	a.u.hello.n_features = LMD_LEN(features);
	show_reply(&a);
}

static void session_generate(void)
{
	struct lmi_wire_request r;
	struct lmi_wire_reply a;

	lmi_wire_request_init(&r, LMI_WIRE_OP_GENERATE);
	r.rid = STR("job-17");
	r.u.generate.model = STR("smollm2");
	r.u.generate.has_prompt = true;
	r.u.generate.prompt = STR("The sky is");
	r.u.generate.has_n = true;
	r.u.generate.n = 2;
	r.u.generate.has_temp = true;
	r.u.generate.temp = 0;
	show_request(&r);
	lmi_wire_reply_init(&a, &r);
	a.u.generate.id = stream;
	a.u.generate.seed = 1;
	show_reply(&a);
}

static void session_next(void)
{
	struct lmi_wire_item items[] = {
		{.kind = LMI_WIRE_ITEM_TOKEN, .n = 1, .u.token = {4461, STR(" blue")}},
		{.kind = LMI_WIRE_ITEM_TOKEN, .n = 2, .u.token = {30, STR(".")}},
		{.kind = LMI_WIRE_ITEM_DONE,
		 .n = 3,
		 .u.done = {LMI_WIRE_FINISH_LENGTH, 3, 2, 21000000, 9500000}}};
	struct lmi_wire_request r;
	struct lmi_wire_reply a;

	lmi_wire_request_init(&r, LMI_WIRE_OP_NEXT);
	r.u.next.id = stream;
	show_request(&r);
	lmi_wire_reply_init(&a, &r);
	a.u.next.id = stream;
	a.u.next.items = items;
	a.u.next.n_items = 1;
	a.u.next.last = 1;
	show_reply(&a);
	r.u.next.after = 1;
	show_request(&r);
	a.u.next.items = items + 1;
	a.u.next.n_items = 2;
	a.u.next.last = 3;
	a.u.next.end = true;
	show_reply(&a);
}

static void session_refused(void)
{
	struct lmi_wire_request r;
	struct lmi_wire_reply a;
	struct lmd_error keep;

	lmi_wire_request_init(&r, LMI_WIRE_OP_UNLOAD);
	r.rid = STR("job-18");
	r.u.unload.model = STR("smollm2");
	show_request(&r);
	lmi_wire_reply_init(&a, &r);
	lmi_wire_reply_fail(&a, LMD_DENIED, "op unload requires the role admin: yours is user", -1,
			    &keep);
	show_reply(&a);
}

static int session(void)
{
	session_hello();
	session_generate();
	session_next();
	session_refused();
	return 0;
}

/* ---- emit ---- */

static void emit_line(const char *op, const char *kind, const struct lmi_wire_buf *b)
{
	printf("%s %s ", op, kind);
	print_hex(b->p, b->n);
	putchar(' ');
	print_json(b);
	putchar('\n');
}

static void emit_op(struct fill *f, enum lmi_wire_op op)
{
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request r;
	struct lmi_wire_reply a;
	struct lmd_error err;

	fill_request(f, op, &r);
	if (lmi_wire_request_encode(&b, &r, &err) != LMD_OK)
		die("emit", &err);
	emit_line(lmi_wire_ops[op].name, "request", &b);
	b.n = 0;
	fill_reply(f, op, &a);
	if (lmi_wire_reply_encode(&b, &a, &err) != LMD_OK)
		die("emit", &err);
	emit_line(lmi_wire_ops[op].name, "reply", &b);
	lmi_wire_buf_fini(&b);
}

static int emit(unsigned n, uint64_t seed)
{
	struct fill f = {.seed = seed};

	for (unsigned k = 0; k < n; k++)
		for (int op = 1; op < LMI_WIRE_N_OP; op++) {
			f.full = k % 3 == 0;
			f.arena = lmi_arena_create(0);
			if (!f.arena)
				die("emit", NULL);
			emit_op(&f, (enum lmi_wire_op)op);
			lmi_arena_destroy(f.arena);
		}
	return 0;
}

/* ---- read ---- */

static size_t parse_hex(char *hex)
{
	uint8_t *out = (uint8_t *)hex;
	size_t n = 0;
	unsigned v;

	while (sscanf(hex + 2 * n, "%2x", &v) == 1)
		out[n++] = (uint8_t)v;
	return n;
}

static void read_one(const char *op_name, const char *kind, const void *p, size_t n)
{
	enum lmi_wire_op op = lmi_wire_op_find(op_name, strlen(op_name));
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	enum lmd_status st = LMD_NOMEM;
	struct lmi_wire_request r;
	struct lmi_wire_reply a;

	if (arena && !strcmp(kind, "request")) {
		st = lmi_wire_request_decode(&r, p, n, arena, &err);
		if (st == LMD_OK)
			st = lmi_wire_request_encode(&b, &r, &err);
	} else if (arena && op != LMI_WIRE_OP_NONE) {
		st = lmi_wire_reply_decode(&a, op, p, n, arena, &err);
		if (st == LMD_OK)
			st = lmi_wire_reply_encode(&b, &a, &err);
	}
	if (st == LMD_OK)
		print_hex(b.p, b.n);
	else
		printf("%s", err.text);
	putchar('\n');
	lmi_wire_buf_fini(&b);
	lmi_arena_destroy(arena);
}

static int read_all(void)
{
	char *line = malloc(LINE_MAX_BYTES);
	char op[64], kind[16];
	int at;

	if (!line)
		die("read", NULL);
	while (fgets(line, LINE_MAX_BYTES, stdin)) {
		if (sscanf(line, "%63s %15s %n", op, kind, &at) != 2)
			die(line, &(struct lmd_error){.text = "not OP request|reply HEX"});
		read_one(op, kind, line + at, parse_hex(line + at));
	}
	free(line);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "session"))
		return session();
	if (argc == 4 && !strcmp(argv[1], "emit"))
		return emit((unsigned)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	if (argc == 2 && !strcmp(argv[1], "read"))
		return read_all();
	fprintf(stderr, "usage: wire session | emit N SEED | read\n");
	return 2;
}
