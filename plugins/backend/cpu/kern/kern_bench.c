/* SPDX-License-Identifier: MIT
 *
 * Times the kernels that this machine can run, on one thread (make bench-programs builds it):
 *   kern_bench [--type NAME] [--isa NAME] [--k K] [--runs N] [--float | --bf16 | --packed] [--json]
 * "memory": one row of x times weights that do not fit the caches, as in decoding; GB/s of
 * weights.  "cached": the same with 512 KiB of weights.  Then 2 to 512 rows of x times at
 * least 512 KiB of weights; GFLOP/s with two operations per weight and row.  The results are lower
 * quartiles of the thread's CPU time, to reduce the influence of other programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amx_permit.h"
#include "core/base/cpu.h"
#include "core/plugin/host_services.h"
#include "core/quant/quant.h"
#include "kern.h"
#include "kern_data_test.h"

#define MEMORY_BYTES (96u << 20)
#define CACHED_BYTES (512u << 10)
#define MAX_COL      512
#define MAX_RUNS     1000
#define Y_BYTES      (64u << 20)
/* Bytes of a prepared row of any kind. */
#define X_BYTES(k)   (KERN_Q8_BYTES(k) > KERN_BF16_BYTES(k) ? KERN_Q8_BYTES(k) : KERN_BF16_BYTES(k))

struct options {
	const char *type, *isa;
	uint32_t k, runs;
	bool floats, bf16, packed, json;
};

