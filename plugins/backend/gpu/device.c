/* SPDX-License-Identifier: MIT
 *
 * Devices: what there is, opening and closing, and the backend's table of functions. */
#include <stdio.h>
#include <string.h>

#include "backend/common/exact.h"
#include "backend/common/settings.h"
#include "gpu.h"

#define N_CHAINED 65536u /* sequence slots; more than a step can have */

static const char *const kernel_names[] = {
#define GPU_NAME(name, args) "gpu_" #name,
	GPU_KERNELS(GPU_NAME) GPU_MATRIX_KERNELS(GPU_NAME)
#undef GPU_NAME
};

const char *gpu_kernel_name(uint32_t kernel)
{
	return kernel < GPU_N_KERNEL ? kernel_names[kernel] : NULL;
}

enum lmd_status gpu_check(struct gpu_dev *dev, int code, const char *what, struct lmd_error *err)
{
	if (!code)
		return LMD_OK;
	dev->lost = true;
	return lmd_fail(err, LMD_DEVICE, "%s: device %u: %s failed: %s", dev->vendor->name,
			dev->index, what, gpu_driver_code(dev->drv, code));
}

enum lmd_status gpu_enter(struct gpu_dev *dev, struct lmd_error *err)
{
	int code;

	if (dev->lost)
		return lmd_fail(err, LMD_DEVICE, "%s: device %u was lost", dev->vendor->name,
				dev->index);
	code = dev->vendor->hip ? dev->drv->device_set(dev->number)
				: dev->drv->context_set(dev->context);
	return gpu_check(dev, code, "entering the device", err);
}

/* ---- what there is ---- */

static bool describe(const struct gpu_driver *d, int i, struct lmd_device_info *info)
{
	size_t bytes = 0;
	int dev;

	if (d->device_get(&dev, i) || d->device_name(info->name, sizeof(info->name), dev) ||
	    d->device_memory(&bytes, dev))
		return false;
	(void)d->device_bus(info->id, sizeof(info->id), dev);
	gpu_describe(d, dev, info->id, info->name, sizeof(info->name));
	info->memory_bytes = info->free_bytes = bytes;
	info->act_dtype = LMD_DTYPE_F32;
	info->page_tokens = 32;
	info->kv_dtype = LMD_DTYPE_F16;
	info->caps = LMD_DEV_SAMPLE | (d->peer_copy || d->peer_copy_hip ? LMD_DEV_PEER : 0);
	return true;
}

int gpu_probe(const struct lmd_host *host, char *why, size_t n)
{
	(void)host;
	return gpu_driver_find(&gpu_vendor, why, n);
}

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	const struct gpu_driver *d = gpu_driver_load(&gpu_vendor, why, n);
	uint32_t found = 0;
	int count = 0, code;

	(void)host;
	if (!d)
		return 0;
	code = d->device_count(&count);
	if (code || !count) {
		(void)snprintf(why, n, "the driver has no device: %s",
			       code ? gpu_driver_code(d, code) : "none is installed or visible");
		return 0;
	}
	for (int i = 0; i < count; i++) {
		struct lmd_device_info info = {.caps = 0};

		if (!describe(d, i, &info))
			break; /* numbers of devices have no gaps */
		if (found < cap)
			LMD_PUT((char *)out + (size_t)found * out->struct_size, &info);
		found++;
	}
	if (!found)
		(void)snprintf(why, n, "the driver does not describe its devices");
	return found;
}

/* ---- opening ---- */

static enum lmd_status find_device(struct gpu_dev *dev, uint32_t index, struct lmd_error *err)
{
	char why[160] = "";
	int count = 0, warp = 0, processors = 0, code;

