/* SPDX-License-Identifier: MIT
 *
 * Sessions: a conversation goes on after its model was unloaded and after a restart without computing
 * anything twice, by counted tokens, and with the same answers; who sees them; their limits; files
 * from elsewhere. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
	fx.o.inst.backend = "ref";
	fx.o.limits.session_bytes = 64 << 20;
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmi_wire_item ask(const struct lmi_svc_principal *who, const char *prompt,
				const char *session, char *text, size_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", prompt, 8);

	q.u.generate.ignore_eog = true;
	q.u.generate.has_session = session != NULL;
	q.u.generate.session =
		(struct lmd_str){.ptr = session ? session : "", .len = session ? strlen(session) : 0};
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx_read(&fx, who, &fx.a.r.u.generate.id, text, n);
}

static struct lmi_wire_request on_session(enum lmi_wire_op op, const char *name)
{
	struct lmi_wire_request q;
	const struct lmd_str s = {.ptr = name, .len = strlen(name)};

	lmi_wire_request_init(&q, op);
	if (op == LMI_WIRE_OP_SESSION_FORK)
		q.u.session_fork.name = s;
	else if (op == LMI_WIRE_OP_SESSION_RM)
		q.u.session_rm.name = s;
	else if (op == LMI_WIRE_OP_SESSION_READ)
		q.u.session_read.name = s;
	else if (op == LMI_WIRE_OP_SESSION_WRITE)
		q.u.session_write.name = s;
	return q;
}

static uint32_t n_sessions(const struct lmi_svc_principal *who)
{
	struct lmi_wire_request q = on_session(LMI_WIRE_OP_SESSIONS, "");

	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.sessions.n_sessions;
}

static void restart(void)
{
	fx_answer_fini(&fx.a);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	fx.n_fd = 0;
	fx_start(&fx);
}

/* _i: between the turns nothing happens, the model is unloaded, the daemon is restarted */
START_TEST(a_conversation)
{
	char prompt[200] = "it was a dark", text[64], want[64];
	uint32_t before = 0;

	fx_start(&fx);
	for (int turn = 0; turn < 4; turn++) {
		struct lmi_wire_item plain, end;

		end = ask(&fx_user, prompt, "chat", text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
		ck_assert_msg(!end.u.done.has_session_error, "%.*s",
			      (int)end.u.done.session_error.len, end.u.done.session_error.ptr);
		ck_assert_int_eq(end.u.done.n_cached, before);
		before = (uint32_t)strlen(prompt) + 7; /* the last token has no row */
		ck_assert_int_eq(end.u.done.n_saved, before);
		plain = ask(&fx_other, prompt, NULL, want, sizeof(want));
		ck_assert_int_eq(plain.u.done.n_saved, 0);
		ck_assert_str_eq(text, want);
		strcat(prompt, text);
		strcat(prompt, "?-");
		if (_i == 1)
			(void)fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
		if (_i == 2)
			restart();
	}
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	ck_assert(!strncmp(fx.a.r.u.sessions.sessions[0].name.ptr, "chat", 4));
	ck_assert_int_eq(fx.a.r.u.sessions.sessions[0].n_tokens, before);
	ck_assert(!strncmp(fx.a.r.u.sessions.sessions[0].model.ptr, "tiny", 4));
	ck_assert_int_gt(fx.a.r.u.sessions.bytes, 1000);
	fx_check_empty(&fx);
}
END_TEST

/* Users do not see, use or share each other's sessions, even if they share the prefix cache. _i: they
 * do */
START_TEST(users_stay_apart)
{
	static const char prompt[] = "the secret of user one";
	struct lmi_wire_request q;
	char text[64];

	fx.o.share_prefixes = _i;
	fx_start(&fx);
	(void)ask(&fx_user, prompt, "mine", text, sizeof(text));
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	ck_assert_uint_eq(n_sessions(&fx_other), 0);
	ck_assert_uint_eq(n_sessions(&fx_admin), 0);
	q = on_session(LMI_WIRE_OP_SESSION_READ, "mine");
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	q = on_session(LMI_WIRE_OP_SESSION_RM, "mine");
	ck_assert(fx_call(&fx, &fx_other, &q));
	ck_assert(!fx.a.r.u.session_rm.found);
	ck_assert_int_eq(ask(&fx_other, prompt, "mine", text, sizeof(text)).u.done.n_cached, 0);
	/* what a session brought back is for requests with a session of the same user */
	restart();
	ck_assert_int_gt(ask(&fx_user, prompt, "mine", text, sizeof(text)).u.done.n_cached, 20);
	ck_assert_int_eq(ask(&fx_other, prompt, NULL, text, sizeof(text)).u.done.n_cached, 0);
	ck_assert_uint_eq(n_sessions(&fx_other), 1);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(fork_and_rm)
{
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	char text[64], prompt[128];

	fx_start(&fx);
	(void)ask(&fx_user, "a long beginning", "a", text, sizeof(text));
	q = on_session(LMI_WIRE_OP_SESSION_FORK, "a");
	q.u.session_fork.to = (struct lmd_str){.ptr = "b", .len = 1};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_int_eq(fx.a.r.u.session_fork.n_tokens, 23);
	ck_assert_uint_eq(n_sessions(&fx_user), 2);
	q = on_session(LMI_WIRE_OP_SESSION_RM, "a");
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(fx.a.r.u.session_rm.found);
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	restart();
	snprintf(prompt, sizeof(prompt), "a long beginning%s and on", text);
	end = ask(&fx_user, prompt, "b", text, sizeof(text));
	ck_assert_int_eq(end.u.done.n_cached, 23);
	q = on_session(LMI_WIRE_OP_SESSION_FORK, "none");
	q.u.session_fork.to = (struct lmd_str){.ptr = "b", .len = 1};
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
}
END_TEST

START_TEST(names)
{
	static const char *const bad[] = {"../x", "a/b", ".x", "-x", "a b", "a\nb", "\xc3\xa4"};
	struct lmi_wire_request q;

	fx_start(&fx);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		q = on_session(LMI_WIRE_OP_SESSION_RM, bad[i]);
		ck_assert(!fx_call(&fx, &fx_user, &q));
		ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(fx.a.err.text, "session: byte"));
		q = fx_generate(&fx, "tiny", "abc", 2);
		q.u.generate.has_session = true;
		q.u.generate.session = (struct lmd_str){.ptr = bad[i], .len = strlen(bad[i])};
		ck_assert(!fx_call(&fx, &fx_user, &q));
		ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	}
}
END_TEST

