/* SPDX-License-Identifier: MIT
 *
 * Saving and restoring rows. The law: what was restored, from a file and into another engine, has
 * the bits of what was computed, and is not computed again, by counted rows; for every kind of
 * model, on every backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/saved_file.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_MAX 200

static struct story_env env;
static const char *paths[LMT_N_TINY];
static char file[280];

static void setup(void)
{
	story_env_init(&env, "saved");
	for (int k = 0; k < LMT_N_TINY; k++)
		paths[k] = story_model(&env, (enum lmt_tiny)k);
	snprintf(file, sizeof(file), "%s/core/engine/saved.%d.session", lmd_build_dir(),
		 (int)getpid());
}

static void teardown(void)
{
	(void)remove(file);
	story_env_fini(&env);
}

/* Runs until the final event of a transfer. */
static struct lmi_engine_event wait_for(struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_event ev;

	for (int i = 0; i < 10000; i++) {
		while (lmi_engine_poll(e, &ev)) {
			if (ev.id == id)
				return ev;
			lmi_engine_event_release(&ev);
		}
		(void)lmi_engine_step(e);
	}
	ck_abort_msg("command %d has no end", (int)id);
	return ev;
}

static struct lmi_engine_saved *save(struct lmi_engine *e, const lmd_token *v, uint32_t n,
				     uint64_t tenant)
{
	const struct lmi_engine_save cmd = {.id = 77,
					    .tokens = v,
					    .n_tokens = n,
					    .tenant = tenant,
					    .max_bytes = UINT64_MAX};
	struct lmi_engine_event ev;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_save(e, &cmd, &err) == LMD_OK, "%s", err.text);
	ev = wait_for(e, 77);
	ck_assert_msg(ev.kind == LMI_ENGINE_EV_MOVED, "%s", ev.u.error.text);
	ck_assert_ptr_nonnull(ev.u.moved.saved);
	ck_assert_uint_eq(ev.u.moved.saved->n_bytes,
			  lmi_engine_saved_bytes(e, ev.u.moved.n_token));
	return ev.u.moved.saved;
}

static enum lmd_status restore(struct lmi_engine *e, struct lmi_engine_saved *own_s,
			       uint64_t tenant, struct lmd_error *err)
{
	const struct lmi_engine_restore cmd = {.id = 78, .tenant = tenant};
	struct lmi_engine_event ev;
	enum lmd_status st = lmi_engine_restore(e, &cmd, own_s, err);

	if (st != LMD_OK)
		return st;
	ev = wait_for(e, 78);
	if (ev.kind == LMI_ENGINE_EV_MOVED) {
		ck_assert_ptr_null(ev.u.moved.saved);
		return LMD_OK;
	}
	*err = ev.u.error;
	return err->status;
}

static uint32_t find(struct lmi_engine *e, const lmd_token *v, uint32_t n)
{
	const struct lmi_engine_save cmd = {.id = 79, .tokens = v, .n_tokens = n};
	struct lmi_engine_event ev;

	ck_assert_int_eq(lmi_engine_find(e, &cmd, NULL), LMD_OK);
	ev = wait_for(e, 79);
	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_MOVED);
	ck_assert_ptr_null(ev.u.moved.saved);
	return ev.u.moved.n_token;
}

static void expect_all_free(struct lmi_engine *e)
{
	ck_assert_uint_eq(story_check_idle(e).step_allocs, 0);
}

static struct lmt_rows eval_last(struct lmi_engine *e, const lmd_token *v, uint32_t n, bool cache)
{
	struct lmi_engine_input_seq in = lmt_tokens(v, n);
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = &in,
				      .n_seq = 1,
				      .want = LMI_ENGINE_WANT_LAST,
				      .pooling = LMD_POOL_UNSET,
				      .cache = cache};
	struct lmt_rows rows = {0};
	struct lmd_error err;

	ck_assert_msg(lmt_eval(e, &cmd, &rows, &err) == LMD_OK, "%s", err.text);
	return rows;
}

static uint64_t rows_of(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	lmi_engine_stats(e, &st);
	return st.n_row;
}

static struct lmi_engine_saved_head head_of(const struct lmi_engine *e)
{
	struct lmi_engine_saved_head h = {.model = {1}, .model_name = "tiny"};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_saved_layout(e, &h.layout, &err) == LMD_OK, "%s", err.text);
	return h;
}