	dev->drv = gpu_driver_load(&gpu_vendor, why, sizeof(why));
	if (!dev->drv)
		return lmd_fail(err, LMD_NOTFOUND, "%s: %s", gpu_vendor.name, why);
	code = dev->drv->device_count(&count);
	if (!code && index >= (uint32_t)count)
		return lmd_fail(err, LMD_NOTFOUND, "%s: device %u does not exist, there are %d",
				gpu_vendor.name, index, count);
	if (!code)
		code = dev->drv->device_get(&dev->number, (int)index);
	if (!code)
		code = dev->drv->device_attribute(&warp, gpu_vendor.attr_warp, dev->number);
	if (!code)
		code = dev->drv->device_attribute(&processors, gpu_vendor.attr_processors,
						  dev->number);
	if (!code && !dev->vendor->hip)
		code = dev->drv->context_retain(&dev->context, dev->number);
	if (code)
		return gpu_check(dev, code, "opening", err);
	if (warp != 32 && warp != 64)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: device %u has warps of %d threads, not 32 or 64",
				gpu_vendor.name, index, warp);
	dev->warp = (uint32_t)warp;
	dev->processors = (uint32_t)processors;
	return LMD_OK;
}

/* Kernels for matrix units, and the warps that they are written for.  Which of them a device has is what the
 * code has that its driver chose. */
static const struct matrix {
	uint32_t warp, first, end;
	bool flash;
} matrix[] = {
	{32, GPU_K_tile_q4_0, GPU_K_mfma_q4_0, true},
	{64, GPU_K_mfma_q4_0, GPU_K_wmma_q4_0, false},
	{32, GPU_K_wmma_q4_0, GPU_K_wgmma_f16, false},
};

static enum lmd_status find_kernels(struct gpu_dev *dev, uint32_t first, uint32_t end, bool *found,
				    struct lmd_error *err)
{
	for (uint32_t i = first; i < end; i++) {
		int code = dev->drv->module_function(&dev->kernels[i], dev->module, kernel_names[i]);

		*found = !code;
		if (code == GPU_CODE_NOT_FOUND && first >= GPU_N_PORTABLE)
			return LMD_OK;
		if (code)
			return lmd_fail(err, LMD_INTERNAL, "%s: there is no kernel %s: %s",
					gpu_vendor.name, kernel_names[i],
					gpu_driver_code(dev->drv, code));
	}
	return LMD_OK;
}

static enum lmd_status load_kernels(struct gpu_dev *dev, struct lmd_error *err)
{
	size_t bytes = 0;
	const void *image = gpu_vendor.image(&bytes);
	int code = dev->drv->module_load(&dev->module, image);
	const bool wgmma = dev->wgmma;
	bool found = false;
	enum lmd_status st;

	if (code)
		return lmd_fail(
			err, LMD_UNSUPPORTED,
			"%s: the driver does not take the kernels (%zu bytes) for device %u: %s",
			gpu_vendor.name, bytes, dev->index, gpu_driver_code(dev->drv, code));
	st = find_kernels(dev, 0, GPU_N_PORTABLE, &found, err);
	dev->tiles = GPU_NO_KERNEL;
	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(matrix); i++) {
		if (matrix[i].warp != dev->warp)
			continue;
		st = find_kernels(dev, matrix[i].first, matrix[i].end, &found, err);
		if (!found)
			continue;
		dev->tiles = matrix[i].first;
		dev->flash = matrix[i].flash && !dev->invariant;
		break;
	}
	if (st == LMD_OK && dev->wgmma)
		st = find_kernels(dev, GPU_K_wgmma_f16, GPU_N_KERNEL, &dev->wgmma, err);
	if (st == LMD_OK && wgmma && !dev->wgmma)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "%s: LLAMAD_GPU: wgmma=1: device %u has no such instructions, or the plugin has no "
			      "code for them (they need CUDA_TARGETS with 90a)",
			      gpu_vendor.name, dev->index);
	return st;
}

/* LLAMAD_GPU: what is not chosen by itself, since it never ran on a device. */
static enum lmd_status read_settings(struct gpu_dev *dev, struct lmd_error *err)
{
	struct host_mem_setting wgmma = {"wgmma", 1, 0};
	enum lmd_status st = host_mem_settings_read(gpu_vendor.name, "LLAMAD_GPU", &wgmma, 1, err);

