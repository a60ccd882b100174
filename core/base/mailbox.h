/* SPDX-License-Identifier: MIT
 *
 * mailbox.h - messages from any thread to the one that owns the mailbox.
 *
 * A message is a member of a larger object and is owned by the mailbox from the moment it is
 * posted until it is delivered; posting allocates nothing, takes no lock and cannot fail.
 * Messages are delivered in the order in which they were posted. */
#ifndef LLAMAD_CORE_BASE_MAILBOX_H
#define LLAMAD_CORE_BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_message {
	/* The owner's thread.  May free the message, post it again, and post others. */
	void (*deliver)(struct lmi_message *m);
	struct lmi_message *next; /* the mailbox's */
};

struct lmi_mailbox {
	_Atomic(struct lmi_message *) last; /* posted and not taken, newest first */
	int fd;				    /* eventfd: readable while something may be there */
};

enum lmd_status lmi_mailbox_init(struct lmi_mailbox *mb, struct lmd_error *err);
/* Nobody posts any more; messages that were not delivered are forgotten. */
void lmi_mailbox_fini(struct lmi_mailbox *mb);

/* Any thread, also a signal handler.  `m` is in no mailbox; its deliver is set. */
void lmi_mailbox_post(struct lmi_mailbox *mb, struct lmi_message *m);

/* The owner's thread: delivers what was posted before the call, and says how many those
 * were. */
uint32_t lmi_mailbox_drain(struct lmi_mailbox *mb);

/* To be watched for reading by the owner's loop; level-triggered. */
int lmi_mailbox_fd(const struct lmi_mailbox *mb);

#endif /* LLAMAD_CORE_BASE_MAILBOX_H */
