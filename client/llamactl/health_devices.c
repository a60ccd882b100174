/* SPDX-License-Identifier: MIT
 *
 * Findings about plugins and GPUs. A GPU is found on the PCI bus, so that one without a driver is
 * found as well. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/health.h"
#include "core/base/printable.h"
#include "core/plugin/registry.h"

/* ---- plugins ---- */

struct plugins {
	struct lmi_ctl_health *h;
	unsigned n_loaded, n_refused, n_archs;
	char backends[160];	   /* those that can run here: "cpu, cuda" */
	char gpu[3][LMD_ERROR_TEXT]; /* cuda, hip, vulkan: why it cannot run; "": it is not there */
	bool gpu_runs[3];
};

static const char *const gpu_backends[] = {"cuda", "hip", "vulkan"};
#define VULKAN 2

static void on_plugin(void *arg, const struct lmi_plugin_info *p)
{
	struct plugins *s = arg;
	struct lmi_ctl_finding *f;
	char shown[160];

	if (strcmp(p->state, "refused") != 0) {
		s->n_loaded += !strcmp(p->state, "loaded");
		return;
	}
	if (s->n_refused++ >= 8)
		return;
	f = lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_FAIL, "plugins", "%s is refused: %.200s",
			       lmi_printable_path(shown, sizeof(shown), p->file), p->reason);
	if (strstr(p->reason, "writ"))
		lmi_ctl_health_type(f, "chmod go-w %.150s", shown);
	else
		lmi_ctl_health_type(f, "ls -l %.150s; replace it, or remove it", shown);
}

static void on_factory(void *arg, const struct lmi_factory_info *info)
{
	struct plugins *s = arg;
	size_t n = strlen(s->backends);

	s->n_archs += info->kind == LMD_KIND_ARCH && info->score > 0;
	if (info->kind != LMD_KIND_BACKEND)
		return;
	if (info->score > 0 && !strstr(s->backends, info->name))
		(void)snprintf(s->backends + n, sizeof(s->backends) - n, "%s%s", n ? ", " : "",
			       info->name);
	for (size_t i = 0; i < LMD_LEN(gpu_backends); i++) {
		if (strcmp(info->name, gpu_backends[i]) != 0)
			continue;
		s->gpu_runs[i] |= info->score > 0;
		(void)snprintf(s->gpu[i], sizeof(s->gpu[i]), "%s",
			       *info->reason ? info->reason : "it can run here");
	}
}

/* Asks the backend of a GPU for its devices: without one it can be loaded, but not used. */
static void check_backend(struct plugins *s, struct lmi_plugin_registry *r, size_t i)
{
	const struct lmi_factory *f;
	char why[sizeof(s->gpu[i])] = "";

	if (!s->gpu_runs[i] || lmi_factory_take(r, LMD_KIND_BACKEND, gpu_backends[i], &f, NULL) != LMD_OK)
		return;
	s->gpu_runs[i] = f->ops.backend->enumerate(lmi_plugin_registry_host(r), NULL, 0, why, sizeof(why)) > 0;
	if (!s->gpu_runs[i])
		(void)snprintf(s->gpu[i], sizeof(s->gpu[i]), "%s", *why ? why : "it finds no device");
	lmi_factory_give(r, f);
}

/* gpus: whether the machine has any. */
static void check_plugins(struct plugins *s, bool gpus)
{
	struct lmi_plugin_registry *r;
	struct lmi_ctl_finding *f;
	struct lmd_error err = {0};

	if (lmi_ctl_registry(s->h->ctl, &r, &err) != LMD_OK) {
		lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_FAIL, "plugins", "%.390s", err.text);
		return;
	}
	lmi_plugin_registry_list(r, on_plugin, on_factory, s);
	for (size_t i = 0; gpus && i < LMD_LEN(gpu_backends); i++)
		check_backend(s, r, i);
	if (*s->backends && s->n_archs) {
		lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_OK, "plugins",
				   "%u are loaded, with %u architectures and backends %s",
				   s->n_loaded, s->n_archs, s->backends);
		return;
	}
	f = lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_FAIL, "plugins",
			       "there is no %s: no model can run",
			       s->n_archs ? "backend" : "architecture");
	lmi_ctl_health_type(f, "sudo apt install llamad-plugins, or give --plugin-dir DIR");
}

/* ---- GPUs ---- */

struct vendor {
	unsigned pci;
	const char *name, *node, *packages; /* a node that ends in * stands for any of that prefix */
	const char *module;                 /* the driver in the kernel */
	unsigned backend; /* of gpu_backends */
};

static const struct vendor vendors[] = {
	{0x10de, "NVIDIA", "/dev/nvidiactl",
	 "sudo apt install nvidia-driver, then restart the machine", "nvidia", 0},
	{0x1002, "AMD", "/dev/kfd",
	 "sudo apt install firmware-amd-graphics, then restart the machine", "amdgpu", 1},
	{0x8086, "Intel", "/dev/dri/renderD*", "sudo apt install mesa-vulkan-drivers", "i915",
	 VULKAN},
};

