/* SPDX-License-Identifier: MIT
 *
 * rates cuda|hip MEGABYTES: rates of copies on a GPU and from and to it, and the time of a small
 * piece of work, one NAME=VALUE a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/backend/gpu/driver.h"

#define TIMES 10

static const char *const cuda_names[] = {"libcuda.so.1", NULL};
static const char *const hip_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
					NULL};
static const struct gpu_vendor cuda = {.name = "cuda", .sonames = cuda_names};
static const struct gpu_vendor hip = {.name = "hip", .sonames = hip_names, .hip = true};

static const struct gpu_driver *drv;

static void check(int code, const char *what)
{
	if (!code)
		return;
	(void)fprintf(stderr, "rates: %s: %s\n", what, gpu_driver_code(drv, code));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct memory {
	gpu_ptr a, b;
	void *host;
	size_t bytes;
	gpu_stream s;
};

static int on_device(const struct memory *m)
{
	return drv->copy(m->a, m->b, m->bytes, m->s);
}

static int to_device(const struct memory *m)
{
	return drv->upload(m->a, m->host, m->bytes, m->s);
}

static int from_device(const struct memory *m)
{
	return drv->download(m->host, m->b, m->bytes, m->s);
}

static int small(const struct memory *m)
{
	return drv->fill(m->a, 0, 4, m->s);
}

/* Seconds of one call among many. */
static double measure(const struct memory *m, int (*fn)(const struct memory *m), int times)
{
	double start = 0;

	for (int i = -1; i < times; i++) {
		if (!i)
			start = now();
		check(fn(m), "a copy");
		if (i < 0)
			check(drv->stream_sync(m->s), "a copy");
	}
	check(drv->stream_sync(m->s), "a copy");
	return (now() - start) / times;
}

static void open_device(bool is_hip)
{
	gpu_context context;
	char name[128] = "";
	int dev, version = 0;

	check(drv->device_get(&dev, 0), "the first device");
	if (is_hip) {
		check(drv->device_set(dev), "the first device");
	} else {
		check(drv->context_retain(&context, dev), "a context");
		check(drv->context_set(context), "a context");
	}
	check(drv->device_name(name, sizeof(name), dev), "its name");
	check(drv->driver_version(&version), "the driver's version");
	for (char *p = name; *p; p++)
		*p = *p == ' ' ? '_' : *p;
	(void)printf("name=%s\ndriver=%d\n", name, version);
}

int main(int argc, char **argv)
{
	bool is_hip = argc == 3 && !strcmp(argv[1], "hip");
	struct memory m = {0};
	char why[160];

	if (argc != 3 || (!is_hip && strcmp(argv[1], "cuda") != 0) || atol(argv[2]) < 1) {
		(void)fprintf(stderr, "usage: rates cuda|hip MEGABYTES\n");
		return 2;
	}
	drv = gpu_driver_load(is_hip ? &hip : &cuda, why, sizeof(why));
	if (!drv) {
		(void)fprintf(stderr, "rates: %s\n", why);
		return 1;
	}
	open_device(is_hip);
	m.bytes = (size_t)atol(argv[2]) << 20;
	check(drv->stream_create(&m.s, 1, 0), "a stream");
	check(drv->alloc(&m.a, m.bytes), "memory");
	check(drv->alloc(&m.b, m.bytes), "memory");
	check(drv->host_alloc(&m.host, m.bytes, 0), "pinned memory");
	memset(m.host, 1, m.bytes);
	/* a copy on the device reads and writes */
	(void)printf("copy_gb_s=%.1f\n", 2e-9 * (double)m.bytes / measure(&m, on_device, TIMES));
	(void)printf("upload_gb_s=%.1f\n", 1e-9 * (double)m.bytes / measure(&m, to_device, TIMES));
	(void)printf("download_gb_s=%.1f\n",
		     1e-9 * (double)m.bytes / measure(&m, from_device, TIMES));
	(void)printf("small_work_us=%.2f\n", 1e6 * measure(&m, small, 1000));
	return 0;
}
