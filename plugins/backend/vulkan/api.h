/* SPDX-License-Identifier: MIT
 *
 * api.h - the functions of Vulkan that the backend calls.  libvulkan is opened when the backend is
 * asked for devices, so the plugin can be installed on a machine that lacks it. */
#ifndef LLAMAD_VULKAN_API_H
#define LLAMAD_VULKAN_API_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "llamad/plugin.h"
#include "llamad/status.h"

#define VKB_INSTANCE_FUNCTIONS(X)                                                                  \
	X(DestroyInstance)                                                                         \
	X(EnumeratePhysicalDevices)                                                                \
	X(GetPhysicalDeviceProperties2)                                                            \
	X(GetPhysicalDeviceFeatures2)                                                              \
	X(GetPhysicalDeviceMemoryProperties2)                                                      \
	X(GetPhysicalDeviceQueueFamilyProperties)                                                  \
	X(EnumerateDeviceExtensionProperties)                                                      \
	X(CreateDevice)                                                                            \
	X(GetDeviceProcAddr)

#define VKB_DEVICE_FUNCTIONS(X)                                                                    \
	X(DestroyDevice)                                                                           \
	X(GetDeviceQueue)                                                                          \
	X(DeviceWaitIdle)                                                                          \
	X(AllocateMemory)                                                                          \
	X(FreeMemory)                                                                              \
	X(MapMemory)                                                                               \
	X(CreateBuffer)                                                                            \
	X(DestroyBuffer)                                                                           \
	X(BindBufferMemory)                                                                        \
	X(GetBufferMemoryRequirements)                                                             \
	X(GetBufferDeviceAddress)                                                                  \
	X(CreateSemaphore)                                                                         \
	X(DestroySemaphore)                                                                        \
	X(WaitSemaphores)                                                                          \
	X(GetSemaphoreCounterValue)                                                                \
	X(SignalSemaphore)                                                                         \
	X(CreateCommandPool)                                                                       \
	X(DestroyCommandPool)                                                                      \
	X(AllocateCommandBuffers)                                                                  \
	X(FreeCommandBuffers)                                                                      \
	X(BeginCommandBuffer)                                                                      \
	X(EndCommandBuffer)                                                                        \
	X(QueueSubmit)                                                                             \
	X(CmdPipelineBarrier)                                                                      \
	X(CmdCopyBuffer)                                                                           \
	X(CmdUpdateBuffer)                                                                         \
	X(CmdFillBuffer)                                                                           \
	X(CmdBindPipeline)                                                                         \
	X(CmdPushConstants)                                                                        \
	X(CmdDispatch)                                                                             \
	X(CmdDispatchIndirect)                                                                     \
	X(CreateShaderModule)                                                                      \
	X(DestroyShaderModule)                                                                     \
	X(CreateDescriptorSetLayout)                                                               \
	X(DestroyDescriptorSetLayout)                                                              \
	X(CreateDescriptorPool)                                                                    \
	X(DestroyDescriptorPool)                                                                   \
	X(AllocateDescriptorSets)                                                                  \
	X(UpdateDescriptorSets)                                                                    \
	X(CmdBindDescriptorSets)                                                                   \
	X(CreatePipelineLayout)                                                                    \
	X(DestroyPipelineLayout)                                                                   \
	X(CreatePipelineCache)                                                                     \
	X(DestroyPipelineCache)                                                                    \
	X(GetPipelineCacheData)                                                                    \
	X(CreateComputePipelines)                                                                  \
	X(DestroyPipeline)

#define VKB_MEMBER(name) PFN_vk##name name;

struct vkb_instance {
	VkInstance handle;
	PFN_vkGetInstanceProcAddr get;
	VKB_INSTANCE_FUNCTIONS(VKB_MEMBER)
};

struct vkb_functions {
	VKB_DEVICE_FUNCTIONS(VKB_MEMBER)
};

/* The plugin's probe: is there a loader?  Returns 1 - the backend is used only when it is named: it is not
 * yet faster than the cpu anywhere it has run - or 0, with the reason in why[0..n).  Asks no driver. */
int vkb_probe(const struct lmd_host *host, char *why, size_t n);

/* Opens libvulkan and makes an instance.  LMD_NOTFOUND with the reason if there is no library or no
 * driver. */
enum lmd_status vkb_instance_open(struct vkb_instance *in, struct lmd_error *err);
void vkb_instance_close(struct vkb_instance *in);
enum lmd_status vkb_functions_load(const struct vkb_instance *in, VkDevice dev,
				   struct vkb_functions *out, struct lmd_error *err);

/* LMD_DEVICE for a lost device, LMD_NOMEM for memory, otherwise LMD_INTERNAL; names `what`. */
enum lmd_status vkb_fail(struct lmd_error *err, VkResult r, const char *what);

#endif /* LLAMAD_VULKAN_API_H */
