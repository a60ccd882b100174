/* SPDX-License-Identifier: MIT
 *
 * driver.h - the vendor's driver library, opened at run time.  CUDA's driver API and HIP's module
 * API have the same functions with the same arguments, so one table serves both; nothing of a
 * vendor is linked and no header of theirs is needed.
 *
 * Threads: the table is written once, when the library is loaded. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_DRIVER_H
#define LLAMAD_PLUGINS_BACKEND_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/plugin.h"

typedef uint64_t gpu_ptr; /* address on the device */

/* Handles of the driver. */
typedef void *gpu_context, *gpu_module, *gpu_function, *gpu_stream, *gpu_mark;
typedef void *gpu_captured, *gpu_exec;

enum { GPU_CAPTURE_RELAXED = 2 };
enum { GPU_MARK_BLOCKING = 1, GPU_MARK_NO_TIMING = 2 };
enum { GPU_HOST_PORTABLE = 1, GPU_HOST_MAPPED = 2, GPU_HIP_FINE_GRAINED = 1 };
enum gpu_code {
	GPU_CODE_OK = 0,
	GPU_CODE_NOMEM = 2,
	GPU_CODE_NOT_FOUND = 500,
	GPU_CODE_NOT_READY = 600,
	GPU_CODE_PEER_ENABLED = 704
};

/* X(name, CUDA's symbol, HIP's symbol, arguments): functions that return a code. */
#define GPU_DRIVER_FUNCTIONS(X)                                                                    \
	X(init, "cuInit", "hipInit", (unsigned flags))                                             \
	X(driver_version, "cuDriverGetVersion", "hipDriverGetVersion", (int *out))                 \
	X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *out))                       \
	X(device_get, "cuDeviceGet", "hipDeviceGet", (int *out, int index))                        \
	X(device_name, "cuDeviceGetName", "hipDeviceGetName", (char *out, int n, int dev))         \
	X(device_bus, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", (char *out, int n, int dev))  \
	X(device_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t * out, int dev))      \
	X(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute",                       \
	  (int *out, int what, int dev))                                                           \
	X(memory_info, "cuMemGetInfo_v2", "hipMemGetInfo", (size_t * free, size_t * total))        \
	X(alloc, "cuMemAlloc_v2", "hipMalloc", (gpu_ptr * out, size_t bytes))                      \
	X(free, "cuMemFree_v2", "hipFree", (gpu_ptr p))                                            \
	X(host_alloc, "cuMemHostAlloc", "hipHostMalloc",                                           \
	  (void **out, size_t bytes, unsigned flags))                                              \
	X(host_free, "cuMemFreeHost", "hipHostFree", (void *p))                                    \
	X(host_address, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer",                 \
	  (gpu_ptr * out, void *p, unsigned flags))                                                \
	X(upload, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync",                                    \
	  (gpu_ptr to, const void *from, size_t bytes, gpu_stream s))                              \
	X(download, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                                  \
	  (void *to, gpu_ptr from, size_t bytes, gpu_stream s))                                    \
	X(copy, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync",                                      \
	  (gpu_ptr to, gpu_ptr from, size_t bytes, gpu_stream s))                                  \
	X(fill, "cuMemsetD8Async", "hipMemsetD8Async",                                             \
	  (gpu_ptr to, unsigned char value, size_t bytes, gpu_stream s))                           \
	X(stream_create, "cuStreamCreateWithPriority", "hipStreamCreateWithPriority",              \
	  (gpu_stream * out, unsigned flags, int priority))                                        \
	X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (gpu_stream s))                \
	X(stream_sync, "cuStreamSynchronize", "hipStreamSynchronize", (gpu_stream s))              \
	X(stream_wait, "cuStreamWaitEvent", "hipStreamWaitEvent",                                  \
	  (gpu_stream s, gpu_mark e, unsigned flags))                                              \
	X(mark_create, "cuEventCreate", "hipEventCreateWithFlags",                                 \
	  (gpu_mark * out, unsigned flags))                                                        \
	X(mark_destroy, "cuEventDestroy_v2", "hipEventDestroy", (gpu_mark e))                      \
	X(mark_record, "cuEventRecord", "hipEventRecord", (gpu_mark e, gpu_stream s))              \
	X(mark_query, "cuEventQuery", "hipEventQuery", (gpu_mark e))                               \
	X(mark_sync, "cuEventSynchronize", "hipEventSynchronize", (gpu_mark e))                    \
	X(module_load, "cuModuleLoadData", "hipModuleLoadData",                                    \
	  (gpu_module * out, const void *image))                                                   \
	X(module_unload, "cuModuleUnload", "hipModuleUnload", (gpu_module m))                      \
	X(module_function, "cuModuleGetFunction", "hipModuleGetFunction",                          \
	  (gpu_function * out, gpu_module m, const char *name))                                    \
	X(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                       \
	  (gpu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
	   unsigned bz, unsigned shared, gpu_stream s, void **params, void **extra))

