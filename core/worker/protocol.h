/* SPDX-License-Identifier: MIT
 *
 * protocol.h - what a process and its worker tell each other.
 *
 * The process asks, the worker answers each request with one reply of the same kind; its status and error
 * message are those of the backend's function. Objects have numbers, which the process chooses. Structs
 * of the plugin ABI are sent as they are, since both sides are the same program; pointers in them are
 * never used by the receiver. */
#ifndef LLAMAD_CORE_WORKER_PROTOCOL_H
#define LLAMAD_CORE_WORKER_PROTOCOL_H

#include <stdint.h>

#include "llamad/backend.h"

enum lmi_worker_kind {
	LMI_WORKER_HELLO = 1,	  /* lmi_worker_hello, texts: backend, folder of its plugin, cpus; fd: the
				   * page */
	LMI_WORKER_FILE,	  /* lmi_worker_memory; fd: a file to map, for reading */
	LMI_WORKER_BUFFER,	  /* lmi_worker_memory; fd: memory to map; none: memory of the device */
	LMI_WORKER_BUFFER_FREE,	  /* number */
	LMI_WORKER_COPY,	  /* lmi_worker_copy, what it reads from the process -> what it
				   * writes there */
	LMI_WORKER_MEMORY,	  /* -> lmi_worker_device_memory */
	LMI_WORKER_WEIGHT_QUERY,  /* weight -> lmd_weight_plan */
	LMI_WORKER_WEIGHT_LOAD,	  /* number, weight; fd: memory with what is in no file */
	LMI_WORKER_WEIGHT_EXPORT, /* number, room; fd: memory of that size to write into, none if the
				   * room is 0 -> the bytes that it takes */
	LMI_WORKER_WEIGHT_FREE,	  /* number */
	LMI_WORKER_POOL_QUERY,	  /* pool -> lmd_pool_cost */
	LMI_WORKER_POOL_CREATE,	  /* number, pool */
	LMI_WORKER_POOL_FREE,	  /* number */
	LMI_WORKER_POOL_OPS,	  /* number, n, lmd_pool_op[n], what IMPORT and SET_TABLE read ->
				   * what EXPORT writes */
	LMI_WORKER_ADAPTER,	  /* lmd_adapter_bind, a, b, gain */
	LMI_WORKER_DECLARE,	  /* plan without ops, for the following SUPPORT */
	LMI_WORKER_SUPPORT,	  /* lmd_op -> lmd_support */
	LMI_WORKER_PLAN_QUERY,	  /* plan -> lmd_plan_cost */
	LMI_WORKER_COMPILE,	  /* lmi_worker_compile, plan, lmd_step_layout, weights, pools */
	LMI_WORKER_RUN,		  /* lmi_worker_run, lmi_worker_binding[n_in + n_out] */
	LMI_WORKER_PLAN_FREE,	  /* number */
	LMI_WORKER_N_KIND
};

#define LMI_WORKER_NONE UINT64_MAX

/* Sizes of structs that must be the same on both sides. */
#define LMI_WORKER_ABI                                                                             \
	(sizeof(struct lmd_plan) ^ sizeof(struct lmd_op) << 8 ^                                    \
	 (uint64_t)sizeof(struct lmd_step_layout) << 24 ^ (uint64_t)sizeof(struct lmd_weight_ref) << 40)

struct lmi_worker_hello {
	uint64_t abi; /* LMI_WORKER_ABI */
	uint32_t index, n_thread, activations, attention, deterministic;
	uint32_t n_thread_batch, strict, numa; /* struct lmi_team_threads */
	uint32_t trust; /* enum lmi_plugin_trust */
	uint32_t own_memory; /* 1: the device does not compute in host memory */
	uint8_t digest[32]; /* of the plugin's file; zeros: it is linked into the program */
};

/* A file, or a buffer. */
struct lmi_worker_memory {
	uint64_t number, bytes;
	uint64_t at; /* offset in the file, a multiple of a page */
};

/* A copy between buffers, or between a buffer of the device and the message, which is LMI_WORKER_NONE. */
struct lmi_worker_copy {
	uint64_t dst, dst_at, src, src_at, bytes;
};

struct lmi_worker_device_memory {
	uint64_t total, free;
};

/* Where the data of one piece of a weight is. */
struct lmi_worker_piece {
	struct lmd_weight_piece piece;
	uint64_t file; /* number, or LMI_WORKER_NONE: the memory that came with the message */
	uint64_t at, bytes;
};

/* A weight: this, the reference, lmi_worker_piece[n_piece]. */
struct lmi_worker_weight {
	struct lmd_weight_desc desc;
	uint64_t scale_at, bias_at; /* in the memory that came with the message */
	uint64_t stored_file, stored_at; /* number of the file with desc.stored, LMI_WORKER_NONE: none */
};

struct lmi_worker_compile {
	uint64_t number, n_seq;
	uint64_t scratch, scratch_at, scratch_bytes; /* buffer */
};

struct lmi_worker_run {
	uint64_t plan, block, block_at; /* numbers of the plan and of the buffer of the step block */
	uint32_t n_in, n_out;
	uint32_t n_row; /* of the step, for the choice of threads */
	uint32_t reserved;
};
struct lmi_worker_binding {
	struct lmd_binding binding;
	uint64_t buffer;
};

/* Memory that both sides use at the same time. The process writes cancel, the worker the others. */
struct lmi_worker_page {
	int32_t cancel;	   /* of the step that runs */
	uint32_t progress; /* of all steps so far */
	uint32_t beat;	   /* the worker adds 1 every LMI_WORKER_BEAT_MS, whatever it computes */
};
#define LMI_WORKER_BEAT_MS 100

#endif /* LLAMAD_CORE_WORKER_PROTOCOL_H */