/* Sessions are off, or there is no room: the answer is the same, and its end tells. */
START_TEST(limits)
{
	struct lmi_service_limits l = fx.o.limits;
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	char text[64];

	fx_start(&fx);
	l.session_bytes = 0;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	q = on_session(LMI_WIRE_OP_SESSIONS, "");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "session_bytes"));
	l.session_bytes = 64 << 20;
	l.session_number = 1;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	(void)ask(&fx_user, "one", "one", text, sizeof(text));
	end = ask(&fx_user, "two", "two", text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_eq(strlen(text), 8);
	ck_assert_int_eq(end.u.done.n_saved, 0);
	ck_assert_ptr_nonnull(strstr(end.u.done.session_error.ptr, "session_number is 1"));
	ck_assert_int_gt(ask(&fx_user, "one more", "one", text, sizeof(text)).u.done.n_saved, 0);
	l.session_bytes = 2000; /* less than a page */
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	end = ask(&fx_user, "two", "one", text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(end.u.done.session_error.ptr, "exceeds the limit of 2000"));
	l.session_bytes = 64 << 20;
	l.session_bytes_all = 2000;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	end = ask(&fx_other, "two", "two", text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(end.u.done.session_error.ptr, "session_bytes_all"));
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	fx_check_empty(&fx);
}
END_TEST

