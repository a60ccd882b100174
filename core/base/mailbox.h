/* SPDX-License-Identifier: MIT
 *
 * mailbox.h - messages from any thread to the thread that owns the mailbox.
 *
 * A message is a member of a larger object. The mailbox owns it from post to delivery. Posting does
 * not allocate, takes no lock and cannot fail. Messages are delivered in the order in which they
 * were posted. */
#ifndef LLAMAD_CORE_BASE_MAILBOX_H
#define LLAMAD_CORE_BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_message {
	/* Called on the owner's thread. May free the message, post it again, and post others. */
	void (*deliver)(struct lmi_message *m);
	struct lmi_message *next; /* private to the mailbox */
};

struct lmi_mailbox {
	_Atomic(struct lmi_message *) last; /* posted and not yet taken, newest first */
	int fd;				    /* eventfd: readable while a message may be waiting */
};

enum lmd_status lmi_mailbox_init(struct lmi_mailbox *mb, struct lmd_error *err);
/* No thread may post any more; undelivered messages are dropped. */
void lmi_mailbox_fini(struct lmi_mailbox *mb);

/* Any thread, or a signal handler. `m` must not be in a mailbox; its deliver must be set. */
void lmi_mailbox_post(struct lmi_mailbox *mb, struct lmi_message *m);

/* Owner's thread: delivers the messages posted before the call and returns their number. */
uint32_t lmi_mailbox_drain(struct lmi_mailbox *mb);

/* The owner's loop watches it for reading; level-triggered. */
int lmi_mailbox_fd(const struct lmi_mailbox *mb);

#endif /* LLAMAD_CORE_BASE_MAILBOX_H */
