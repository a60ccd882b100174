/* SPDX-License-Identifier: MIT
 *
 * The part of NVIDIA's driver library that backend-cuda calls, for tests: it runs kernels in the
 * emulation. Work is done when somebody waits for it.  Settings come from LLAMAD_FAKE_GPU,
 * separated by commas:
 *   devices=N  memory=BYTES  warp=32|64  order=forward|reverse|shuffled
 *   init=N         the driver does not start, with this error
 *   fail_alloc=N   the Nth allocation fails
 *   graphs=0       launches cannot be captured
 *   mma=0          the code that was loaded has no kernels with matrix instructions; 2: those of
 *                  RDNA 3, instead of NVIDIA's and CDNA's
 *   count=FILE     at the end, how often each kernel has run is appended to a file
 *   lose=N         the device is lost at the Nth launch, until nobody has a context; counting then
 *                  begins again
 *   peer=0         no device may use the memory of another one
 *   ahead=1        whenever the host waits, all other devices first run as far as they can
 *   fault=1        what a device writes is not seen with the word that tells of it: a race
 *   fault=fences, fault=barriers   in a build that looks for races within a launch, these order nothing
 *   fault=coarse   HIP gives no fine-grained memory, whatever is asked for
 *
 * Threads: one lock around everything. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/fake.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local unsigned current; /* device of the calling thread's context */

struct fake_settings fake = {.devices = 1, .warp = 32, .memory = 1ull << 30, .mma = 1};

/* ---- settings ---- */

static void fault(const char *which)
{
	if (!strcmp(which, "coarse"))
		fake.coarse = 1;
	else if (strcmp(which, "fences") != 0 && strcmp(which, "barriers") != 0)
		emu_peers_break();
	else
		emu_races_break(!strcmp(which, "fences"));
}

static void setting(const char *name, const char *value)
{
	if (!strcmp(name, "devices"))
		fake.devices = (unsigned)strtoul(value, NULL, 10) % (EMU_MOST_DEVICES + 1);
	else if (!strcmp(name, "memory"))
		fake.memory = strtoull(value, NULL, 10);
	else if (!strcmp(name, "warp"))
		fake.warp = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "init"))
		fake.init = atoi(value);
	else if (!strcmp(name, "fail_alloc"))
		fake.fail_alloc = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "lose"))
		fake.lose = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "graphs"))
		fake.no_graphs = !strtoul(value, NULL, 10);
	else if (!strcmp(name, "mma"))
		fake.mma = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(name, "count"))
		(void)snprintf(fake.count, sizeof(fake.count), "%s", value);
	else if (!strcmp(name, "peer"))
		fake.no_peer = !strtoul(value, NULL, 10);
	else if (!strcmp(name, "ahead"))
		fake.ahead = !!strtoul(value, NULL, 10);
	else if (!strcmp(name, "fault"))
		fault(value);
	else if (!strcmp(name, "order"))
		fake.order = !strcmp(value, "reverse")    ? EMU_REVERSE
			     : !strcmp(value, "shuffled") ? EMU_SHUFFLED
							  : EMU_FORWARD;
}

/* At the end of the program: what has run. */
static void __attribute__((destructor)) count(void)
{
	FILE *to = fake.count[0] ? fopen(fake.count, "a") : NULL;

	if (!to)
		return;
	emu_kernels_print(to);
	(void)fclose(to);
}

static void read_settings(void)
{
	const char *env = getenv("LLAMAD_FAKE_GPU");
	char text[256], *save = NULL;

	if (!env || strlen(env) >= sizeof(text))
		return;
	memcpy(text, env, strlen(env) + 1);
	for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '=');

		if (eq) {
			*eq = '\0';
			setting(p, eq + 1);
		}
	}
}

/* ---- memory: a block has its size in front and poison inside ---- */

enum memory { OF_HOST, COARSE, FINE };

