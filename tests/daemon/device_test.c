/* SPDX-License-Identifier: MIT
 *
 * A daemon with models on two emulated devices, one of which is lost again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

#define N_LONG 1500

static struct lmt_daemon d;
static struct lmt_client c;

static void set_up(void)
{
	/* emu1 is lost at its sixth step, of which a load takes one */
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2,late=1,lose_device=1,lose_step=6", 1), 0);
	lmt_daemon_init(&d);
	lmt_daemon_config(&d, "ctx = 2048\nkv_tokens = 4096\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add_as(&c, &d, "steady");
	lmt_add_as(&c, &d, "unlucky");
}

static void tear_down(void)
{
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	lmt_daemon_fini(&d);
	unsetenv("LLAMAD_EMU");
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static void load(const char *model, const char *device)
{
	const struct lmi_wire_rep_next *r;
	const struct lmi_wire_reply *reply;
	struct lmi_wire_request req;
	struct lmi_wire_id id;
	int64_t after = 0;

	lmi_wire_request_init(&req, LMI_WIRE_OP_LOAD);
	req.u.load.model = str(model);
	req.u.load.backend = str("emu");
	req.u.load.devices = str(device);
	lmt_new_rid(&req);
	reply = lmt_ask(&c, &req);
	ck_assert_msg(!reply->failed, "%.*s", (int)reply->error.text.len, reply->error.text.ptr);
	id = reply->u.load.id;
	do {
		r = lmt_next(&c, &id, &after, LMT_PATIENCE_MS);
		if (r->n_items && r->items[r->n_items - 1].kind == LMI_WIRE_ITEM_ERROR)
			ck_abort_msg("%.*s", (int)r->items[r->n_items - 1].u.error.text.len,
				     r->items[r->n_items - 1].u.error.text.ptr);
	} while (!r->end);
}

/* A stream that is read piece by piece. */
struct stream {
	struct lmi_wire_id id;
	int64_t after;
	char text[16 * N_LONG];
	size_t n;
	bool end;
	enum lmi_wire_item_kind last;
};

/* Reads what is there, or what comes next; a final error becomes the text. */
static void read_some(struct stream *s, int64_t wait_ms)
{
	const struct lmi_wire_rep_next *r = lmt_next(&c, &s->id, &s->after, wait_ms);

	for (uint32_t i = 0; i < r->n_items; i++) {
		const struct lmi_wire_item *item = &r->items[i];
		const struct lmd_str *t = item->kind == LMI_WIRE_ITEM_TOKEN ? &item->u.token.text
					  : item->kind == LMI_WIRE_ITEM_TEXT
						  ? &item->u.text.text
						  : NULL;

		s->last = item->kind;
		if (item->kind == LMI_WIRE_ITEM_ERROR) {
			s->n = 0;
			t = &item->u.error.text;
		}
		if (!t)
			continue;
		ck_assert_uint_lt(s->n + t->len, sizeof(s->text));
		memcpy(s->text + s->n, t->ptr, t->len);
		s->n += t->len;
	}
	s->text[s->n] = '\0';
	s->end = r->end;
}

static void generate(struct stream *s, const char *model, int64_t n)
{
	*s = (struct stream){.last = LMI_WIRE_ITEM_UNKNOWN};
	lmt_generate(&c, model, n, &s->id);
	while (!s->end)
		read_some(s, LMT_PATIENCE_MS);
}

/* The state of a model in `ps`, and when it is loaded again. */
static enum lmi_wire_model_state state_of(const char *model, int64_t *retry_ms)
{
	const struct lmi_wire_reply *r = lmt_ask_op(&c, LMI_WIRE_OP_PS);

	ck_assert(!r->failed);
	for (uint32_t i = 0; i < r->u.ps.n_models; i++) {
		const struct lmi_wire_resident *m = &r->u.ps.models[i];

		*retry_ms = m->retry_ms;
		if (m->model.len == strlen(model) && !memcmp(m->model.ptr, model, m->model.len))
			return m->state;
	}
	return LMI_WIRE_MODEL_STATE_ABSENT;
}

/* A request is refused with the rest of the pause, which is at most `most`. */
static void check_refused(int64_t most)
{
	const struct lmi_wire_reply *r;
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_GENERATE);
	req.u.generate.model = str("unlucky");
	req.u.generate.has_prompt = true;
	req.u.generate.prompt = str("!");
	lmt_new_rid(&req);
	r = lmt_ask(&c, &req);
	ck_assert(r->failed);
	ck_assert_int_eq(r->error.code, LMD_BUSY);
	ck_assert_int_gt(r->error.retry_ms, 0);
	ck_assert_int_le(r->error.retry_ms, most);
}

START_TEST(a_lost_device)
{
	static struct stream want, steady, unlucky;
	enum lmi_wire_model_state state;
	int64_t pause = 1000, retry_ms;

	load("steady", "emu0");
	load("unlucky", "emu1");
	generate(&want, "steady", N_LONG);
	ck_assert_int_eq(want.last, LMI_WIRE_ITEM_DONE);
	lmt_generate(&c, "steady", N_LONG, &steady.id);
	for (int i = 0; i < 2; i++, pause *= 2) {
		generate(&unlucky, "unlucky", 20);
		ck_assert_int_eq(unlucky.last, LMI_WIRE_ITEM_ERROR);
		ck_assert_msg(!strncmp(unlucky.text, "device emu1 was lost: ", 22), "%s",
			      unlucky.text);
		state = state_of("unlucky", &retry_ms);
		ck_assert_int_eq(state, LMI_WIRE_MODEL_STATE_FAILED);
		ck_assert_int_gt(retry_ms, 0);
		ck_assert_int_le(retry_ms, pause);
		check_refused(pause);
		/* it comes back without a request */
		while (state_of("unlucky", &retry_ms) != LMI_WIRE_MODEL_STATE_READY)
			if (!steady.end)
				read_some(&steady, 100);
		generate(&unlucky, "unlucky", 2);
		ck_assert_int_eq(unlucky.last, LMI_WIRE_ITEM_DONE);
	}
	ck_assert_int_eq(state_of("steady", &retry_ms), LMI_WIRE_MODEL_STATE_READY);
	while (!steady.end)
		read_some(&steady, LMT_PATIENCE_MS);
	ck_assert_int_eq(steady.last, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(steady.text, want.text);
	ck_assert_msg(strstr(lmt_daemon_log(&d), "device lost; device=emu1 losses=2 retry_ms=2000: ") !=
			      NULL,
		      "%s", lmt_daemon_log(&d));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device");
	TCase *t = tcase_create("device");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_lost_device);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
