/* SPDX-License-Identifier: MIT
 *
 * The command buffers of a plan.  A step needs some of the dispatches: which ones depends on how many
 * rows it has.  Each choice is recorded when it is first needed and kept, as a variant of the plan.  If
 * there are too many, the one that was used longest ago is replaced, when the device no longer runs it.
 *
 * A variant consists of pieces, so that what is submitted at once can be bounded (vkb_plan_commands). */
#include <string.h>

#include "plan.h"

/* ---- recording ---- */

static void record_one(struct vkb_plan *p, VkCommandBuffer cmd, uint32_t i, VkPipeline *bound)
{
	const struct vkb_functions *fn = &p->dev->fn;
	const struct vkb_dispatch *d = &p->dispatches[i];
	const struct vkb_push push = {.args = p->args_mem.address,
				      .env = p->env_mem.address,
				      .points = p->dev->points.address,
				      .phase = d->phase,
				      .part = d->part,
				      .parts = d->parts ? d->parts : 1};
	const uint32_t offset = 4 * d->at;

	if (*bound != d->pipeline->handle)
		fn->CmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, d->pipeline->handle);
	*bound = d->pipeline->handle;
	fn->CmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, p->dev->layout, 0, 1, &p->set, 1,
				  &offset);
	fn->CmdPushConstants(cmd, p->dev->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
	fn->CmdDispatchIndirect(cmd, p->env_mem.buffer,
				p->env_mem.offset + 4ull * (p->indirect + 3ull * d->groups));
}

static bool is_active(const struct vkb_plan *p, uint32_t i)
{
	const uint32_t *groups = p->env + p->indirect + 3 * p->dispatches[i].groups;

	return groups[0] && groups[1];
}

enum lmd_status vkb_plan_pipelines(struct vkb_plan *p, uint32_t from, uint32_t to,
				   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = from; i < to && st == LMD_OK; i++) {
		if (is_active(p, i))
			st = vkb_pipeline_make(p->dev, p->dispatches[i].pipeline, err);
	}
	return st;
}

/* Where recording is: what comes before the first dispatch, and what comes after the last one, has a
 * barrier of its own (vkb_submit, vkb_begin). */
struct recording {
	const bool *active;      /* dispatches that are recorded; NULL: all that the step needs */
	bool begun;              /* there was one */
	bool barrier;            /* one is due before the next */
	struct vkb_counts counts;
};

/* Records dispatches from .. to-1. */
static void record(struct vkb_plan *p, VkCommandBuffer cmd, uint32_t from, uint32_t to,
		   struct recording *r)
{
	VkPipeline bound = VK_NULL_HANDLE;

	for (uint32_t i = from; i < to; i++) {
		r->barrier = r->barrier || !p->dispatches[i].beside;
		if (!(r->active ? r->active[i] : is_active(p, i)))
			continue;
		if (r->barrier && r->begun) {
			vkb_barrier(p->dev, cmd);
			r->counts.barriers++;
		}
		r->barrier = false;
		r->begun = true;
		r->counts.dispatches++;
		record_one(p, cmd, i, &bound);
	}
}

void vkb_plan_record(struct vkb_plan *p, VkCommandBuffer cmd, uint32_t from, uint32_t to)
{
	struct recording r = {0};

	record(p, cmd, from, to, &r);
}

/* ---- pieces ---- */

/* Cuts the plan where a step with all rows would exceed the bound. */
static enum lmd_status cut(struct vkb_plan *p, struct lmd_error *err)
{
	const struct lmd_host *h = p->dev->host;
	uint64_t sum = 0, keys[LMD_MAX_GROUP] = {0};

	vkb_most_keys(p, keys);
	p->cuts = h->alloc(h->ctx, (p->n_dispatch + 2) * sizeof(*p->cuts));
	if (!p->cuts)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a plan");
	p->cuts[p->n_piece++] = 0;
	for (uint32_t i = 0; i < p->n_dispatch; i++) {
		const struct vkb_dispatch *d = &p->dispatches[i];
		uint64_t work = vkb_share_of(d, p->plan->max_rows, keys);

		if (d->parts == 1 && work > p->dev->most_work) /* when it runs, it has less */
			work = p->dev->most_work;
		if ((d->meets || sum + work > p->dev->most_work) && i > p->cuts[p->n_piece - 1]) {
			p->cuts[p->n_piece++] = i;
			sum = 0;
		}
		sum += work;
	}
	p->cuts[p->n_piece] = p->n_dispatch;
	return LMD_OK;
}

