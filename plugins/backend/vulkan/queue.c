/* SPDX-License-Identifier: MIT
 *
 * Queues and events.  All queues of a device use one queue of the driver, which has a timeline
 * semaphore for each of them; an event is a value of one.  Each batch begins with a barrier, so the
 * calls happen in order. */
#include <stdio.h>
#include <string.h>

#include "group.h"

#define N_SLOT 32u

/* Memory that is in use until the queue has reached a value. */
struct leftover {
	struct leftover *next;
	uint64_t value;
	struct vkb_mem mem;
	void *to;                /* host memory that gets the contents, or NULL */
	uint64_t bytes;
};

struct vkb_queue {
	struct vkb_queue *next;
	bool used;
	pthread_mutex_t lock;    /* from vkb_begin to vkb_submit */
	VkSemaphore semaphore;
	uint64_t value;          /* of the last batch */
	VkCommandPool pool;
	VkCommandBuffer cmds[N_SLOT];
	uint64_t busy_until[N_SLOT];
	uint32_t slot;
	struct leftover *leftovers;
	struct vkb_note note; /* runs since the last event */
};

enum lmd_status vkb_alive(const struct vkb_dev *dev, struct lmd_error *err)
{
	return dev->lost ? lmd_fail(err, LMD_DEVICE, "vulkan: the device is lost") : LMD_OK;
}

static enum lmd_status failed(struct vkb_dev *dev, VkResult r, const char *what,
			      struct lmd_error *err)
{
	dev->lost = dev->lost || r == VK_ERROR_DEVICE_LOST;
	return vkb_fail(err, r, what);
}

static enum lmd_status wait_value(struct vkb_dev *dev, struct vkb_queue *q, uint64_t value,
				  uint64_t timeout, struct lmd_error *err)
{
	const VkSemaphoreWaitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &q->semaphore,
		.pValues = &value,
	};
	VkResult r = dev->fn.WaitSemaphores(dev->handle, &info, timeout);

	if (r == VK_TIMEOUT)
		return LMD_TIMEOUT;
	return r == VK_SUCCESS ? LMD_OK : failed(dev, r, "waiting for a queue", err);
}

/* Writes what has arrived to host memory and frees what is no longer used.  Called with q->lock. */
static void reap(struct vkb_dev *dev, struct vkb_queue *q)
{
	struct leftover **at = &q->leftovers;
	uint64_t now = 0;

	if (!q->leftovers ||
	    dev->fn.GetSemaphoreCounterValue(dev->handle, q->semaphore, &now) != VK_SUCCESS)
		return;
	while (*at) {
		struct leftover *l = *at;

		if (l->value > now) {
			at = &l->next;
			continue;
		}
		if (l->to)
			memcpy(l->to, l->mem.host, (size_t)l->bytes);
		vkb_free(dev, &l->mem);
		*at = l->next;
		dev->host->free(dev->host->ctx, l);
	}
}

/* ---- making ---- */

static enum lmd_status fill_queue(struct vkb_dev *dev, struct vkb_queue *q, struct lmd_error *err)
{
	const VkSemaphoreTypeCreateInfo timeline = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	const VkSemaphoreCreateInfo semaphore = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
		.pNext = &timeline,
	};
	const VkCommandPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = dev->family,
	};
	VkCommandBufferAllocateInfo cmds = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = N_SLOT,
	};
	VkResult r = dev->fn.CreateSemaphore(dev->handle, &semaphore, NULL, &q->semaphore);

	if (r == VK_SUCCESS)
		r = dev->fn.CreateCommandPool(dev->handle, &pool, NULL, &q->pool);
	cmds.commandPool = q->pool;
	if (r == VK_SUCCESS)
		r = dev->fn.AllocateCommandBuffers(dev->handle, &cmds, q->cmds);
	return r == VK_SUCCESS ? LMD_OK : vkb_fail(err, r, "making a queue");
}

