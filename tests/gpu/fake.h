/* SPDX-License-Identifier: MIT
 *
 * fake.h - shared by the files of the driver library for tests: its settings, and work that is done when
 * somebody waits for it.  The lock of fake_cuda.c is held. */
#ifndef LLAMAD_TESTS_GPU_FAKE_H
#define LLAMAD_TESTS_GPU_FAKE_H

#include <pthread.h>

#include "tests/gpu/emu.h"
#include "tests/gpu/emu_kernels.h"
#include "tests/gpu/emu_peers.h"
#include "tests/gpu/emu_races.h"

enum {
	OK = 0,
	INVALID = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALISED = 3,
	NO_DEVICE = 100,
	NO_PEER = 217,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ALREADY_ENABLED = 704,
	LOST = 719
};

struct fake_settings {
	int ready, init;
	unsigned devices, warp, order;
	unsigned long long memory, used;
	unsigned fail_alloc, n_alloc, lose, n_launch, n_context;
	int lost, no_graphs, no_peer, ahead, coarse;
	unsigned mma;
	char count[128];
	struct stream *streams;
	int enabled[EMU_MOST_DEVICES][EMU_MOST_DEVICES];
};
extern struct fake_settings fake;
extern pthread_mutex_t fake_lock;

/* ---- functions of the library ---- */

#define EXPORT __attribute__((visibility("default")))
#define API(name, ...)                                                                             \
	EXPORT int name(__VA_ARGS__);                                                              \
	EXPORT int name(__VA_ARGS__)

#define LOCKED(expression)                                                                         \
	do {                                                                                       \
		int code_;                                                                         \
		(void)pthread_mutex_lock(&fake_lock);                                             \
		code_ = (expression);                                                              \
		(void)pthread_mutex_unlock(&fake_lock);                                           \
		return code_;                                                                      \
	} while (0)

/* Memory of the calling thread's device; fine: as in emu_peers.h. */
int fake_alloc(uint64_t *out, size_t bytes, int fine);

/* ---- work ---- */

enum kind { COPY, FILL, LAUNCH, RECORD, WAIT };

struct mark {
	struct stream *stream; /* where it is recorded, or NULL if it has happened */
	unsigned n_record, n_happened;
};

struct work {
	struct work *next;
	enum kind kind;
	char *to;
	const char *from;
	size_t bytes;
	unsigned char value;
	const struct emu_kernel *kernel;
	struct emu_launch launch;
	struct emu_context *begun;
	struct mark *mark;
	unsigned record; /* the one of the mark that is waited for */
	struct stream *graph; /* of which it is the last work, or NULL */
	char args[4096];
};

struct stream {
	struct stream *next;
	unsigned device;
	struct work *first, **end;
	struct stream *captured; /* where work goes instead, or NULL */
	unsigned n_running;      /* of a graph: launches that have not ended */
};

/* Adds a copy of the work to a stream; returns a code. */
int fake_submit(void *stream, const struct work *w);
/* Works on until everything of a stream is done, or, with a mark, until that has happened. */
void fake_run_to(struct stream *s, const struct mark *m);
/* Makes some progress with a mark, as time would. */
void fake_go_on(const struct mark *m);

#endif /* LLAMAD_TESTS_GPU_FAKE_H */
