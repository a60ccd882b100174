/* SPDX-License-Identifier: MIT
 *
 * A client of a service in this process: one thread, many threads, many models, and its end. */
#include "client/embedded/embedded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_THREAD 4

static struct lmt_env env;
static struct lmd_client *client;
static char dir[] = "/tmp/llamad-embedded.XXXXXX";
static char full[64], window[64];
static struct lmd_error err;

static void open_client(uint32_t n_seq)
{
	struct lmi_embedded_opts o;

	OK(lmt_env_init(&env, &err));
	lmi_host_set_log_level(env.host, LMD_LOG_ERROR);
	o = (struct lmi_embedded_opts){.host = env.host,
				       .plugins = env.registry,
				       .model = lmt_opts(&env, NULL).inst};
	o.model.n_seq = n_seq;
	OK(lmi_embedded_open(&client, &o, &err));
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(full, sizeof(full), "%s/full.gguf", dir);
	snprintf(window, sizeof(window), "%s/window.gguf", dir);
	lmt_tiny_write(LMT_FULL, 7, full);
	lmt_tiny_write(LMT_WINDOW, 8, window);
	open_client(N_THREAD);
}

static void teardown(void)
{
	lmd_client_close(client);
	lmt_env_fini(&env);
	unlink(full);
	unlink(window);
	rmdir(dir);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
}

static struct lmd_stream *start(const char *model, int64_t n)
{
	static const lmd_token tokens[] = {1, 2, 3};
	const struct lmd_generate g = {.struct_size = sizeof(g),
				       .model = model,
				       .tokens = tokens,
				       .n_tokens = LMD_LEN(tokens),
				       .flags = LMD_GEN_GREEDY | LMD_GEN_IGNORE_EOG,
				       .n_predict = n};
	struct lmd_error e = {0};
	struct lmd_stream *s = NULL;

	ck_assert_msg(lmd_client_generate(client, &g, &s, &e) == LMD_OK, "%s", e.text);
	return s;
}

/* Reads the tokens of an answer. */
static void generate(const char *model, lmd_token *out, uint32_t n)
{
	struct lmd_stream *s = start(model, n);
	struct lmd_error e = {0};
	struct lmd_item it;
	uint32_t k = 0;

	do {
		ck_assert_msg(lmd_stream_next(s, &it, -1, &e) == LMD_OK, "%s", e.text);
		if (it.kind == LMD_ITEM_TOKEN) {
			ck_assert_uint_lt(k, n);
			out[k++] = it.token;
		}
	} while (it.kind != LMD_ITEM_DONE);
	ck_assert_uint_eq(k, n);
	ck_assert_uint_eq(it.n_prompt, 3);
	lmd_stream_close(s);
}

START_TEST(requests)
{
	static const char *const not_here[] = {"models", "keys", "shutdown", "config_reload"};
	struct lmd_server server = {.struct_size = sizeof(server)};
	char *reply;

	lmd_client_server(client, &server);
	ck_assert_str_eq(server.url, LMI_EMBEDDED_URL);
	ck_assert(server.admin);
	OK(lmd_client_call(client, "status", NULL, &reply, &err));
	ck_assert_ptr_nonnull(strstr(reply, "\"ready\""));
	lmd_client_free(reply);
	ck_assert_int_eq(lmd_client_call(client, "tokenize",
					 "{\"model\": \"/nonexistent\", \"text\": \"x\"}", &reply,
					 &err),
			 LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent"));
	OK(lmd_client_call(client, "plugins", NULL, &reply, &err));
	ck_assert_ptr_nonnull(strstr(reply, "\"sampler\""));
	lmd_client_free(reply);
	for (size_t i = 0; i < LMD_LEN(not_here); i++)
		ck_assert_int_eq(lmd_client_call(client, not_here[i], NULL, &reply, &err),
				 LMD_UNSUPPORTED);
}
END_TEST

START_TEST(info)
{
	char members[128], *reply;

	snprintf(members, sizeof(members), "{\"model\": \"%s\", \"keys\": true}", full);
	OK(lmd_client_call(client, "info", members, &reply, &err));
	ck_assert_ptr_nonnull(strstr(reply, "\"general.architecture\""));
	lmd_client_free(reply);
}
END_TEST

struct reader {
	const char *model;
	lmd_token token[40];
};

static void *read_answers(void *arg)
{
	struct reader *r = arg;
	lmd_token again[LMD_LEN(r->token)];

	generate(r->model, r->token, LMD_LEN(r->token));
	for (int i = 0; i < 5; i++) {
		generate(r->model, again, LMD_LEN(again));
		ck_assert_mem_eq(again, r->token, sizeof(again));
	}
	return NULL;
}

/* Two engines in one process, each used by two threads. */
START_TEST(threads)
{
	struct reader r[N_THREAD];
	pthread_t t[N_THREAD];

	for (int i = 0; i < N_THREAD; i++) {
		r[i].model = i % 2 ? window : full;
		ck_assert_int_eq(pthread_create(&t[i], NULL, read_answers, &r[i]), 0);
	}
	for (int i = 0; i < N_THREAD; i++)
		ck_assert_int_eq(pthread_join(t[i], NULL), 0);
	ck_assert_mem_eq(r[0].token, r[2].token, sizeof(r[0].token));
	ck_assert_mem_eq(r[1].token, r[3].token, sizeof(r[0].token));
	ck_assert(memcmp(r[0].token, r[1].token, sizeof(r[0].token)) != 0);
}
END_TEST

static void *cancel(void *stream)
{
	struct lmd_error e = {0};

	ck_assert_msg(lmd_stream_cancel(stream, &e) == LMD_OK, "%s", e.text);
	return NULL;
}

/* One thread cancels what another one reads. */
START_TEST(cancelled)
{
	struct lmd_stream *s = start(full, -1);
	struct lmd_item it;
	pthread_t t;
	enum lmd_status st;

	OK(lmd_stream_next(s, &it, -1, &err));
	ck_assert_int_eq(pthread_create(&t, NULL, cancel, s), 0);
	while ((st = lmd_stream_next(s, &it, -1, &err)) == LMD_OK)
		;
	ck_assert_int_eq(st, LMD_CANCELLED);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	lmd_stream_close(s);
}
END_TEST

/* Closing a client ends what still runs. */
START_TEST(closed_while_running)
{
	struct lmd_stream *s = start(full, -1), *unread = start(window, -1);
	struct lmd_item it;

	OK(lmd_stream_next(s, &it, -1, &err));
	lmd_stream_leave(s);
	lmd_stream_leave(unread);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("embedded client");
	TCase *t = tcase_create("embedded");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, requests);
	tcase_add_test(t, info);
	tcase_add_test(t, threads);
	tcase_add_test(t, cancelled);
	tcase_add_test(t, closed_while_running);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
