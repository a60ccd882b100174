/* SPDX-License-Identifier: MIT
 *
 * A stack that is taken as a whole and reversed. A thread that posts into an empty stack writes to
 * the eventfd; the owner empties the eventfd before it takes the stack. So a message is either
 * taken, or the eventfd is written after it was emptied: no wakeup is lost, and a message that is
 * taken early leaves at most one spurious wakeup. */
#include "core/base/mailbox.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum lmd_status lmi_mailbox_init(struct lmi_mailbox *mb, struct lmd_error *err)
{
	atomic_init(&mb->last, NULL);
	mb->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return mb->fd >= 0 ? LMD_OK : lmd_fail(err, LMD_IO, "eventfd: %s", strerror(errno));
}

void lmi_mailbox_fini(struct lmi_mailbox *mb)
{
	if (mb->fd >= 0)
		(void)close(mb->fd);
	mb->fd = -1;
	atomic_store(&mb->last, NULL);
}

void lmi_mailbox_post(struct lmi_mailbox *mb, struct lmi_message *m)
{
	struct lmi_message *old = atomic_load_explicit(&mb->last, memory_order_relaxed);
	const uint64_t one = 1;
	int saved = errno;
	ssize_t n;

	do
		m->next = old;
	while (!atomic_compare_exchange_weak(&mb->last, &old, m));
	if (old)
		return; /* the owner has been woken and has not looked yet */
	n = write(mb->fd, &one, sizeof(one));
	(void)n; /* a full counter is already readable */
	errno = saved;
}

uint32_t lmi_mailbox_drain(struct lmi_mailbox *mb)
{
	struct lmi_message *m, *first = NULL;
	uint32_t count = 0;
	uint64_t n_write;
	ssize_t n = read(mb->fd, &n_write, sizeof(n_write));

	(void)n; /* nothing to read: perhaps nothing was posted */
	m = atomic_exchange(&mb->last, NULL);
	while (m) {
		struct lmi_message *next = m->next;

		m->next = first;
		first = m;
		m = next;
	}
	for (; first; count++) {
		m = first;
		first = m->next;
		m->deliver(m);
	}
	return count;
}

int lmi_mailbox_fd(const struct lmi_mailbox *mb)
{
	return mb->fd;
}
