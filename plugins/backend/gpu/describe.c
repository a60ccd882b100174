/* SPDX-License-Identifier: MIT
 *
 * What users read about a device: its name, and behind it the compute capability, the version of the
 * driver's interface and the link to the host, as far as there is room. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpu.h"

struct text {
	char *at;
	size_t left, n; /* n: parts so far */
};

static void add(struct text *t, const char *fmt, ...) LMD_PRINTF(2, 3);

/* Appends a part, if all of it has room, with the bracket that closes the parts. */
static void add(struct text *t, const char *fmt, ...)
{
	char part[40];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(part) || (size_t)n + 4 > t->left)
		return;
	n = snprintf(t->at, t->left, "%s%s)", t->n++ ? ", " : " (", part);
	t->at += n - 1; /* the next part replaces the bracket */
	t->left -= (size_t)(n - 1);
}

static void add_capability(const struct gpu_driver *d, int dev, struct text *t)
{
	int major = 0, minor = 0;

	if (gpu_vendor.attr_major && !d->device_attribute(&major, gpu_vendor.attr_major, dev) &&
	    !d->device_attribute(&minor, gpu_vendor.attr_minor, dev))
		add(t, "compute %d.%d", major, minor);
}

static void add_driver(const struct gpu_driver *d, struct text *t)
{
	int v = 0;

	if (d->driver_version(&v) || v <= 0)
		return;
	if (!gpu_vendor.hip)
		add(t, "CUDA %d.%d", v / 1000, v / 10 % 100);
	else if (v >= 10000000) /* older ones tell the number of a build */
		add(t, "HIP %d.%d", v / 10000000, v / 100000 % 100);
}

/* Reads the first number of a file of sysfs; 0 if there is none. */
static double read_number(const char *bus, const char *name)
{
	char path[128];
	double v = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.40s/%s", bus, name);
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lf", &v) != 1)
		v = 0;
	(void)fclose(f);
	return v;
}

/* The generation of PCI Express with that many GT/s in each lane; 0 = unknown. */
static unsigned generation(double speed)
{
	static const double speeds[] = {2.5, 5, 8, 16, 32, 64};

	for (unsigned i = 0; i < LMD_LEN(speeds); i++) {
		if (speed > speeds[i] - 0.1 && speed < speeds[i] + 0.1)
			return i + 1;
	}
	return 0;
}

/* max_link_*: links save power when nothing is copied. */
static void add_link(const char *bus, struct text *t)
{
	unsigned gen = generation(read_number(bus, "max_link_speed"));
	double lanes = read_number(bus, "max_link_width");

	if (gen && lanes >= 1 && lanes <= 64)
		add(t, "PCIe %u x%u", gen, (unsigned)lanes);
}

void gpu_describe(const struct gpu_driver *d, int dev, const char *bus, char *name, size_t n)
{
	const size_t used = strnlen(name, n);
	struct text t = {name + used, n - used, 0};

	if (used == n)
		return;
	add_capability(d, dev, &t);
	add_driver(d, &t);
	add_link(bus, &t);
}
