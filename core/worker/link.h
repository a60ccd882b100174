/* SPDX-License-Identifier: MIT
 *
 * link.h - the process of a worker and the requests to it: starting, asking, noticing its end. */
#ifndef LLAMAD_CORE_WORKER_LINK_H
#define LLAMAD_CORE_WORKER_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/worker/channel.h"
#include "core/worker/protocol.h"
#include "core/worker/worker.h"

struct lmi_worker_link {
	int sock;
	_Atomic pid_t pid;	       /* 0: it has ended */
	char label[64];
	struct lmi_worker_page *page;
	pthread_mutex_t lock;	       /* a request and its reply */
	struct lmi_worker_out out, in; /* under the lock */
	struct lmd_error dead;	       /* status LMD_DEVICE: it has ended, and why */
	/* of the request that runs */
	const volatile int32_t *cancel;
	volatile uint32_t *progress;
	uint32_t seen_progress, seen_beat;
	uint64_t beat_ns, patience_ns;
	uint64_t moved_ns, timeout_ns; /* when it last made progress; how long that may take, 0: any time */
	bool is_stuck;		       /* it computes, but makes no progress */
};

/* Starts the process; *page_fd is the page for HELLO, owned by the caller. timeout_ns: as in struct
 * lmi_worker_opts. */
enum lmd_status lmi_worker_link_start(struct lmi_worker_link *l, const char *label, uint64_t timeout_ns,
				      int *page_fd, struct lmd_error *err);
/* Ends the process, if it has not ended, and waits for it (reap.h); also after a start that failed. */
void lmi_worker_link_stop(struct lmi_worker_link *l);

/* Takes the lock and empties l->out, to which the caller then writes the request. */
void lmi_worker_link_begin(struct lmi_worker_link *l);
/* Sends l->out, and receives the reply's payload as *in, valid until lmi_worker_link_end; returns its
 * status. fd: passed to the worker, stays the caller's; -1: none. */
enum lmd_status lmi_worker_link_ask(struct lmi_worker_link *l, uint32_t kind, int fd,
				    struct lmi_worker_in *in, struct lmd_error *err);
/* LMD_DEVICE: the process has ended. Called, like the function above, between begin and end. */
enum lmd_status lmi_worker_link_check(struct lmi_worker_link *l, struct lmd_error *err);
void lmi_worker_link_end(struct lmi_worker_link *l);

/* Creates memory that both processes can map, of which neither can change the size. Returns the mapping;
 * NULL: no memory. */
void *lmi_worker_memory(uint64_t bytes, int *fd);

#endif /* LLAMAD_CORE_WORKER_LINK_H */
