/* SPDX-License-Identifier: MIT
 *
 * The part of AMD's library that backend-hip calls, for tests: the functions of fake_cuda.c under HIP's names.  What
 * differs is here: devices have numbers instead of contexts, attributes have other ones, errors have names of their own, and
 * kernels of other devices see only what is written to fine-grained memory.  A device that was lost stays lost: no
 * context goes with its last user. */
#include "tests/gpu/fake.h"

enum { FINE_GRAINED = 1, ATTRIBUTE_PROCESSORS = 63, ATTRIBUTE_WARP = 87 };

/* HIP's function, which does what the other one does with the same arguments. */
#define AS(hip, cuda, params, args)                                                                \
	EXPORT int cuda params;                                                                    \
	EXPORT int hip params;                                                                     \
	EXPORT int hip params                                                                      \
	{                                                                                          \
		return cuda args;                                                                  \
	}

AS(hipInit, cuInit, (unsigned flags), (flags))
AS(hipDeviceGet, cuDeviceGet, (int *out, int index), (out, index))
AS(hipDeviceGetName, cuDeviceGetName, (char *out, int n, int dev), (out, n, dev))
AS(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *out, int n, int dev), (out, n, dev))
AS(hipDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * out, int dev), (out, dev))
AS(hipMemGetInfo, cuMemGetInfo_v2, (size_t * left, size_t *total), (left, total))
AS(hipFree, cuMemFree_v2, (uint64_t p), (p))
AS(hipHostMalloc, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags), (out, bytes, flags))
AS(hipHostFree, cuMemFreeHost, (void *p), (p))
AS(hipHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (uint64_t * out, void *p, unsigned flags),
   (out, p, flags))
AS(hipMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *s),
   (to, from, bytes, s))
AS(hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *s),
   (to, from, bytes, s))
AS(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, void *s),
   (to, from, bytes, s))
AS(hipMemsetD8Async, cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, void *s),
   (to, value, bytes, s))
AS(hipStreamCreateWithPriority, cuStreamCreateWithPriority,
   (void **out, unsigned flags, int priority), (out, flags, priority))
AS(hipStreamDestroy, cuStreamDestroy_v2, (void *s), (s))
AS(hipStreamSynchronize, cuStreamSynchronize, (void *s), (s))
AS(hipStreamWaitEvent, cuStreamWaitEvent, (void *s, void *e, unsigned flags), (s, e, flags))
AS(hipEventCreateWithFlags, cuEventCreate, (void **out, unsigned flags), (out, flags))
AS(hipEventDestroy, cuEventDestroy_v2, (void *e), (e))
AS(hipEventRecord, cuEventRecord, (void *e, void *s), (e, s))
AS(hipEventQuery, cuEventQuery, (void *e), (e))
AS(hipEventSynchronize, cuEventSynchronize, (void *e), (e))
AS(hipModuleLoadData, cuModuleLoadData, (void **out, const void *image), (out, image))
AS(hipModuleUnload, cuModuleUnload, (void *m), (m))
AS(hipModuleGetFunction, cuModuleGetFunction, (void **out, void *m, const char *name),
   (out, m, name))
AS(hipModuleLaunchKernel, cuLaunchKernel,
   (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *s, void **params, void **extra),
   (f, gx, gy, gz, bx, by, bz, shared, s, params, extra))
AS(hipStreamBeginCapture, cuStreamBeginCapture_v2, (void *s, int mode), (s, mode))
AS(hipStreamEndCapture, cuStreamEndCapture, (void *s, void **out), (s, out))
AS(hipGraphDestroy, cuGraphDestroy, (void *graph), (graph))
AS(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
   (void **out, void *graph, unsigned long long flags), (out, graph, flags))
AS(hipGraphExecDestroy, cuGraphExecDestroy, (void *graph), (graph))
AS(hipGraphLaunch, cuGraphLaunch, (void *graph, void *s), (graph, s))
AS(hipDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *out, int dev, int peer), (out, dev, peer))

/* ---- what differs ---- */

EXPORT int cuDeviceGetCount(int *out);
EXPORT int cuCtxSetCurrent(void *c);
EXPORT int cuCtxEnablePeerAccess(void *context, unsigned flags);
EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
			     size_t bytes, void *s);

/* The context of a device. */
static void *context_of(int dev)
{
	return (void *)(uintptr_t)(dev + 1);
}

EXPORT const char *hipGetErrorName(int code);
EXPORT const char *hipGetErrorName(int code)
{
	return code == OUT_OF_MEMORY ? "hipErrorOutOfMemory"
	       : code == NO_DEVICE   ? "hipErrorNoDevice"
	       : code == LOST        ? "hipErrorLaunchFailure"
				     : "hipErrorUnknown";
}

API(hipDriverGetVersion, int *out)
{
	*out = 70012345; /* 7.0 */
	return OK;
}

API(hipGetDeviceCount, int *out)
{
	int code = cuDeviceGetCount(out);

	return !code && !*out ? NO_DEVICE : code;
}

API(hipDeviceGetAttribute, int *out, int what, int dev)
{
	(void)dev;
	*out = what == ATTRIBUTE_WARP ? (int)fake.warp : what == ATTRIBUTE_PROCESSORS ? 2 : 0;
	return OK;
}

API(hipSetDevice, int dev)
{
	return dev >= 0 && (unsigned)dev < fake.devices ? cuCtxSetCurrent(context_of(dev)) : INVALID;
}

API(hipMalloc, uint64_t *out, size_t bytes)
{
	return fake_alloc(out, bytes, 0);
}

API(hipExtMallocWithFlags, uint64_t *out, size_t bytes, unsigned flags)
{
	return fake_alloc(out, bytes, flags == FINE_GRAINED && !fake.coarse);
}

API(hipDeviceEnablePeerAccess, int peer, unsigned flags)
{
	return cuCtxEnablePeerAccess(context_of(peer), flags);
}

API(hipMemcpyPeerAsync, uint64_t to, int to_dev, uint64_t from, int from_dev, size_t bytes, void *s)
{
	return cuMemcpyPeerAsync(to, context_of(to_dev), from, context_of(from_dev), bytes, s);
}
