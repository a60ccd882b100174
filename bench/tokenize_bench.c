/* SPDX-License-Identifier: MIT
 *
 * Measures how long a vocabulary takes to load and how fast texts are tokenised, on one thread.
 *
 *     tokenize_bench [-r ROUNDS] [-p PLUGINS] VOCABULARY TEXT...
 *
 * VOCABULARY: a GGUF file, a tokenizer.json, a tokenizer.model or a checkpoint folder.  PLUGINS: a
 * folder with plugins, searched in addition to the installed ones.  Prints one line of JSON for the
 * vocabulary, {"ready_ms", "heap_mib"}, and one for each text: {"text", "bytes", "tokens", "mbs",
 * "heap_per_byte"}.  Times are CPU times, the best of ROUNDS (default 5); heap figures are the peak
 * above the heap at the start. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/format.h"
#include "core/format/hf/hf.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/text/tokenizer.h"

static struct lmi_registry *registry;
static struct lmd_host *host;
static struct lmd_error err;

static void must(enum lmd_status st)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "tokenize_bench: %s\n", err.text);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t live_bytes(void)
{
	struct lmi_alloc_stats s;

	lmi_alloc_stats(&s);
	return s.live_bytes;
}

static uint64_t peak_bytes(void)
{
	struct lmi_alloc_stats s;

	lmi_alloc_stats(&s);
	return s.peak_bytes;
}

struct vocabulary {
	struct lmi_model *model;
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *tok;
};

static void open_vocabulary(struct vocabulary *v, const char *path)
{
	const struct lmd_tokspec *spec;

	memset(v, 0, sizeof(*v));
	if (lmi_hf_is_tokenizer_path(path)) {
		must(lmi_hf_tokenizer_open(&v->hf, path, &err));
		spec = lmi_hf_tokenizer_spec(v->hf);
	} else {
		must(lmi_model_open(&v->model, path, LMI_OPEN_HEADER_ONLY, &err));
		spec = lmi_model_view(v->model)->tok;
	}
	must(lmi_tokenizer_open(&v->tok, registry, host, spec, &err));
}

static void close_vocabulary(struct vocabulary *v)
{
	lmi_tokenizer_close(v->tok);
	lmi_hf_tokenizer_close(v->hf);
	lmi_model_close(v->model);
}

static char *read_text(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;
	long len;

	if (f && !fseek(f, 0, SEEK_END) && (len = ftell(f)) > 0) {
		rewind(f);
		p = malloc((size_t)len);
		if (p && fread(p, 1, (size_t)len, f) != (size_t)len) {
			free(p);
			p = NULL;
		}
		*n = (size_t)len;
	}
	if (!p) {
		fprintf(stderr, "tokenize_bench: %s: %s\n", path,
			errno ? strerror(errno) : "empty");
		exit(1);
	}
	fclose(f);
	return p;
}

static void time_text(const struct lmi_tokenizer *t, const char *path, int rounds)
{
	size_t n;
	char *text = read_text(path, &n);
	struct lmi_tokens ids = {0};
	double best = 1e9;
	uint64_t before, peak;

	/* the list of ids grows in the first round; the caller owns it, and it counts as well */
	before = live_bytes();
	lmi_alloc_reset_peak();
	for (int r = 0; r < rounds; r++) {
		double t0 = now(), took;

		must(lmi_tokenizer_encode(t, text, n, 0, &ids, &err));
		took = now() - t0;
		best = took < best ? took : best;
	}
	peak = peak_bytes();
	printf("{\"text\": \"%s\", \"bytes\": %zu, \"tokens\": %zu, \"mbs\": %.2f, "
	       "\"heap_per_byte\": %.2f}\n",
	       path, n, ids.n, (double)n / best * 1e-6, (double)(peak - before) / (double)n);
	lmi_tokens_fini(&ids);
	free(text);
}

int main(int argc, char **argv)
{
	struct lmi_registry_opts opts = {0};
	struct vocabulary v;
	double best = 1e9;
	uint64_t before;
	const char *dir;
	int rounds = 5, c;

	while ((c = getopt(argc, argv, "r:p:")) != -1) {
		if (c == 'r') {
			rounds = atoi(optarg);
		} else if (c == 'p') {
			dir = optarg;
			opts.dirs = &dir;
			opts.n_dirs = 1;
		} else {
			rounds = 0;
		}
	}
	if (rounds < 1 || optind >= argc) {
		fprintf(stderr,
			"usage: tokenize_bench [-r ROUNDS] [-p PLUGINS] VOCABULARY TEXT...\n");
		return 2;
	}
	must(lmi_host_create(&host, UINT64_MAX));
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	opts.host = host;
	must(lmi_registry_create(&registry, &opts, &err));
	before = live_bytes();
	for (int r = 0; r < rounds; r++) {
		double t0 = now(), took;

		open_vocabulary(&v, argv[optind]);
		took = now() - t0;
		best = took < best ? took : best;
		if (r + 1 < rounds)
			close_vocabulary(&v);
	}
	printf("{\"ready_ms\": %.1f, \"heap_mib\": %.1f}\n", best * 1e3,
	       (double)(live_bytes() - before) / 1048576);
	for (int i = optind + 1; i < argc; i++)
		time_text(v.tok, argv[i], rounds);
	close_vocabulary(&v);
	lmi_registry_destroy(registry);
	lmi_host_destroy(host);
	return 0;
}
