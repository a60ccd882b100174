/* SPDX-License-Identifier: MIT
 *
 * Implements struct lmd_host with core's log, allocator, arena, clock, tensor types and teams. */
#include "core/plugin/host_services.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/cancel.h"
#include "core/base/cpu.h"
#include "core/base/log.h"
#include "core/base/team.h"
#include "core/quant/quant.h"

struct host {
	union {
		struct lmd_host pub; /* first member; pub.ctx points to this struct */
		char room[LMD_HOST_TABLE_BYTES];
	};
	struct lmi_log log;
	struct lmd_cpu cpu;
};

static void host_log(void *ctx, const char *topic, int level, const char *fmt, ...)
{
	struct host *h = ctx;
	va_list ap;

	va_start(ap, fmt);
	lmi_log_vwrite(&h->log, topic, level, fmt, ap);
	va_end(ap);
}

static void *host_alloc(void *ctx, size_t bytes)
{
	(void)ctx;
	return lmi_alloc(1, bytes);
}

static void host_free(void *ctx, void *p)
{
	(void)ctx;
	lmi_free(p);
}

static void *host_arena_alloc(void *ctx, struct lmd_arena *arena, size_t bytes, size_t align)
{
	(void)ctx;
	return lmi_arena_alloc(arena, bytes, align);
}

static const struct lmd_cpu *host_cpu(void *ctx)
{
	return &((struct host *)ctx)->cpu;
}

static uint64_t host_now_ns(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static enum lmd_status host_dequant_rows(void *ctx, enum lmd_dtype type, const void *src,
					 float *dst, size_t n)
{
	const struct lmi_dtype *t = lmi_dtype((uint32_t)type);

	(void)ctx;
	if (!t || !t->dequant)
		return LMD_UNSUPPORTED;
	if (n % t->block_elems)
		return LMD_INVALID;
	t->dequant(src, dst, n);
	return LMD_OK;
}

static enum lmd_status host_quant_rows(void *ctx, enum lmd_dtype type, const float *src, void *dst,
				       size_t n)
{
	const struct lmi_dtype *t = lmi_dtype((uint32_t)type);

	(void)ctx;
	if (!t || !t->quant)
		return LMD_UNSUPPORTED;
	if (n % t->block_elems)
		return LMD_INVALID;
	(t->quant_nearest ? t->quant_nearest : t->quant)(src, dst, n, NULL);
	return LMD_OK;
}

static bool host_dtype_info(void *ctx, enum lmd_dtype type, uint32_t *block_elems,
			    uint32_t *block_bytes)
{
	const struct lmi_dtype *t = lmi_dtype((uint32_t)type);

	(void)ctx;
	if (!t)
		return false;
	*block_elems = t->block_elems;
	*block_bytes = t->block_bytes;
	return true;
}

static uint32_t host_dtype_head(void *ctx, enum lmd_dtype type)
{
	const struct lmi_dtype *t = lmi_dtype((uint32_t)type);

	(void)ctx;
	return t ? t->row_bytes_extra : 0;
}

static void host_team_run(void *ctx, struct lmd_team *team, lmd_part_fn fn, void *arg)
{
	(void)ctx;
	lmi_team_run(team, fn, arg);
}

static uint32_t host_team_size(void *ctx, const struct lmd_team *team)
{
	(void)ctx;
	return lmi_team_size(team);
}

static void host_team_barrier(void *ctx, struct lmd_team *team)
{
	(void)ctx;
	lmi_team_barrier(team);
}

static bool host_work_step(void *ctx, uint64_t n)
{
	(void)ctx;
	return lmi_cancel_step(n);
}

enum lmd_status lmi_host_create(struct lmd_host **out, uint64_t cpu_flags_mask)
{
	struct host *h = lmi_alloc(1, sizeof(*h));

	if (!h)
		return LMD_NOMEM;
	lmi_log_init(&h->log, LMD_LOG_WARN, STDERR_FILENO);
	lmi_cpu_detect(&h->cpu);
	h->cpu.flags &= cpu_flags_mask;
	h->pub = (struct lmd_host){
		.struct_size = sizeof(struct lmd_host),
		.ctx = h,
		.log = host_log,
		.alloc = host_alloc,
		.free = host_free,
		.arena_alloc = host_arena_alloc,
		.cpu = host_cpu,
		.now_ns = host_now_ns,
		.dequant_rows = host_dequant_rows,
		.quant_rows = host_quant_rows,
		.dtype_info = host_dtype_info,
		.team_run = host_team_run,
		.team_size = host_team_size,
		.team_barrier = host_team_barrier,
		.dtype_head = host_dtype_head,
		.work_step = host_work_step,
	};
	*out = &h->pub;
	return LMD_OK;
}

void lmi_host_destroy(struct lmd_host *h)
{
	if (h)
		lmi_log_fini(&((struct host *)h->ctx)->log);
	lmi_free(h);
}

void lmi_host_set_log_level(struct lmd_host *h, int level)
{
	atomic_store(&((struct host *)h->ctx)->log.level, level);
}

void lmi_host_set_log_journal(struct lmd_host *h, bool journal, const char *socket_path)
{
	struct lmi_log *log = &((struct host *)h->ctx)->log;

	log->journal = journal;
	if (journal && socket_path)
		(void)lmi_log_open_socket(log, socket_path); /* without one, lines are written as before */
}