static const struct {
	const char *devices, *settings;
	int32_t k_dtype, v_dtype;
} places[] = {
	{"ref", "", -1, -1},
	{"cpu", "", -1, -1},
	{"cpu", "", LMD_DTYPE_F32, LMD_DTYPE_F32},
	{"emu0", "late=1,seed=3", -1, -1},
	{"emu0,emu1", "devices=2,late=1,seed=5", -1, -1},
};

static struct lmi_engine *open_at(int place, int kind)
{
	struct lmi_engine_opts o = lmt_opts(&env.env, paths[kind]);

	ck_assert_int_eq(setenv("LLAMAD_EMU", places[place].settings, 1), 0);
	if (strchr(places[place].devices, '0'))
		o.inst.device_list = places[place].devices;
	else
		o.inst.backend = places[place].devices;
	o.inst.k_dtype = places[place].k_dtype;
	o.inst.v_dtype = places[place].v_dtype;
	o.inst.n_seq = 2;
	o.inst.n_batch = 64;
	return story_engine(&o);
}

/* One prompt on three engines: computed and saved; restored from the file and continued; computed
 * without a cache. */
static void one_law(int place, int kind, uint64_t *rnd)
{
	struct lmi_engine *a = open_at(place, kind), *b = open_at(place, kind);
	struct lmi_engine_saved_head head = head_of(a), want = head_of(b);
	uint32_t n = 1 + (uint32_t)(lmd_rand(rnd) % (N_MAX - 20));
	uint32_t more = 1 + (uint32_t)(lmd_rand(rnd) % 20);
	struct lmi_engine_saved *s, *t = NULL;
	struct lmt_rows x, y;
	lmd_token v[N_MAX];
	struct lmd_error err;
	uint64_t bytes, before;

	story_random_tokens(v, N_MAX, rnd);
	lmi_free(eval_last(a, v, n, true).v);
	s = save(a, v, n, 0);
	ck_assert_uint_eq(s->n_token, n);
	ck_assert_msg(lmi_engine_saved_write(file, &head, s, &bytes, &err) == LMD_OK, "%s",
		      err.text);
	lmi_engine_saved_destroy(s);
	expect_all_free(a);
	ck_assert_msg(lmi_engine_saved_read(file, &want, bytes, &t, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(!memcmp(t->tokens, v, n * sizeof(v[0])), "other tokens");
	before = rows_of(b);
	ck_assert_msg(restore(b, t, 0, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(rows_of(b), before);
	/* what was restored can be saved again, with the same bytes */
	s = save(b, v, n, 0);
	ck_assert_msg(lmi_engine_saved_read(file, &want, bytes, &t, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_uint_eq(s->n_token, n);
	ck_assert_uint_eq(s->n_bytes, t->n_bytes);
	ck_assert_msg(!memcmp(s->bytes, t->bytes, s->n_bytes), "other bytes");
	lmi_engine_saved_destroy(s);
	lmi_engine_saved_destroy(t);
	x = eval_last(b, v, n + more, true);
	ck_assert_msg(rows_of(b) - before == more, "%s: %u tokens restored, %d computed, not %u",
		      lmt_tiny_name((enum lmt_tiny)kind), n, (int)(rows_of(b) - before), more);
	y = eval_last(a, v, n + more, false);
	ck_assert_msg(!memcmp(x.v, y.v, x.width * sizeof(float)),
		      "%s on %s: other logits after %u restored tokens",
		      lmt_tiny_name((enum lmt_tiny)kind), places[place].devices, n);
	lmi_free(x.v);
	lmi_free(y.v);
	ck_assert_uint_eq(find(b, v, N_MAX), n + more);
	expect_all_free(b);
	lmi_engine_fini(a);
	lmi_engine_fini(b);
}

/* _i: kind of model, and place */
START_TEST(restored_rows_have_the_same_bits)
{
	uint64_t rnd = lmd_seed("saved bits", 3);

	for (int k = 0; k < 6; k++)
		one_law(_i / LMT_N_TINY, _i % LMT_N_TINY, &rnd);
}
END_TEST

static struct lmi_engine_saved *save_pages(struct lmi_engine *e, const lmd_token *v, uint32_t n,
					   uint32_t n_skip)
{
	const struct lmi_engine_save cmd = {.id = 77,
					    .tokens = v,
					    .n_tokens = n,
					    .max_bytes = UINT64_MAX,
					    .whole_pages = true,
					    .n_skip = n_skip};
	struct lmi_engine_event ev;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_save(e, &cmd, &err) == LMD_OK, "%s", err.text);
	ev = wait_for(e, 77);
	if (ev.kind == LMI_ENGINE_EV_FAILED && ev.u.error.status == LMD_NOTFOUND)
		return NULL;
	ck_assert_msg(ev.kind == LMI_ENGINE_EV_MOVED, "%s", ev.u.error.text);
	return ev.u.moved.saved;
}

static enum lmd_status restore_after(struct lmi_engine *e, struct lmi_engine_saved *own_s,
				     uint32_t n_skip)
{
	const struct lmi_engine_restore cmd = {.id = 78, .n_skip = n_skip};
	struct lmi_engine_event ev;

	ck_assert_int_eq(lmi_engine_restore(e, &cmd, own_s, NULL), LMD_OK);
	ev = wait_for(e, 78);
	return ev.kind == LMI_ENGINE_EV_MOVED ? LMD_OK : ev.u.error.status;
}

/* Whole pages are saved and restored in pieces, each without the pages before it: the last piece leaves
 * what one save of all of them has, and logits with the same bits. _i: kind of model */
START_TEST(pages_in_pieces)
{
	uint64_t rnd = lmd_seed("saved pieces", 3);
	struct lmi_engine *a = open_at(1, _i), *b = open_at(1, _i), *c = open_at(1, _i);
	struct lmi_engine_saved *s, *whole;
	struct lmi_engine_saved_layout layout;
	struct lmt_rows x, y;
	lmd_token v[N_MAX];
	uint32_t n = 0, n_whole, pt;
	uint64_t before;

	ck_assert_int_eq(lmi_engine_saved_layout(a, &layout, NULL), LMD_OK);
	pt = layout.page_tokens;
	ck_assert_uint_gt(N_MAX / pt, 3);
	story_random_tokens(v, N_MAX, &rnd);
	for (uint32_t to = pt + 1; to < N_MAX; to += pt) {
		/* states are kept where a text ends */
		lmi_free(eval_last(a, v, to - to % pt, true).v);
		s = save_pages(a, v, to, n);
		ck_assert_ptr_nonnull(s);
		ck_assert_uint_eq(s->n_token, to - to % pt);
		if (n && _i != LMT_STATE) /* which has no pages */
			ck_assert_int_eq(restore_after(c, s, n), LMD_NOTFOUND);
		else
			lmi_engine_saved_destroy(s);
		s = save_pages(a, v, to, n);
		ck_assert_int_eq(restore_after(b, s, n), LMD_OK);
		n = to - to % pt;
	}
	s = save_pages(b, v, N_MAX - 1, 0);
	n_whole = s->n_token;
	ck_assert_uint_eq(n_whole, n);
	whole = save_pages(a, v, N_MAX - 1, 0);
	ck_assert_uint_eq(whole->n_bytes, s->n_bytes);
	ck_assert_msg(!memcmp(whole->bytes, s->bytes, s->n_bytes), "other bytes");
	lmi_engine_saved_destroy(s);
	lmi_engine_saved_destroy(whole);
	before = rows_of(b);
	x = eval_last(b, v, N_MAX, true);
	ck_assert_uint_eq(rows_of(b) - before, N_MAX - n_whole);
	y = eval_last(a, v, N_MAX, false);
	ck_assert_msg(!memcmp(x.v, y.v, x.width * sizeof(float)), "%s: other logits",
		      lmt_tiny_name((enum lmt_tiny)_i));
	lmi_free(x.v);
	lmi_free(y.v);
	expect_all_free(a);
	expect_all_free(b);
	expect_all_free(c);
	lmi_engine_fini(a);
	lmi_engine_fini(b);
	lmi_engine_fini(c);
}
END_TEST

/* Skipped pages are part of the bytes, but are not copied. */
START_TEST(copied_bytes)
{
	uint64_t rnd = lmd_seed("copied bytes", 3);
	struct lmi_engine *e = open_at(1, LMT_FULL);
	struct lmi_engine_saved_layout layout;
	lmd_token v[N_MAX];
	uint32_t n;

	ck_assert_int_eq(lmi_engine_saved_layout(e, &layout, NULL), LMD_OK);
	n = N_MAX - N_MAX % layout.page_tokens;
	story_random_tokens(v, N_MAX, &rnd);
	lmi_free(eval_last(e, v, N_MAX, true).v);
	for (uint32_t skip = 0; skip <= n; skip += layout.page_tokens) {
		const struct lmi_engine_save cmd = {.id = 77,
						    .tokens = v,
						    .n_tokens = n,
						    .max_bytes = UINT64_MAX,
						    .whole_pages = true,
						    .n_skip = skip};
		struct lmi_engine_event ev;

		ck_assert_int_eq(lmi_engine_save(e, &cmd, NULL), LMD_OK);
		ev = wait_for(e, 77);
		ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_MOVED);
		ck_assert_uint_eq(ev.u.moved.n_bytes, lmi_engine_saved_bytes(e, n));
		ck_assert_uint_eq(ev.u.moved.n_copied, ev.u.moved.n_bytes / n * (n - skip));
		lmi_engine_event_release(&ev);
	}
	expect_all_free(e);
	lmi_engine_fini(e);
}
END_TEST

/* The list of parts covers the bytes without gaps, whatever the number of tokens. _i: kind of model */
START_TEST(lists_of_parts)
{
	struct lmi_engine *e = open_at(1, _i);

	for (uint32_t n = 1; n < N_MAX; n += 7) {
		struct lmi_engine_saved_part v[64];
		uint32_t n_part = lmi_engine_saved_parts(e, n, NULL);
		uint64_t at = 0;

		ck_assert_uint_gt(n_part, 0);
		ck_assert_uint_le(n_part, LMD_LEN(v));
		ck_assert_uint_eq(lmi_engine_saved_parts(e, n, v), n_part);
		for (uint32_t i = 0; i < n_part; at += v[i++].n_bytes) {
			ck_assert_uint_eq(v[i].at, at);
			ck_assert_uint_gt(v[i].n_bytes, 0);
		}
		ck_assert_uint_eq(at, lmi_engine_saved_bytes(e, n));
	}
	ck_assert_uint_eq(lmi_engine_saved_parts(e, 1u << 20, NULL), 0);
	lmi_engine_fini(e);
}
END_TEST

/* A generation goes on after a restore as if nothing had happened, and computes only what is new. */
START_TEST(a_generation_continues)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *a = story_engine(&o), *b;
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 30);
	struct story first = story_generate(a, &cmd), want, have;
	struct lmi_engine_saved *s;
	struct lmd_error err;
	lmd_token v[64];

	memcpy(v, hello, sizeof(hello));
	memcpy(v + 5, first.tokens, first.n_tokens * sizeof(v[0]));
	s = save(a, v, 5 + first.n_tokens, 0);
	ck_assert_uint_eq(s->n_token, 5 + first.n_tokens - 1); /* the last one has no row */
	v[5 + first.n_tokens] = 7;
	cmd = story_command(1, v, 6 + first.n_tokens, 12);
	want = story_generate(a, &cmd);
	b = story_engine(&o);
	ck_assert_msg(restore(b, s, 0, &err) == LMD_OK, "%s", err.text);
	have = story_generate(b, &cmd);
	ck_assert_str_eq(have.text, want.text);
	ck_assert_uint_eq(have.last.u.done.n_cached, 5 + first.n_tokens - 1);
	lmi_engine_fini(a);
	lmi_engine_fini(b);
}
END_TEST

/* Rows are restored for one tenant only. */
START_TEST(tenants_stay_apart)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
	const struct lmi_engine_save none = {
		.id = 5, .tokens = hello, .n_tokens = 5, .tenant = 2, .max_bytes = UINT64_MAX};
	struct lmi_engine_event ev;
	struct lmd_error err;

	cmd.tenant = 1;
	(void)story_generate(e, &cmd);
	ck_assert_int_eq(lmi_engine_save(e, &none, &err), LMD_OK);
	ev = wait_for(e, 5);
	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_FAILED);
	ck_assert_int_eq(ev.u.error.status, LMD_NOTFOUND);
	ck_assert_int_eq(restore(e, save(e, hello, 5, 1), 2, &err), LMD_OK);
	cmd.tenant = 3;
	ck_assert_uint_eq(story_generate(e, &cmd).last.u.done.n_cached, 0);
	cmd.tenant = 2;
	ck_assert_uint_eq(story_generate(e, &cmd).last.u.done.n_cached, 4);
	lmi_engine_fini(e);
}
END_TEST

