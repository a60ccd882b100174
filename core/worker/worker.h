/* SPDX-License-Identifier: MIT
 *
 * worker.h - a device of a backend in a process of its own, so that a crash of the plugin takes only the
 * models that use it.
 *
 * The worker is the same program, started again with lmi_worker_main_if_asked at the beginning of its
 * main. Towards the engine it is a device with memory of its own and without queues: buffers that can be
 * mapped are memory that both processes map, and a call returns when the worker has answered. When the
 * worker ends, stops or no longer answers, it is killed, and every call is LMD_DEVICE, as of a device that
 * was lost. */
#ifndef LLAMAD_CORE_WORKER_WORKER_H
#define LLAMAD_CORE_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/team.h"
#include "core/plugin/registry.h"
#include "llamad/backend.h"

/* Bytes of the state of lmi_worker_backend_ops, zeroed. Its `open` is NULL: lmi_worker_open opens it. */
size_t lmi_worker_state_bytes(void);
extern const struct lmd_backend_ops lmi_worker_backend_ops;

/* A worker that does not count for so long is killed. LLAMAD_WORKER_PATIENCE_MS changes it, for tests. */
#define LMI_WORKER_PATIENCE_MS 10000

struct lmi_worker_opts {
	const struct lmi_factory *backend;
	enum lmi_plugin_trust trust;   /* whose files the worker may load */
	struct lmd_open_params params; /* `team` is not used: the worker makes its own */
	struct lmi_team_threads threads;
	struct lmd_device_info info;   /* of the device in this process */
	const char *label;	       /* of the model, for messages and the list of processes */
	/* a worker that makes no progress with a request for so long is killed, although it counts;
	 * 0: it is waited for */
	uint64_t timeout_ns;
};

/* Starts a worker and opens the device there. LMD_UNSUPPORTED: the device has memory of its own, but no
 * buffers. On failure nothing is left.  LMD_INVALID: the plugin's file is no longer the one that this process has
 * loaded. */
enum lmd_status lmi_worker_open(void *state, const struct lmi_worker_opts *o, struct lmd_error *err);
/* Chooses the threads of the worker's next step, which has n_row rows. */
void lmi_worker_choose_threads(void *state, uint32_t n_row);
/* Describes the device as it is through a worker. */
struct lmd_device_info lmi_worker_info(const struct lmd_device_info *info);
/* Returns the worker's process; 0 after its end. Any thread. */
pid_t lmi_worker_pid(const void *state);

/* A descriptor that becomes readable when the worker ends while it has nothing to do; -1 after its end. Any
 * thread. */
int lmi_worker_fd(const void *state);
/* LMD_DEVICE: the worker has ended, and was reaped. Waits for a request that runs. */
enum lmd_status lmi_worker_check(void *state, struct lmd_error *err);

/* Tells where bytes of a file are in the memory of this process, so that weights there are mapped by the
 * worker, too. fd: the file, -1: the bytes are in no file, and are copied. at: offset in the file. The
 * memory outlives the worker. */
enum lmd_status lmi_worker_share(void *state, const void *ptr, uint64_t bytes, int fd, uint64_t at,
				 struct lmd_error *err);

/* For the beginning of main: if this process was started as a worker, does a worker's work until the
 * other process closes the connection, and returns true; *status: what main is to return. */
bool lmi_worker_main_if_asked(int argc, char **argv, int *status);
/* Has main called it? Otherwise this program cannot start workers, and lmi_worker_open is
 * LMD_UNSUPPORTED. */
bool lmi_worker_can_start(void);

#endif /* LLAMAD_CORE_WORKER_WORKER_H */
