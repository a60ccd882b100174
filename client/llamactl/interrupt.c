/* SPDX-License-Identifier: MIT */
#include "client/llamactl/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "core/base/cancel.h"

static volatile sig_atomic_t caught;
static volatile sig_atomic_t wake_fd = -1;
static struct lmi_cancel *_Atomic cancel_word;

static void on_interrupt(int sig)
{
	const uint64_t one = 1;
	int saved = errno;
	ssize_t n = 0;

	struct lmi_cancel *word = atomic_load(&cancel_word);

	caught = sig;
	if (word)
		lmi_cancel_set(word);
	if (wake_fd >= 0)
		n = write(wake_fd, &one, sizeof(one));
	(void)n;
	errno = saved;
}

static void exit_at_once(int sig)
{
	_exit(128 + sig);
}

void lmi_ctl_interrupt_exit(void)
{
	static const int sigs[] = {SIGINT, SIGTERM};
	struct sigaction sa = {.sa_handler = exit_at_once}, old;

	(void)sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		if (!sigaction(sigs[i], NULL, &old) && old.sa_handler != SIG_IGN)
			(void)sigaction(sigs[i], &sa, NULL);
}

void lmi_ctl_interrupt_install(void)
{
	/* without SA_RESTART a read from the terminal is interrupted */
	struct sigaction sa = {.sa_handler = on_interrupt};

	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
}

void lmi_ctl_interrupt_cancel(struct lmi_cancel *word)
{
	atomic_store(&cancel_word, word);
}

void lmi_ctl_interrupt_wake(int eventfd)
{
	wake_fd = eventfd;
}

int lmi_ctl_interrupt_signal(void)
{
	sigset_t pending;

	/* `run` blocks the signals while it opens a model */
	if (!caught && sigpending(&pending) == 0)
		return sigismember(&pending, SIGINT) == 1    ? SIGINT
		       : sigismember(&pending, SIGTERM) == 1 ? SIGTERM
							     : 0;
	return caught;
}

bool lmi_ctl_interrupted(void)
{
	return lmi_ctl_interrupt_signal() != 0;
}

void lmi_ctl_interrupt_clear(void)
{
	caught = 0;
}
