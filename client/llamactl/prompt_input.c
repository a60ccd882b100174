/* SPDX-License-Identifier: MIT */
#include "client/llamactl/prompt_input.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"

#define TEXT_MAX (1u << 30)

bool lmi_wait_stdin(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t ours, old;
	int n = 0;

	/* a signal between the check of the flag and the wait stays pending until the wait */
	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGINT);
	(void)sigaddset(&ours, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &ours, &old);
	while (!n && !lmi_interrupted())
		n = ppoll(&p, 1, NULL, &old) < 0 ? errno != EINTR : 1;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n != 0;
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
		if (!p || !lmi_wait_stdin())
			break;
		got = read(STDIN_FILENO, p + len, cap - len);
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
	if (!lmi_interrupted())
		return lmd_fail(err, LMD_IO, "%s: %s", what, strerror(errno));
	if (isatty(STDIN_FILENO))
		putc('\n', stderr); /* ends the line of the ^C */
	return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
}

enum lmd_status lmi_read_stdin(char **out, size_t *n, struct lmd_error *err)
{
	return read_all("standard input", TEXT_MAX, out, n, err);
}

enum lmd_status lmi_read_prompt(const char *given, const char **out, size_t *n, char **own,
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
	st = read_all("the prompt on standard input", LMI_PROMPT_MAX, own, n, err);
	if (st == LMD_OK)
		*out = *own;
	return st;
}