static int allocate(void **out, size_t bytes, enum memory memory)
{
	size_t *p;

	if (++fake.n_alloc == fake.fail_alloc || fake.used + bytes > fake.memory)
		return OUT_OF_MEMORY;
	p = aligned_alloc(256, (bytes + 256 + 255) / 256 * 256);
	if (!p)
		return OUT_OF_MEMORY;
	*p = bytes;
	memset((char *)p + 256, 0xff, bytes);
	fake.used += bytes;
	*out = (char *)p + 256;
	if (memory != OF_HOST)
		emu_peers_alloc(current, *out, bytes, memory == FINE);
	return OK;
}

static void release(void *p)
{
	size_t *head = (size_t *)(void *)((char *)p - 256);

	if (!p)
		return;
	emu_peers_free(p);
	memset(p, 0xdb, *head); /* shows reads of freed memory */
	fake.used -= *head;
	free(head);
}

/* ---- the library ---- */

API(cuInit, unsigned flags)
{
	(void)flags;
	(void)pthread_mutex_lock(&fake_lock);
	if (!fake.ready)
		read_settings();
	fake.ready = !fake.init;
	(void)pthread_mutex_unlock(&fake_lock);
	return fake.init;
}

API(cuDriverGetVersion, int *out)
{
	*out = 13000;
	return OK;
}

API(cuGetErrorName, int code, const char **out)
{
	*out = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
	       : code == LOST        ? "CUDA_ERROR_LAUNCH_FAILED"
	       : code == 802         ? "CUDA_ERROR_SYSTEM_NOT_READY"
	       : code == 803         ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
				     : "CUDA_ERROR_UNKNOWN";
	return OK;
}

API(cuDeviceGetCount, int *out)
{
	*out = (int)fake.devices;
	return fake.ready ? OK : NOT_INITIALISED;
}

API(cuDeviceGet, int *out, int index)
{
	*out = index;
	return (unsigned)index < fake.devices ? OK : INVALID;
}

API(cuDeviceGetName, char *out, int n, int dev)
{
	(void)snprintf(out, (size_t)n, "emulated GPU %d", dev);
	return OK;
}

API(cuDeviceGetPCIBusId, char *out, int n, int dev)
{
	(void)snprintf(out, (size_t)n, "0000:%02x:00.0", dev + 1);
	return OK;
}

API(cuDeviceTotalMem_v2, size_t *out, int dev)
{
	(void)dev;
	*out = fake.memory;
	return OK;
}

API(cuDeviceGetAttribute, int *out, int what, int dev)
{
	(void)dev;
	*out = what == 10 ? (int)fake.warp : what == 16 ? 2 : what == 75 ? 9 : 0;
	return OK;
}

API(cuDevicePrimaryCtxRetain, void **out, int dev)
{
	*out = (void *)(uintptr_t)(dev + 1);
	(void)pthread_mutex_lock(&fake_lock);
	fake.n_context++;
	(void)pthread_mutex_unlock(&fake_lock);
	return OK;
}

API(cuDevicePrimaryCtxRelease_v2, int dev)
{
	(void)dev;
	(void)pthread_mutex_lock(&fake_lock);
	if (fake.n_context && !--fake.n_context) {
		memset(fake.enabled, 0, sizeof(fake.enabled)); /* goes with the contexts */
		emu_peers_forget();
		if (fake.lost)
			fake.n_launch = 0;
		fake.lost = 0;
	}
	(void)pthread_mutex_unlock(&fake_lock);
	return OK;
}

API(cuCtxSetCurrent, void *c)
{
	current = c ? (unsigned)(uintptr_t)c - 1 : 0;
	LOCKED(fake.lost ? LOST : OK);
}

API(cuMemGetInfo_v2, size_t *f, size_t *total)
{
	(void)pthread_mutex_lock(&fake_lock);
	*total = fake.memory;
	*f = fake.memory - fake.used;
	(void)pthread_mutex_unlock(&fake_lock);
	return OK;
}

