/* SPDX-License-Identifier: MIT
 *
 * The child reports through a pipe, which is also its standard error: so the message with which
 * ld.so ends a process is not lost. */
#include "core/plugin/self_test.h"

#include <errno.h>
#include <fcntl.h>
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

/* What ld.so does when its lists are inconsistent, and how often a child is then run again. */
#define LD_SO_FAILED 127
#define LD_SO_SAYS   "Inconsistency detected by ld.so"
#define TRIES	     50
#define AGAIN_MS     20

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Only the thread that forked exists here, so nothing may wait for another one. */
static void child(int fd, pid_t parent, enum lmd_status (*run)(void *arg, struct lmd_error *err),
		  void *arg)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT,
				      SIGHUP,  SIGPIPE};
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
	st = run(arg, &err);
	if (st == LMD_OK)
		_exit(CHILD_GOOD);
	(void)!write(fd, err.text, strlen(err.text));
	_exit(st == LMD_NOMEM ? CHILD_NOMEM : CHILD_BAD);
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

static enum lmd_status judge(int status, bool in_time, char *text, struct lmd_error *err)
{
	text[strcspn(text, "\n")] = 0;
	if (!in_time)
		return lmd_fail(err, LMD_CORRUPT, "self-test: not finished within %d ms",
				LMI_PLUGIN_SELF_TEST_MS);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_GOOD)
		return LMD_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_BAD)
		return lmd_fail(err, LMD_INVALID, "%.300s", text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "self-test: %.300s", text);
	if (WIFSIGNALED(status))
		return lmd_fail(err, LMD_CORRUPT,
				"self-test: its code crashed (signal %d, %s); the file may be damaged",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
	return lmd_fail(err, LMD_CORRUPT, "self-test: its code ended the process (status %d): %.200s",
			WEXITSTATUS(status), text);
}

/* Runs the function in a child. *in_time: it ended before it took too long. */
static enum lmd_status run_child(enum lmd_status (*run)(void *arg, struct lmd_error *err), void *arg,
				 int *status, bool *in_time, char *text, size_t size,
				 struct lmd_error *err)
{
	pid_t parent = getpid(), pid;
	int fd[2];

	text[0] = 0;
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
	*in_time = listen_to(fd[0], text, size);
	(void)close(fd[0]);
	if (!*in_time)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return LMD_OK;
}

/* Returns whether ld.so ended the child because another thread of this process, a driver that opens its
 * libraries for example, was loading something when the child began. */
static bool was_loading(int status, const char *text)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == LD_SO_FAILED &&
	       !strncmp(text, LD_SO_SAYS, strlen(LD_SO_SAYS));
}

enum lmd_status lmi_plugin_self_test(enum lmd_status (*run)(void *arg, struct lmd_error *err),
				     void *arg, struct lmd_error *err)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000};
	char text[LMD_ERROR_TEXT];
	bool in_time = false;
	enum lmd_status st;
	int status = 0;

	for (int i = 0; i < TRIES; i++) {
		st = run_child(run, arg, &status, &in_time, text, sizeof(text), err);
		if (st != LMD_OK)
			return st;
		if (!was_loading(status, text))
			break;
		(void)nanosleep(&pause, NULL);
	}
	return judge(status, in_time, text, err);
}
