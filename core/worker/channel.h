/* SPDX-License-Identifier: MIT
 *
 * channel.h - messages between a process and its worker, over a pair of stream sockets.
 *
 * A message is a header, at most one file descriptor, and a payload. Every wait ends when the other side
 * has closed its socket, which the kernel does when that process dies. */
#ifndef LLAMAD_CORE_WORKER_CHANNEL_H
#define LLAMAD_CORE_WORKER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/worker/bytes.h"
#include "llamad/status.h"

/* Maximum bytes of a payload: plans with their literals, pages of the cache, adapters. */
#define LMI_WORKER_PAYLOAD_MAX (1ull << 30)

struct lmi_worker_head {
	uint32_t magic; /* set by lmi_worker_send, checked by lmi_worker_receive */
	uint32_t kind;	 /* enum lmi_worker_kind */
	uint32_t status; /* of a reply: enum lmd_status */
	uint32_t n_fd;	 /* 0 or 1 */
	uint64_t bytes;	 /* of the payload */
};

/* Called about every LMI_WORKER_TICK_MS while a call waits; returns false to give up. */
typedef bool (*lmi_worker_tick_fn)(void *arg);
#define LMI_WORKER_TICK_MS 20

/* Send and receive one message. fd: -1 = none; the receiver owns what it gets, -1 if there is none. tick may
 * be NULL: then only the end of the other side ends the wait.
 * LMD_IO: the other side has ended; LMD_TIMEOUT: tick gave up; LMD_CORRUPT: it is no message;
 * LMD_NOMEM. After a failure, the channel is of no more use. */
enum lmd_status lmi_worker_send(int sock, const struct lmi_worker_head *head, const void *payload, int fd,
				lmi_worker_tick_fn tick, void *arg);
enum lmd_status lmi_worker_receive(int sock, struct lmi_worker_head *head,
				   struct lmi_worker_out *payload, int *fd,
				   lmi_worker_tick_fn tick, void *arg);

#endif /* LLAMAD_CORE_WORKER_CHANNEL_H */
