/* SPDX-License-Identifier: MIT
 *
 * llamactl debug simulate: the scheduler in simulated time, with requests from a file or made up, and
 * the times that their clients would see. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sched/simulate.h"
#include "llamad/attr.h"

#define MANY_CLIENT 0 /* of --many; the others count from 1 */

struct samples {
	double *ms;
	size_t n, cap;
};

/* Requests that are reported together. */
struct client_group {
	const char *name;
	struct samples first, between;
	uint32_t n_request, n_good;
};

struct run {
	struct lmi_sched_sim_request *request; /* [n] */
	uint32_t n, cap;
	struct client_group group[2]; /* all but --many, --many */
	double *worst_ms;	      /* [n] longest time between tokens */
	double *first_ms;	      /* [n] */
	bool no_memory;
};

/* ---- requests ---- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Returns a number in (0, 1]. */
static double uniform(uint64_t *state)
{
	return ((double)(next_random(state) >> 11) + 1) / 9007199254740992.0;
}

/* Returns a length from a log-normal distribution with this median. */
static uint32_t length(uint64_t *state, double median, uint32_t most)
{
	double normal = sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
	double n = median * exp(normal);

	return n < 1 ? 1 : n > most ? most : (uint32_t)n;
}

static bool add_request(struct run *r, const struct lmi_sched_sim_request *q)
{
	if (r->n == r->cap) {
		uint32_t cap = r->cap ? 2 * r->cap : 256;
		void *p = lmi_realloc(r->request, cap, sizeof(*r->request));

		if (!p)
			return false;
		r->request = p;
		r->cap = cap;
	}
	r->request[r->n++] = *q;
	return true;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct lmi_sched_sim_request *)a)->at_ns,
		 y = ((const struct lmi_sched_sim_request *)b)->at_ns;

	return (x > y) - (x < y);
}

/* Makes up requests: those of --many come at once, the others at random times. */
static enum lmd_status make_requests(const struct lmi_args *a, struct run *r, struct lmd_error *err)
{
	uint64_t state = (uint64_t)lmi_arg_int(a, "seed");
	uint32_t n_client = (uint32_t)lmi_arg_int(a, "clients"), n = (uint32_t)lmi_arg_int(a, "requests");
	uint32_t n_many = (uint32_t)lmi_arg_int(a, "many");
	uint32_t room = (uint32_t)lmi_arg_int(a, "ctx-size") / 2;
	double at_s = 0;

	for (uint32_t i = 0; i < n_many + n; i++) {
		struct lmi_sched_sim_request q = {.client = MANY_CLIENT};

		if (i >= n_many) {
			at_s -= log(uniform(&state)) / lmi_arg_float(a, "rate");
			q.at_ns = (uint64_t)(at_s * 1e9);
			q.client = 1 + next_random(&state) % n_client;
		}
		q.n_prompt = length(&state, (double)lmi_arg_int(a, "prompt"), room);
		q.n_out = length(&state, (double)lmi_arg_int(a, "predict"), room);
		if (!add_request(r, &q))
			return lmd_fail(err, LMD_NOMEM, "no memory for %u requests", n);
	}
	return LMD_OK;
}

/* Parses "MILLISECONDS CLIENT CLASS PROMPT OUTPUT". */
static bool parse_line(const char *line, struct lmi_sched_sim_request *q)
{
	static const char *const classes[] = {
		[LMI_SCHED_NORMAL] = "normal",
		[LMI_SCHED_INTERACTIVE] = "interactive",
		[LMI_SCHED_BATCH] = "batch",
	};
	char class[16];
	double at_ms;
	int end = 0;

	if (sscanf(line, "%lf %" SCNu64 " %15s %" SCNu32 " %" SCNu32 " %n", &at_ms, &q->client, class,
		   &q->n_prompt, &q->n_out, &end) != 5 ||
	    line[end] || !(at_ms >= 0 && at_ms < 1e12) || !q->n_prompt || !q->n_out)
		return false;
	q->at_ns = (uint64_t)(at_ms * 1e6);
	for (size_t i = 0; i < LMD_LEN(classes); i++) {
		q->class = (enum lmi_sched_class)i;
		if (!strcmp(class, classes[i]))
			return true;
	}
	return false;
}

static enum lmd_status read_requests(const char *path, struct run *r, struct lmd_error *err)
{
	FILE *f = fopen(path, "r");
	enum lmd_status st = LMD_OK;
	uint32_t n_line = 0;
	char line[256];