int fake_alloc(uint64_t *out, size_t bytes, int fine)
{
	void *p = NULL;
	int code;

	(void)pthread_mutex_lock(&fake_lock);
	code = allocate(&p, bytes, fine ? FINE : COARSE);
	(void)pthread_mutex_unlock(&fake_lock);
	*out = (uint64_t)(uintptr_t)p;
	return code;
}

API(cuMemAlloc_v2, uint64_t *out, size_t bytes)
{
	return fake_alloc(out, bytes, 1);
}

API(cuMemFree_v2, uint64_t p)
{
	(void)pthread_mutex_lock(&fake_lock);
	release((void *)(uintptr_t)p);
	(void)pthread_mutex_unlock(&fake_lock);
	return OK;
}

API(cuMemHostAlloc, void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	LOCKED(allocate(out, bytes, OF_HOST));
}

API(cuMemFreeHost, void *p)
{
	return cuMemFree_v2((uint64_t)(uintptr_t)p);
}

API(cuMemHostGetDevicePointer_v2, uint64_t *out, void *p, unsigned flags)
{
	(void)flags;
	*out = (uint64_t)(uintptr_t)p;
	return OK;
}

API(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *s)
{
	struct work w = {.kind = COPY, .to = (char *)(uintptr_t)to, .from = from, .bytes = bytes};

	LOCKED(fake_submit(s, &w));
}

API(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *s)
{
	struct work w = {
		.kind = COPY, .to = to, .from = (const char *)(uintptr_t)from, .bytes = bytes};

	LOCKED(fake_submit(s, &w));
}

API(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *s)
{
	return cuMemcpyHtoDAsync_v2(to, (const void *)(uintptr_t)from, bytes, s);
}

API(cuMemsetD8Async, uint64_t to, unsigned char value, size_t bytes, void *s)
{
	struct work w = {.kind = FILL, .to = (char *)(uintptr_t)to, .value = value, .bytes = bytes};

	LOCKED(fake_submit(s, &w));
}

API(cuStreamCreateWithPriority, void **out, unsigned flags, int priority)
{
	struct stream *s = calloc(1, sizeof(*s));

	(void)flags;
	(void)priority;
	if (!s)
		return OUT_OF_MEMORY;
	s->end = &s->first;
	s->device = current;
	*out = s;
	(void)pthread_mutex_lock(&fake_lock);
	s->next = fake.streams;
	fake.streams = s;
	(void)pthread_mutex_unlock(&fake_lock);
	return OK;
}

static int sync_stream(struct stream *s)
{
	fake_run_to(s, NULL);
	return fake.lost ? LOST : OK;
}

API(cuStreamSynchronize, void *s)
{
	LOCKED(sync_stream(s));
}

static int destroy_stream(struct stream *s)
{
	struct stream **at = &fake.streams;

	fake_run_to(s, NULL);
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	free(s);
	return OK;
}

API(cuStreamDestroy_v2, void *s)
{
	LOCKED(destroy_stream(s));
}

API(cuEventCreate, void **out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof(struct mark));
	return *out ? OK : OUT_OF_MEMORY;
}

static int sync_mark(struct mark *m)
{
	fake_run_to(NULL, m);
	return fake.lost ? LOST : OK;
}

API(cuEventSynchronize, void *e)
{
	LOCKED(sync_mark(e));
}

/* What still waits for it does not any more. */
static int destroy_mark(struct mark *m)
{
	fake_run_to(NULL, m);
	for (struct stream *s = fake.streams; s; s = s->next) {
		for (struct work *w = s->first; w; w = w->next) {
			if (w->kind == WAIT && w->mark == m)
				w->mark = NULL;
		}
	}
	free(m);
	return OK;
}

API(cuEventDestroy_v2, void *e)
{
	LOCKED(destroy_mark(e));
}

static int record(struct mark *m, void *s)
{
	struct work w = {.kind = RECORD, .mark = m};
	int code;

	fake_run_to(NULL, m);
	code = fake_submit(s, &w);
	if (!code) {
		m->stream = s;
		m->n_record++;
	}
	return code;
}

