/* SPDX-License-Identifier: MIT
 *
 * What lookahead decoding would be worth where rows of a step are cheap, and what it costs here:
 *   lookahead MODEL [-n TOKENS] [-t THREADS]
 * Greedy answers of TOKENS (200) to a few prompts, alone in the engine: without guesses, with windows in those steps that the
 * engine chooses, and with one in every step. Prints for each prompt the steps and rows that computed the answer, which are
 * exact, and the processor time per token; and the gain of windows in every step if a row took 1, 2 or 5 % of the time of a
 * step. Ends with 1 if two answers differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/draft.h"
#include "core/engine/engine.h"
#include "core/plugin/host_services.h"
#include "core/text/tokenizer.h"

#define N_MAX 1024

static const struct {
	const char *what, *text;
} prompts[] = {
	{"prose", "Rivers shape the land in many ways. In the mountains, "},
	{"a list", "The ten largest cities of the world are:\n\n1. Tokyo, Japan\n2. "},
	{"code", "def average(values):\n    \"\"\"Return the mean of the values.\"\"\"\n"},
	{"JSON", "{\"cities\": [{\"name\": \"Paris\", \"country\": \"France\", \"capital\": true}, "
		 "{\"name\": "},
	{"a dialogue", "Question: Why is the sky blue?\nAnswer: "},
};

enum windows { NONE, CHOSEN, ALWAYS };

struct run {
	lmd_token v[N_MAX];
	uint32_t n;
	uint64_t n_step, n_row;
	double cpu_s;
};

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "lookahead: %s\n", err->text);
	exit(1);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void take_events(struct lmi_engine *e, struct run *r)
{
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev)) {
		if (ev.kind == LMI_ENGINE_EV_FAILED)
			must(ev.u.error.status, &ev.u.error);
		if (ev.kind == LMI_ENGINE_EV_TOKEN && r->n < N_MAX)
			r->v[r->n++] = ev.u.text.token;
		lmi_engine_event_release(&ev);
	}
}

static void generate(struct lmi_engine *e, const char *text, int64_t n, enum windows windows,
		     struct run *r)
{
	static const struct lmi_sampler_spec greedy = {.name = "greedy"};
	const struct lmi_tokenizer *tok = lmi_engine_tokenizer(e);
	struct lmi_engine_stats before, after;
	struct lmi_engine_generate cmd = {.id = 1,
					  .n_predict = n,
					  .specs = &greedy,
					  .n_specs = 1,
					  .flags = LMI_ENGINE_GEN_IGNORE_EOG};
	struct lmi_text_token_buf v = {0};
	struct lmd_error err = {0};
	double begin;

	must(lmi_tokenizer_encode(tok, text, strlen(text), 0, &v, &err), &err);
	cmd.seq = (struct lmi_engine_input_seq){
		.tokens = v.id, .n_tokens = (uint32_t)v.n, .fork_of = LMI_ENGINE_NO_FORK};
	if (windows != NONE) {
		cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
		cmd.n_draft = LMI_ENGINE_DRAFT_MAX;
		cmd.drafter = &lmi_engine_drafter_lookahead;
		cmd.flags |= windows == ALWAYS ? LMI_ENGINE_GEN_DRAFT_ALWAYS : 0;
	}
	*r = (struct run){0};
	lmi_engine_stats(e, &before);
	begin = cpu_s();
	must(lmi_engine_generate(e, &cmd, &err), &err);
	while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
		take_events(e, r);
	take_events(e, r);
	r->cpu_s = cpu_s() - begin;
	lmi_engine_stats(e, &after);
	r->n_step = after.n_step - before.n_step;
	r->n_row = after.n_row - before.n_row;
	lmi_text_token_buf_fini(&v);
}

/* By which factor an answer is faster if each row but the first adds this part of the time of a step. */
static double gain(const struct run *plain, const struct run *ahead, double row)
{
	return (double)plain->n_step /
	       ((double)ahead->n_step + row * (double)(ahead->n_row - ahead->n_step));
}

int main(int argc, char **argv)
{
	const char *dirs[] = {"plugins/.libs"};
	struct lmi_plugin_registry_opts ro = {.no_default_dirs = true, .dirs = dirs, .n_dirs = 1};
	struct lmi_engine_opts o = {.in_line = true};
	struct lmi_engine *e;
	struct lmd_error err = {0};
	int64_t n = 200;
	int c, differ = 0;

	o.inst.n_thread = 1;
	while ((c = getopt(argc, argv, "n:t:")) != -1) {
		if (c == 'n')
			n = atoi(optarg);
		else if (c == 't')
			o.inst.n_thread = (uint32_t)atoi(optarg);
		else
			exit(2);
	}
	if (optind + 1 != argc || n < 1 || n > N_MAX) {
		fprintf(stderr, "usage: lookahead MODEL [-n TOKENS] [-t THREADS]\n");
		return 2;
	}
	must(lmi_host_create((struct lmd_host **)(uintptr_t)&ro.host, UINT64_MAX), &err);
	must(lmi_plugin_registry_create(&o.inst.registry, &ro, &err), &err);
	o.inst.host = ro.host;
	o.inst.path = argv[optind];
	o.inst.backend = "cpu";
	o.inst.n_seq = 1;
	o.inst.n_ctx = 2048;
	o.inst.k_dtype = o.inst.v_dtype = -1;
	o.inst.pooling = LMD_POOL_UNSET;
	o.inst.no_prefix_cache = true;
	o.inst.lookahead = true;
	must(lmi_engine_open(&e, &o, &err), &err);
	printf("| prompt | tokens | us per token | chosen: steps | rows | us | always: steps | "
	       "rows | us | row 5 %% | 2 %% | "
	       "1 %% |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < LMD_LEN(prompts); i++) {
		static struct run r[3];

		for (int k = NONE; k <= ALWAYS; k++) {
			generate(e, prompts[i].text, n, (enum windows)k, &r[k]);
			differ |= r[k].n != r[NONE].n ||
				  memcmp(r[k].v, r[NONE].v, r[NONE].n * sizeof(r[NONE].v[0])) != 0;
		}
		printf("| %s | %u | %.0f | ", prompts[i].what, r[NONE].n,
		       1e6 * r[NONE].cpu_s / r[NONE].n);
		for (int k = CHOSEN; k <= ALWAYS; k++)
			printf("%llu | %llu | %.0f | ", (unsigned long long)r[k].n_step,
			       (unsigned long long)r[k].n_row, 1e6 * r[k].cpu_s / r[k].n);
		printf("%.2f | %.2f | %.2f |\n", gain(&r[NONE], &r[ALWAYS], 0.05),
		       gain(&r[NONE], &r[ALWAYS], 0.02), gain(&r[NONE], &r[ALWAYS], 0.01));
		fflush(stdout);
	}
	lmi_engine_fini(e);
	lmi_plugin_registry_destroy(o.inst.registry);
	lmi_host_destroy((struct lmd_host *)(uintptr_t)ro.host);
	if (differ)
		fprintf(stderr, "lookahead: answers differ\n");
	return differ;
}