/* Graphs of launches; NULL in a driver without them. */
#define GPU_GRAPH_FUNCTIONS(X)                                                                     \
	X(capture_begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture",                       \
	  (gpu_stream s, int mode))                                                                \
	X(capture_end, "cuStreamEndCapture", "hipStreamEndCapture",                                \
	  (gpu_stream s, gpu_captured * out))                                                      \
	X(captured_free, "cuGraphDestroy", "hipGraphDestroy", (gpu_captured g))                    \
	X(graph_create, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags",             \
	  (gpu_exec * out, gpu_captured g, unsigned long long flags))                              \
	X(graph_free, "cuGraphExecDestroy", "hipGraphExecDestroy", (gpu_exec g))                   \
	X(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (gpu_exec g, gpu_stream s))

/* Devices that reach each other's memory; NULL in a driver without them.  The vendors name devices in
 * different ways: CUDA by contexts, HIP by numbers. */
#define GPU_PEER_FUNCTIONS(X)                                                                      \
	X(peer_possible, "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer",                        \
	  (int *out, int dev, int peer))                                                           \
	X(peer_enable, "cuCtxEnablePeerAccess", NULL, (gpu_context peer, unsigned flags))          \
	X(peer_enable_hip, NULL, "hipDeviceEnablePeerAccess", (int peer, unsigned flags))          \
	X(peer_copy, "cuMemcpyPeerAsync", NULL,                                                    \
	  (gpu_ptr to, gpu_context to_context, gpu_ptr from, gpu_context from_context,             \
	   size_t bytes, gpu_stream s))                                                            \
	X(peer_copy_hip, NULL, "hipMemcpyPeerAsync",                                               \
	  (gpu_ptr to, int to_dev, gpu_ptr from, int from_dev, size_t bytes, gpu_stream s))        \
	X(peer_alloc_hip, NULL, "hipExtMallocWithFlags",                                           \
	  (gpu_ptr * out, size_t bytes, unsigned flags))

/* Functions that only one of the vendors has. */
#define GPU_CUDA_FUNCTIONS(X)                                                                      \
	X(context_retain, "cuDevicePrimaryCtxRetain", (gpu_context * out, int dev))                \
	X(context_release, "cuDevicePrimaryCtxRelease_v2", (int dev))                              \
	X(context_set, "cuCtxSetCurrent", (gpu_context c))                                         \
	X(error_name, "cuGetErrorName", (int code, const char **out))
#define GPU_HIP_FUNCTIONS(X) X(device_set, "hipSetDevice", (int dev))
#define GPU_HIP_ERROR_NAME   "hipGetErrorName"

struct gpu_driver {
#define GPU_MEMBER(name, cuda, hip, args) int(*name) args;
	GPU_DRIVER_FUNCTIONS(GPU_MEMBER)
	GPU_GRAPH_FUNCTIONS(GPU_MEMBER)
	GPU_PEER_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
#define GPU_MEMBER(name, symbol, args) int(*name) args;
	GPU_CUDA_FUNCTIONS(GPU_MEMBER)
	GPU_HIP_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
	const char *(*error_name_hip)(int code); /* NULL in CUDA's driver */
};

/* What differs between the vendors: one constant for each plugin (cuda.c, hip.c). */
struct gpu_vendor {
	const char *name;           /* "cuda" */
	const char *const *sonames; /* tried in order; NULL at the end */
	bool hip;
	int attr_warp, attr_processors; /* numbers of device attributes */
	int attr_major, attr_minor;     /* of the compute capability; 0 = there is none */
	const void *(*image)(size_t *bytes);                    /* the kernels */
};

extern const struct gpu_vendor gpu_vendor; /* of this plugin */

/* Opens the library of the vendor, the same one at each call, once in a process; does not start the driver.
 * Returns false, with the reason in why[0..n), if there is none. */
bool gpu_driver_find(const struct gpu_vendor *v, char *why, size_t n);
/* As gpu_driver_find, and starts the driver.  Returns NULL, with the reason in why[0..n), if there is no
 * driver. */
const struct gpu_driver *gpu_driver_load(const struct gpu_vendor *v, char *why, size_t n);
/* Name of a code, for messages. */
const char *gpu_driver_code(const struct gpu_driver *d, int code);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_DRIVER_H */
