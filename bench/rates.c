/* SPDX-License-Identifier: MIT
 *
 * What the processors of this machine can do at most, to compare measurements with:
 *   rates [-t THREADS] [-m MIB]
 * Prints one JSON object: "read_gbs", GB/s of plain reads of memory that does not fit the caches
 * (MIB per thread), "int8_gops", 10^9 operations per second of the best instructions for
 * products of unsigned and signed 8-bit integers, two operations per product, and "signed_gops", the same if
 * both are signed, so that AVX2 needs an instruction more.  Wall time; each the best of several
 * short rounds, since whatever else runs can only slow them down. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define ROUNDS      5
#define PRODUCTS    (1u << 24) /* instructions of a round: about 5 ms a chain */

struct job {
	const char *memory;
	size_t bytes;
	pthread_barrier_t *barrier;
	double seconds[3]; /* of the round: reads, products, signed products */
	double operations; /* of either products */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_all(const char *memory, size_t bytes)
{
	const uint64_t *w = (const uint64_t *)(const void *)memory;
	uint64_t s[4] = {0};

	for (size_t i = 0; i < bytes / 8; i += 32) /* one word of each cache line */
		for (size_t j = 0; j < 4; j++)
			s[j] += w[i + 8 * j];
	__asm__ volatile("" : : "r"(s[0] + s[1] + s[2] + s[3]));
}

#if defined(__x86_64__)
/* Ten independent chains, none of which waits for the memory. */
#define CHAINS(one) one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9)
#define VNNI(i)     "vpdpbusd %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define SUM(i)                                                                                     \
	"vpmaddwd %%ymm12, %%ymm13, %%ymm13\n\t"                                                   \
	"vpaddd %%ymm13, %%ymm" #i ", %%ymm" #i "\n\t"
#define PAIRS(i) "vpmaddubsw %%ymm14, %%ymm15, %%ymm13\n\t" SUM(i)

#define SIGNED(i)                                                                                  \
	"vpshufb %%ymm14, %%ymm11, %%ymm13\n\t"                                                    \
	"vpmaddubsw %%ymm13, %%ymm15, %%ymm13\n\t" SUM(i)

#define AVX2(one)                                                                                  \
	__asm__ volatile(CHAINS(one)                                                               \
			 :                                                                         \
			 :                                                                         \
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
			   "xmm9", "xmm13")

/* Runs PRODUCTS instructions; returns the number of operations. */
static double products(bool both_signed)
{
	if (__builtin_cpu_supports("avx512vnni")) {
		for (uint32_t i = 0; i < PRODUCTS; i += 10)
			__asm__ volatile(CHAINS(VNNI)
					 :
					 :
					 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
					   "xmm7", "xmm8", "xmm9");
		return PRODUCTS * 128.0;
	}
	if (__builtin_cpu_supports("avx2")) {
		for (uint32_t i = 0; both_signed && i < PRODUCTS; i += 10)
			AVX2(SIGNED);
		for (uint32_t i = 0; !both_signed && i < PRODUCTS; i += 10)
			AVX2(PAIRS);
		return PRODUCTS * 64.0;
	}
	return 0;
}
#else
static double products(bool both_signed)
{
	(void)both_signed;
	return 0;
}
#endif

static void *work(void *arg)
{
	struct job *j = arg;
	double t;

	pthread_barrier_wait(j->barrier);
	t = now();
	read_all(j->memory, j->bytes);
	j->seconds[0] = now() - t;
	for (int i = 0; i < 2; i++) {
		pthread_barrier_wait(j->barrier);
		t = now();
		j->operations = products(i == 1);
		j->seconds[1 + i] = now() - t;
	}
	return NULL;
}

/* One round; returns in rate the sums of what the threads reached. */
static int round_of(char *memory, size_t bytes, uint32_t n, double rate[3])
{
	pthread_barrier_t barrier;
	pthread_t thread[MAX_THREADS];
	struct job job[MAX_THREADS];

	pthread_barrier_init(&barrier, NULL, n);
	for (uint32_t i = 0; i < n; i++) {
		job[i] = (struct job){
			.memory = memory + i * bytes, .bytes = bytes, .barrier = &barrier};
		if (pthread_create(&thread[i], NULL, work, &job[i])) {
			(void)fprintf(stderr, "rates: thread %u of %u cannot be started\n", i, n);
			return 1;
		}
	}
	rate[0] = rate[1] = rate[2] = 0;
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		rate[0] += (double)bytes / job[i].seconds[0] * 1e-9;
		for (int k = 1; k < 3; k++)
			rate[k] += job[i].operations / job[i].seconds[k] * 1e-9;
	}
	pthread_barrier_destroy(&barrier);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t n = 1;
	size_t mib = 256;
	double best[3] = {0}, rate[3];
	char *memory;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "-t"))
			n = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "-m"))
			mib = strtoul(argv[i + 1], NULL, 10);
	}
	if (n < 1 || n > MAX_THREADS || mib < 1 || mib > 1 << 16) {
		(void)fprintf(stderr,
			      "rates: %u threads, %zu MiB: must be 1 to %d, 1 to 65536\n", n, mib,
			      MAX_THREADS);
		return 2;
	}
	memory = mmap(NULL, n * mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED) {
		(void)fprintf(stderr, "rates: no memory for %u times %zu MiB\n", n, mib);
		return 1;
	}
	(void)madvise(memory, n * mib << 20, MADV_HUGEPAGE);
	memset(memory, 1, n * mib << 20);
	for (int i = 0; i < ROUNDS; i++) {
		if (round_of(memory, mib << 20, n, rate))
			return 1;
		for (int k = 0; k < 3; k++)
			best[k] = rate[k] > best[k] ? rate[k] : best[k];
	}
	printf("{\"threads\":%u,\"read_gbs\":%.2f,\"int8_gops\":%.1f,\"signed_gops\":%.1f}\n", n,
	       best[0], best[1], best[2]);
	return 0;
}