static char *read_session(const char *name, size_t piece, size_t *n)
{
	static char all[4 << 20];
	struct lmi_wire_request q = on_session(LMI_WIRE_OP_SESSION_READ, name);
	int64_t bytes;

	*n = 0;
	do {
		q.u.session_read.offset = (int64_t)*n;
		q.u.session_read.max = (int64_t)piece;
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		bytes = fx.a.r.u.session_read.bytes;
		ck_assert_uint_le(*n + fx.a.r.u.session_read.data.len, sizeof(all));
		memcpy(all + *n, fx.a.r.u.session_read.data.ptr, fx.a.r.u.session_read.data.len);
		*n += fx.a.r.u.session_read.data.len;
	} while (*n < (size_t)bytes);
	return all;
}

static bool write_session(const struct lmi_svc_principal *who, const char *name, const char *b,
			  size_t n, size_t piece)
{
	struct lmi_wire_request q = on_session(LMI_WIRE_OP_SESSION_WRITE, name);

	for (size_t at = 0; at < n; at += piece) {
		size_t len = n - at < piece ? n - at : piece;

		q.u.session_write.offset = (int64_t)at;
		q.u.session_write.data = (struct lmd_str){.ptr = b + at, .len = len};
		q.u.session_write.last = at + len == n;
		if (!fx_call(&fx, who, &q))
			return false;
	}
	return true;
}

/* A session goes to another user or daemon as a file; one that was changed or cut is refused. */
START_TEST(export_and_import)
{
	uint64_t rnd = lmd_seed("session import", 6);
	char text[64], prompt[100], *b;
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	size_t n;

	fx_start(&fx);
	(void)ask(&fx_user, "to be carried away", "a", text, sizeof(text));
	b = read_session("a", 1000, &n);
	for (int i = 0; i < 200; i++) {
		size_t at = (size_t)(lmd_rand(&rnd) % n), cut = i % 2 ? n : at + 1;

		b[at] ^= (char)(1 + lmd_rand(&rnd) % 255);
		ck_assert(!write_session(&fx_other, "bad", b, cut, 100000));
		ck_assert_msg(fx.a.err.status == LMD_CORRUPT || fx.a.err.status == LMD_UNSUPPORTED,
			      "%s", fx.a.err.text);
		(void)read_session("a", 1 << 20, &n);
	}
	ck_assert_uint_eq(n_sessions(&fx_other), 0);
	ck_assert_int_eq(fx.a.r.u.sessions.bytes, 0);
	ck_assert_msg(write_session(&fx_other, "b", b, n, 777), "%s", fx.a.err.text);
	ck_assert_int_eq(fx.a.r.u.session_write.n_tokens, 25);
	/* pieces in a wrong order */
	q = on_session(LMI_WIRE_OP_SESSION_WRITE, "c");
	q.u.session_write.offset = 5;
	q.u.session_write.data = (struct lmd_str){.ptr = "x", .len = 1};
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "received so far are 0"));
	q = on_session(LMI_WIRE_OP_SESSION_RM, "c");
	ck_assert(fx_call(&fx, &fx_other, &q));
	ck_assert(!fx.a.r.u.session_rm.found); /* it left no file */
	snprintf(prompt, sizeof(prompt), "to be carried away%s!", text);
	end = ask(&fx_other, prompt, "b", text, sizeof(text));
	ck_assert_int_eq(end.u.done.n_cached, 25);
	/* for another model it is not used */
	q = fx_generate(&fx, "other", prompt, 2);
	q.u.generate.has_session = true;
	q.u.generate.session = (struct lmd_str){.ptr = "b", .len = 1};
	ck_assert_msg(fx_call(&fx, &fx_other, &q), "%s", fx.a.err.text);
	end = fx_read(&fx, &fx_other, &fx.a.r.u.generate.id, text, sizeof(text));
	ck_assert_int_eq(end.u.done.n_cached, 0);
	ck_assert_int_gt(end.u.done.n_saved, 0);
}
END_TEST