/* Reads a file with one number in hexadecimal. */
static unsigned read_hex(const char *dir, const char *device, const char *name)
{
	char path[PATH_MAX], text[32] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", dir, device, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		*text = 0;
	(void)fclose(f);
	return (unsigned)strtoul(text, NULL, 16);
}

/* Counts the display controllers and accelerators of each vendor. */
static void count_gpus(const char *root, unsigned n[LMD_LEN(vendors)])
{
	char dir[PATH_MAX];
	struct dirent *e;
	DIR *d;

	(void)snprintf(dir, sizeof(dir), "%s/sys/bus/pci/devices", root);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		unsigned kind = e->d_name[0] == '.' ? 0 : read_hex(dir, e->d_name, "class") >> 16;
		unsigned vendor = kind == 0x03 || kind == 0x12 ? read_hex(dir, e->d_name, "vendor") : 0;

		for (size_t i = 0; i < LMD_LEN(vendors); i++)
			n[i] += vendor == vendors[i].pci;
	}
	if (d)
		(void)closedir(d);
}

/* Returns 0 if this user may use the node, or one of them, otherwise errno. */
static int node_error(const char *root, const char *node)
{
	const char *name = strrchr(node, '/') + 1;
	size_t n = strlen(name) - 1;
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;
	int error = ENOENT;

	(void)snprintf(path, sizeof(path), "%s%s", root, node);
	if (name[n] != '*')
		return access(path, R_OK | W_OK) ? errno : 0;
	(void)snprintf(path, sizeof(path), "%s%.*s", root, (int)(name - node), node);
	d = opendir(path);
	while (d && error && (e = readdir(d)))
		if (!strncmp(e->d_name, name, n))
			error = faccessat(dirfd(d), e->d_name, R_OK | W_OK, 0) ? EACCES : 0;
	if (d)
		(void)closedir(d);
	return error;
}

#define NO_AMD_DEVICE "ls -l /dev/kfd /dev/dri; echo $HIP_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES"
/* What a backend says when its driver does not work, and what to do about it. */
static const struct {
	const char *reason, *command;
} remedies[] = {
	{"libcuda.so.1 cannot be opened", "sudo apt install libcuda1"},
	{"libamdhip64.so", "sudo apt install libamdhip64-5"},
	{"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	 "sudo reboot: the driver that is loaded is older or newer than its library"},
	{"CUDA_ERROR_SYSTEM_NOT_READY",
	 "sudo systemctl enable --now nvidia-fabricmanager, which machines with NVSwitch need"},
	{"CUDA_ERROR_NO_DEVICE", "nvidia-smi; echo $CUDA_VISIBLE_DEVICES"},
	{"none is installed or visible", "nvidia-smi; echo $CUDA_VISIBLE_DEVICES"},
	/* some versions say so when they start */
	{"hipErrorNoDevice", NO_AMD_DEVICE},
	{"hipErrorInvalidDevice", NO_AMD_DEVICE},
};

static void advise(struct lmi_ctl_finding *f, const char *backend, const char *reason)
{
	for (size_t i = 0; i < LMD_LEN(remedies); i++) {
		if (!strstr(reason, remedies[i].reason))
			continue;
		lmi_ctl_health_type(f, "%s", remedies[i].command);
		return;
	}
	lmi_ctl_health_type(f, "llamactl run --backend %s MODEL", backend);
}

/* ", driver 580.95.05" into text, or nothing: drivers that come with the kernel have no version of their own. */
static void read_driver_version(const char *root, const char *module, char *text, size_t n)
{
	char path[PATH_MAX], version[40] = "";
	FILE *f;

	*text = 0;
	(void)snprintf(path, sizeof(path), "%s/sys/module/%s/version", root, module);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(version, sizeof(version), f))
		(void)snprintf(text, n, ", driver %.*s", (int)strcspn(version, "\n"), version);
	(void)fclose(f);
}

