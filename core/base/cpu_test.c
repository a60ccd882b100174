/* SPDX-License-Identifier: MIT
 *
 * Detection compared with the kernel's report, caches read from a synthetic sysfs, and the log. */
#include "core/base/cpu.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "tests/lmd_check.h"

static bool has_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(line, word); p; p = strstr(p + 1, word))
		if (p[-1] == ' ' && (p[n] == ' ' || p[n] == '\n' || !p[n]))
			return true;
	return false;
}

START_TEST(agrees_with_the_kernel)
{
	static const struct {
		uint64_t flag;
		const char *words[5];
	} rows[] = {
		{LMD_CPU_AVX2, {"avx2", "fma", "f16c", "bmi2"}},
		{LMD_CPU_AVX512, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
		{LMD_CPU_AVX512_VNNI, {"avx512_vnni", "avx512vl"}},
		{LMD_CPU_AVX512_BF16, {"avx512_bf16"}},
		{LMD_CPU_AVX512_VBMI, {"avx512vbmi"}},
		{LMD_CPU_AVX512_FP16, {"avx512_fp16"}},
		{LMD_CPU_AVX_VNNI, {"avx_vnni"}},
		{LMD_CPU_AMX_INT8, {"amx_tile", "amx_int8"}},
		{LMD_CPU_AMX_BF16, {"amx_tile", "amx_bf16"}},
	};
	static char line[16384];
	struct lmd_cpu cpu;
	FILE *f = fopen("/proc/cpuinfo", "r");

	lmi_cpu_detect(&cpu);
	printf("cpu: flags %#llx; %u processors, l2 %llu, l3 %llu\n",
	       (unsigned long long)cpu.flags, cpu.n_core, (unsigned long long)cpu.l2_bytes, (unsigned long long)cpu.l3_bytes);
	ck_assert_uint_ge(cpu.n_core, 1);
	ck_assert_uint_ge(cpu.line_bytes, 16);
	while (f && fgets(line, sizeof(line), f) && strncmp(line, "flags", 5))
		line[0] = 0;
	if (f)
		fclose(f);
	if (!line[0]) {
		LMD_SKIP("agrees_with_the_kernel", "/proc/cpuinfo has no line 'flags'");
		return;
	}
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		bool all = true;

		for (size_t k = 0; rows[i].words[k]; k++)
			all = all && has_word(line, rows[i].words[k]);
		/* the kernel may know a feature and hide it from this process, but not the
		 * reverse */
		if (cpu.flags & rows[i].flag)
			ck_assert_msg(all, "%s", rows[i].words[0]);
		else if (all)
			printf("note: %s is there but not usable here\n", rows[i].words[0]);
	}
	if (has_word(line, "avx2") && has_word(line, "fma") && has_word(line, "f16c") &&
	    has_word(line, "bmi2"))
		ck_assert(cpu.flags & LMD_CPU_AVX2);
}
END_TEST

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void make_cache(const char *dir, int i, const char *level, const char *type,
		       const char *size, const char *line)
{
	char sub[400];

	snprintf(sub, sizeof(sub), "%s/index%d", dir, i);
	ck_assert_int_eq(mkdir(sub, 0700), 0);
	put(sub, "level", level);
	put(sub, "type", type);
	put(sub, "size", size);
	put(sub, "coherency_line_size", line);
}

START_TEST(caches_of_sysfs)
{
	char dir[] = "/tmp/lmd-cpu-XXXXXX", command[64];
	struct lmd_cpu cpu = {.line_bytes = 64};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	lmi_cpu_caches(dir, &cpu);
	ck_assert_uint_eq(cpu.line_bytes, 64);
	make_cache(dir, 0, "1\n", "Data\n", "48K\n", "128\n");
	make_cache(dir, 1, "2\n", "Instruction\n", "77K\n", "128\n");
	make_cache(dir, 2, "2\n", "Unified\n", "2048K\n", "128\n");
	make_cache(dir, 3, "3\n", "Unified\n", "36M\n", "99999\n");
	lmi_cpu_caches(dir, &cpu);
	ck_assert_uint_eq(cpu.line_bytes, 128);
	ck_assert_uint_eq(cpu.l2_bytes, 2048u << 10);
	ck_assert_uint_eq(cpu.l3_bytes, 36u << 20);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

LMD_PRINTF(4, 5)
static void log_write(struct lmi_log *log, const char *topic, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	lmi_log_vwrite(log, topic, level, fmt, ap);
	va_end(ap);
}

START_TEST(log_lines)
{
	char text[LMI_LOG_LINE * 2] = "", big[LMI_LOG_LINE * 2];
	struct lmi_log log;
	FILE *f = tmpfile();

	ck_assert_ptr_nonnull(f);
	lmi_log_init(&log, LMD_LOG_INFO, fileno(f));
	log_write(&log, "t", LMD_LOG_DEBUG, "not this");
	log_write(&log, "plugin", LMD_LOG_WARN, "two\nlines a=%d", 3);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	log_write(&log, "t", LMD_LOG_ERROR, "%s", big);
	rewind(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	ck_assert_str_eq(text, "llamad: warn: plugin: two lines a=3\n");
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	ck_assert_uint_eq(strlen(text), LMI_LOG_LINE - 1);
	ck_assert_str_eq(text + strlen(text) - 5, "x...\n");
	ck_assert_ptr_null(fgets(text, sizeof(text), f));
	fclose(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("machine");
	TCase *t = tcase_create("machine");

	tcase_add_test(t, agrees_with_the_kernel);
	tcase_add_test(t, caches_of_sysfs);
	tcase_add_test(t, log_lines);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
