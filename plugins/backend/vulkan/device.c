/* SPDX-License-Identifier: MIT
 *
 * The devices and the backend's table of functions. */
#include <stdio.h>
#include <string.h>

#include "backend/common/exact.h"
#include "group.h"

#define MAX_DEVICE 16u

/* What the backend needs, and what it reports. */
struct found {
	VkPhysicalDevice physical[MAX_DEVICE];
	uint32_t n;
};

struct described {
	VkPhysicalDeviceProperties2 p;
	VkPhysicalDeviceVulkan11Properties p11;
	VkPhysicalDeviceDriverProperties driver;
};

static void describe(const struct vkb_instance *in, VkPhysicalDevice d, struct described *out)
{
	*out = (struct described){
		.p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &out->p11},
		.p11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
			.pNext = &out->driver},
		.driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES},
	};
	in->GetPhysicalDeviceProperties2(d, &out->p);
}

/* The queue family that is used; VK_QUEUE_FAMILY_IGNORED if the device computes nothing. */
static uint32_t family_of(const struct vkb_instance *in, VkPhysicalDevice d)
{
	VkQueueFamilyProperties f[16];
	uint32_t n = LMD_LEN(f), best = VK_QUEUE_FAMILY_IGNORED;

	in->GetPhysicalDeviceQueueFamilyProperties(d, &n, f);
	for (uint32_t i = 0; i < n; i++) {
		if (!(f[i].queueFlags & VK_QUEUE_COMPUTE_BIT))
			continue;
		/* One without graphics works beside a desktop. */
		if (best == VK_QUEUE_FAMILY_IGNORED || !(f[i].queueFlags & VK_QUEUE_GRAPHICS_BIT))
			best = i;
	}
	return best;
}

static bool has_features(const struct vkb_instance *in, VkPhysicalDevice d)
{
	VkPhysicalDeviceVulkan12Features f12 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
	VkPhysicalDeviceFeatures2 f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
				       .pNext = &f12};

	in->GetPhysicalDeviceFeatures2(d, &f);
	return f12.bufferDeviceAddress && f12.timelineSemaphore;
}

/* show: at least so many devices, if there is one: the same ones again. */
static enum lmd_status find(const struct vkb_instance *in, uint32_t show, struct found *out,
			    struct lmd_error *err)
{
	VkPhysicalDevice all[MAX_DEVICE];
	uint32_t n = MAX_DEVICE, usable;
	VkResult r = in->EnumeratePhysicalDevices(in->handle, &n, all);

	out->n = 0;
	if (r != VK_SUCCESS && r != VK_INCOMPLETE)
		return vkb_fail(err, r, "looking for devices");
	for (uint32_t i = 0; i < n; i++) {
		struct described d;

		describe(in, all[i], &d);
		if (d.p.properties.apiVersion >= VK_API_VERSION_1_2 && has_features(in, all[i]) &&
		    family_of(in, all[i]) != VK_QUEUE_FAMILY_IGNORED)
			out->physical[out->n++] = all[i];
	}
	usable = out->n;
	for (; usable && out->n < show && out->n < MAX_DEVICE; out->n++)
		out->physical[out->n] = out->physical[out->n - usable];
	return out->n ? LMD_OK
		      : lmd_fail(err, LMD_NOTFOUND,
				 "vulkan: none of %u devices has Vulkan 1.2 with buffer addresses and "
				 "timeline semaphores",
				 n);
}

/* ---- memory ---- */

static bool has_extension(const struct vkb_instance *in, VkPhysicalDevice d, const char *name)
{
	VkExtensionProperties all[512];
	uint32_t n = LMD_LEN(all);

	if (in->EnumerateDeviceExtensionProperties(d, NULL, &n, all) < 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(all[i].extensionName, name))
			return true;
	}
	return false;
}

