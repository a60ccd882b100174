/* SPDX-License-Identifier: MIT
 *
 * The child reports through a pipe, which is also its standard error: so the message with which
 * ld.so ends a process is not lost.
 *
 * Another thread of this process, a driver that opens its libraries for example, may be in the middle of
 * something when the child begins. Then a lock of ld.so that libc does not reset is held for ever in the child,
 * or its lists are inconsistent there. Neither is the plugin's fault: such a child is run again. */
#include "core/plugin/self_test.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit statuses of the child: its own ones are not those of ld.so (127) or exit(0). */
#define CHILD_GOOD  57
#define CHILD_BAD   58
#define CHILD_NOMEM 59 /* says nothing about the plugin */

/* What ld.so does when its lists are inconsistent. */
#define LD_SO_FAILED 127
#define LD_SO_SAYS   "Inconsistency detected by ld.so"

/* What a child says first; how long that may take at the first try, twice as long at each further one, and at
 * most; and how often a child is tried that does not begin, and one that ld.so ends. */
#define BEGUN         '+'
#define BEGIN_MS      100u
#define BEGIN_MOST_MS 5000u
#define BEGIN_TRIES   10
#define TRIES         50
#define AGAIN_MS      20

/* What became of a child. */
struct outcome {
	bool begun;   /* the locks of ld.so were free */
	bool in_time; /* it ended before it took too long */
	int status;
	char text[LMD_ERROR_TEXT];
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int look_at_nothing(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	return 1;
}

/* Only the thread that forked exists here, so nothing may wait for another one. */
static void child(int fd, pid_t parent, enum lmd_status (*run)(void *arg, struct lmd_error *err),
		  void *arg)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT,
				      SIGHUP,  SIGPIPE};
	const char begun = BEGUN;
	struct lmd_error err = {0};
	enum lmd_status st;
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (getppid() != parent)
		_exit(CHILD_BAD);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)signal(signals[i], SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)dup2(fd, STDERR_FILENO);
	(void)dl_iterate_phdr(look_at_nothing, NULL); /* takes the lock of the lists */
	(void)!write(fd, &begun, 1);
	st = run(arg, &err);
	if (st == LMD_OK)
		_exit(CHILD_GOOD);
	(void)!write(fd, err.text, strlen(err.text));
	_exit(st == LMD_NOMEM ? CHILD_NOMEM : CHILD_BAD);
}

/* Waits until the child has begun; returns false if it ends before or is not able to. */
static bool begins(int fd, uint32_t ms)
{
	uint64_t end = now_ms() + ms, now;

	while ((now = now_ms()) < end) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t got = 0;
		char c = 0;

		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		got = read(fd, &c, 1);
		if (got >= 0 || errno != EINTR)
			return got == 1 && c == BEGUN;
	}
	return false;
}

/* Reads what the child writes until it ends; returns false if it takes too long. */
static bool listen_to(int fd, char *text, size_t size)
{
	uint64_t end = now_ms() + LMI_PLUGIN_SELF_TEST_MS, now;
	char rest[256];
	size_t n = 0;

	while ((now = now_ms()) < end) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t got = 0;

		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		got = n + 1 < size ? read(fd, text + n, size - 1 - n) : read(fd, rest, sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			text[n] = 0;
			return true;
		}
		n += n + 1 < size ? (size_t)got : 0;
		text[n] = 0;
	}
	return false;
}

static enum lmd_status judge(struct outcome *o, struct lmd_error *err)
{
	int code = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : -1;

	o->text[strcspn(o->text, "\n")] = 0;
	if (!o->begun)
		return lmd_fail(err, LMD_NOMEM, "self-test: its process did not begin");
	if (!o->in_time)
		return lmd_fail(err, LMD_CORRUPT, "self-test: not finished within %d ms",
				LMI_PLUGIN_SELF_TEST_MS);
	if (code == CHILD_GOOD)
		return LMD_OK;
	if (code == CHILD_BAD)
		return lmd_fail(err, LMD_INVALID, "%.300s", o->text);
	if (code == CHILD_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "self-test: %.300s", o->text);
	if (WIFSIGNALED(o->status))
		return lmd_fail(
			err, LMD_CORRUPT,
			"self-test: its code crashed (signal %d, %s); the file may be damaged",
			WTERMSIG(o->status), strsignal(WTERMSIG(o->status)));
	return lmd_fail(err, LMD_CORRUPT,
			"self-test: its code ended the process (status %d): %.200s", code, o->text);
}

/* Runs the function in a child that has to begin in time. */
static enum lmd_status run_child(enum lmd_status (*run)(void *arg, struct lmd_error *err),
				 void *arg, uint32_t begin_ms, struct outcome *o,
				 struct lmd_error *err)
{
	pid_t parent = getpid(), pid;
	int fd[2];

	*o = (struct outcome){.begun = false};
	if (pipe2(fd, O_CLOEXEC))
		return lmd_fail(err, LMD_NOMEM, "self-test: no pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		(void)close(fd[0]);
		child(fd[1], parent, run, arg);
	}
	(void)close(fd[1]);
	if (pid < 0) {
		(void)close(fd[0]);
		return lmd_fail(err, LMD_NOMEM, "self-test: no process: %s", strerror(errno));
	}
	o->begun = begins(fd[0], begin_ms);
	o->in_time = o->begun && listen_to(fd[0], o->text, sizeof(o->text));
	(void)close(fd[0]);
	if (!o->in_time)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &o->status, 0) < 0 && errno == EINTR)
		;
	return LMD_OK;
}

/* Returns whether the child failed because another thread was loading something when it began. */
static bool was_loading(const struct outcome *o)
{
	return !o->begun || (WIFEXITED(o->status) && WEXITSTATUS(o->status) == LD_SO_FAILED &&
			     !strncmp(o->text, LD_SO_SAYS, strlen(LD_SO_SAYS)));
}

enum lmd_status lmi_plugin_self_test(enum lmd_status (*run)(void *arg, struct lmd_error *err),
				     void *arg, struct lmd_error *err)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000};
	uint32_t begin_ms = BEGIN_MS;
	enum lmd_status st;
	struct outcome o;

	for (int i = 0; i < TRIES; i++) {
		st = run_child(run, arg, begin_ms, &o, err);
		if (st != LMD_OK)
			return st;
		if (!was_loading(&o) || (!o.begun && i + 1 >= BEGIN_TRIES))
			break;
		begin_ms = 2 * begin_ms < BEGIN_MOST_MS ? 2 * begin_ms : BEGIN_MOST_MS;
		(void)nanosleep(&pause, NULL);
	}
	return judge(&o, err);
}