/* Saves and restores while others generate, cancelled ones, and more than memory holds: the answers
 * stay the same, and all memory comes back. */
START_TEST(beside_generations)
{
	struct lmi_engine_opts o = story_opts(&env, 3);
	struct lmi_engine *e, *plain;
	uint64_t rnd = lmd_seed("saved beside", 4);
	uint32_t n_done = 0, n_busy = 0, n_cancelled = 0;

	o.inst.kv_tokens = 512;
	e = story_engine(&o);
	o.inst.no_prefix_cache = true;
	plain = story_engine(&o);
	for (uint32_t i = 0; i < 120; i++) {
		lmd_token v[N_MAX];
		uint32_t n = 2 + (uint32_t)(lmd_rand(&rnd) % 180);
		struct lmi_engine_generate cmd = story_command(1, v, n, 8);
		struct lmi_engine_restore r = {.id = 90};
		struct lmi_engine_saved *s;
		struct lmi_engine_event ev;
		struct story have = {0}, want;
		bool ended = false;

		story_random_tokens(v, n, &rnd);
		want = story_generate(plain, &cmd);
		(void)story_generate(e, &cmd);
		s = save(e, v, n, 0);
		if (i % 3 == 0) /* it is no longer in memory */
			for (int k = 0; k < 4; k++) {
				lmd_token w[N_MAX];
				struct lmi_engine_generate other = story_command(1, w, N_MAX, 2);

				story_random_tokens(w, N_MAX, &rnd);
				(void)story_generate(e, &other);
			}
		ck_assert_int_eq(lmi_engine_restore(e, &r, s, NULL), LMD_OK);
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		if (i % 4 == 1)
			ck_assert_int_eq(lmi_engine_cancel(e, 90), LMD_OK);
		while (!have.n_final || !ended) {
			(void)lmi_engine_step(e);
			while (lmi_engine_poll(e, &ev)) {
				if (ev.id != 90) {
					story_tell(&have, &ev);
					continue;
				}
				ended = true;
				n_done += ev.kind == LMI_ENGINE_EV_MOVED;
				n_busy += ev.kind == LMI_ENGINE_EV_FAILED;
				n_cancelled += ev.kind == LMI_ENGINE_EV_CANCELLED;
			}
		}
		ck_assert_str_eq(have.text, want.text);
	}
	printf("%u restored, %u without memory, %u cancelled\n", n_done, n_busy, n_cancelled);
	ck_assert_uint_gt(n_done, 60);
	expect_all_free(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* An engine ends while transfers wait. */
START_TEST(an_engine_ends)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_alloc_stats before, after;

	lmi_engine_fini(story_engine(&o));
	lmi_alloc_stats(&before);
	for (int threads = 0; threads < 2; threads++) {
		struct lmi_engine *e;
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
		struct lmi_engine_save c = {
			.id = 2, .tokens = hello, .n_tokens = 5, .max_bytes = UINT64_MAX};

		o.in_line = !threads;
		e = story_engine(&o);
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (; c.id < 9; c.id++)
			ck_assert_int_eq(lmi_engine_save(e, &c, NULL), LMD_OK);
		lmi_engine_fini(e);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
}
END_TEST

START_TEST(refused)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_save c = {.id = 2, .tokens = hello, .n_tokens = 5, .max_bytes = 1};
	struct lmi_engine_saved *s = lmi_engine_saved_create(3, 8);
	struct lmd_error err;

	ck_assert_int_eq(lmi_engine_save(e, &c, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "exceeds the limit of 1"));
	c.n_tokens = 100000;
	ck_assert_int_eq(lmi_engine_save(e, &c, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "100000 tokens"));
	ck_assert_ptr_nonnull(s);
	ck_assert_int_eq(restore(e, s, 0, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "8 bytes of saved rows; 3 tokens"));
	lmi_engine_fini(e);
	o.inst.no_prefix_cache = true;
	e = story_engine(&o);
	c.n_tokens = 5;
	ck_assert_int_eq(lmi_engine_save(e, &c, &err), LMD_UNSUPPORTED);
	ck_assert_uint_eq(lmi_engine_saved_bytes(e, 5), 0);
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("saved rows");
	TCase *t = tcase_create("saved rows");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, restored_rows_have_the_same_bits, 0,
			    (int)LMD_LEN(places) * LMT_N_TINY);
	tcase_add_loop_test(t, pages_in_pieces, 0, LMT_N_TINY);
	tcase_add_test(t, copied_bytes);
	tcase_add_loop_test(t, lists_of_parts, 0, LMT_N_TINY);
	tcase_add_test(t, a_generation_continues);
	tcase_add_test(t, tenants_stay_apart);
	tcase_add_test(t, beside_generations);
	tcase_add_test(t, an_engine_ends);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