void vkb_queue_free(struct vkb_dev *dev, struct vkb_queue *q)
{
	while (q->leftovers) {
		struct leftover *l = q->leftovers;

		q->leftovers = l->next;
		vkb_free(dev, &l->mem);
		dev->host->free(dev->host->ctx, l);
	}
	if (q->pool)
		dev->fn.DestroyCommandPool(dev->handle, q->pool, NULL);
	if (q->semaphore)
		dev->fn.DestroySemaphore(dev->handle, q->semaphore, NULL);
	(void)pthread_mutex_destroy(&q->lock);
	dev->host->free(dev->host->ctx, q);
}

void vkb_queues_close(struct vkb_dev *dev)
{
	while (dev->queues) {
		struct vkb_queue *q = dev->queues;

		dev->queues = q->next;
		vkb_queue_free(dev, q);
	}
}

void vkb_queues_forget(struct vkb_dev *dev, const struct lmd_devgroup *g)
{
	(void)pthread_mutex_lock(&dev->lock);
	for (struct vkb_queue *q = dev->queues; q; q = q->next)
		if (q->note.group == g)
			q->note = (struct vkb_note){0};
	(void)pthread_mutex_unlock(&dev->lock);
}

enum lmd_status vkb_queue_make(struct vkb_dev *dev, struct vkb_queue **out, struct lmd_error *err)
{
	struct vkb_queue *q = dev->host->alloc(dev->host->ctx, sizeof(*q));
	enum lmd_status st;

	if (!q)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a queue");
	(void)pthread_mutex_init(&q->lock, NULL);
	st = fill_queue(dev, q, err);
	if (st != LMD_OK) {
		vkb_queue_free(dev, q);
		return st;
	}
	(void)pthread_mutex_lock(&dev->lock);
	q->next = dev->queues;
	dev->queues = q;
	(void)pthread_mutex_unlock(&dev->lock);
	q->used = true;
	*out = q;
	return LMD_OK;
}

/* ---- batches ---- */

/* The host may have written after the submission, to let ranks go on. */
void vkb_barrier(struct vkb_dev *dev, VkCommandBuffer cmd)
{
	const VkMemoryBarrier all = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT |
				 VK_ACCESS_HOST_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT |
				 VK_ACCESS_HOST_READ_BIT,
	};

	dev->fn.CmdPipelineBarrier(cmd,
				   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
				   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
				   0, 1, &all, 0, NULL, 0, NULL);
}

enum lmd_status vkb_begin(struct vkb_dev *dev, struct vkb_queue *given, struct vkb_batch *b,
			  struct lmd_error *err)
{
	const VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
	};
	struct vkb_queue *q = given ? given : dev->own;
	enum lmd_status st = vkb_alive(dev, err);
	VkResult r;

	if (st != LMD_OK)
		return st;
	(void)pthread_mutex_lock(&q->lock);
	q->slot = (q->slot + 1) % N_SLOT;
	st = wait_value(dev, q, q->busy_until[q->slot], UINT64_MAX, err);
	reap(dev, q);
	*b = (struct vkb_batch){.dev = dev, .q = q, .cmd = q->cmds[q->slot], .waits = !given};
	r = st == LMD_OK ? dev->fn.BeginCommandBuffer(b->cmd, &info) : VK_SUCCESS;
	if (r != VK_SUCCESS)
		st = failed(dev, r, "recording", err);
	if (st == LMD_OK)
		vkb_barrier(dev, b->cmd);
	else
		(void)pthread_mutex_unlock(&q->lock);
	return st;
}

/* Forgets what the dropped batch would have left over. */
void vkb_abandon(struct vkb_batch *b)
{
	struct leftover **at = &b->q->leftovers;

	while (*at) {
		struct leftover *l = *at;

		if (l->value <= b->q->value) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		vkb_free(b->dev, &l->mem);
		b->dev->host->free(b->dev->host->ctx, l);
	}
	(void)pthread_mutex_unlock(&b->q->lock);
}

/* Has the submission come at which LLAMAD_VULKAN loses the device?  It happens once in a process. */
static bool loses(const struct vkb_dev *dev)
{
	static uint64_t n;

	return dev->set.lost && __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) == dev->set.lost;
}