/* ---- variants ---- */

static enum lmd_status make_commands(struct vkb_plan *p, struct lmd_error *err)
{
	const struct vkb_functions *fn = &p->dev->fn;
	const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
					      .queueFamilyIndex = p->dev->family};
	const struct lmd_host *h = p->dev->host;
	VkResult r = fn->CreateCommandPool(p->dev->handle, &pool, NULL, &p->pool);

	p->ends = h->alloc(h->ctx, p->n_piece * sizeof(*p->ends));
	p->meets = h->alloc(h->ctx, p->n_piece * sizeof(*p->meets));
	if (!p->ends || !p->meets)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a plan");
	return r == VK_SUCCESS ? LMD_OK : vkb_fail(err, r, "making a command pool");
}

/* What a variant needs that was never used. */
static enum lmd_status fill_variant(struct vkb_plan *p, struct vkb_variant *v,
				    struct lmd_error *err)
{
	const struct lmd_host *h = p->dev->host;
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = p->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = p->n_piece,
	};
	VkResult r;

	if (v->cmds)
		return LMD_OK;
	if (!v->active)
		v->active = h->alloc(h->ctx, (p->n_dispatch + 1) * sizeof(*v->active));
	v->cmds = h->alloc(h->ctx, p->n_piece * sizeof(VkCommandBuffer));
	if (!v->active || !v->cmds)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a plan");
	r = p->dev->fn.AllocateCommandBuffers(p->dev->handle, &info, v->cmds);
	if (r == VK_SUCCESS)
		return LMD_OK;
	h->free(h->ctx, v->cmds);
	v->cmds = NULL;
	return vkb_fail(err, r, "making command buffers");
}

/* Does the piece begin after an exchange of ranks? */
static bool meets(const struct vkb_plan *p, uint32_t piece)
{
	return piece && piece < p->n_piece && p->dispatches[p->cuts[piece]].meets;
}

static enum lmd_status record_variant(struct vkb_plan *p, struct vkb_variant *v, struct lmd_error *err)
{
	const struct vkb_functions *fn = &p->dev->fn;
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
	};
	struct recording all = {.active = v->active};
	enum lmd_status st = vkb_plan_pipelines(p, 0, p->n_dispatch, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < p->n_piece; i++) {
		VkResult r = fn->BeginCommandBuffer(v->cmds[i], &begin);

		if (r != VK_SUCCESS)
			return vkb_fail(err, r, "recording a plan");
		if (meets(p, i)) {
			vkb_barrier(p->dev, v->cmds[i]);
			all.counts.barriers++;
			all.begun = false;
		}
		record(p, v->cmds[i], p->cuts[i], p->cuts[i + 1], &all);
		/* the host and the next step, or another rank, read what it has written */
		if (i + 1 == p->n_piece || meets(p, i + 1)) {
			vkb_barrier(p->dev, v->cmds[i]);
			all.counts.barriers++;
		}
		r = fn->EndCommandBuffer(v->cmds[i]);
		if (r != VK_SUCCESS)
			return vkb_fail(err, r, "recording a plan");
	}
	v->counts = all.counts;
	return LMD_OK;
}

static bool is_same(const struct vkb_plan *p, const struct vkb_variant *v)
{
	for (uint32_t i = 0; i < p->n_dispatch; i++) {
		if (v->active[i] != is_active(p, i))
			return false;
	}
	return true;
}

/* Gives up the variant that was used longest ago; its place becomes the last. */
static void evict(struct vkb_plan *p)
{
	struct vkb_variant *last = &p->variants[p->n_variant - 1], *oldest = last, v;

	for (uint32_t i = 0; i < p->n_variant; i++) {
		if (p->variants[i].used < oldest->used)
			oldest = &p->variants[i];
	}
	vkb_drain(p->dev);
	v = *oldest;
	*oldest = *last;
	*last = v;
	p->n_variant--;
}

/* Finds or records the variant that the step needs. */
static enum lmd_status find_variant(struct vkb_plan *p, struct vkb_variant **out, struct lmd_error *err)
{
	enum lmd_status st;