	dev->wgmma = wgmma.value != 0;
	return st;
}

static void close_device(void *state)
{
	struct gpu_dev *dev = state;

	if (!dev->drv)
		return;
	dev->lost = false; /* frees what it can */
	if (gpu_enter(dev, NULL) == LMD_OK) {
		gpu_stage_fini(dev);
		gpu_adapter_fini(dev);
		gpu_free(dev, dev->chained);
		if (dev->stream)
			(void)dev->drv->stream_destroy(dev->stream);
		if (dev->module)
			(void)dev->drv->module_unload(dev->module);
	}
	if (!dev->vendor->hip && dev->context)
		(void)dev->drv->context_release(dev->number);
	dev->drv = NULL;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	enum lmd_status st;

	if (p->activations == LMD_ACTIVATIONS_INT16)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: activations of 16 bits are not available; use int8 or f32",
				gpu_vendor.name);
	if (p->activations > LMD_ACTIVATIONS_INT8)
		return lmd_fail(err, LMD_INVALID, "%s: unknown activations %u, known are 0..%u",
				gpu_vendor.name, p->activations, LMD_ACTIVATIONS_INT8);
	if (p->attention != LMD_ATTENTION_DEFAULT)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: attention in half precision",
				gpu_vendor.name);
	st = device_exact_open(p, gpu_vendor.name, err);
	if (st != LMD_OK)
		return st;
	*dev = (struct gpu_dev){.host = host,
				.vendor = &gpu_vendor,
				.index = p->index,
				.int8 = p->activations != LMD_ACTIVATIONS_F32,
				.exact = p->deterministic == LMD_DETERMINISTIC_EXACT,
				.invariant = p->deterministic == LMD_DETERMINISTIC_BATCH};
	(void)pthread_mutex_init(&dev->stage_lock, NULL);
	st = read_settings(dev, err);
	if (st == LMD_OK)
		st = find_device(dev, p->index, err);
	if (st == LMD_OK)
		st = gpu_enter(dev, err);
	if (st == LMD_OK)
		st = load_kernels(dev, err);
	if (st == LMD_OK)
		st = gpu_check(dev, dev->drv->stream_create(&dev->stream, 1, 0), "a stream", err);
	if (st == LMD_OK)
		st = gpu_alloc(dev, N_CHAINED * sizeof(int32_t), "sampled tokens", &dev->chained,
			       err);
	if (st != LMD_OK)
		close_device(dev);
	return st;
}

static const char *last_error(void *state)
{
	return ((struct gpu_dev *)state)->error.text;
}

const struct lmd_backend_ops gpu_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.memory = gpu_memory,
	.buffer_create = gpu_buffer_create,
	.buffer_destroy = gpu_buffer_destroy,
	.buffer_map = gpu_buffer_map,
	.buffer_unmap = gpu_buffer_unmap,
	.buffer_copy = gpu_buffer_copy,
	.weight_query = gpu_weight_query,
	.weight_load = gpu_weight_load,
	.weight_destroy = gpu_weight_destroy,
	.pool_query = gpu_pool_query,
	.pool_create = gpu_pool_create,
	.pool_op = gpu_pool_op,
	.pool_destroy = gpu_pool_destroy,
	.adapter_bind = gpu_adapter_bind,
	.op_support = gpu_op_support,
	.plan_query = gpu_plan_query,
	.plan_compile = gpu_plan_compile,
	.plan_run = gpu_plan_run,
	.plan_observe = gpu_plan_observe,
	.plan_destroy = gpu_plan_destroy,
	.queue_create = gpu_queue_create,
	.queue_destroy = gpu_queue_destroy,
	.event_create = gpu_event_create,
	.event_destroy = gpu_event_destroy,
	.event_record = gpu_event_record,
	.event_wait = gpu_event_wait,
	.queue_wait_event = gpu_queue_wait_event,
	.group_create = gpu_devgroup_create,
	.group_destroy = gpu_devgroup_destroy,
	.last_error = last_error,
};