static VkResult submit_some(struct vkb_dev *dev, const VkSubmitInfo *infos, uint32_t n)
{
	dev->counts.submissions++;
	if (loses(dev))
		return VK_ERROR_DEVICE_LOST;
	return dev->fn.QueueSubmit(dev->queue, n, infos, VK_NULL_HANDLE);
}

/* What a submission waits for and signals; values outlive the call of the driver. */
struct signals {
	VkTimelineSemaphoreSubmitInfo values;
	uint64_t wait, signal;
};

static void wait_for(VkSubmitInfo *info, struct signals *s, const VkSemaphore *what, uint64_t value)
{
	static const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

	s->wait = value;
	s->values.waitSemaphoreValueCount = 1;
	s->values.pWaitSemaphoreValues = &s->wait;
	info->waitSemaphoreCount = 1;
	info->pWaitSemaphores = what;
	info->pWaitDstStageMask = &stages;
}

static void then_signal(VkSubmitInfo *info, struct signals *s, const VkSemaphore *what,
			uint64_t value)
{
	s->signal = value;
	s->values.signalSemaphoreValueCount = 1;
	s->values.pSignalSemaphoreValues = &s->signal;
	info->signalSemaphoreCount = 1;
	info->pSignalSemaphores = what;
}

/* Submission i of `then`, and before the first one the batch's own commands.  The last one sets the queue's
 * semaphore, after all before it; those around an exchange of ranks signal and wait. */
static VkResult submit_part(struct vkb_batch *b, const struct vkb_commands *then, uint32_t i,
			    uint32_t *exchange)
{
	const uint32_t n = then ? then->n : 0, from = i ? then->ends[i - 1] : 0;
	const struct vkb_meeting *m = n ? then->meeting : NULL;
	struct vkb_queue *q = b->q;
	struct signals s = {.values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO}};
	VkSubmitInfo infos[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				  .commandBufferCount = 1,
				  .pCommandBuffers = &b->cmd}};
	VkSubmitInfo *last = infos;

	if (i < n) {
		last = infos + !i;
		*last = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				       .commandBufferCount = then->ends[i] - from,
				       .pCommandBuffers = then->cmds + from};
	}
	last->pNext = &s.values;
	if (m && i && then->meets[i])
		wait_for(last, &s, &m->go, m->go0 + ++*exchange);
	if (i + 1 >= n)
		then_signal(last, &s, &q->semaphore, q->value + 1);
	else if (m && then->meets[i + 1])
		then_signal(last, &s, &m->here, m->here0 + *exchange + 1);
	return submit_some(b->dev, infos, (uint32_t)(last - infos) + 1);
}

void vkb_signal(const struct vkb_dev *dev, VkSemaphore s, uint64_t value)
{
	const VkSemaphoreSignalInfo info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = s, .value = value};

	(void)dev->fn.SignalSemaphore(dev->handle, &info);
}

static VkResult submit(struct vkb_batch *b, const struct vkb_commands *then)
{
	struct vkb_queue *q = b->q;
	const uint32_t n = then ? then->n : 0;
	uint32_t submitted = 0, exchange = 0;
	VkResult r = b->dev->fn.EndCommandBuffer(b->cmd);

	if (r != VK_SUCCESS)
		return r;
	(void)pthread_mutex_lock(&b->dev->lock);
	for (uint32_t i = 0; i < (n ? n : 1) && r == VK_SUCCESS; i++) {
		r = submit_part(b, then, i, &exchange);
		submitted += r == VK_SUCCESS;
	}
	if (r != VK_SUCCESS && submitted) { /* the device still reads what the batch has staged */
		if (then && then->meeting) /* other ranks have not come, and will not be waited for */
			vkb_signal(b->dev, then->meeting->go,
				   then->meeting->go0 + then->meeting->n_exchange);
		(void)b->dev->fn.DeviceWaitIdle(b->dev->handle);
	}
	if (r == VK_SUCCESS && then && then->meeting) {
		const struct vkb_note *now = &then->meeting->note;
		bool more = q->note.group == now->group;

		q->note = (struct vkb_note){.group = now->group,
					    .rank = now->rank,
					    .first = more ? q->note.first : now->first,
					    .last = now->last};
	}
	(void)pthread_mutex_unlock(&b->dev->lock);
	if (r == VK_SUCCESS)
		q->busy_until[q->slot] = ++q->value;
	return r;
}

