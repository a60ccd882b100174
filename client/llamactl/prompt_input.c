/* SPDX-License-Identifier: MIT */
#include "client/llamactl/prompt_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"

#define TEXT_MAX (1u << 30)
#define LINE_STEP 4096 /* a terminal delivers lines of at most so many bytes */

/* Returns the descriptor to read standard input from.  Ctrl-C throws away what was typed, perhaps
 * between the end of a wait and the read, which would then block with its signal behind it.  A
 * terminal is therefore read through a description of our own that never blocks; O_NONBLOCK on
 * standard input itself would change it for the shell as well. */
static int input_fd(void)
{
	static int terminal = -1;

	if (terminal < 0 && tcgetpgrp(STDIN_FILENO) >= 0) /* it is our controlling terminal */
		terminal = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return terminal < 0 ? STDIN_FILENO : terminal;
}

/* Waits until the descriptor has data or is at its end. Returns false if a signal that interrupt.h
 * catches arrived before or during the wait. */
static bool wait_input(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	sigset_t ours, old;
	int n = 0;

	/* a signal between the check of the flag and the wait stays pending until the wait */
	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGINT);
	(void)sigaddset(&ours, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &ours, &old);
	while (!n && !lmi_ctl_interrupted())
		n = ppoll(&p, 1, NULL, &old) < 0 ? errno != EINTR : 1;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n != 0;
}

ssize_t lmi_ctl_read_input(char *p, size_t n)
{
	int fd = input_fd();
	ssize_t got = -1;

	while (wait_input(fd)) {
		got = read(fd, p, n);
		if (got >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return got;
}

ssize_t lmi_ctl_read_line(char **line, size_t *cap)
{
	ssize_t len = 0, got = 1;

	if (!isatty(STDIN_FILENO))
		return getline(line, cap, stdin);
	while (got > 0 && (!len || (*line)[len - 1] != '\n')) {
		if (*cap - (size_t)len < LINE_STEP) {
			char *more = realloc(*line, *cap + LINE_STEP);

			if (!more)
				return -1;
			*line = more;
			*cap += LINE_STEP;
		}
		got = lmi_ctl_read_input(*line + len, *cap - (size_t)len - 1);
		len += got > 0 ? got : 0;
	}
	if (got < 0 || !len)
		return -1;
	(*line)[len] = 0;
	return len;
}

/* Reads standard input to its end. On a terminal one Ctrl-D ends it: after a read of 0 bytes there
 * is no second try, as stdio would make. */
static enum lmd_status read_all(const char *what, size_t max, char **out, size_t *n,
				struct lmd_error *err)
{
	size_t cap = 1 << 16, len = 0;
	char *p = malloc(cap);
	ssize_t got = 1;

	while (p && got > 0 && len <= max) {
		char *more = p;

		if (len == cap)
			more = realloc(p, cap *= 2);
		if (!more)
			free(p);
		p = more;
		if (!p)
			break;
		got = lmi_ctl_read_input(p + len, cap - len);
		len += got > 0 ? (size_t)got : 0;
	}
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu bytes", what, cap);
	if (!got && len <= max) {
		*out = p;
		*n = len;
		return LMD_OK;
	}
	free(p);
	if (len > max)
		return lmd_fail(err, LMD_INVALID, "%s: more than %zu bytes", what, max);
	if (!lmi_ctl_interrupted())
		return lmd_fail(err, LMD_IO, "%s: %s", what, strerror(errno));
	if (isatty(STDIN_FILENO))
		putc('\n', stderr); /* ends the line of the ^C */
	return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
}

enum lmd_status lmi_ctl_read_stdin(char **out, size_t *n, struct lmd_error *err)
{
	return read_all("standard input", TEXT_MAX, out, n, err);
}

enum lmd_status lmi_ctl_read_prompt(const char *given, const char **out, size_t *n, char **own,
				    struct lmd_error *err)
{
	enum lmd_status st;

	*own = NULL;
	if (given) {
		*out = given;
		*n = strlen(given);
		return LMD_OK;
	}
	if (isatty(STDIN_FILENO))
		fputs("reading the prompt from the terminal; end with Ctrl-D (or use -p TEXT)\n",
		      stderr);
	st = read_all("the prompt on standard input", LMI_CTL_PROMPT_MAX, own, n, err);
	if (st == LMD_OK)
		*out = *own;
	return st;
}