/* Sessions that were begun and not ended count, and can be removed. */
START_TEST(unended_imports)
{
	static const char *const name[] = {"s0", "s1", "s2", "s3", "s4"};
	struct lmi_wire_request q;

	fx.o.limits.session_number = 3;
	fx_start(&fx);
	for (int i = 0; i < 5; i++) {
		q = on_session(LMI_WIRE_OP_SESSION_WRITE, name[i]);
		q.u.session_write.data = (struct lmd_str){.ptr = "x", .len = 1};
		ck_assert_int_eq(fx_call(&fx, &fx_user, &q), i < 3);
	}
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "you have 3 others"));
	q = on_session(LMI_WIRE_OP_SESSION_WRITE, "s2"); /* the same again */
	q.u.session_write.data = (struct lmd_str){.ptr = "y", .len = 1};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	q = on_session(LMI_WIRE_OP_SESSION_RM, "s0");
	ck_assert(fx_call(&fx, &fx_user, &q) && fx.a.r.u.session_rm.found);
	q = on_session(LMI_WIRE_OP_SESSION_WRITE, "s4");
	q.u.session_write.data = (struct lmd_str){.ptr = "x", .len = 1};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(n_sessions(&fx_user), 0);
}
END_TEST

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert(lmi_file_write_all(fd, "half", 4));
	ck_assert_int_eq(close(fd), 0);
}

/* What an interrupted write has left goes at the start, and so does what is too old. */
START_TEST(leftovers)
{
	char path[400], text[64];

	fx_start(&fx);
	(void)ask(&fx_user, "kept", "kept", text, sizeof(text));
	snprintf(path, sizeof(path), "%s/state/sessions/uid-1000/.kept.session.Xa81", fx.dir);
	make_file(path);
	restart();
	ck_assert_int_ne(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/state/sessions/uid-1000/new.part", fx.dir);
	make_file(path);
	restart();
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	/* a damaged one is listed without a model, and computed again */
	snprintf(path, sizeof(path), "%s/state/sessions/uid-1000/kept.session", fx.dir);
	ck_assert_int_eq(truncate(path, 300), 0);
	ck_assert_uint_eq(n_sessions(&fx_user), 1);
	ck_assert_uint_eq(fx.a.r.u.sessions.sessions[0].model.len, 0);
	restart();
	ck_assert_int_eq(ask(&fx_user, "kept", "kept", text, sizeof(text)).u.done.n_cached, 0);
	fx_check_empty(&fx);
}
END_TEST

/* A key's sessions go with the key. */
START_TEST(a_removed_key)
{
	struct lmi_svc_principal app = {
		.uid = 7, .role = LMI_SVC_ROLE_USER, .remote = true, .conn = 9, .key_label = "app"};
	struct lmi_wire_request q;
	char text[64], digest[65];

	fx_start(&fx);
	memset(digest, 'a', 64);
	digest[64] = 0;
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_ADD);
	q.u.key_add.label = (struct lmd_str){.ptr = "app", .len = 3};
	q.u.key_add.digest = (struct lmd_str){.ptr = digest, .len = 64};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	(void)ask(&app, "of a key", "k", text, sizeof(text));
	ck_assert_uint_eq(n_sessions(&app), 1);
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_RM);
	q.u.key_rm.label = (struct lmd_str){.ptr = "app", .len = 3};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	fx_settle(&fx);
	ck_assert_uint_eq(n_sessions(&app), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sessions");
	TCase *t = tcase_create("sessions");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_conversation, 0, 3);
	tcase_add_loop_test(t, users_stay_apart, 0, 2);
	tcase_add_test(t, fork_and_rm);
	tcase_add_test(t, names);
	tcase_add_test(t, limits);
	tcase_add_test(t, export_and_import);
	tcase_add_test(t, unended_imports);
	tcase_add_test(t, leftovers);
	tcase_add_test(t, a_removed_key);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