/* The event fires when the queue has come this far. */
static void mark(struct vkb_dev *dev, struct vkb_queue *q, struct vkb_event *e)
{
	*e = (struct vkb_event){.dev = dev, .q = q, .value = q->value, .note = q->note};
	q->note = (struct vkb_note){0};
}

enum lmd_status vkb_submit(struct vkb_batch *b, const struct vkb_commands *then,
			   struct vkb_event *done, struct lmd_error *err)
{
	struct vkb_queue *q = b->q;
	enum lmd_status st = LMD_OK;
	VkResult r;

	vkb_barrier(b->dev, b->cmd);
	r = submit(b, then);
	if (r != VK_SUCCESS) {
		st = failed(b->dev, r, "submitting", err);
		vkb_abandon(b);
		return st;
	}
	if (done)
		mark(b->dev, q, done);
	if (b->waits) {
		st = wait_value(b->dev, q, q->value, UINT64_MAX, err);
		reap(b->dev, q);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return st;
}

/* ---- host memory ---- */

enum lmd_status vkb_stage(struct vkb_batch *b, uint64_t bytes, void *to, struct vkb_mem *out,
			  struct lmd_error *err)
{
	struct vkb_dev *dev = b->dev;
	struct leftover *l = dev->host->alloc(dev->host->ctx, sizeof(*l));
	enum lmd_status st = l ? vkb_alloc(dev, VKB_HOST, bytes, &l->mem, err)
			       : lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a copy");

	if (st != LMD_OK) {
		dev->host->free(dev->host->ctx, l);
		return st;
	}
	l->value = b->q->value + 1;
	l->to = to;
	l->bytes = bytes;
	l->next = b->q->leftovers;
	b->q->leftovers = l;
	*out = l->mem;
	return LMD_OK;
}

static void copy(struct vkb_batch *b, const struct vkb_mem *to, uint64_t to_at,
		 const struct vkb_mem *from, uint64_t from_at, uint64_t bytes)
{
	const VkBufferCopy region = {.srcOffset = from->offset + from_at,
				     .dstOffset = to->offset + to_at,
				     .size = bytes};

	b->dev->fn.CmdCopyBuffer(b->cmd, from->buffer, to->buffer, 1, &region);
}

enum lmd_status vkb_upload(struct vkb_batch *b, const struct vkb_mem *to, uint64_t at,
			   const void *from, uint64_t bytes, struct lmd_error *err)
{
	struct vkb_mem staged;
	enum lmd_status st;

	if (bytes <= 65536 && bytes % 4 == 0 && at % 4 == 0) {
		if (bytes)
			b->dev->fn.CmdUpdateBuffer(b->cmd, to->buffer, to->offset + at, bytes, from);
		return LMD_OK;
	}
	st = vkb_stage(b, bytes, NULL, &staged, err);
	if (st != LMD_OK)
		return st;
	memcpy(staged.host, from, (size_t)bytes);
	copy(b, to, at, &staged, 0, bytes);
	return LMD_OK;
}

enum lmd_status vkb_download(struct vkb_batch *b, void *to, const struct vkb_mem *from, uint64_t at,
			     uint64_t bytes, struct lmd_error *err)
{
	struct vkb_mem staged;
	enum lmd_status st = bytes ? vkb_stage(b, bytes, to, &staged, err) : LMD_OK;

	if (st == LMD_OK && bytes)
		copy(b, &staged, 0, from, at, bytes);
	return st;
}

enum lmd_status vkb_settle(struct vkb_dev *dev, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (struct vkb_queue *q = dev->queues; q && st == LMD_OK; q = q->next) {
		bool any = false;

		(void)pthread_mutex_lock(&q->lock);
		for (struct leftover *l = q->leftovers; l; l = l->next)
			any = any || l->to;
		if (any)
			st = wait_value(dev, q, q->value, UINT64_MAX, err);
		reap(dev, q);
		(void)pthread_mutex_unlock(&q->lock);
	}
	return st;
}

void vkb_drain(struct vkb_dev *dev)
{
	struct lmd_error err;

	for (struct vkb_queue *q = dev->queues; q; q = q->next) {
		(void)pthread_mutex_lock(&q->lock);
		(void)wait_value(dev, q, q->value, UINT64_MAX, &err);
		reap(dev, q);
		(void)pthread_mutex_unlock(&q->lock);
	}
}

/* ---- functions of the table ---- */

enum lmd_status vkb_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_queue *q = NULL;
	enum lmd_status st = LMD_OK;

