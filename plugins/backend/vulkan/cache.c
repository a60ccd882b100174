/* SPDX-License-Identifier: MIT
 *
 * The driver's pipeline cache on disk: one file for each device and driver in the user's cache folder.
 * A file that is not exactly what this version wrote is ignored and written anew.  Without a folder
 * there is no file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vkb.h"

#define MAGIC      0x31636b76u   /* "vkc1" */
#define MAX_BYTES  (64u << 20)
#define PATH_BYTES 512u

struct head {
	uint32_t magic, vendor, device, driver;
	uint8_t uuid[VK_UUID_SIZE];
	uint64_t bytes, sum;
};

/* FNV-1a: finds damage, not malice; the folder belongs to the user. */
static uint64_t sum_of(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static bool describe(const struct vkb_dev *dev, char path[PATH_BYTES], struct head *h)
{
	VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
	const char *given = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char folder[PATH_BYTES - 80];
	int n, m;

	if (given && given[0] == '/')
		n = snprintf(folder, sizeof(folder), "%s", given);
	else if (home && home[0] == '/')
		n = snprintf(folder, sizeof(folder), "%s/.cache", home);
	else
		return false;
	if (n < 0 || (size_t)n >= sizeof(folder))
		return false;
	dev->in.GetPhysicalDeviceProperties2(dev->physical, &p);
	*h = (struct head){.magic = MAGIC,
			   .vendor = p.properties.vendorID,
			   .device = p.properties.deviceID,
			   .driver = p.properties.driverVersion};
	memcpy(h->uuid, p.properties.pipelineCacheUUID, VK_UUID_SIZE);
	n = snprintf(path, PATH_BYTES, "%s/llamad/vulkan-", folder);
	for (size_t i = 0; i < VK_UUID_SIZE; i++)
		n += snprintf(path + n, PATH_BYTES - (size_t)n, "%02x", h->uuid[i]);
	m = snprintf(path + n, PATH_BYTES - (size_t)n, ".bin");
	return m > 0 && (size_t)(n + m) < PATH_BYTES;
}

/* Reads a file that belongs to this device.  Returns its data, which the caller frees, or NULL. */
static void *read_file(const struct vkb_dev *dev, const char *path, const struct head *want,
		       size_t *bytes)
{
	FILE *f = fopen(path, "rbe");
	struct head h = {0};
	void *data = NULL;
	bool ok = f && fread(&h, sizeof(h), 1, f) == 1 && h.magic == want->magic &&
		  h.vendor == want->vendor && h.device == want->device && h.driver == want->driver &&
		  !memcmp(h.uuid, want->uuid, sizeof(h.uuid)) && h.bytes && h.bytes <= MAX_BYTES;

	if (ok)
		data = dev->host->alloc(dev->host->ctx, (size_t)h.bytes);
	ok = data && fread(data, (size_t)h.bytes, 1, f) == 1 && fgetc(f) == EOF &&
	     sum_of(data, (size_t)h.bytes) == h.sum;
	if (f)
		(void)fclose(f);
	if (!ok) {
		dev->host->free(dev->host->ctx, data);
		return NULL;
	}
	*bytes = (size_t)h.bytes;
	return data;
}

/* Writes the file under another name first, so that no other process sees a part of it. */
static void write_file(const char *path, const struct head *h, const void *data)
{
	char temp[PATH_BYTES + 32];
	const char *end = strrchr(path, '/');
	FILE *f;
	bool ok;

	(void)snprintf(temp, sizeof(temp), "%.*s", (int)(end - path), path);
	if (mkdir(temp, 0700) && errno != EEXIST)
		return;
	(void)snprintf(temp, sizeof(temp), "%s.%ld", path, (long)getpid());
	f = fopen(temp, "wbe");
	if (!f)
		return;
	ok = fwrite(h, sizeof(*h), 1, f) == 1 && fwrite(data, (size_t)h->bytes, 1, f) == 1;
	ok = !fclose(f) && ok;
	if (!ok || rename(temp, path))
		(void)unlink(temp);
}

void vkb_cache_open(struct vkb_dev *dev)
{
	VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
	char path[PATH_BYTES];
	struct head h;
	void *data = NULL;

	if (dev->set.cache && describe(dev, path, &h))
		data = read_file(dev, path, &h, &info.initialDataSize);
	info.pInitialData = data;
	if (dev->fn.CreatePipelineCache(dev->handle, &info, NULL, &dev->cache) != VK_SUCCESS)
		dev->cache = VK_NULL_HANDLE;
	dev->host->free(dev->host->ctx, data);
}

void vkb_cache_close(struct vkb_dev *dev, bool changed)
{
	char path[PATH_BYTES];
	struct head h;
	size_t n = 0;
	void *data;

	if (!dev->cache)
		return;
	if (changed && dev->set.cache && describe(dev, path, &h) &&
	    dev->fn.GetPipelineCacheData(dev->handle, dev->cache, &n, NULL) == VK_SUCCESS && n &&
	    n <= MAX_BYTES && (data = dev->host->alloc(dev->host->ctx, n))) {
		if (dev->fn.GetPipelineCacheData(dev->handle, dev->cache, &n, data) == VK_SUCCESS) {
			h.bytes = n;
			h.sum = sum_of(data, n);
			write_file(path, &h, data);
		}
		dev->host->free(dev->host->ctx, data);
	}
	dev->fn.DestroyPipelineCache(dev->handle, dev->cache, NULL);
	dev->cache = VK_NULL_HANDLE;
}