/* Alignment of host memory that the device can import; 0: it cannot. */
static uint64_t import_align(const struct vkb_instance *in, VkPhysicalDevice d)
{
	VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
	VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
					 .pNext = &host};

	if (!has_extension(in, d, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
		return 0;
	in->GetPhysicalDeviceProperties2(d, &p);
	return host.minImportedHostPointerAlignment;
}

/* The memory type with the most of the wanted properties, in the greatest heap; must has them all. */
static bool pick(const VkPhysicalDeviceMemoryProperties *m, VkMemoryPropertyFlags must,
		 VkMemoryPropertyFlags want, uint32_t *out)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < m->memoryTypeCount; i++) {
		VkMemoryPropertyFlags f = m->memoryTypes[i].propertyFlags;
		uint64_t size = m->memoryHeaps[m->memoryTypes[i].heapIndex].size;
		uint64_t score = (size >> 10) * 4 + (uint64_t)__builtin_popcount(f & want);

		if ((f & must) != must || (f & VK_MEMORY_PROPERTY_PROTECTED_BIT) || score < best)
			continue;
		if (score == best && best)
			continue;
		best = score;
		*out = i;
	}
	return best != 0;
}

static enum lmd_status pick_types(struct vkb_dev *dev, struct lmd_error *err)
{
	const VkMemoryPropertyFlags host =
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkMemoryPropertyFlags got;

	if (!pick(&dev->memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, dev->set.staging ? 0 : host,
		  &dev->type_of[VKB_DEVICE]) ||
	    (!pick(&dev->memory, host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0,
		   &dev->type_of[VKB_HOST]) &&
	     !pick(&dev->memory, host, 0, &dev->type_of[VKB_HOST])))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"vulkan: the device has no memory of its own or none that is shared "
				"with the host");
	got = dev->memory.memoryTypes[dev->type_of[VKB_DEVICE]].propertyFlags;
	dev->mappable = (got & host) == host && !dev->set.staging;
	return LMD_OK;
}

static uint64_t heap_bytes(const VkPhysicalDeviceMemoryProperties *m)
{
	uint32_t type = 0;

	return pick(m, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &type)
		       ? m->memoryHeaps[m->memoryTypes[type].heapIndex].size
		       : 0;
}

/* What the process may take of the device's heap: the driver's budget, if it tells one. */
static uint64_t free_bytes(const struct vkb_instance *in, VkPhysicalDevice d,
			   const VkPhysicalDeviceMemoryProperties *m)
{
	VkPhysicalDeviceMemoryBudgetPropertiesEXT b = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
	VkPhysicalDeviceMemoryProperties2 m2 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &b};
	uint32_t type = 0, heap;

	if (!pick(m, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &type))
		return 0;
	heap = m->memoryTypes[type].heapIndex;
	if (!has_extension(in, d, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME))
		return m->memoryHeaps[heap].size;
	in->GetPhysicalDeviceMemoryProperties2(d, &m2);
	return b.heapBudget[heap] > b.heapUsage[heap] ? b.heapBudget[heap] - b.heapUsage[heap] : 0;
}

/* ---- describing ---- */

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	struct vkb_instance in;
	struct found f = {.n = 0};
	struct lmd_error err = {.text = ""};
	struct vkb_settings set;
	enum lmd_status st = vkb_settings_read(&set, NULL);

	(void)host;
	if (st != LMD_OK) /* opening reports it */
		set = (struct vkb_settings){0};
	st = vkb_instance_open(&in, &err);
	if (st == LMD_OK)
		st = find(&in, set.devices, &f, &err);
	if (n)
		(void)snprintf(why, n, "%s", st == LMD_OK ? "" : err.text);
	for (uint32_t i = 0; i < f.n && i < cap; i++) {
		VkPhysicalDeviceMemoryProperties2 m = {
			.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
		struct described d;
		struct lmd_device_info info = {
			.caps = LMD_DEV_GRAPH, /* not SAMPLE, which sorts the vocabulary */
			.act_dtype = LMD_DTYPE_F32,
			.page_tokens = 32,
			.kv_dtype = LMD_DTYPE_F16,
		};

		describe(&in, f.physical[i], &d);
		in.GetPhysicalDeviceMemoryProperties2(f.physical[i], &m);
		info.memory_bytes = heap_bytes(&m.memoryProperties);
		info.free_bytes = free_bytes(&in, f.physical[i], &m.memoryProperties);
		(void)snprintf(info.name, sizeof(info.name), "%.60s", d.p.properties.deviceName);
		for (int j = 0; j < 16; j++)
			(void)snprintf(info.id + 2 * j, sizeof(info.id) - 2 * (size_t)j, "%02x",
				       d.p11.deviceUUID[j]);
		LMD_PUT((char *)out + (size_t)i * out->struct_size, &info);
	}
	vkb_instance_close(&in);
	return f.n;
}

