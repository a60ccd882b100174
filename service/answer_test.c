/* SPDX-License-Identifier: MIT
 *
 * The answer parser between engine and stream.  A grammar that allows only one text makes the model
 * generate that text. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static const char script[] =
	"<think>hm, 1</think>I look.<tool_call>{\"name\": \"w\", \"arguments\": {\"c\": [1, "
	"\"P\"]}}"
	"</tool_call><tool_call>{\"id\": \"x9\", \"name\": \"v\", \"arguments\": {}}</tool_call>.";

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* A generation whose answer is `text`. */
static struct lmi_wire_request say(const char *text)
{
	static char grammar[1024];
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 250);
	size_t at = (size_t)snprintf(grammar, sizeof(grammar), "root ::= \"");

	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			grammar[at++] = '\\';
		grammar[at++] = *text;
	}
	snprintf(grammar + at, sizeof(grammar) - at, "\"");
	q.u.generate.has_grammar = true;
	q.u.generate.grammar = str(grammar);
	q.u.generate.parse = true;
	q.u.generate.has_parse_format = true;
	q.u.generate.parse_format = str("hermes");
	return q;
}

/* Formats items: text unchanged, reasoning as [T:...], tool calls as [C0:name#id] {...} [E0];
 * counts tokens. */
struct told {
	char text[1024];
	size_t n;
	uint32_t n_token;
	bool thinks;
};

static void tell(struct told *t, const char *what, struct lmd_str s)
{
	t->n += (size_t)snprintf(t->text + t->n, sizeof(t->text) - t->n, "%s%.*s", what, (int)s.len,
				 s.ptr);
	ck_assert_uint_lt(t->n, sizeof(t->text));
}

static void take(struct told *t, const struct lmi_wire_item *it)
{
	char head[16];
	struct lmd_str none = {.ptr = ""};

	t->n_token += it->kind == LMI_WIRE_ITEM_TOKEN;
	if (it->kind == LMI_WIRE_ITEM_TOKEN && !it->u.token.text.len)
		return;
	if (it->kind != LMI_WIRE_ITEM_REASONING && t->thinks) {
		tell(t, "]", none);
		t->thinks = false;
	}
	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		tell(t, "", it->u.token.text);
		return;
	case LMI_WIRE_ITEM_TEXT:
		tell(t, "", it->u.text.text);
		return;
	case LMI_WIRE_ITEM_REASONING:
		tell(t, t->thinks ? "" : "[T:", it->u.reasoning.text);
		t->thinks = true;
		return;
	case LMI_WIRE_ITEM_CALL:
		snprintf(head, sizeof(head), "[C%d:", (int)it->u.call.call);
		tell(t, head, it->u.call.name);
		tell(t, "#", it->u.call.id);
		tell(t, "]", none);
		return;
	case LMI_WIRE_ITEM_ARGUMENTS:
		tell(t, "", it->u.arguments.text);
		return;
	case LMI_WIRE_ITEM_CALL_END:
		snprintf(head, sizeof(head), it->u.call_end.complete ? "[E%d]" : "[!%d]",
			 (int)it->u.call_end.call);
		tell(t, head, none);
		return;
	case LMI_WIRE_ITEM_UNKNOWN:
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
	case LMI_WIRE_ITEM_PROGRESS:
	case LMI_WIRE_ITEM_DONE:
	case LMI_WIRE_ITEM_ERROR:
	case LMI_WIRE_ITEM_CANCELLED:
		return;
	}
}