	(void)priority;
	(void)pthread_mutex_lock(&dev->lock);
	for (q = dev->queues; q && q->used;)
		q = q->next;
	if (q)
		q->used = true;
	(void)pthread_mutex_unlock(&dev->lock);
	if (!q)
		st = vkb_queue_make(dev, &q, err);
	*out = (struct lmd_queue *)(void *)q;
	return st;
}

/* The queue is kept for another one, since events may still name it. */
void vkb_queue_destroy(void *state, struct lmd_queue *queue)
{
	struct vkb_dev *dev = state;
	struct vkb_queue *q = (struct vkb_queue *)(void *)queue;
	struct lmd_error err;

	if (!q)
		return;
	(void)pthread_mutex_lock(&q->lock);
	(void)wait_value(dev, q, q->value, UINT64_MAX, &err);
	reap(dev, q);
	(void)pthread_mutex_unlock(&q->lock);
	(void)pthread_mutex_lock(&dev->lock);
	q->used = false;
	(void)pthread_mutex_unlock(&dev->lock);
}

enum lmd_status vkb_event_create(void *state, struct lmd_event **out, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_event *e = dev->host->alloc(dev->host->ctx, sizeof(*e));

	if (e)
		e->dev = dev;
	*out = (struct lmd_event *)(void *)e;
	return e ? LMD_OK : lmd_fail(err, LMD_NOMEM, "vulkan: no memory for an event");
}

void vkb_event_destroy(void *state, struct lmd_event *e)
{
	struct vkb_dev *dev = state;

	dev->host->free(dev->host->ctx, e);
}

enum lmd_status vkb_event_record(void *state, struct lmd_queue *queue, struct lmd_event *event,
				 struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_queue *q = (struct vkb_queue *)(void *)queue;
	struct vkb_event *e = (struct vkb_event *)(void *)event;
	enum lmd_status st = vkb_alive(dev, err);

	if (st != LMD_OK)
		return st;
	(void)pthread_mutex_lock(&q->lock);
	mark(dev, q, e);
	(void)pthread_mutex_unlock(&q->lock);
	return LMD_OK;
}

enum lmd_status vkb_event_wait(void *state, struct lmd_event *event, uint64_t timeout_ns,
			       struct lmd_error *err)
{
	struct vkb_event *e = (struct vkb_event *)(void *)event;
	enum lmd_status st;

	(void)state;
	if (!e->q)
		return lmd_fail(err, LMD_INVALID, "vulkan: the event was never used");
	st = wait_value(e->dev, e->q, e->value, timeout_ns, err);
	if (st != LMD_OK)
		return st;
	(void)pthread_mutex_lock(&e->q->lock);
	reap(e->dev, e->q);
	(void)pthread_mutex_unlock(&e->q->lock);
	if (e->note.group)
		e->result.status = vkb_group_result(&e->note, &e->result);
	e->note = (struct vkb_note){0}; /* the group may be gone when somebody waits again */
	return e->result.status == LMD_OK ? LMD_OK
					  : lmd_fail(err, e->result.status, "%s", e->result.text);
}

/* Two queues of a device share the driver's queue, where everything happens in the order of its
 * submission; for another device's event the host waits. */
enum lmd_status vkb_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *event,
				     struct lmd_error *err)
{
	struct vkb_event *e = (struct vkb_event *)(void *)event;

	(void)q;
	if (e->dev == state)
		return e->q ? LMD_OK
			    : lmd_fail(err, LMD_INVALID, "vulkan: the event was never used");
	return vkb_event_wait(e->dev, event, UINT64_MAX, err);
}
