/* SPDX-License-Identifier: MIT */
#include "client/llamactl/llamad_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Reads to the end; keeps the last bytes that have room. */
static void read_last(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t k;

	for (;;) {
		if (n == size - 1) {
			memmove(out, out + size / 2, n - size / 2);
			n -= size / 2;
		}
		k = read(fd, out + n, size - 1 - n);
		if (k > 0)
			n += (size_t)k;
		else if (!k || errno != EINTR)
			break;
	}
	out[n] = 0;
}

int lmi_ctl_capture(const char *const *argv, char *out, size_t size)
{
	int fds[2], status = 0, e;
	pid_t pid = 0;

	*out = 0;
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	e = spawn(argv, fds[1], &pid);
	(void)close(fds[1]);
	if (!e)
		read_last(fds[0], out, size);
	(void)close(fds[0]);
	if (e) {
		errno = e;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
