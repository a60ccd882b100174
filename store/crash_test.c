/* SPDX-License-Identifier: MIT
 *
 * A process that changes the registry is killed at random moments.  Completed operations must be
 * there, the one in progress is done or not, nothing else has changed, and the database is intact.
 *
 * The operations are determined by a seed, so that the parent knows the n-th of them; the child
 * writes a byte to a pipe when a call has returned LMD_OK or the expected error. */
#include <signal.h>
#include <sys/wait.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/test_store.h"

#define N_NAME 12

/* The rows as numbers: models "mI" with a version, aliases "aI" of a model. */
struct ledger {
	unsigned model[N_NAME]; /* 0: none */
	int alias[N_NAME];      /* -1: none */
	uint64_t tokens;
};

static const char *model_name(unsigned i)
{
	static char name[2][16];
	static int k;

	k = !k;
	snprintf(name[k], sizeof(name[k]), "m%u", i);
	return name[k];
}

static const char *alias_name(unsigned i)
{
	static char name[16];

	snprintf(name, sizeof(name), "a%u", i);
	return name;
}

/* Does the next operation on the ledger and, with `live`, on the store, which must agree. */
static bool act(struct ledger *l, uint64_t *seed, bool live)
{
	uint64_t r = lmd_rand(seed);
	unsigned i = (unsigned)(r >> 8) % N_NAME, j = (unsigned)(r >> 16) % N_NAME;
	unsigned version = 1 + (unsigned)(r >> 32) % 100000;
	struct lmi_store_usage u = {.principal = "p", .model = "m", .day = 1, .n_out = version};
	enum lmd_status st = LMD_OK;
	bool ok = true;

	switch (r % 5) {
	case 0:
	case 1:
		ok = !l->model[i];
		st = live ? add(model_name(i), version) : LMD_OK;
		if (ok)
			l->model[i] = version;
		break;
	case 2:
		ok = l->model[i];
		st = live ? lmi_store_model_remove(store, model_name(i), &err) : LMD_OK;
		for (unsigned k = 0; ok && k < N_NAME; k++)
			if (l->alias[k] == (int)i)
				l->alias[k] = -1;
		l->model[i] = 0;
		break;
	case 3:
		ok = l->model[j];
		st = live ? lmi_store_alias_set(store, alias_name(i), model_name(j), &err) : LMD_OK;
		if (ok)
			l->alias[i] = (int)j;
		break;
	default:
		st = live ? lmi_store_usage_add(store, &u, 1, &err) : LMD_OK;
		l->tokens += version;
	}
	return !live || (st == LMD_OK) == ok;
}

/* Reads the open store. */
static void read_ledger(struct ledger *l)
{
	for (unsigned i = 0; i < N_NAME; i++) {
		int version = added(model_name(i));

		l->model[i] = version > 0 ? (unsigned)version : 0;
		l->alias[i] = -1;
	}
	for (unsigned i = 0; i < N_NAME; i++) {
		struct lmi_store_models m;

		if (lmi_store_model_find(store, alias_name(i), &m, &err) != LMD_OK)
			continue;
		l->alias[i] = atoi(m.v[0].name + 1);
		lmi_store_models_fini(&m);
	}
	OK(lmi_store_usage_sum(store, "p", NULL, 0, 9, &l->tokens, &err));
}

static bool same(const struct ledger *a, const struct ledger *b)
{
	return memcmp(a->model, b->model, sizeof(a->model)) == 0 &&
	       memcmp(a->alias, b->alias, sizeof(a->alias)) == 0 && a->tokens == b->tokens;
}

/* Kills by a timer of the system, so that it happens anywhere. */
static void die_after(long ns)
{
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec t = {.it_value = {.tv_nsec = ns}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) < 0 || timer_settime(timer, 0, &t, NULL) < 0)
		_exit(3);
}

static _Noreturn void child(int out, struct ledger l, uint64_t seed, long ns)
{
	if (open_as(NULL) != LMD_OK)
		_exit(1);
	die_after(ns);
	for (;;) {
		if (!act(&l, &seed, true))
			_exit(2);
		if (write(out, "+", 1) != 1)
			_exit(4);
	}
}

/* Counts the bytes up to the end of the pipe. */
static unsigned count_acks(int fd)
{
	char buf[4096];
	unsigned n = 0;
	ssize_t k;

	while ((k = read(fd, buf, sizeof(buf))) > 0)
		n += (unsigned)k;
	return n;
}

START_TEST(kills)
{
	unsigned n_kill = getenv("LMD_TEST_LONG") ? 200 : 20, n_ack = 0, n_more = 0;
	uint64_t seed = lmd_seed("crash", 20261121);
	struct ledger now, then;

	open_store();
	read_ledger(&now);
	close_store();
	for (unsigned i = 0; i < n_kill; i++) {
		uint64_t ops = lmd_rand(&seed);
		long ns = 100000 + (long)(lmd_rand(&seed) % 20000000);
		int fd[2], status;
		unsigned acks;
		pid_t pid;

		ck_assert_int_eq(pipe(fd), 0);
		fflush(stdout);
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			child(fd[1], now, ops, ns);
		close(fd[1]);
		acks = count_acks(fd[0]);
		close(fd[0]);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
			      "the child ended by itself: %d after %u", status, acks);
		for (unsigned k = 0; k < acks; k++)
			(void)act(&now, &ops, false);
		open_store();
		ck_assert(report.unclean && !report.moved_aside && !report.fresh);
		read_ledger(&then);
		if (!same(&now, &then)) { /* the operation in progress */
			(void)act(&now, &ops, false);
			n_more++;
		}
		ck_assert_msg(same(&now, &then), "kill %u after %u operations", i, acks);
		close_store();
		n_ack += acks;
	}
	printf("%u kills, %u operations acknowledged, %u times the next one was done too\n", n_kill,
	       n_ack, n_more);
	ck_assert_uint_gt(n_ack, n_kill);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store-crash");
	TCase *tc = tcase_create("crash");

	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, kills);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