struct bench {
	struct options o;
	struct lmd_host *host;
	struct lmd_cpu cpu;
	enum kern_act_kind act;
	struct kern_iq_tables *points;
	char *w;  /* MEMORY_BYTES of the current type */
	float *x; /* [MAX_COL][k] */
	char *q8; /* [MAX_COL] prepared rows of x */
	float *y; /* outputs */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A kernel: `lin`, or `packed` for repacked weights. */
struct kernel {
	const struct kern_linear *lin;
	const struct kern_packed *packed;
};

static void run(const struct kernel *l, const struct kern_product *p)
{
	if (l->packed)
		l->packed->run(l->packed, p);
	else
		l->lin->run(l->lin, p);
}

/* Seconds of CPU time of one product; row: bytes from row to row or from group to group. */
static double measure(const struct bench *b, const struct kernel *l, size_t row, size_t n_row,
		      uint32_t n_col)
{
	const void *x[MAX_COL];
	float *y[MAX_COL];
	double seconds[MAX_RUNS];
	uint32_t repeat;
	struct kern_product p = {.host = b->host,
				 .points = b->points,
				 .w = b->w,
				 .w_stride = row,
				 .x = x,
				 .y = y,
				 .k = b->o.k,
				 .n_row = (uint32_t)n_row,
				 .n_col = n_col};

	p.scratch = aligned_alloc(KERN_ALIGN,
				  (l->lin ? l->lin->scratch_bytes(p.k) : 0) + KERN_ALIGN);
	for (uint32_t i = 0; i < n_col; i++) {
		x[i] = b->o.floats ? (const void *)(b->x + (size_t)i * p.k)
				   : (const void *)(b->q8 + i * X_BYTES(p.k));
		if (b->o.bf16)
			l->lin->prepare(b->x + (size_t)i * p.k, p.k,
					b->q8 + i * X_BYTES(p.k));
		y[i] = b->y + i * n_row;
	}
	seconds[0] = now();
	run(l, &p);
	repeat = 1 + (uint32_t)(200e-6 / (now() - seconds[0] + 1e-9));
	for (uint32_t i = 0; i < b->o.runs; i++) {
		double t = now();

		for (uint32_t j = 0; j < repeat; j++)
			run(l, &p);
		seconds[i] = (now() - t) / repeat;
	}
	free(p.scratch);
	qsort(seconds, b->o.runs, sizeof(*seconds), by_value);
	return seconds[b->o.runs / 4];
}

/* GB/s of plain reads of the same memory: the upper limit of the column "memory". */
static double read_limit(const struct bench *b)
{
	double best = 0;

	for (uint32_t i = 0; i < b->o.runs; i++) {
		const uint64_t *w = (const uint64_t *)(const void *)b->w;
		double t = now(), gbs;
		uint64_t s = 0;

		for (size_t j = 0; j < MEMORY_BYTES / 8; j += 8)
			s += w[j]; /* one word per cache line */
		__asm__ volatile("" : : "r"(s));
		gbs = (double)MEMORY_BYTES / (now() - t) * 1e-9;
		best = gbs > best ? gbs : best;
	}
	return best;
}

static void report(const struct bench *b, const struct kernel *l, const struct lmi_dtype *t)
{
	static const uint32_t cols[] = {2, 4, 7, 8, 16, 64, 512};
	uint64_t row;
	size_t stride;
	size_t many, some;
	double gbs[2], gflops[LMD_LEN(cols)];

	if (!lmi_quant_row_bytes(t, b->o.k, &row))
		return;
	stride = l->packed ? kern_group_bytes(t->id, b->o.k) : row;
	many = MEMORY_BYTES / stride * (l->packed ? KERN_GROUP : 1);
	some = CACHED_BYTES / row < 32 ? 32 : CACHED_BYTES / row / 16 * 16;
	gbs[0] = (double)(many * row) / measure(b, l, stride, many, 1) * 1e-9;
	gbs[1] = (double)(some * row) / measure(b, l, stride, some, 1) * 1e-9;
	for (size_t i = 0; i < LMD_LEN(cols); i++)
		gflops[i] = 2.0 * (double)some * b->o.k * cols[i] /
			    measure(b, l, stride, some, cols[i]) * 1e-9;
	printf(b->o.json ? "{\"type\":\"%s\",\"isa\":\"%s\",\"act\":\"%s\",\"k\":%u,"
			   "\"memory_gbs\":%.2f,\"cached_gbs\":%.2f,\"gflops\":{\"2\":%.1f,"
			   "\"4\":%.1f,\"7\":%.1f,\"8\":%.1f,\"16\":%.1f,\"64\":%.1f,"
			   "\"512\":%.1f}}\n"
			 : "%-8s %-7s %-4s %6u %9.2f %9.2f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f "
			   "%8.1f\n",
	       t->name, l->packed ? l->packed->isa : l->lin->isa,
	       l->packed	? "pack"
	       : b->o.bf16   ? "bf16"
	       : b->o.floats ? "f32"
			     : "q8",
	       b->o.k, gbs[0], gbs[1], gflops[0], gflops[1], gflops[2], gflops[3], gflops[4],
	       gflops[5], gflops[6]);
	fflush(stdout);
}

static bool wanted(const struct bench *b, const struct lmi_dtype *t, const char *isa,
		   uint64_t flags)
{
	return (flags & b->cpu.flags) == flags && t && b->o.k % t->block_elems == 0 &&
	       (!b->o.type || !strcmp(b->o.type, t->name)) &&
	       (!b->o.isa || !strcmp(b->o.isa, isa));
}

/* Fills the memory with groups; all have the same rows. */
static void fill_groups(struct bench *b, uint32_t dtype, size_t row, uint64_t *seed)
{
	size_t group = kern_group_bytes(dtype, b->o.k), n = MEMORY_BYTES / group;
	char *rows = b->w + n * group - KERN_GROUP * row;
	const void *row_at[KERN_GROUP];

	(void)kern_fill_weights(rows, dtype, b->o.k, KERN_GROUP, row, KERN_DATA_PLAIN, seed);
	for (size_t i = 0; i < KERN_GROUP; i++)
		row_at[i] = rows + i * row;
	kern_pack(dtype, b->points, row_at, KERN_GROUP, b->o.k, b->w);
	for (size_t i = 1; i < n; i++)
		memcpy(b->w + i * group, b->w, group);
}

static void bench_packed(struct bench *b, uint64_t *seed)
{
	const struct kern_packed *l;

	for (size_t i = 0; (l = kern_packed_at(i)) != NULL; i++) {
		const struct lmi_dtype *t = lmi_dtype(l->dtype);
		uint64_t row;

		if (!wanted(b, t, l->isa, l->flags) || !lmi_quant_row_bytes(t, b->o.k, &row))
			continue;
		fill_groups(b, l->dtype, row, seed);
		report(b, &(struct kernel){.packed = l}, t);
	}
}

static void bench_all(struct bench *b)
{
	const struct kern_act *act = kern_act_find(b->cpu.flags);
	const struct kern_linear *l;
	uint64_t seed = 1;

	kern_fill_floats(b->x, (size_t)MAX_COL * b->o.k, KERN_DATA_PLAIN, &seed);
	for (uint32_t i = 0; i < MAX_COL; i++)
		act->row(b->x + (size_t)i * b->o.k, b->o.k, 1, b->q8 + i * X_BYTES(b->o.k));
	memset(b->w, 1, MEMORY_BYTES);
	if (!b->o.json)
		printf("read limit of memory: %.2f GB/s\n", read_limit(b));
	if (!b->o.json)
		printf("%-8s %-7s %-4s %6s %9s %9s %8s %8s %8s %8s %8s %8s %8s\n", "type", "isa",
		       "act", "k", "mem GB/s", "L2 GB/s", "GF/s 2", "4", "7", "8", "16", "64",
		       "512");
	if (b->o.packed) {
		bench_packed(b, &seed);
		return;
	}
	for (size_t i = 0; (l = kern_linear_at(i)) != NULL; i++) {
		const struct lmi_dtype *t = lmi_dtype(l->dtype);
		uint64_t row;

		if (!wanted(b, t, l->isa, l->flags) || l->act != b->act)
			continue;
		if (!lmi_quant_row_bytes(t, b->o.k, &row) ||
		    !kern_fill_weights(b->w, l->dtype, b->o.k, (uint32_t)(MEMORY_BYTES / row), row,
				       KERN_DATA_PLAIN, &seed))
			continue;
		report(b, &(struct kernel){.lin = l}, t);
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--json"))
			o->json = true;
		else if (!strcmp(argv[i], "--float"))
			o->floats = true;
		else if (!strcmp(argv[i], "--bf16"))
			o->bf16 = true;
		else if (!strcmp(argv[i], "--packed"))
			o->packed = true;
		else if (!value)
			return i;
		else if (!strcmp(argv[i], "--type"))
			o->type = value, i++;
		else if (!strcmp(argv[i], "--isa"))
			o->isa = value, i++;
		else if (!strcmp(argv[i], "--k"))
			o->k = (uint32_t)strtoul(value, NULL, 10), i++;
		else if (!strcmp(argv[i], "--runs"))
			o->runs = (uint32_t)strtoul(value, NULL, 10), i++;
		else
			return i;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = {.o = {.k = 2048, .runs = 15}};
	int bad = parse(argc, argv, &b.o);
	char why[128];

	if (bad || b.o.k < 32 || b.o.k % 32 || b.o.k > 65536 || !b.o.runs || b.o.runs > MAX_RUNS) {
		fprintf(stderr,
			"kern_bench: %s; --k must be a multiple of 32 up to 65536, --runs 1..%d\n",
			bad ? argv[bad] : "number out of range", MAX_RUNS);
		return 2;
	}
	lmi_cpu_detect(&b.cpu);
	b.cpu.flags = kern_amx_flags(b.cpu.flags, true, kern_amx_ask, why, sizeof(why));
	b.act = b.o.bf16     ? KERN_ACT_BF16
		: b.o.floats ? KERN_ACT_F32
			     : KERN_ACT_Q8;
	if (lmi_host_create(&b.host, UINT64_MAX) != LMD_OK)
		return 1;
	b.w = aligned_alloc(4096, MEMORY_BYTES);
	b.x = aligned_alloc(64, sizeof(float) * MAX_COL * b.o.k);
	b.q8 = aligned_alloc(64, X_BYTES(b.o.k) * MAX_COL);
	b.y = aligned_alloc(64, Y_BYTES);
	b.points = malloc(kern_iq_tables_bytes());
	if (b.w && b.x && b.q8 && b.y && b.points &&
	    kern_iq_tables_init(b.points, b.host) == LMD_OK)
		bench_all(&b);
	free(b.w);
	free(b.x);
	free(b.q8);
	free(b.y);
	free(b.points);
	lmi_host_destroy(b.host);
	return 0;
}
