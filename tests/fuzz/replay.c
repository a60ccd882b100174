/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target without libFuzzer, as a test that works with any compiler: on its seeds and
 * random mutations of them, or on the files given as arguments.  An input that crashes the program
 * is written to PROGRAM.crash, which can then be given as an argument. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "llamad/attr.h"
#include "tests/fuzz/target.h"
#include "tests/lmd_check.h"

#define N_SHORT   2000 /* mutations per seed if there are at most SEEDS_FEW */
#define N_LONG    200000
#define SEEDS_FEW 8  /* with more seeds, each has proportionally fewer mutations */
#define SIZE_LAST 16384
#define SEEDS_MAX 256

static struct fuzz_bytes seeds[SEEDS_MAX];
static size_t n_seed;
static uint8_t input[SIZE_LAST];
static size_t input_n;
static char crash_path[4096];
static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};

/* Signal handler; calls only async-signal-safe functions. */
static void keep_input(int sig)
{
	int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd >= 0 && write(fd, input, input_n) == (ssize_t)input_n) {
		static const char text[] = "\nthe input is in ";

		(void)!write(2, text, sizeof(text) - 1);
		(void)!write(2, crash_path, strlen(crash_path));
		(void)!write(2, "\n", 1);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run(void)
{
	/* detect hangs, in CPU time, so that a busy machine does not cause false alarms */
	static const struct itimerval limit = {.it_value = {.tv_sec = 20}};

	(void)setitimer(ITIMER_PROF, &limit, NULL);
	(void)LLVMFuzzerTestOneInput(input, input_n);
}

static void set_input(const uint8_t *p, size_t n)
{
	input_n = n < SIZE_LAST ? n : SIZE_LAST;
	memcpy(input, p, input_n);
}

/* ---- mutations ---- */

static size_t below(uint64_t *s, size_t n)
{
	return n ? (size_t)(lmd_rand(s) % n) : 0;
}

static void change_byte(uint64_t *s)
{
	static const uint8_t odd[] = {0,   1,    0x7f, 0x80, 0xff, '{',
				      '%', '\'', '\n', 0xc3, 0xed, 0xf4};
	size_t at = below(s, input_n);

	if (lmd_rand(s) & 1)
		input[at] ^= (uint8_t)(1u << below(s, 8));
	else
		input[at] = odd[below(s, sizeof(odd))];
}

/* Overwrites a number, where the file may have a count, a length or an offset. */
static void change_number(uint64_t *s)
{
	static const uint64_t odd[] = {0,          1,          31,         32,
				       0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32,
				       1ull << 62, 1ull << 63, UINT64_MAX};
	size_t width = (size_t)4 << below(s, 2);
	uint64_t v = odd[below(s, LMD_LEN(odd))] + below(s, 3) - 1;

	if (input_n < width)
		return;
	memcpy(input + below(s, input_n - width + 1), &v, width);
}

static void cut(uint64_t *s)
{
	size_t at = below(s, input_n), n = below(s, input_n - at) + 1;

	if (lmd_rand(s) & 1)
		n = input_n - at;
	memmove(input + at, input + at + n, input_n - at - n);
	input_n -= n;
}

/* Inserts a piece of this or another seed, or overwrites bytes with it. */
static void graft(uint64_t *s)
{
	const struct fuzz_bytes *from = &seeds[below(s, n_seed)];
	size_t first = below(s, from->n), n = below(s, from->n - first) + 1;
	size_t at = below(s, input_n + 1);
	bool over = lmd_rand(s) & 1;

	if (!from->n || at + n > SIZE_LAST || (!over && input_n + n > SIZE_LAST))
		return;
	if (!over) {
		memmove(input + at + n, input + at, input_n - at);
		input_n += n;
	}
	memcpy(input + at, from->p + first, n);
	if (input_n < at + n)
		input_n = at + n;
}

static void change(uint64_t *s)
{
	for (size_t i = 0, n = 1 + below(s, 6); i < n; i++) {
		switch (input_n ? below(s, 8) : 7) {
		case 0:
		case 1:
		case 2:
			change_byte(s);
			break;
		case 3:
		case 4:
			change_number(s);
			break;
		case 5:
			cut(s);
			break;
		default:
			graft(s);
		}
	}
}

/* ---- runs ---- */

static int run_files(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		input_n = fread(input, 1, sizeof(input), f);
		fclose(f);
		run();
		printf("%s: %zu bytes, no failure\n", argv[i], input_n);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t n_change = lmd_long() ? N_LONG : N_SHORT, n_run = 0;
	uint64_t s;

	snprintf(crash_path, sizeof(crash_path), "%s.crash", argv[0]);
	for (size_t i = 0; i < LMD_LEN(deadly); i++)
		signal(deadly[i], keep_input);
	if (argc > 1)
		return run_files(argc, argv);
	s = lmd_seed("replay", 1);
	while (n_seed < SEEDS_MAX && fuzz_seed(n_seed, &seeds[n_seed]))
		n_seed++;
	if (n_seed > SEEDS_FEW)
		n_change = (uint32_t)(n_change * SEEDS_FEW / n_seed);
	for (size_t k = 0; k < n_seed; k++) {
		set_input(seeds[k].p, seeds[k].n);
		run();
		for (uint32_t i = 0; i < n_change; i++) {
			set_input(seeds[k].p, seeds[k].n);
			change(&s);
			run();
		}
		n_run += n_change + 1;
	}
	printf("%u inputs\n", n_run);
	LMD_CASES("seeds", n_seed, 0, 0);
	for (size_t k = 0; k < n_seed; k++)
		free(seeds[k].p);
	return n_seed ? 0 : 1;
}
