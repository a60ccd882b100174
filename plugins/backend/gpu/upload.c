/* SPDX-License-Identifier: MIT
 *
 * Uploads of weights: rows are written into one of two pieces of pinned memory while the device copies the other.
 * Several weights may be loaded at once, each by a thread with a stage of its own; stages are kept
 * for the next weights.
 *
 * Threads: dev->stages is guarded by dev->stage_lock, a stage by the thread that has taken it. */
#include "gpu.h"

#define N_PIECE 2u

struct gpu_stage {
	struct gpu_stage *next; /* of those that nobody uses */
	gpu_stream stream;
	char *piece[N_PIECE];
	gpu_mark copied[N_PIECE]; /* after the last copy from a piece */
	bool used[N_PIECE];
	uint32_t turn;
};

static void destroy(struct gpu_dev *dev, struct gpu_stage *s)
{
	if (s->stream) {
		(void)dev->drv->stream_sync(s->stream);
		(void)dev->drv->stream_destroy(s->stream);
	}
	for (uint32_t i = 0; i < N_PIECE; i++) {
		if (s->piece[i])
			(void)dev->drv->host_free(s->piece[i]);
		if (s->copied[i])
			(void)dev->drv->mark_destroy(s->copied[i]);
	}
	dev->host->free(dev->host->ctx, s);
}

static enum lmd_status create(struct gpu_dev *dev, struct gpu_stage **out, struct lmd_error *err)
{
	const struct gpu_driver *drv = dev->drv;
	struct gpu_stage *s = dev->host->alloc(dev->host->ctx, sizeof(*s));
	int code;

	if (!s)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for an upload", dev->vendor->name);
	*s = (struct gpu_stage){0};
	code = drv->stream_create(&s->stream, 1, 0);
	for (uint32_t i = 0; !code && i < N_PIECE; i++) {
		void *p = NULL;

		code = drv->host_alloc(&p, GPU_STAGE_BYTES, 0);
		s->piece[i] = p;
		if (!code)
			code = drv->mark_create(&s->copied[i],
						GPU_MARK_BLOCKING | GPU_MARK_NO_TIMING);
	}
	if (!code) {
		*out = s;
		return LMD_OK;
	}
	destroy(dev, s);
	if (code == GPU_CODE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no pinned memory for an upload (%u bytes)",
				dev->vendor->name, N_PIECE * GPU_STAGE_BYTES);
	return gpu_check(dev, code, "pinned memory", err);
}

enum lmd_status gpu_stage_take(struct gpu_dev *dev, struct gpu_stage **out, struct lmd_error *err)
{
	(void)pthread_mutex_lock(&dev->stage_lock);
	*out = dev->stages;
	if (*out)
		dev->stages = (*out)->next;
	(void)pthread_mutex_unlock(&dev->stage_lock);
	return *out ? LMD_OK : create(dev, out, err);
}

void gpu_stage_give(struct gpu_dev *dev, struct gpu_stage *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&dev->stage_lock);
	s->next = dev->stages;
	dev->stages = s;
	(void)pthread_mutex_unlock(&dev->stage_lock);
}

void gpu_stage_fini(struct gpu_dev *dev)
{
	while (dev->stages) {
		struct gpu_stage *s = dev->stages;

		dev->stages = s->next;
		destroy(dev, s);
	}
}

enum lmd_status gpu_stage_room(struct gpu_dev *dev, struct gpu_stage *s, char **out,
			       struct lmd_error *err)
{
	const uint32_t i = s->turn % N_PIECE;
	int code = s->used[i] ? dev->drv->mark_sync(s->copied[i]) : 0;

	s->used[i] = false;
	*out = s->piece[i];
	return gpu_check(dev, code, "a copy to the device", err);
}

enum lmd_status gpu_stage_send(struct gpu_dev *dev, struct gpu_stage *s, gpu_ptr to, uint64_t bytes,
			       struct lmd_error *err)
{
	const uint32_t i = s->turn++ % N_PIECE;
	int code = dev->drv->upload(to, s->piece[i], (size_t)bytes, s->stream);

	if (!code)
		code = dev->drv->mark_record(s->copied[i], s->stream);
	s->used[i] = !code;
	return gpu_check(dev, code, "a copy to the device", err);
}

enum lmd_status gpu_stage_end(struct gpu_dev *dev, struct gpu_stage *s, struct lmd_error *err)
{
	return gpu_check(dev, dev->drv->stream_sync(s->stream), "a copy to the device", err);
}