/* ---- opening ---- */

static void log_counts(const struct vkb_dev *dev)
{
	const struct vkb_counts *n = &dev->counts;
	unsigned long long made = 0;

	for (const struct vkb_pipeline *p = dev->pipelines; p; p = p->next)
		made += p->handle != VK_NULL_HANDLE;
	if (dev->set.counts)
		dev->host->log(
			dev->host->ctx, "vulkan", LMD_LOG_WARN,
			"%s: steps=%llu submissions=%llu barriers=%llu dispatches=%llu pipelines=%llu",
			dev->name, (unsigned long long)n->steps, (unsigned long long)n->submissions,
			(unsigned long long)n->barriers, (unsigned long long)n->dispatches, made);
}

static void close_device(void *state)
{
	struct vkb_dev *dev = state;

	if (dev->handle) {
		log_counts(dev);
		(void)dev->fn.DeviceWaitIdle(dev->handle);
		vkb_queues_close(dev);
		vkb_pipelines_close(dev);
		vkb_sites_close(dev);
		vkb_memory_close(dev);
		dev->fn.DestroyDevice(dev->handle, NULL);
		dev->handle = NULL;
	}
	vkb_instance_close(&dev->in);
	(void)pthread_mutex_destroy(&dev->lock);
}

/* The priority of the queue among those of all programs. */
static enum lmd_status check_priority(const struct vkb_dev *dev, struct lmd_error *err)
{
	if (!dev->set.priority ||
	    has_extension(&dev->in, dev->physical, VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME))
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"vulkan: LLAMAD_VULKAN: priority=%u: the driver of %s has no "
			VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME,
			dev->set.priority, dev->name);
}