API(cuEventRecord, void *e, void *s)
{
	LOCKED(record(e, s));
}

/* Asking makes some progress, as time would. */
static int query(struct mark *m)
{
	fake_go_on(m);
	if (fake.lost)
		return LOST;
	return m->stream ? NOT_READY : OK;
}

API(cuEventQuery, void *e)
{
	LOCKED(query(e));
}

static int wait_event(void *s, struct mark *m)
{
	struct work w = {.kind = WAIT, .mark = m, .record = m->n_record};

	return m->stream && m->stream != s ? fake_submit(s, &w) : OK;
}

API(cuStreamWaitEvent, void *s, void *e, unsigned flags)
{
	(void)flags;
	LOCKED(wait_event(s, e));
}

/* ---- several devices ---- */

API(cuDeviceCanAccessPeer, int *out, int dev, int peer)
{
	*out = dev != peer && !fake.no_peer;
	return OK;
}

static int enable_peer(unsigned peer)
{
	int *at = peer < fake.devices ? &fake.enabled[current][peer] : NULL;

	if (!at || fake.no_peer || peer == current)
		return NO_PEER;
	if (*at)
		return ALREADY_ENABLED;
	*at = 1;
	emu_peers_enable(current, peer);
	return OK;
}

API(cuCtxEnablePeerAccess, void *context, unsigned flags)
{
	(void)flags;
	LOCKED(enable_peer((unsigned)(uintptr_t)context - 1));
}

static int copy_peer(struct work *w, const void *to_context, const void *from_context, void *s)
{
	if (emu_peers_owner(w->to) + 1 != (uintptr_t)to_context ||
	    emu_peers_owner(w->from) + 1 != (uintptr_t)from_context)
		return INVALID;
	return fake_submit(s, w);
}

API(cuMemcpyPeerAsync, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,
    void *s)
{
	struct work w = {.kind = COPY,
			 .to = (char *)(uintptr_t)to,
			 .from = (const char *)(uintptr_t)from,
			 .bytes = bytes};

	LOCKED(copy_peer(&w, to_context, from_context, s));
}

/* ---- kernels ---- */

API(cuModuleLoadData, void **out, const void *image)
{
	*out = (void *)(uintptr_t)image;
	return OK;
}

API(cuModuleUnload, void *m)
{
	(void)m;
	return OK;
}

/* Does the code that was loaded have a kernel?  All kernels but those for other matrix instructions. */
static int has_kernel(const char *name)
{
	static const char *const units[] = {"gpu_tile_", "gpu_mfma_", "gpu_wmma_"};

	if (!strncmp(name, "gpu_wgmma_", 10))
		return fake.mma == 1 && fake.warp == 32;

	for (unsigned i = 0; i < 3; i++) {
		if (!strncmp(name, units[i], 9))
			return fake.mma == (i == 2 ? 2 : 1);
	}
	return 1;
}

API(cuModuleGetFunction, void **out, void *m, const char *name)
{
	(void)m;
	*out = has_kernel(name) ? (void *)(uintptr_t)emu_kernel_find(name) : NULL;
	return *out ? OK : NOT_FOUND;
}

API(cuLaunchKernel, void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void *s, void **params, void **extra)
{
	const struct emu_kernel *k = f;
	struct work w = {.kind = LAUNCH, .kernel = k};

	(void)extra;
	if (gz != 1 || by != 1 || bz != 1 || !gx || !gy || !bx || bx > 1024 ||
	    shared > GPU_SHARED_BYTES || k->args_bytes > sizeof(w.args))
		return INVALID;
	w.launch = (struct emu_launch){.kernel = k->run,
				       .grid_x = gx,
				       .grid_y = gy,
				       .threads = bx,
				       .shared = shared,
				       .warp = fake.warp,
				       .order = (enum emu_order)fake.order};
	memcpy(w.args, params[0], k->args_bytes);
	LOCKED(fake_submit(s, &w));
}
