/* SPDX-License-Identifier: MIT
 *
 * Findings about the machine: processor, memory, the folder of models and its disk. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/llamactl/health.h"
#include "client/llamactl/remote.h"
#include "core/base/cpu.h"
#include "core/base/default_state.h"
#include "core/base/printable.h"

#define GIB	   (1ull << 30)
#define SYSTEM_DIR "/var/lib/llamad"

static void check_processor(struct lmi_ctl_health *h)
{
	struct lmd_cpu cpu;
	const char *what;

	lmi_cpu_detect(&cpu);
	what = cpu.flags & LMD_CPU_AMX_INT8	? "AVX-512 and AMX"
	       : cpu.flags & LMD_CPU_AVX512	? "AVX-512"
	       : cpu.flags & LMD_CPU_AVX2	? "AVX2"
	       : cpu.flags & LMD_CPU_I8MM	? "NEON with I8MM"
	       : cpu.flags & LMD_CPU_DOTPROD	? "NEON with dot products"
	       : cpu.flags & LMD_CPU_NEON	? "NEON"
						: NULL;
	if (what)
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "cpu", "%u processors with %s", cpu.n_core,
				   what);
	else
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "cpu",
				   "%u processors without AVX2 or NEON: models run slowly",
				   cpu.n_core);
}

/* Returns a figure of /proc/meminfo in bytes; 0 if it is not there. */
static uint64_t memory_figure(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void check_memory(struct lmi_ctl_health *h)
{
	char text[4096], have[24], all[24];
	FILE *f = fopen("/proc/meminfo", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	uint64_t available, total;

	if (f)
		(void)fclose(f);
	text[n] = 0;
	available = memory_figure(text, "MemAvailable:");
	total = memory_figure(text, "MemTotal:");
	if (!total)
		return;
	lmi_ctl_show_bytes(have, sizeof(have), (int64_t)available);
	lmi_ctl_show_bytes(all, sizeof(all), (int64_t)total);
	if (available >= GIB)
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "memory", "%s of %s are available", have,
				   all);
	else
		lmi_ctl_health_type(lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "memory",
						       "only %s of %s are available", have, all),
				    "llamactl ps, then llamactl unload NAME");
}

static const char *environment(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

/* The folder will be created; writes the nearest one that exists, "." for a relative path of which
 * nothing exists. */
static void existing_parent(char *out, size_t size, const char *dir)
{
	(void)snprintf(out, size, "%s", dir);
	while (*out && out[1] && access(out, F_OK)) {
		char *slash = strrchr(out, '/');

		if (slash)
			slash[slash == out] = 0;
		else
			(void)snprintf(out, size, ".");
	}
	if (!*out)
		(void)snprintf(out, size, ".");
}

static void check_disk(struct lmi_ctl_health *h, const char *dir)
{
	char at[PATH_MAX], have[24], all[24], shown[160];
	struct lmi_ctl_finding *f;
	struct statvfs v;
	uint64_t n_free;

	existing_parent(at, sizeof(at), dir);
	if (statvfs(at, &v))
		return;
	n_free = (uint64_t)v.f_bavail * v.f_frsize;
	lmi_ctl_show_bytes(have, sizeof(have), (int64_t)n_free);
	lmi_ctl_show_bytes(all, sizeof(all), (int64_t)((uint64_t)v.f_blocks * v.f_frsize));
	f = lmi_ctl_health_add(h, n_free < GIB ? LMI_CTL_HEALTH_WARN : LMI_CTL_HEALTH_OK, "disk",
			       "%s of %s are free for models in %s", have, all,
			       lmi_printable_path(shown, sizeof(shown), dir));
	if (n_free < GIB)
		lmi_ctl_health_type(f, "llamactl list, then llamactl rm NAME");
}

static void check_state_dir(struct lmi_ctl_health *h, const char *dir)
{
	char at[PATH_MAX], shown[160];
	struct lmi_ctl_finding *f;
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), dir);
	existing_parent(at, sizeof(at), dir);
	if (stat(at, &sb) || !S_ISDIR(sb.st_mode)) {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_FAIL, "state", "%s is not a folder", at);
		lmi_ctl_health_type(f, "ls -ld %s", at);
	} else if (access(at, W_OK | X_OK)) {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_FAIL, "state",
				       "%s, the folder of your models, cannot be written: %s", shown,
				       strerror(errno));
		lmi_ctl_health_type(f, "sudo chown -R $USER %.150s", shown);
	} else if (strcmp(at, dir) != 0) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "state",
				   "%s, the folder of your models, will be created", shown);
	} else if (sb.st_mode & 077) {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "state",
				       "%s: other users may look into it (mode %04o)", shown,
				       (unsigned)sb.st_mode & 07777);
		lmi_ctl_health_type(f, "chmod 700 %.150s", shown);
	} else {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "state", "%s has your models", shown);
	}
}

void lmi_ctl_health_machine(struct lmi_ctl_health *h)
{
	char dir[PATH_MAX];
	int n = lmi_default_state_dir(dir, sizeof(dir), geteuid(), environment, NULL);

	check_processor(h);
	check_memory(h);
	if (n <= 0 || (size_t)n >= sizeof(dir)) {
		lmi_ctl_health_type(lmi_ctl_health_add(h, LMI_CTL_HEALTH_FAIL, "state",
						       "no folder for models, since HOME is not set"),
				    "export STATE_DIRECTORY=FOLDER");
		return;
	}
	check_state_dir(h, dir);
	check_disk(h, dir);
	if (strcmp(dir, SYSTEM_DIR) != 0 && !access(SYSTEM_DIR, F_OK))
		check_disk(h, SYSTEM_DIR);
}