	if (!f)
		return lmd_fail(err, LMD_NOTFOUND, "%s: %s", path, strerror(errno));
	while (st == LMD_OK && fgets(line, sizeof(line), f)) {
		struct lmi_sched_sim_request q = {0};

		n_line++;
		if (line[0] == '#' || line[strspn(line, " \t\n")] == 0)
			continue;
		if (!parse_line(line, &q))
			st = lmd_fail(err, LMD_INVALID,
				      "%s: line %u is not: milliseconds, number of the client, "
				      "interactive, normal or batch, tokens of the prompt, tokens of "
				      "the answer",
				      path, n_line);
		else if (r->n == LMI_SCHED_SIM_REQUESTS_MAX || !add_request(r, &q))
			st = lmd_fail(err, LMD_INVALID, "%s: more than %u requests", path,
				      LMI_SCHED_SIM_REQUESTS_MAX);
	}
	if (st == LMD_OK && ferror(f))
		st = lmd_fail(err, LMD_IO, "%s: %s", path, strerror(errno));
	(void)fclose(f);
	return st;
}

/* ---- results ---- */

static bool add_sample(struct samples *s, double ms)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 1024;
		void *p = lmi_realloc(s->ms, cap, sizeof(*s->ms));

		if (!p)
			return false;
		s->ms = p;
		s->cap = cap;
	}
	s->ms[s->n++] = ms;
	return true;
}

static struct client_group *group_of(struct run *r, uint32_t request)
{
	return &r->group[r->group[1].name && r->request[request].client == MANY_CLIENT];
}

