/* SPDX-License-Identifier: MIT
 *
 * CPU detection. x86-64: CPUID leaves 1, 7.0 and 7.1 and XCR0 (Intel SDM vol. 1, ch. 13 and 14;
 * vol. 2, CPUID). A vector extension is usable if its feature bit is set and XCR0 says that the
 * system saves its registers: bits 1-2 for AVX, 5-7 for AVX-512, 17-18 for AMX tiles. aarch64: the
 * kernel reports features in the auxiliary vector. Processors are counted from the affinity mask,
 * which also honours the cpuset of a container. */
#include "core/base/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define MAX_CPUS 65536

#if defined(__x86_64__)

static uint64_t read_xcr0(void)
{
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

static bool bit(uint32_t reg, unsigned n)
{
	return reg >> n & 1;
}

static bool has(uint64_t xcr0, uint64_t mask)
{
	return (xcr0 & mask) == mask;
}

static uint64_t detect_flags(void)
{
	uint32_t a, b, c, d, a1 = 0, b1, c1, d1, ecx1, max_sub;
	uint64_t flags = 0, xcr0;
	bool avx, avx512;

	if (!__get_cpuid(1, &a, &b, &ecx1, &d) || !bit(ecx1, 27)) /* OSXSAVE */
		return 0;
	xcr0 = read_xcr0();
	if (!__get_cpuid_count(7, 0, &max_sub, &b, &c, &d))
		return 0;
	if (max_sub >= 1)
		__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1);
	avx = has(xcr0, 0x6) && bit(ecx1, 28);
	/* AVX2, FMA, F16C, BMI2 */
	if (avx && bit(b, 5) && bit(ecx1, 12) && bit(ecx1, 29) && bit(b, 8))
		flags |= LMD_CPU_AVX2;
	if ((flags & LMD_CPU_AVX2) && bit(a1, 4))
		flags |= LMD_CPU_AVX_VNNI;
	/* F, DQ, BW, VL */
	avx512 = (flags & LMD_CPU_AVX2) && has(xcr0, 0xE6) && bit(b, 16) && bit(b, 17) &&
		 bit(b, 30) && bit(b, 31);
	if (avx512) {
		flags |= LMD_CPU_AVX512;
		flags |= bit(c, 11) ? LMD_CPU_AVX512_VNNI : 0;
		flags |= bit(a1, 5) ? LMD_CPU_AVX512_BF16 : 0;
		flags |= bit(c, 1) ? LMD_CPU_AVX512_VBMI : 0;
		flags |= bit(d, 23) ? LMD_CPU_AVX512_FP16 : 0;
	}
	if (has(xcr0, 0x60000) && bit(d, 24)) {
		flags |= bit(d, 25) ? LMD_CPU_AMX_INT8 : 0;
		flags |= bit(d, 22) ? LMD_CPU_AMX_BF16 : 0;
	}
	return flags;
}

#elif defined(__aarch64__)

static uint64_t detect_flags(void)
{
	unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
	uint64_t flags = 0;

	flags |= cap >> 1 & 1 ? LMD_CPU_NEON : 0;     /* ASIMD */
	flags |= cap >> 20 & 1 ? LMD_CPU_DOTPROD : 0; /* ASIMDDP */
	flags |= cap >> 22 & 1 ? LMD_CPU_SVE : 0;
	flags |= cap2 >> 13 & 1 ? LMD_CPU_I8MM : 0;
	return flags;
}

#else

static uint64_t detect_flags(void)
{
	return 0;
}

#endif

/* Counts the processors of the affinity mask. The kernel's mask may be larger than cpu_set_t. */
uint32_t lmi_cpu_count(void)
{
	for (int n = 1024; n <= MAX_CPUS; n *= 4) {
		size_t bytes = CPU_ALLOC_SIZE((size_t)n);
		cpu_set_t *set = CPU_ALLOC((size_t)n);
		int count = 0;

		if (!set)
			break;
		if (!sched_getaffinity(0, bytes, set))
			count = CPU_COUNT_S(bytes, set);
		CPU_FREE(set);
		if (count > 0)
			return (uint32_t)count;
		if (errno != EINVAL)
			break;
	}
	return 1;
}

uint32_t lmi_cpu_current(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}

/* Reads one short line of dir/index<i>/name; returns false if there is none. */
static bool read_line(const char *dir, int i, const char *name, char *buf, int n)
{
	char path[512];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/index%d/%s", dir, i, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, n, f) != NULL;
	fclose(f);
	return ok;
}

void lmi_cpu_caches(const char *dir, struct lmd_cpu *out)
{
	char level[32], type[32], text[32];

	for (int i = 0; i < 16 && read_line(dir, i, "level", level, sizeof(level)); i++) {
		unsigned long long bytes;
		unsigned long line;
		char *unit;

		if (!read_line(dir, i, "type", type, sizeof(type)) || !strncmp(type, "Instr", 5))
			continue;
		if (read_line(dir, i, "coherency_line_size", text, sizeof(text))) {
			line = strtoul(text, NULL, 10);
			if (line >= 16 && line <= 4096)
				out->line_bytes = (uint32_t)line;
		}
		if (!read_line(dir, i, "size", text, sizeof(text)))
			continue;
		bytes = strtoull(text, &unit, 10);
		if (bytes > 1ull << 32)
			continue;
		bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
		if (*level == '2')
			out->l2_bytes = bytes;
		else if (*level == '3')
			out->l3_bytes = bytes;
	}
}

void lmi_cpu_detect(struct lmd_cpu *out)
{
	*out = (struct lmd_cpu){
		.flags = detect_flags(), .n_core = lmi_cpu_count(), .line_bytes = 64};
	lmi_cpu_caches("/sys/devices/system/cpu/cpu0/cache", out);
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
	if (!out->l2_bytes && sysconf(_SC_LEVEL2_CACHE_SIZE) > 0)
		out->l2_bytes = (uint64_t)sysconf(_SC_LEVEL2_CACHE_SIZE);
	if (!out->l3_bytes && sysconf(_SC_LEVEL3_CACHE_SIZE) > 0)
		out->l3_bytes = (uint64_t)sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
}