static void check_gpu(const struct plugins *s, const char *root, const struct vendor *v, unsigned n)
{
	const char *backend = gpu_backends[v->backend];
	struct lmi_ctl_finding *f;
	char driver[64];
	int error;

	if (s->gpu_runs[v->backend] && v->backend != VULKAN) {
		read_driver_version(root, v->module, driver, sizeof(driver));
		lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_OK, "gpu",
				   "%u of %s, for models that are loaded with --backend %s%s", n,
				   v->name, backend, driver);
		return;
	}
	if (s->gpu_runs[VULKAN]) { /* by a device of this vendor, or of another one */
		f = lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_NOTE, "gpu",
				       "%u of %s, which backend vulkan may use: it runs here, on this or "
				       "on another device",
				       n, v->name);
		lmi_ctl_health_type(f, "llamactl devices");
		return;
	}
	error = node_error(root, v->node);
	f = lmi_ctl_health_add(s->h, LMI_CTL_HEALTH_WARN, "gpu", "%u of %s, and models cannot use it: ",
			       n, v->name);
	n = (unsigned)strlen(f->text);
	if (error && error != EACCES && error != EPERM && error != EROFS) {
		(void)snprintf(f->text + n, sizeof(f->text) - n,
			       "its driver is not loaded (there is no %s)", v->node);
		lmi_ctl_health_type(f, "%s", v->packages);
	} else if (error) {
		(void)snprintf(f->text + n, sizeof(f->text) - n, "this user may not open %s", v->node);
		lmi_ctl_health_type(f, "sudo usermod -aG video,render $USER, then log in again");
	} else if (!*s->gpu[v->backend] && !*s->gpu[VULKAN]) {
		(void)snprintf(f->text + n, sizeof(f->text) - n,
			       v->backend == VULKAN ? "backend %s is not installed"
						    : "neither backend %s nor vulkan is installed",
			       backend);
		if (v->backend == VULKAN)
			lmi_ctl_health_type(f, "sudo apt install llamad-plugins-vulkan");
		else
			lmi_ctl_health_type(f, "sudo apt install llamad-plugins-%s, or llamad-plugins-vulkan",
					    backend);
	} else {
		unsigned which = *s->gpu[v->backend] ? v->backend : VULKAN;

		(void)snprintf(f->text + n, sizeof(f->text) - n, "backend %s: %.200s",
			       gpu_backends[which], s->gpu[which]);
		advise(f, gpu_backends[which], s->gpu[which]);
	}
}

/* NVIDIA's driver shuts a card down when nothing uses it, unless its daemon keeps it ready. */
static void check_persistence(struct lmi_ctl_health *h, const char *root)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/run/nvidia-persistenced/socket", root);
	if (node_error(root, vendors[0].node) || !access(path, F_OK))
		return;
	lmi_ctl_health_type(lmi_ctl_health_add(h, LMI_CTL_HEALTH_NOTE, "gpu",
					       "no persistence: the driver shuts the card down when nothing "
					       "uses it, and the next model waits for it"),
			    "sudo systemctl enable --now nvidia-persistenced");
}

/* Returns whether the service is installed without this drop-in. */
static bool lacks_drop_in(const char *root, const char *name)
{
	static const char *const files[] = {"/lib/systemd/system/llamad.service",
					    "/usr/lib/systemd/system/llamad.service",
					    "/etc/systemd/system/llamad.service"};
	char path[PATH_MAX];
	bool unit = false;

	for (size_t i = 0; i < LMD_LEN(files); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, files[i]);
		unit = unit || !access(path, F_OK);
	}
	(void)snprintf(path, sizeof(path), "%s/etc/systemd/system/llamad.service.d/%s", root, name);
	return unit && access(path, F_OK);
}

/* The unit forbids devices and the network; drop-ins allow them. Reports one that is missing. */
static void check_drop_in(struct lmi_ctl_health *h, const char *root, const char *name,
			  enum lmi_ctl_health_state state, const char *subject, const char *text)
{
	if (!lacks_drop_in(root, name))
		return;
	lmi_ctl_health_type(lmi_ctl_health_add(h, state, subject, "%s", text),
			    "sudo install -Dm644 /usr/share/doc/llamad/%s "
			    "/etc/systemd/system/llamad.service.d/%s; sudo systemctl daemon-reload; sudo "
			    "systemctl restart llamad",
			    name, name);
}

void lmi_ctl_health_devices(struct lmi_ctl_health *h)
{
	const char *root = getenv("LLAMAD_SYSTEM_ROOT"); /* for tests */
	struct plugins s = {.h = h};
	unsigned n[LMD_LEN(vendors)] = {0}, all = 0;

	root = root ? root : "";
	count_gpus(root, n);
	for (size_t i = 0; i < LMD_LEN(vendors); i++)
		all += n[i];
	check_plugins(&s, all > 0);
	for (size_t i = 0; i < LMD_LEN(vendors); i++)
		if (n[i])
			check_gpu(&s, root, &vendors[i], n[i]);
	if (n[0])
		check_persistence(h, root);
	check_drop_in(h, root, "net.conf", LMI_CTL_HEALTH_NOTE, "network",
		      "the service has none: `llamactl pull` and clients on other machines need its drop-in "
		      "net.conf");
	if (all)
		check_drop_in(h, root, "gpu.conf", LMI_CTL_HEALTH_WARN, "gpu",
			      "the service may not use it: its drop-in gpu.conf is missing");
	else
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "gpu",
				   "there is none on the PCI bus; models run on the processor");
}
