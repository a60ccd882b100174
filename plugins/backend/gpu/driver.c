/* SPDX-License-Identifier: MIT
 *
 * Loads the vendor's driver library in two steps: finding it is quick and does not touch a device, so that
 * it can be done to list plugins; starting the driver waits until somebody asks for devices. */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_once_t found_once, started_once;
	_Atomic(const struct gpu_vendor *) vendor; /* the only one of the process */
	struct gpu_driver driver;
	bool found, started;
	char why[160];
} loaded = {.found_once = PTHREAD_ONCE_INIT, .started_once = PTHREAD_ONCE_INIT};

static const struct {
	const char *cuda, *hip;
	size_t at;
	bool optional;
} symbols[] = {
#define GPU_SYMBOL(name, cuda, hip, args) {cuda, hip, offsetof(struct gpu_driver, name), false},
	GPU_DRIVER_FUNCTIONS(GPU_SYMBOL)
#undef GPU_SYMBOL
#define GPU_SYMBOL(name, cuda, hip, args) {cuda, hip, offsetof(struct gpu_driver, name), true},
	GPU_GRAPH_FUNCTIONS(GPU_SYMBOL)
	GPU_PEER_FUNCTIONS(GPU_SYMBOL)
#undef GPU_SYMBOL
#define GPU_SYMBOL(name, symbol, args) {symbol, NULL, offsetof(struct gpu_driver, name), false},
		GPU_CUDA_FUNCTIONS(GPU_SYMBOL)
#undef GPU_SYMBOL
#define GPU_SYMBOL(name, symbol, args) {NULL, symbol, offsetof(struct gpu_driver, name), false},
			GPU_HIP_FUNCTIONS(GPU_SYMBOL)
#undef GPU_SYMBOL
				{NULL, GPU_HIP_ERROR_NAME,
				 offsetof(struct gpu_driver, error_name_hip), false},
};

static void *open_library(const char *const *sonames)
{
	for (; *sonames; sonames++) {
		void *lib = dlopen(*sonames, RTLD_NOW | RTLD_LOCAL);

		if (lib)
			return lib;
	}
	return NULL;
}

static bool look_up(void *lib, const struct gpu_vendor *v)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const char *name = v->hip ? symbols[i].hip : symbols[i].cuda;
		void *p = name ? dlsym(lib, name) : NULL;

		if (name && !p && !symbols[i].optional) {
			(void)snprintf(loaded.why, sizeof(loaded.why),
				       "the driver library has no %s; it is too old or too new",
				       name);
			return false;
		}
		memcpy((char *)&loaded.driver + symbols[i].at, &p, sizeof(p));
	}
	return true;
}

/* The library stays open: drivers do not survive being closed. */
static void find(void)
{
	const struct gpu_vendor *v = loaded.vendor;
	void *lib = open_library(v->sonames);

	if (lib)
		loaded.found = look_up(lib, v);
	else
		(void)snprintf(loaded.why, sizeof(loaded.why), "no driver: %s cannot be opened",
			       v->sonames[0]);
}

static void start(void)
{
	int code;

	(void)pthread_once(&loaded.found_once, find);
	if (!loaded.found)
		return;
	code = loaded.driver.init(0);
	loaded.started = !code;
	if (code)
		(void)snprintf(loaded.why, sizeof(loaded.why), "the driver does not start: %s",
			       gpu_driver_code(&loaded.driver, code));
}

bool gpu_driver_find(const struct gpu_vendor *v, char *why, size_t n)
{
	loaded.vendor = v;
	(void)pthread_once(&loaded.found_once, find);
	if (!loaded.found && n)
		(void)snprintf(why, n, "%s", loaded.why);
	return loaded.found;
}

const struct gpu_driver *gpu_driver_load(const struct gpu_vendor *v, char *why, size_t n)
{
	loaded.vendor = v;
	(void)pthread_once(&loaded.started_once, start);
	if (n)
		(void)snprintf(why, n, "%s", loaded.why);
	return loaded.started ? &loaded.driver : NULL;
}

const char *gpu_driver_code(const struct gpu_driver *d, int code)
{
	static _Thread_local char text[32];
	const char *name = NULL;

	if (d->error_name_hip)
		name = d->error_name_hip(code);
	else if (d->error_name(code, &name))
		name = NULL;
	if (name)
		return name;
	(void)snprintf(text, sizeof(text), "error %d", code);
	return text;
}
