/* SPDX-License-Identifier: MIT */
#include "client/llamactl/read_rate.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/cpu.h"

#define MAX_THREADS 64
#define BYTES	    (256u << 20) /* of all threads together: more than caches hold */
#define ROUNDS	    8

struct part {
	const uint64_t *words; /* [n] */
	size_t n;
	uint64_t sum;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reads one word of each cache line, in four chains. */
static void *read_part(void *arg)
{
	struct part *p = arg;
	uint64_t s[4] = {0};

	for (size_t i = 0; i + 32 <= p->n; i += 32)
		for (size_t j = 0; j < 4; j++)
			s[j] += p->words[i + 8 * j];
	p->sum = s[0] + s[1] + s[2] + s[3];
	return NULL;
}

/* Reads all parts at once; false: a thread could not be started. */
static bool read_once(struct part *parts, uint32_t n)
{
	pthread_t threads[MAX_THREADS];
	uint32_t n_started = 0;

	while (n_started < n && !pthread_create(&threads[n_started], NULL, read_part, &parts[n_started]))
		n_started++;
	for (uint32_t i = 0; i < n_started; i++)
		pthread_join(threads[i], NULL);
	return n_started == n;
}

double lmi_ctl_read_rate(uint32_t n_thread)
{
	struct part parts[MAX_THREADS];
	uint64_t *words = lmi_alloc(BYTES, 1);
	double best = 0;

	if (!words)
		return 0;
	memset(words, 1, BYTES);
	n_thread = n_thread ? n_thread : lmi_cpu_count();
	n_thread = n_thread > MAX_THREADS ? MAX_THREADS : n_thread;
	for (uint32_t i = 0; i < n_thread; i++) {
		size_t n = BYTES / sizeof(*words) / n_thread;

		parts[i] = (struct part){.words = words + i * n, .n = n};
	}
	for (int r = 0; r < ROUNDS; r++) {
		double t = now();

		if (!read_once(parts, n_thread))
			break;
		t = BYTES / (now() - t);
		best = t > best ? t : best;
	}
	lmi_free(words);
	return best;
}
