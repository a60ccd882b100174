/* SPDX-License-Identifier: MIT */
#include "client/llamactl/llamad_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

void lmi_ctl_find_llamad(char *out, size_t size)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = 0;
	slash = strrchr(exe, '/');
	(void)snprintf(out, size, "%.*s/llamad", slash ? (int)(slash - exe) : 0, exe);
	if (access(out, X_OK))
		(void)snprintf(out, size, "llamad");
}

bool lmi_ctl_has_llamad(void)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	lmi_ctl_find_llamad(file, sizeof(file));
	if (strchr(file, '/'))
		return true;
	for (; path && *path; path += *path == ':') {
		int n = (int)strcspn(path, ":");

		(void)snprintf(file, sizeof(file), "%.*s/llamad", n, path);
		if (n && !access(file, X_OK))
			return true;
		path += n;
	}
	return false;
}

static int spawn(const char *const *argv, int fd, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int e = posix_spawn_file_actions_init(&actions);
	extern char **environ;

	if (e)
		return e;
	e = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!e)
		e = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	if (!e)
		e = posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
	if (!e)
		e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
				 environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return e;
}

static int64_t now_ms(void)
{
	return (int64_t)(lmi_clock_monotonic_ns() / LMI_NS_PER_MS);
}

/* Waits for input or its end; returns whether it came before the deadline. */
static bool wait_input(int fd, int64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left = deadline - now_ms();
	int n;

	while ((n = poll(&p, 1, left > 0 ? (int)left : 0)) < 0 && errno == EINTR)
		left = deadline - now_ms();
	return n > 0;
}

bool lmi_ctl_read_last(int fd, char *out, size_t size, int timeout_ms)
{
	const int64_t deadline = now_ms() + timeout_ms;
	bool in_time, cut = false;
	size_t n = 0;
	ssize_t k;

	while ((in_time = wait_input(fd, deadline))) {
		if (n == size - 1) {
			memmove(out, out + size / 2, n - size / 2);
			n -= size / 2;
			cut = true;
		}
		k = read(fd, out + n, size - 1 - n);
		if (k > 0)
			n += (size_t)k;
		else if (!k || errno != EINTR)
			break;
	}
	out[n] = 0;
	if (cut) { /* without its beginning, a line does not show that it has a secret */
		const char *line = strchr(out, '\n');

		memmove(out, line ? line + 1 : out + n, line ? strlen(line) : 1);
	}
	return in_time;
}

/* Waits for the end of a program that may have closed its output long before; kills it at the
 * deadline. Returns whether it ended in time. */
static bool wait_exit(pid_t pid, int64_t deadline, int *status)
{
	const struct timespec step = {.tv_nsec = 2000000};
	pid_t got;

	while (!(got = waitpid(pid, status, WNOHANG)) && now_ms() < deadline)
		(void)nanosleep(&step, NULL);
	if (got)
		return true;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return false;
}

int lmi_ctl_capture(const char *const *argv, char *out, size_t size, int timeout_ms)
{
	const int64_t deadline = now_ms() + timeout_ms;
	int fds[2], status = 0, e;
	bool in_time = true;
	pid_t pid = 0;

	*out = 0;
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	e = spawn(argv, fds[1], &pid);
	(void)close(fds[1]);
	if (!e)
		in_time = lmi_ctl_read_last(fds[0], out, size, timeout_ms);
	(void)close(fds[0]);
	if (!e && (!wait_exit(pid, in_time ? deadline : 0, &status) || !in_time))
		e = ETIMEDOUT;
	if (e) {
		errno = e;
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