	for (uint32_t i = 0; i < p->n_variant; i++) {
		*out = &p->variants[i];
		if (!is_same(p, *out))
			continue;
		(*out)->used = ++p->n_use;
		return LMD_OK;
	}
	if (p->n_variant == VKB_N_VARIANT)
		evict(p);
	*out = &p->variants[p->n_variant];
	st = fill_variant(p, *out, err);
	if (st != LMD_OK)
		return st;
	(*out)->used = ++p->n_use;
	for (uint32_t i = 0; i < p->n_dispatch; i++)
		(*out)->active[i] = is_active(p, i);
	st = record_variant(p, *out, err);
	p->n_variant += st == LMD_OK;
	return st;
}

enum lmd_status vkb_plan_commands(struct vkb_plan *p, struct vkb_commands *out, struct lmd_error *err)
{
	struct vkb_variant *v = NULL;
	enum lmd_status st = find_variant(p, &v, err);
	uint64_t sum = 0;

	if (st != LMD_OK)
		return st;
	*out = (struct vkb_commands){
		.cmds = v->cmds, .ends = p->ends, .meets = p->meets, .n = 1, .counts = v->counts};
	p->meets[0] = false;
	for (uint32_t i = 0; i < p->n_piece; i++) {
		uint64_t work = 0;

		for (uint32_t j = p->cuts[i]; j < p->cuts[i + 1]; j++)
			work += v->active[j] ? vkb_share_of(&p->dispatches[j], p->env + 2, p->keys)
					     : 0;
		if (i && (meets(p, i) || sum + work > p->dev->most_work)) {
			p->meets[out->n] = meets(p, i);
			p->ends[out->n++ - 1] = i;
			sum = 0;
		}
		sum += work;
	}
	p->ends[out->n - 1] = p->n_piece;
	return LMD_OK;
}

/* ---- what commands read ---- */

static enum lmd_status describe(struct vkb_plan *p, struct lmd_error *err)
{
	const struct vkb_functions *fn = &p->dev->fn;
	const VkDescriptorPoolSize sizes[] = {
		{.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, .descriptorCount = 1},
		{.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .descriptorCount = 1},
	};
	const VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1,
		.poolSizeCount = LMD_LEN(sizes),
		.pPoolSizes = sizes,
	};
	VkDescriptorSetAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1,
		.pSetLayouts = &p->dev->set_layout,
	};
	const VkDescriptorBufferInfo buffers[] = {
		{.buffer = p->args_mem.buffer,
		 .offset = p->args_mem.offset,
		 .range = 4 * VKB_MOST_ARGS},
		{.buffer = p->env_mem.buffer, .offset = p->env_mem.offset, .range = 4 * VKB_MOST_ENV},
	};
	VkWriteDescriptorSet writes[LMD_LEN(sizes)];
	VkResult r = fn->CreateDescriptorPool(p->dev->handle, &pool, NULL, &p->descriptors);

	info.descriptorPool = p->descriptors;
	if (r == VK_SUCCESS)
		r = fn->AllocateDescriptorSets(p->dev->handle, &info, &p->set);
	if (r != VK_SUCCESS)
		return vkb_fail(err, r, "describing a plan's buffers");
	for (uint32_t i = 0; i < LMD_LEN(writes); i++)
		writes[i] = (VkWriteDescriptorSet){
			.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
			.dstSet = p->set,
			.dstBinding = i,
			.descriptorCount = 1,
			.descriptorType = sizes[i].type,
			.pBufferInfo = &buffers[i],
		};
	fn->UpdateDescriptorSets(p->dev->handle, LMD_LEN(writes), writes, 0, NULL);
	return LMD_OK;
}

enum lmd_status vkb_record_open(struct vkb_plan *p, struct lmd_error *err)
{
	enum lmd_status st = describe(p, err);

	if (st == LMD_OK)
		st = cut(p, err);
	return st == LMD_OK ? make_commands(p, err) : st;
}

void vkb_record_close(struct vkb_plan *p)
{
	struct vkb_dev *dev = p->dev;
	const struct lmd_host *h = dev->host;

	if (p->descriptors)
		dev->fn.DestroyDescriptorPool(dev->handle, p->descriptors, NULL);
	if (p->pool)
		dev->fn.DestroyCommandPool(dev->handle, p->pool, NULL);
	for (uint32_t i = 0; i < VKB_N_VARIANT; i++) {
		h->free(h->ctx, p->variants[i].active);
		h->free(h->ctx, p->variants[i].cmds);
	}
	h->free(h->ctx, p->cuts);
	h->free(h->ctx, p->ends);
	h->free(h->ctx, p->meets);
}
