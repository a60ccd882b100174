/* SPDX-License-Identifier: MIT
 *
 * The plugin that the registry's tests load: one sampler that selects candidate SAMPLE. SAMPLE is
 * its version; each of the other macros breaks it in one way. A constructor writes to the file
 * named by LMD_TEST_CANARY, to prove that a rejected plugin was not run. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "llamad/plugin.h"
#include "llamad/sampler.h"

#ifndef SAMPLE_PRIORITY
#define SAMPLE_PRIORITY 0
#endif
#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)

__attribute__((constructor)) static void canary(void)
{
	const char *path = getenv("LMD_TEST_CANARY");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd >= 0) {
		if (write(fd, "x", 1) != 1)
			abort();
		close(fd);
	}
}

#ifdef SAMPLE_CRASHES
__attribute__((constructor)) static void crash(void)
{
	(void)raise(SIGSEGV);
}
#endif

#ifdef SAMPLE_CRASHES_LATE
__attribute__((destructor)) static void crash(void)
{
	(void)raise(SIGSEGV);
}
#endif

#ifdef SAMPLE_EXITS
__attribute__((constructor)) static void leave(void)
{
	_exit(0);
}
#endif

#ifdef SAMPLE_UNRESOLVED
void no_such_function(void);
#endif

static enum lmd_status sample_init(void *state, const struct lmd_sampler_init *init,
				   struct lmd_error *err)
{
	(void)state;
	(void)init;
	(void)err;
#ifdef SAMPLE_UNRESOLVED
	no_such_function();
#endif
	return LMD_OK;
}

LMD_UNUSED static void sample_apply(void *state, struct lmd_cands *c)
{
	(void)state;
	c->selected = SAMPLE;
}

static const struct lmd_sampler_ops sample_ops = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.init = sample_init,
#ifndef SAMPLE_LACKS_APPLY
	.apply = sample_apply,
#endif
};

static const struct lmd_factory sample_factories[] = {
	{
		.struct_size = sizeof(struct lmd_factory),
		.kind = LMD_KIND_SAMPLER,
		.name = "test-sample",
		.aliases = "test-pick\0test-choose\0",
		.priority = SAMPLE_PRIORITY,
		.state_bytes = 8,
		.ops = &sample_ops,
	},
};

#ifdef SAMPLE_BAD_MAGIC
#undef LMD_PLUGIN_SYMBOL
#define LMD_PLUGIN_SYMBOL llamad_plugin_good
#endif

LMD_PLUGIN_DEFINE("sampler-sample", TEXT(SAMPLE) ".0", "MIT", LMD_KIND_BIT(LMD_KIND_SAMPLER),
		  sample_factories)

#ifdef SAMPLE_BAD_MAGIC
LMD_EXPORT extern const struct lmd_plugin llamad_plugin;
const struct lmd_plugin llamad_plugin = {
	.magic = 0x12345678,
	.abi_minor = LMD_ABI_MINOR,
	.struct_size = sizeof(struct lmd_plugin),
};
#endif
