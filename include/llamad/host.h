/* SPDX-License-Identifier: MIT
 *
 * host.h - services that the host gives to plugins.
 *
 * A plugin receives `const struct lmd_host *` with every call that may need it and may keep the
 * pointer as long as its instance lives.  A test can pass a table of its own.  All functions may be
 * called from any thread unless they say otherwise. */
#ifndef LLAMAD_HOST_H
#define LLAMAD_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/status.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

enum lmd_log_level {
	LMD_LOG_ERROR = 0, /* requires action by an operator */
	LMD_LOG_WARN = 1,  /* continued with reduced function */
	LMD_LOG_INFO = 2,  /* a life-cycle event; never once per token */
	LMD_LOG_DEBUG = 3,
	LMD_LOG_TRACE = 4
};

/* Bits of struct lmd_cpu.flags.  With those of AMX, a plugin asks the kernel for permission to use tiles
 * (on Linux arch_prctl, ARCH_REQ_XCOMP_PERM) before it uses the first one. */
#define LMD_CPU_AVX2        (1ull << 0)  /* with FMA, F16C, BMI2 */
#define LMD_CPU_AVX512      (1ull << 1)  /* F, BW, DQ, VL */
#define LMD_CPU_AVX512_VNNI (1ull << 2)
#define LMD_CPU_AVX512_BF16 (1ull << 3)
#define LMD_CPU_AVX512_VBMI (1ull << 4)
#define LMD_CPU_AVX_VNNI    (1ull << 5)
#define LMD_CPU_AMX_INT8    (1ull << 6)
#define LMD_CPU_AMX_BF16    (1ull << 7)
#define LMD_CPU_NEON        (1ull << 8)
#define LMD_CPU_DOTPROD     (1ull << 9)
#define LMD_CPU_I8MM        (1ull << 10)
#define LMD_CPU_SVE         (1ull << 11)
#define LMD_CPU_AVX512_FP16 (1ull << 12)

struct lmd_cpu {
	uint64_t flags;       /* LMD_CPU_*, possibly reduced by a test or the configuration */
	uint32_t n_core;      /* number of processors this process may run on, at least 1 */
	uint32_t line_bytes;  /* cache line */
	uint64_t l2_bytes;    /* per core; 0 = unknown */
	uint64_t l3_bytes;    /* shared; 0 = unknown */
};

/* Work of a thread team: called once in each of n_part threads with part = 0..n_part-1. */
typedef void (*lmd_part_fn)(void *arg, uint32_t part, uint32_t n_part);

struct lmd_arena; /* memory that is freed as a whole; the host owns and destroys it */
struct lmd_team;  /* threads that run the parts of one job at a time */

/* The host's tables, lmd_host and lmd_builder, are followed by zeros up to this size: a function that
 * a host does not have is NULL, even if the plugin's headers are newer than the host. */
#define LMD_HOST_TABLE_BYTES 1024

struct lmd_host {
	uint32_t struct_size;
	void *ctx;            /* private to the host; first argument of every function below */

	/* Logs one event as one line, with key=value pairs after the sentence.  `topic` is a short
	 * static word.  Never log prompts or outputs. */
	void (*log)(void *ctx, const char *topic, int level, const char *fmt, ...) LMD_PRINTF(4, 5);

	/* Heap.  alloc returns zeroed memory aligned to 64 bytes, or NULL if out of memory or if
	 * bytes is 0.  It goes through the host's accounting and, in tests, its failing
	 * allocator. */
	void *(*alloc)(void *ctx, size_t bytes);
	void (*free)(void *ctx, void *p);          /* NULL allowed */

	/* Returns zeroed memory that lives as long as the arena, or NULL if out of memory. */
	void *(*arena_alloc)(void *ctx, struct lmd_arena *arena, size_t bytes, size_t align);

	/* Describes the machine.  The struct lives as long as the host. */
	const struct lmd_cpu *(*cpu)(void *ctx);

	/* Monotonic time in nanoseconds. */
	uint64_t (*now_ns)(void *ctx);

	/* Decodes n values of one row of a tensor type to float.  n is a multiple of the type's
	 * block length.  src needs no alignment and may be any block of the row; for a type with
	 * dtype_head it must be the start of the row.  Returns LMD_UNSUPPORTED for a type that the
	 * host cannot decode; a loader has already rejected such types. */
	enum lmd_status (*dequant_rows)(void *ctx, enum lmd_dtype type, const void *src, float *dst,
					size_t n);
	/* The inverse, for types with an encoder: rounds to nearest and, for a type with
	 * dtype_head, encodes a whole row.  Used for KV caches in a block type, never for weights
	 * from a file. */
	enum lmd_status (*quant_rows)(void *ctx, enum lmd_dtype type, const float *src, void *dst,
				      size_t n);
	/* Returns the block length in elements and the bytes of a block; false for an unknown
	 * id. */
	bool (*dtype_info)(void *ctx, enum lmd_dtype type, uint32_t *block_elems, uint32_t *block_bytes);

	/* Runs fn in the threads of a team and returns when all parts are done.  There are as many
	 * parts as team_size says: at most as many as when the device was opened, and the same number
	 * from the beginning of a step to its end.  The calling thread is part 0.  team NULL means one
	 * part, run by the caller.  Does not allocate. */
	void (*team_run)(void *ctx, struct lmd_team *team, lmd_part_fn fn, void *arg);
	uint32_t (*team_size)(void *ctx, const struct lmd_team *team);
	/* For use in a job of team_run; every part must call it the same number of times.  Returns
	 * when all parts have called it; everything they wrote before is then visible.  Since ABI
	 * 0.2. */
	void (*team_barrier)(void *ctx, struct lmd_team *team);

	/* Bytes of the row header that precedes the blocks of each row and applies to all of them:
	 * 0 for most types and for unknown ids.  Since ABI 0.2. */
	uint32_t (*dtype_head)(void *ctx, enum lmd_dtype type);

	/* Counts n steps of work done by the calling thread; returns false if nobody wants the
	 * result any more. The caller then stops and returns LMD_CANCELLED. One step is about 10 ns
	 * of work: one byte of a plain loop. Functions whose time depends on outside input, such as
	 * encode and decode of a tokenizer, call it at least once in 2^22 steps; they may batch
	 * small counts. NULL: nothing is ever cancelled. Since ABI 0.4. */
	bool (*work_step)(void *ctx, uint64_t n);
};

LMD_END_DECLS

#endif /* LLAMAD_HOST_H */