static void take_token(void *arg, uint32_t request, uint32_t n, uint64_t ns)
{
	struct run *r = arg;
	struct client_group *g = group_of(r, request);
	double ms = (double)ns / 1e6;

	r->no_memory |= !add_sample(n == 1 ? &g->first : &g->between, ms);
	if (n == 1)
		r->first_ms[request] = ms;
	else if (ms > r->worst_ms[request])
		r->worst_ms[request] = ms;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const double ranks[] = {0.5, 0.9, 0.95, 0.99, 1};

static void percentiles(struct samples *s, double *out)
{
	if (s->n)
		qsort(s->ms, s->n, sizeof(*s->ms), by_size);
	for (size_t i = 0; i < LMD_LEN(ranks); i++) {
		size_t at = (size_t)(ranks[i] * (double)s->n);

		out[i] = s->n ? s->ms[at < s->n ? at : s->n - 1] : 0;
	}
}

static void count_good(const struct lmi_args *a, struct run *r)
{
	double first = (double)lmi_arg_int(a, "good-first"),
	       between = (double)lmi_arg_int(a, "good-between");

	for (uint32_t i = 0; i < r->n; i++) {
		struct client_group *g = group_of(r, i);

		g->n_request++;
		g->n_good += r->first_ms[i] <= first && r->worst_ms[i] <= between;
	}
}

static void print_samples(struct lmi_ctl_json *j, const char *name, const char *key,
			  struct samples *s)
{
	static const char *const keys[] = {"p50", "p90", "p95", "p99", "max"};
	double v[LMD_LEN(ranks)];

	percentiles(s, v);
	if (!j) {
		printf("%-15s %9.1f %9.1f %9.1f %9.1f %9.1f ms\n", name, v[0], v[1], v[2], v[3],
		       v[4]);
		return;
	}
	lmi_ctl_json_object(j, key);
	for (size_t i = 0; i < LMD_LEN(ranks); i++)
		lmi_ctl_json_f64(j, keys[i], v[i]);
	lmi_ctl_json_end(j);
}

static void print_group(struct lmi_ctl_json *j, struct client_group *g, double seconds)
{
	if (!g->n_request)
		return;
	if (j) {
		lmi_ctl_json_object(j, NULL);
		lmi_ctl_json_str(j, "clients", g->name);
		lmi_ctl_json_uint(j, "requests", g->n_request);
		lmi_ctl_json_uint(j, "good", g->n_good);
	} else {
		printf("\n%-15s %9s %9s %9s %9s %9s\n", g->name, "p50", "p90", "p95", "p99", "max");
	}
	print_samples(j, "first token", "first_ms", &g->first);
	print_samples(j, "between tokens", "between_ms", &g->between);
	if (j)
		lmi_ctl_json_end(j);
	else
		printf("%u of %u requests are good, %.2f a second\n", g->n_good, g->n_request,
		       g->n_good / seconds);
}

static double share(double part, double of)
{
	return of > 0 ? part / of : 0;
}

static void print_text(struct run *r, const struct lmi_sched_sim_totals *t)
{
	double s = (double)t->end_ns / 1e9;
	double with_work = (double)t->end_ns - (double)t->empty_ns;

	printf("%u requests in %.1f s: %" PRIu64 " steps, %" PRIu64 " rows, %" PRIu64
	       " preemptions\n",
	       r->n, s, t->stats.n_step, t->stats.n_row, t->stats.n_preempted);
	printf("idle with work: %.1f %% of the time; without requests: %.1f %%\n",
	       100 * share(with_work - (double)t->busy_ns, with_work),
	       100 * share((double)t->empty_ns, (double)t->end_ns));
	printf("late steps: %" PRIu64 " of %" PRIu64 " with a target\n", t->stats.n_over_bound,
	       t->stats.n_bounded);
	for (size_t i = 0; i < LMD_LEN(r->group); i++)
		print_group(NULL, &r->group[i], s);
}

static void print_json(struct run *r, const struct lmi_sched_sim_totals *t)
{
	double with_work = (double)t->end_ns - (double)t->empty_ns;
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_uint(&j, "requests", r->n);
	lmi_ctl_json_f64(&j, "seconds", (double)t->end_ns / 1e9);
	lmi_ctl_json_uint(&j, "steps", t->stats.n_step);
	lmi_ctl_json_uint(&j, "rows", t->stats.n_row);
	lmi_ctl_json_uint(&j, "preemptions", t->stats.n_preempted);
	lmi_ctl_json_f64(&j, "idle", share(with_work - (double)t->busy_ns, with_work));
	lmi_ctl_json_f64(&j, "empty", share((double)t->empty_ns, (double)t->end_ns));
	lmi_ctl_json_uint(&j, "target_steps", t->stats.n_bounded);
	lmi_ctl_json_uint(&j, "late_steps", t->stats.n_over_bound);
	lmi_ctl_json_array(&j, "groups");
	for (size_t i = 0; i < LMD_LEN(r->group); i++)
		print_group(&j, &r->group[i], (double)t->end_ns / 1e9);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* ---- the command ---- */

static enum lmd_status simulate(const struct lmi_args *a, struct run *r, struct lmd_error *err)
{
	uint32_t page = 32, n_ctx = (uint32_t)lmi_arg_int(a, "ctx-size");
	struct lmi_sched_sim_opts o = {
		.n_request = r->n,
		.n_seq = (uint32_t)lmi_arg_int(a, "seqs"),
		.n_batch = (uint32_t)lmi_arg_int(a, "batch"),
		.n_ctx = n_ctx,
		.page_tokens = page,
		.n_page = (uint32_t)(lmi_arg_int(a, "kv-tokens") / page),
		.client_slowdown_percent = (uint32_t)lmi_arg_int(a, "client-slowdown"),
		.in_order = lmi_arg_flag(a, "in-order"),
		.fixed_ns = lmi_arg_float(a, "step-ms") * 1e6,
		.row_ns = lmi_arg_float(a, "row-ms") * 1e6,
		.pair_ns = lmi_arg_float(a, "pair-ns"),
		.host_ns = lmi_arg_float(a, "host-ms") * 1e6,
	};
	struct lmi_sched_sim_totals t;
	enum lmd_status st;

	for (int i = 0; i < LMI_SCHED_N_CLASS; i++)
		o.target_ns[i] = (uint64_t)lmi_arg_int(a, "target-itl") * LMI_NS_PER_MS;
	qsort(r->request, r->n, sizeof(*r->request), by_time);
	o.request = r->request;
	if (o.n_batch < o.n_seq)
		return lmd_fail(err, LMD_INVALID,
				"--batch %u: a step must have a row for each of %u sequences",
				o.n_batch, o.n_seq);
	r->first_ms = lmi_alloc(r->n, sizeof(*r->first_ms));
	r->worst_ms = lmi_alloc(r->n, sizeof(*r->worst_ms));
	if (!r->first_ms || !r->worst_ms)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u requests", r->n);
	st = lmi_sched_simulate(&o, take_token, r, &t, err);
	if (st == LMD_OK && r->no_memory)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the times of all tokens");
	if (st != LMD_OK)
		return st;
	count_good(a, r);
	if (lmi_arg_flag(a, "json"))
		print_json(r, &t);
	else
		print_text(r, &t);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *trace = lmi_arg_str(a, "trace");
	bool many = !trace && lmi_arg_int(a, "many");
	struct run r = {.group = {{.name = many ? "others" : "all"}, {.name = many ? "many" : NULL}}};
	enum lmd_status st = trace ? read_requests(trace, &r, err) : make_requests(a, &r, err);

	if (st == LMD_OK && !r.n)
		st = lmd_fail(err, LMD_INVALID, "there are no requests");
	if (st == LMD_OK)
		st = simulate(a, &r, err);
	for (size_t i = 0; i < LMD_LEN(r.group); i++) {
		lmi_free(r.group[i].first.ms);
		lmi_free(r.group[i].between.ms);
	}
	lmi_free(r.first_ms);
	lmi_free(r.worst_ms);
	lmi_free(r.request);
	return st;
}

#define INT_OPT(name_, value_, def_, min_, max_, doc_)                                             \
	{                                                                                          \
		.name = name_, .type = LMI_OPT_INT, .value = value_, .def = def_, .min = min_,     \
		.max = max_, .doc = doc_                                                           \
	}
#define REAL_OPT(name_, value_, def_, doc_)                                                        \
	{                                                                                          \
		.name = name_, .type = LMI_OPT_FLOAT, .value = value_, .def = def_, .doc = doc_    \
	}

static const struct lmi_opt opts[] = {
	{.name = "trace",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File with one request per line: time of arrival in ms, number of the client, class "
		"(interactive, normal or batch), tokens of the prompt, tokens of the answer. By "
		"default requests are random."},
	INT_OPT("requests", "N", "400", 0, 60000, "Number of requests, which arrive at random times."),
	REAL_OPT("rate", "N", "1", "Requests per second."),
	INT_OPT("clients", "N", "8", 1, 10000, "Number of clients that send these requests."),
	INT_OPT("many", "N", "0", 0, 5000,
		"Additional requests of one client that all arrive at the start; they are reported separately."),
	INT_OPT("prompt", "N", "256", 1, 1 << 20, "Median length of a prompt in tokens."),
	INT_OPT("predict", "N", "64", 1, 1 << 20, "Median length of an answer in tokens."),
	INT_OPT("seed", "N", "1", 0, 1 << 30, "Seed of all random choices."),
	INT_OPT("seqs", "N", "32", 1, 4096, "Maximum number of sequences that run concurrently."),
	INT_OPT("batch", "N", "512", 1, 65536, "Maximum number of rows of a step."),
	{.name = "ctx-size",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "8k",
	 .min = 64,
	 .max = 1 << 24,
	 .doc = "Context size of a sequence in tokens."},
	{.name = "kv-tokens",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "128k",
	 .min = 64,
	 .max = 1 << 30,
	 .doc = "Tokens of all sequences that the KV cache has room for."},
	{.name = "target-itl",
	 .type = LMI_OPT_TIME,
	 .value = "T",
	 .def = "200ms",
	 .max = 3600000,
	 .doc = "As in llamad.conf, for all classes; 0: only --batch limits a step."},
	INT_OPT("client-slowdown", "PERCENT", "20", 0, 10000,
		"As client_slowdown_percent in llamad.conf; 0: all sequences generate in every step."),
	{.name = "in-order",
	 .type = LMI_OPT_FLAG,
	 .doc = "Serve requests in order of arrival, whatever their client and class."},
	REAL_OPT("step-ms", "MS", "10", "Fixed part of the time of a step."),
	REAL_OPT("row-ms", "MS", "1", "Additional time for each row of a step."),
	REAL_OPT("pair-ns", "NS", "0", "Additional time for each pair of a row and an earlier row of its sequence."),
	REAL_OPT("host-ms", "MS", "0", "Time between two steps."),
	{.name = "good-first",
	 .type = LMI_OPT_TIME,
	 .value = "T",
	 .def = "1s",
	 .max = 3600000,
	 .doc = "Goal for the first token; a request that meets both goals counts as good."},
	{.name = "good-between",
	 .type = LMI_OPT_TIME,
	 .value = "T",
	 .def = "250ms",
	 .max = 3600000,
	 .doc = "Goal for the time between two tokens."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_simulate = {
	.name = "debug simulate",
	.brief = "Try the scheduler in simulated time",
	.doc = "Runs the scheduler that engines use, without a model: a step takes the time that the "
	       "options say. Prints percentiles of the time to the first token and between tokens, how "
	       "many requests were good, and how long the device was idle although there was work. "
	       "The same options give the same output.\n\nUse the figures of `llamactl bench` for "
	       "--step-ms and --row-ms. With --in-order and --target-itl 0 requests are served in "
	       "order of arrival, in steps that are as full as possible.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
