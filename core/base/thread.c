/* SPDX-License-Identifier: MIT
 *
 * In Linux nice values, policies and slices belong to threads. The system call has no wrapper in the C
 * libraries that we support. */
#include "core/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first version of the kernel's struct sched_attr. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};
_Static_assert(sizeof(struct attributes) == 48, "as the kernel has it");

void lmi_thread_begin(const char *name, enum lmi_thread_kind kind)
{
	struct attributes a = {.size = sizeof(a), .policy = SCHED_OTHER};

	if (name)
		(void)pthread_setname_np(pthread_self(), name);
	/* chosen by the operator, or inherited from a background thread */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	a.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
	switch (kind) {
	case LMI_THREAD_ORDINARY:
		break;
	case LMI_THREAD_PROMPT:
		a.slice_ns = LMI_THREAD_PROMPT_SLICE_NS;
		break;
	case LMI_THREAD_BACKGROUND:
		a.policy = SCHED_BATCH;
		a.slice_ns = LMI_THREAD_BACKGROUND_SLICE_NS;
		a.nice += LMI_THREAD_BACKGROUND_NICE;
		if (a.nice > 19)
			a.nice = 19;
		break;
	}
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}