static struct lmi_wire_id begin(const struct lmi_wire_request *q)
{
	ck_assert_msg(fx_call(&fx, &fx_user, q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

/* Reads after item `after`, with a maximum number of items per reply. */
static struct lmi_wire_item read_all(struct told *t, const struct lmi_wire_id *id, uint64_t after,
				     int64_t max)
{
	struct lmi_wire_item last = {0};

	for (bool end = false; !end;) {
		struct lmi_wire_request q = fx_next(id, after);

		q.u.next.max = max;
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		for (uint32_t i = 0; i < fx.a.r.u.next.n_items; i++) {
			last = fx.a.r.u.next.items[i];
			ck_assert_int_eq(last.n, (int64_t)++after);
			take(t, &last);
		}
		end = fx.a.r.u.next.end;
	}
	return last;
}

/* A tool call without an id gets one that depends on the stream. */
static void check_told(const struct told *t)
{
	static const char head[] = "[T:hm, 1]I look.[C0:w#";
	static const char tail[] = "]{\"c\": [1, \"P\"]}[E0][C1:v#x9]{}[E1].";
	size_t n = strlen(head);

	ck_assert_msg(!strncmp(t->text, head, n), "%s", t->text);
	for (size_t i = 0; i < 9; i++)
		ck_assert_msg(strchr("0123456789abcdef", t->text[n + i]) != NULL, "%s", t->text);
	ck_assert_str_eq(t->text + n + 9, tail);
}

START_TEST(thoughts_and_calls)
{
	struct lmi_wire_request q;
	struct lmi_wire_item last;
	struct lmi_wire_id id;
	struct told t = {0};

	fx_start(&fx);
	fx_load(&fx);
	q = say(script);
	id = begin(&q);
	last = read_all(&t, &id, 0, _i ? 1 : 4096);
	check_told(&t);
	ck_assert_int_eq(last.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(last.u.done.n_out, t.n_token);
	/* each character is a token: the reasoning, and the marker at its end */
	ck_assert_int_eq(last.u.done.n_reasoning, (int64_t)strlen("hm, 1</think>"));
	fx_check_empty(&fx);
}
END_TEST

/* A reader that returns on another connection continues after the items it has. */
START_TEST(resumed)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	struct told t = {0};
	uint64_t after;

	fx_start(&fx);
	fx_load(&fx);
	q = say(script);
	q.u.generate.has_lease_ms = true;
	q.u.generate.lease_ms = 10000;
	id = begin(&q);
	while (fx_job(&fx))
		;
	fx_step(&fx, 60);
	q = fx_next(&id, 0);
	q.u.next.max = 40;
	ck_assert(fx_call(&fx, &fx_user, &q));
	after = (uint64_t)fx.a.r.u.next.last;
	ck_assert_uint_eq(after, 40);
	for (uint32_t i = 0; i < fx.a.r.u.next.n_items; i++)
		take(&t, &fx.a.r.u.next.items[i]);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	(void)read_all(&t, &id, after, 4096);
	check_told(&t);
}
END_TEST

/* Cancelled at any step: held back text is sent, and a tool call that has begun ends as
 * incomplete. */
START_TEST(cancelled)
{
	static const char grammar[] =
		"root ::= [ab]{20} \"<tool_call>{\\\"name\\\": \\\"w\\\", \\\"arguments\\\": "
		"{\\\"c\\\": \\\"\" [ab]{100}";
	uint32_t n_begun = 0;

	fx_start(&fx);
	fx_load(&fx);
	for (int at = 1; at < 100; at += 7) {
		struct lmi_wire_request q = say("");
		struct lmi_wire_id id;
		struct told t = {0};
		struct lmi_wire_item last;

		q.u.generate.grammar = str(grammar);
		id = begin(&q);

		while (fx_job(&fx))
			;
		fx_step(&fx, at);
		lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
		q.u.cancel.id = id;
		ck_assert(fx_call(&fx, &fx_user, &q));
		last = read_all(&t, &id, 0, 4096);
		ck_assert_int_eq(last.kind, LMI_WIRE_ITEM_CANCELLED);
		if (strstr(t.text, "[C0")) {
			n_begun++;
			ck_assert_msg(strstr(t.text, "[!0]"), "%s", t.text);
		}
	}
	ck_assert_uint_gt(n_begun, 3);
	fx_check_empty(&fx);
}
END_TEST

/* Without parse, and with a format without markers, the answer is the text of the model. */
START_TEST(as_it_is_written)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[512];

	fx_start(&fx);
	fx_load(&fx);
	q = say(script);
	q.u.generate.parse = q.u.generate.has_parse_format = false;
	id = begin(&q);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(text, script);
	q = say(script);
	q.u.generate.has_parse_format = false; /* the model has no template */
	id = begin(&q);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(text, script);
}
END_TEST

/* A conversation whose template begins the reasoning and determines the format of the answer; with
 * tools an object is a tool call. */
START_TEST(by_template)
{
	static const struct {
		const char *template, *tools, *script, *want;
	} t[] = {
		{"{{ messages[0].content }}<tool_call><think>\n", NULL, "so</think>Yes.",
		 "[T:so]Yes."},
		{"{{ messages[0].content }}<|python_tag|>", NULL,
		 "{\"name\": \"f\", \"parameters\": {}}", "{\"name\": \"f\", \"parameters\": {}}"},
		{"{{ messages[0].content }}<|python_tag|>", "[]",
		 "{\"name\": \"f\", \"parameters\": {}}", "[C0:f#]{}[E0]"},
		{"{{ messages[0].content }}", NULL, "<think>so</think>Yes.",
		 "<think>so</think>Yes."},
	};

	fx_start(&fx);
	fx_load(&fx);
	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmi_wire_request q = say(t[i].script);
		struct lmi_wire_id id;
		struct told told = {0};
		char *hash;

		q.u.generate.has_parse_format = false;
		q.u.generate.has_template = true;
		q.u.generate.template = str(t[i].template);
		q.u.generate.has_tools = t[i].tools != NULL;
		q.u.generate.tools = str(t[i].tools ? t[i].tools : "");
		id = begin(&q);
		(void)read_all(&told, &id, 0, 4096);
		hash = strchr(told.text, '#');
		if (hash)
			memmove(hash + 1, hash + 10, strlen(hash + 10) + 1);
		ck_assert_str_eq(told.text, t[i].want);
	}
}
END_TEST

START_TEST(refused)
{
	struct lmi_wire_request q;

	fx_start(&fx);
	q = say("x");
	q.u.generate.parse_format = str("nosuch");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "nosuch"));
	q = say("x");
	q.u.generate.parse = false;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("answer");
	TCase *t = tcase_create("answer");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, thoughts_and_calls, 0, 2);
	tcase_add_test(t, resumed);
	tcase_add_test(t, cancelled);
	tcase_add_test(t, as_it_is_written);
	tcase_add_test(t, by_template);
	tcase_add_test(t, refused);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
