/* SPDX-License-Identifier: MIT
 *
 * The wait asks again in growing pauses. A descriptor of the process would need Linux 5.3. */
#include "core/worker/reap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/clock.h"

#define PAUSE_MAX_NS 20000000ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for what follows */
static pid_t left[LMI_WORKER_LEFT_MAX];
static uint32_t n_left;

/* Returns true if the child has ended, or was no child. */
static bool has_ended(pid_t pid, int *status)
{
	pid_t p;

	do
		p = waitpid(pid, status, WNOHANG);
	while (p < 0 && errno == EINTR);
	return p != 0;
}

uint32_t lmi_worker_reap_left(void)
{
	uint32_t n = 0;
	int status;

	(void)pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_left; i++)
		if (!has_ended(left[i], &status))
			left[n++] = left[i];
	n_left = n;
	(void)pthread_mutex_unlock(&lock);
	return n;
}

static void note(pid_t pid)
{
	(void)pthread_mutex_lock(&lock);
	if (n_left < LMI_WORKER_LEFT_MAX)
		left[n_left++] = pid;
	(void)pthread_mutex_unlock(&lock);
}

bool lmi_worker_reap(pid_t pid, uint64_t timeout_ns, int *status)
{
	uint64_t begin = lmi_clock_monotonic_ns(), pause = 500000;

	(void)lmi_worker_reap_left();
	*status = 0;
	while (!has_ended(pid, status)) {
		const struct timespec t = {.tv_nsec = (long)pause};

		if (lmi_clock_monotonic_ns() - begin >= timeout_ns) {
			note(pid);
			return false;
		}
		(void)nanosleep(&t, NULL);
		pause = pause * 2 < PAUSE_MAX_NS ? pause * 2 : PAUSE_MAX_NS;
	}
	return true;
}