static enum lmd_status make_device(struct vkb_dev *dev, struct lmd_error *err)
{
	static const VkQueueGlobalPriorityKHR levels[] = {
		VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR, VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR,
		VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR};
	const VkDeviceQueueGlobalPriorityCreateInfoKHR global = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
		.globalPriority = levels[dev->set.priority],
	};
	const float priority = 0.5f;
	const VkDeviceQueueCreateInfo queue = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.pNext = dev->set.priority ? &global : NULL,
		.queueFamilyIndex = dev->family,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	VkPhysicalDeviceVulkan12Features f12 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.bufferDeviceAddress = VK_TRUE,
		.timelineSemaphore = VK_TRUE,
	};
	VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
		.shaderIntegerDotProduct = VK_TRUE,
	};
	const char *extensions[4];
	uint32_t n = 0;
	VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &f12,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue,
		.ppEnabledExtensionNames = extensions,
	};
	enum lmd_status st = check_priority(dev, err);
	VkResult r;

	if (st != LMD_OK)
		return st;
	if (dev->set.priority)
		extensions[n++] = VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME;
	if (dev->has_budget)
		extensions[n++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
	if (dev->import_align)
		extensions[n++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	if (dev->has_dot) {
		extensions[n++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
		f12.pNext = &dot;
	}
	info.enabledExtensionCount = n;
	r = dev->in.CreateDevice(dev->physical, &info, NULL, &dev->handle);
	if (r != VK_SUCCESS) {
		dev->handle = NULL;
		return vkb_fail(err, r, "opening the device");
	}
	st = vkb_functions_load(&dev->in, dev->handle, &dev->fn, err);
	if (st == LMD_OK) {
		dev->fn.GetDeviceQueue(dev->handle, dev->family, 0, &dev->queue);
		if (dev->import_align)
			dev->host_pointer =
				(PFN_vkGetMemoryHostPointerPropertiesEXT)dev->in.GetDeviceProcAddr(
					dev->handle, "vkGetMemoryHostPointerPropertiesEXT");
		return LMD_OK;
	}
	if (dev->fn.DestroyDevice)
		dev->fn.DestroyDevice(dev->handle, NULL);
	dev->handle = NULL; /* so that closing calls none of the missing functions */
	return st;
}

static bool has_dot(const struct vkb_instance *in, VkPhysicalDevice d)
{
	VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
	VkPhysicalDeviceFeatures2 f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
				       .pNext = &dot};

	if (!has_extension(in, d, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
		return false;
	in->GetPhysicalDeviceFeatures2(d, &f);
	return dot.shaderIntegerDotProduct;
}

/* Multiply-adds of a submission: some tenths of a second on a weak GPU that is a part of a processor.
 * Other programs draw between two submissions, and a watchdog ends those that take seconds. */
#define WORK 20000000000u

#define SHARES 8u
#define SPLIT 8u                 /* lanes of a GPU that share an output: they read 128 bytes or more */

/* A driver on a CPU gains nothing from neighbouring addresses, but from words that all lanes read. */
static void choose_shaders(struct vkb_dev *dev)
{
	VkPhysicalDeviceSubgroupProperties sub = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
	VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
					 .pNext = &sub};
	VkPhysicalDeviceType type;
	bool on_cpu, broadcasts;

	dev->in.GetPhysicalDeviceProperties2(dev->physical, &p);
	type = p.properties.deviceType;
	on_cpu = type == VK_PHYSICAL_DEVICE_TYPE_CPU;
	dev->most_work = dev->set.work ? dev->set.work * 1000000
			 : on_cpu      ? WORK / 10
			 : type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 10 * WORK
									: WORK;
	dev->has_dot = dev->set.dot && has_dot(&dev->in, dev->physical);
	dev->split = dev->set.split ? dev->set.split : on_cpu ? 1 : SPLIT;
	dev->tile = dev->set.tile ? dev->set.tile == 1 : !on_cpu;
	dev->shares = dev->set.shares ? dev->set.shares : on_cpu ? 1 : SHARES;
	broadcasts = on_cpu && sub.subgroupSize >= 8 &&
		     (sub.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
		     (sub.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT);
	dev->product8 = dev->has_dot ? VKB_product8_dot : VKB_product8;
	if (broadcasts && dev->split == 1)
		dev->product8 = VKB_product8_sub;
	dev->attn_fast = broadcasts && dev->shares == 1 ? VKB_attn_fast_sub : VKB_attn_fast;
}

static enum lmd_status choose(struct vkb_dev *dev, uint32_t index, struct lmd_error *err)
{
	VkPhysicalDeviceMemoryProperties2 m = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
	VkPhysicalDeviceMaintenance3Properties p3 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
	VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
					 .pNext = &p3};
	struct found f;
	enum lmd_status st = find(&dev->in, dev->set.devices, &f, err);

	if (st == LMD_OK && index >= f.n)
		st = lmd_fail(err, LMD_NOTFOUND, "vulkan: device %u does not exist, there are %u", index,
			      f.n);
	if (st != LMD_OK)
		return st;
	dev->physical = f.physical[index];
	dev->family = family_of(&dev->in, dev->physical);
	dev->in.GetPhysicalDeviceProperties2(dev->physical, &p);
	dev->in.GetPhysicalDeviceMemoryProperties2(dev->physical, &m);
	dev->memory = m.memoryProperties;
	dev->max_allocation = p3.maxMemoryAllocationSize;
	if (dev->set.piece && dev->set.piece < dev->max_allocation)
		dev->max_allocation = dev->set.piece;
	(void)snprintf(dev->name, sizeof(dev->name), "%.60s", p.properties.deviceName);
	dev->has_budget = has_extension(&dev->in, dev->physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
	dev->import_align = dev->set.import ? import_align(&dev->in, dev->physical) : 0;
	choose_shaders(dev);
	return pick_types(dev, err);
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	enum lmd_status st;

	dev->host = host;
	(void)pthread_mutex_init(&dev->lock, NULL);
	st = vkb_settings_read(&dev->set, err);
	if (st == LMD_OK && p->attention == LMD_ATTENTION_HALF)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "vulkan: attention in half precision is not available");
	if (st == LMD_OK && p->activations > LMD_ACTIVATIONS_INT8)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "vulkan: activations of 16 bits are not available; use int8 or f32");
	if (st == LMD_OK)
		st = device_exact_refuse(p, "vulkan", err);
	dev->int8 = p->activations != LMD_ACTIVATIONS_F32;
	if (st == LMD_OK)
		st = vkb_instance_open(&dev->in, err);
	if (st == LMD_OK)
		st = choose(dev, p->index, err);
	if (st == LMD_OK)
		st = make_device(dev, err);
	if (st == LMD_OK)
		st = vkb_pipelines_open(dev, err);
	if (st == LMD_OK)
		st = vkb_queue_make(dev, &dev->own, err);
	if (st == LMD_OK)
		st = vkb_alloc(dev, VKB_DEVICE, VKB_MAX_SEQ * 4ull, &dev->chained, err);
	if (st == LMD_OK)
		st = vkb_points_open(dev, err);
	if (st != LMD_OK)
		close_device(dev);
	return st;
}

/* Without the extension, what this process has taken is all that is known. */
static enum lmd_status memory(void *state, uint64_t *total, uint64_t *free_bytes,
			      struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	uint32_t heap = dev->memory.memoryTypes[dev->type_of[VKB_DEVICE]].heapIndex;
	VkPhysicalDeviceMemoryBudgetPropertiesEXT b = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
	VkPhysicalDeviceMemoryProperties2 m = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
		.pNext = dev->has_budget ? &b : NULL};
	uint64_t used;

	(void)err;
	dev->in.GetPhysicalDeviceMemoryProperties2(dev->physical, &m);
	*total = dev->memory.memoryHeaps[heap].size;
	if (dev->has_budget) {
		*free_bytes = b.heapBudget[heap] > b.heapUsage[heap]
				      ? b.heapBudget[heap] - b.heapUsage[heap]
				      : 0;
		return LMD_OK;
	}
	used = vkb_used(dev);
	*free_bytes = used < *total ? *total - used : 0;
	return LMD_OK;
}

