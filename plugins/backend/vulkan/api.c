/* SPDX-License-Identifier: MIT
 *
 * Opens libvulkan and finds its functions. */
#include "api.h"

#include <dlfcn.h>
#include <stdio.h>

enum lmd_status vkb_fail(struct lmd_error *err, VkResult r, const char *what)
{
	static const struct {
		VkResult result;
		enum lmd_status status;
		const char *text;
	} known[] = {
		{VK_ERROR_OUT_OF_HOST_MEMORY, LMD_NOMEM, "out of host memory"},
		{VK_ERROR_OUT_OF_DEVICE_MEMORY, LMD_NOMEM, "out of device memory"},
		{VK_ERROR_TOO_MANY_OBJECTS, LMD_NOMEM, "too many objects"},
		{VK_ERROR_DEVICE_LOST, LMD_DEVICE, "the device is lost"},
		{VK_ERROR_INITIALIZATION_FAILED, LMD_DEVICE, "initialisation failed"},
		{VK_ERROR_INCOMPATIBLE_DRIVER, LMD_NOTFOUND, "there is no driver"},
	};

	for (size_t i = 0; i < LMD_LEN(known); i++) {
		if (known[i].result == r)
			return lmd_fail(err, known[i].status, "vulkan: %s: %s", what, known[i].text);
	}
	return lmd_fail(err, LMD_INTERNAL, "vulkan: %s: error %d", what, (int)r);
}

/* The library stays loaded: drivers have threads and exit handlers. */
static PFN_vkGetInstanceProcAddr loader(struct lmd_error *err)
{
	void *lib = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	PFN_vkGetInstanceProcAddr get = NULL;

	if (!lib) {
		(void)lmd_fail(err, LMD_NOTFOUND, "vulkan: %s", dlerror());
		return NULL;
	}
	*(void **)(void *)&get = dlsym(lib, "vkGetInstanceProcAddr");
	if (!get)
		(void)lmd_fail(err, LMD_NOTFOUND, "vulkan: %s", dlerror());
	(void)dlclose(lib);
	return get;
}

int vkb_probe(const struct lmd_host *host, char *why, size_t n)
{
	struct lmd_error err = {0};

	(void)host;
	if (loader(&err))
		return 1;
	if (n)
		(void)snprintf(why, n, "no driver: %s", err.text);
	return 0;
}

enum lmd_status vkb_instance_open(struct vkb_instance *in, struct lmd_error *err)
{
	const VkApplicationInfo app = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		.pApplicationName = "llamad",
		.apiVersion = VK_API_VERSION_1_2,
	};
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &app,
	};
	PFN_vkCreateInstance create;
	VkResult r;

	*in = (struct vkb_instance){.get = loader(err)};
	if (!in->get)
		return LMD_NOTFOUND;
	create = (PFN_vkCreateInstance)in->get(NULL, "vkCreateInstance");
	if (!create)
		return lmd_fail(err, LMD_NOTFOUND, "vulkan: the library has no vkCreateInstance");
	r = create(&info, NULL, &in->handle);
	if (r != VK_SUCCESS)
		return vkb_fail(err, r, "making an instance");
#define FIND(name)                                                                                 \
	in->name = (PFN_vk##name)in->get(in->handle, "vk" #name);                                  \
	if (!in->name)                                                                             \
		return lmd_fail(err, LMD_NOTFOUND, "vulkan: the library has no vk" #name);
	VKB_INSTANCE_FUNCTIONS(FIND)
#undef FIND
	return LMD_OK;
}

void vkb_instance_close(struct vkb_instance *in)
{
	if (in->handle && in->DestroyInstance)
		in->DestroyInstance(in->handle, NULL);
	*in = (struct vkb_instance){0};
}

enum lmd_status vkb_functions_load(const struct vkb_instance *in, VkDevice dev,
				   struct vkb_functions *out, struct lmd_error *err)
{
#define FIND(name)                                                                                 \
	out->name = (PFN_vk##name)in->GetDeviceProcAddr(dev, "vk" #name);                          \
	if (!out->name)                                                                            \
		return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: the driver has no vk" #name);
	VKB_DEVICE_FUNCTIONS(FIND)
#undef FIND
	return LMD_OK;
}