static const char *last_error(void *state)
{
	return ((struct vkb_dev *)state)->error.text;
}

const struct lmd_backend_ops vkb_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.memory = memory,
	.buffer_create = vkb_buffer_create,
	.buffer_destroy = vkb_buffer_destroy,
	.buffer_map = vkb_buffer_map,
	.buffer_unmap = vkb_buffer_unmap,
	.buffer_copy = vkb_buffer_copy,
	.weight_query = vkb_weight_query,
	.weight_load = vkb_weight_load,
	.weight_destroy = vkb_weight_destroy,
	.pool_query = vkb_pool_query,
	.pool_create = vkb_pool_create,
	.pool_op = vkb_pool_op,
	.pool_destroy = vkb_pool_destroy,
	.adapter_bind = vkb_adapter_bind,
	.op_support = vkb_op_support,
	.plan_query = vkb_plan_query,
	.plan_compile = vkb_plan_compile,
	.plan_run = vkb_plan_run,
	.plan_observe = vkb_plan_observe,
	.plan_destroy = vkb_plan_destroy,
	.queue_create = vkb_queue_create,
	.queue_destroy = vkb_queue_destroy,
	.event_create = vkb_event_create,
	.event_destroy = vkb_event_destroy,
	.event_record = vkb_event_record,
	.event_wait = vkb_event_wait,
	.queue_wait_event = vkb_queue_wait_event,
	.group_create = vkb_group_create,
	.group_destroy = vkb_group_destroy,
	.last_error = last_error,
};
