/* SPDX-License-Identifier: MIT
 *
 * llamactl bench serve: how a server behaves under load. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/http_url.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/load_http.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"

#define OPEN_CLIENTS 256 /* connections of an open loop, unless --clients says something else */
#define RATE_MAX     100000.0

struct measurement {
	struct lmi_ctl_http_target target;
	struct lmi_ctl_load_requests requests;
	struct lmi_ctl_load load;
	struct lmi_ctl_load_result result;
	struct lmi_ctl_progress bar;
	bool has_goal;
};

static void progress(void *arg, uint64_t done, uint64_t total)
{
	struct measurement *m = arg;

	lmi_ctl_progress_show(&m->bar, "requests", done, total);
}

/* ---- the result ---- */

static double seconds(const struct measurement *m)
{
	return m->result.ns ? (double)m->result.ns / 1e9 : 1;
}

static void put_latencies(const char *name, const struct lmi_ctl_latencies *l)
{
	printf("%-15s %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n", name,
	       lmi_ctl_latencies_mean_ms(l), lmi_ctl_latencies_percentile_ms(l, 50),
	       lmi_ctl_latencies_percentile_ms(l, 90), lmi_ctl_latencies_percentile_ms(l, 95),
	       lmi_ctl_latencies_percentile_ms(l, 99), lmi_ctl_latencies_max_ms(l));
}

static void put_lengths(const char *what, const struct lmi_ctl_load_lengths *l)
{
	printf("%s%u", what, l->min);
	if (l->max != l->min)
		printf(" to %u", l->max);
}

static void print_report(const struct measurement *m)
{
	const struct lmi_ctl_load_result *r = &m->result;
	double s = seconds(m);

	if (m->load.open)
		printf("Open loop, %g requests per second", m->requests.rate);
	else
		printf("Closed loop, %u clients", m->load.n_client);
	if (m->requests.n_shared)
		printf("; prompts with %u words in common", m->requests.n_shared);
	put_lengths(m->requests.n_shared ? " and " : "; prompts of ", &m->requests.prompt);
	put_lengths(m->requests.n_shared ? " of their own; " : " words; ", &m->requests.predict);
	printf(" tokens to generate\n\n");
	printf("Requests: %" PRIu64 " answered, %" PRIu64 " failed; %.2f s, %.2f per second\n",
	       r->n_answered, r->n_failed, s, (double)r->n_answered / s);
	if (r->n_refused)
		printf("Refused as too many (429 or 503): %" PRIu64 " of those that failed, %" PRIu64
		       " with a time after which to try again\n",
		       r->n_refused, r->n_retry);
	if (r->n_uncounted)
		printf("Tokens: the server did not count those of %" PRIu64 " answers\n", r->n_uncounted);
	else if (r->n_answered)
		printf("Tokens per second: %.1f generated, %.1f of prompts (%.0f %% of them cached)\n",
		       (double)r->n_token / s, (double)r->n_prompt / s,
		       r->n_prompt ? 100.0 * (double)r->n_cached / (double)r->n_prompt : 0);
	if (m->has_goal)
		printf("Within the goal: %.2f requests per second (%.1f %%)\n", (double)r->n_good / s,
		       r->n_answered + r->n_failed
			       ? 100.0 * (double)r->n_good / (double)(r->n_answered + r->n_failed)
			       : 0);
	printf("\n%-15s %10s %10s %10s %10s %10s %10s\n", "MILLISECONDS", "MEAN", "P50", "P90", "P95",
	       "P99", "MAX");
	put_latencies("first token", &r->first);
	put_latencies("between tokens", &r->between);
	put_latencies("whole request", &r->whole);
	if (r->n_refused)
		put_latencies("refusal", &r->refused);
}

static void json_latencies(struct lmi_ctl_json *j, const char *name, const struct lmi_ctl_latencies *l)
{
	static const struct {
		const char *name;
		double percent;
	} t[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}};

	lmi_ctl_json_object(j, name);
	lmi_ctl_json_uint(j, "n", l->n);
	lmi_ctl_json_f64(j, "mean", lmi_ctl_latencies_mean_ms(l));
	for (size_t i = 0; i < LMD_LEN(t); i++)
		lmi_ctl_json_f64(j, t[i].name, lmi_ctl_latencies_percentile_ms(l, t[i].percent));
	lmi_ctl_json_f64(j, "max", lmi_ctl_latencies_max_ms(l));
	lmi_ctl_json_end(j);
}

static void print_json(const struct measurement *m)
{
	const struct lmi_ctl_load_result *r = &m->result;
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "loop", m->load.open ? "open" : "closed");
	lmi_ctl_json_uint(&j, "clients", m->load.n_client);
	if (m->load.open)
		lmi_ctl_json_f64(&j, "rate", m->requests.rate);
	lmi_ctl_json_uint(&j, "answered", r->n_answered);
	lmi_ctl_json_uint(&j, "failed", r->n_failed);
	lmi_ctl_json_uint(&j, "refused", r->n_refused);
	lmi_ctl_json_uint(&j, "refused_with_retry_after", r->n_retry);
	lmi_ctl_json_f64(&j, "seconds", seconds(m));
	lmi_ctl_json_f64(&j, "requests_per_s", (double)r->n_answered / seconds(m));
	lmi_ctl_json_uint(&j, "prompt_tokens", r->n_prompt);
	lmi_ctl_json_uint(&j, "cached_tokens", r->n_cached);
	lmi_ctl_json_uint(&j, "generation_tokens", r->n_token);
	lmi_ctl_json_f64(&j, "generation_tokens_per_s", (double)r->n_token / seconds(m));
	if (m->has_goal) {
		lmi_ctl_json_uint(&j, "good", r->n_good);
		lmi_ctl_json_f64(&j, "good_per_s", (double)r->n_good / seconds(m));
	}
	json_latencies(&j, "first_token_ms", &r->first);
	json_latencies(&j, "between_tokens_ms", &r->between);
	json_latencies(&j, "whole_request_ms", &r->whole);
	json_latencies(&j, "refusal_ms", &r->refused);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* ---- the command ---- */

static enum lmd_status read_options(struct lmi_ctl *ctl, struct measurement *m, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct lmi_ctl_load *l = &m->load;
	struct lmd_error wrong;
	enum lmd_status st;

	m->has_goal = lmi_arg_given(a, "good-first") || lmi_arg_given(a, "good-between");
	m->requests = (struct lmi_ctl_load_requests){
		.model = lmi_arg_pos(a, 0),
		.chat = lmi_arg_flag(a, "chat"),
		.stop_early = lmi_arg_flag(a, "stop-early"),
		.n_shared = (uint32_t)lmi_arg_int(a, "shared"),
		.rate = lmi_arg_float(a, "rate"),
		.seed = (uint64_t)lmi_arg_int(a, "seed")};
	*l = (struct lmi_ctl_load){
		.target = &m->target,
		.requests = &m->requests,
		.open = lmi_arg_given(a, "rate"),
		.n_client = (uint32_t)lmi_arg_int(a, "clients"),
		.first = (uint64_t)lmi_arg_int(a, "skip"),
		.n_request = (uint64_t)lmi_arg_int(a, "requests"),
		.timeout_ms = lmi_arg_int(a, "timeout"),
		.good_first_ns = lmi_arg_given(a, "good-first")
					 ? (uint64_t)lmi_arg_int(a, "good-first") * 1000000
					 : UINT64_MAX,
		.good_between_ns = lmi_arg_given(a, "good-between")
					   ? (uint64_t)lmi_arg_int(a, "good-between") * 1000000
					   : UINT64_MAX,
		.progress = progress,
		.arg = m};
	if (l->open && !lmi_arg_given(a, "clients"))
		l->n_client = OPEN_CLIENTS;
	st = lmi_ctl_load_lengths_parse(&m->requests.prompt, "prompt", lmi_arg_str(a, "prompt"), 1,
					&wrong);
	if (st == LMD_OK)
		st = lmi_ctl_load_lengths_parse(&m->requests.predict, "predict", lmi_arg_str(a, "predict"),
						1, &wrong);
	return st == LMD_OK ? st : lmi_ctl_usage(ctl, err, "%s", wrong.text);
}

/* Sends one request alone, which loads the model and its code into memory and caches. */
static enum lmd_status warm_up(const struct measurement *m, struct lmd_error *err)
{
	struct lmi_ctl_load once = m->load;
	struct lmi_ctl_load_result r;
	enum lmd_status st;

	once.open = false;
	once.n_client = 1;
	once.n_request = 1;
	once.first = UINT64_MAX;
	once.progress = NULL;
	st = lmi_ctl_load_run(&once, &r, err);
	if (st == LMD_OK && r.n_failed)
		st = lmd_fail(err, LMD_IO, "the server did not answer the first request: %.200s", r.error);
	return st;
}

static enum lmd_status measure(struct measurement *m, bool json, struct lmd_error *err)
{
	enum lmd_status st = warm_up(m, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_progress_init(&m->bar);
	st = lmi_ctl_load_run(&m->load, &m->result, err);
	lmi_ctl_progress_end(&m->bar);
	if (st != LMD_OK)
		return st;
	if (json)
		print_json(m);
	else
		print_report(m);
	return m->result.n_failed ? lmd_fail(err, LMD_IO, "%" PRIu64 " of %" PRIu64
					     " requests failed, the first one with: %.200s",
					     m->result.n_failed, m->load.n_request, m->result.error)
				  : LMD_OK;
}

static enum lmd_status bench_serve(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	char secret[LMI_CTL_SECRET_BYTES] = "", url[1024];
	const char *where = lmi_arg_str(a, "url"), *key = lmi_arg_str(a, "key");
	struct measurement *m = lmi_alloc(1, sizeof(*m));
	enum lmd_status st = m ? read_options(ctl, m, err)
			       : lmd_fail(err, LMD_NOMEM, "no memory for a measurement");

	if (st == LMD_OK && !where) {
		lmi_ctl_http_url(url, sizeof(url));
		where = url;
	}
	if (st == LMD_OK && !key)
		st = lmi_ctl_secret(ctl, secret, &key, err);
	if (st == LMD_OK) {
		st = lmi_ctl_http_target_init(&m->target, where, key, lmi_arg_str(a, "ca"), err);
		if (st == LMD_OK)
			st = measure(m, lmi_arg_flag(a, "json"), err);
		lmi_ctl_http_target_fini(&m->target);
	}
	explicit_bzero(secret, sizeof(secret));
	lmi_free(m);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "url",
	 .type = LMI_OPT_STR,
	 .value = "URL",
	 .def_text = "the first address of HTTP in llamad's configuration, or else " LMI_CTL_HTTP_URL,
	 .doc = "Server: http://HOST:PORT, https://HOST, with or without /v1, or unix:/PATH. Any that "
		"has OpenAI's API will do."},
	{.name = "key",
	 .type = LMI_OPT_STR,
	 .value = "KEY",
	 .def_text = "that of --key-file or of the environment variable LLAMAD_KEY, if there is one",
	 .doc = "API key of the server. Other users of this machine can see the command line."},
	{.name = "requests",
	 .letter = 'r',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "64",
	 .min = 1,
	 .max = 1000000000,
	 .doc = "Number of requests. One more is sent before them, alone, and does not count."},
	{.name = "clients",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "8",
	 .min = 1,
	 .max = LMI_CTL_LOAD_CLIENTS,
	 .doc = "Closed loop: N clients, each of which sends its next request when it has the answer to "
		"its last one. With --rate: at most N connections (default: 256)."},
	{.name = "rate",
	 .type = LMI_OPT_FLOAT,
	 .value = "R",
	 .min = 0.001,
	 .max = RATE_MAX,
	 .doc = "Open loop: R requests per second on average, at random times, however long answers "
		"take. Times are measured from the moment when a request should have been sent."},
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_STR,
	 .value = "N|MIN-MAX",
	 .def = "128",
	 .doc = "Words of a prompt, random common words of about one token each. With two bounds every "
		"length between them is as likely as the others."},
	{.name = "shared",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = LMI_CTL_LOAD_LENGTH,
	 .doc = "Words that all prompts have in common, before the others."},
	{.name = "predict",
	 .letter = 'n',
	 .type = LMI_OPT_STR,
	 .value = "N|MIN-MAX",
	 .def = "64",
	 .doc = "Tokens to generate."},
	{.name = "stop-early",
	 .type = LMI_OPT_FLAG,
	 .doc = "Let the model end its answers earlier. Needed for servers that refuse ignore_eos."},
	{.name = "chat",
	 .type = LMI_OPT_FLAG,
	 .doc = "Send chat completions instead of completions."},
	{.name = "good-first",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 1,
	 .max = 86400000,
	 .doc = "Goal: the first token comes within TIME. The requests that keep all goals are counted."},
	{.name = "good-between",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 1,
	 .max = 86400000,
	 .doc = "Goal: the mean time between the tokens of an answer is at most TIME."},
	{.name = "seed",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "1",
	 .min = 0,
	 .max = 9007199254740991.0,
	 .doc = "Requests with the same seed have the same texts, lengths and times."},
	{.name = "skip",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1000000000,
	 .doc = "Leave out the first N requests of the seed: a further run then has the same --shared words "
		"and other prompts."},
	{.name = "timeout",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .def = "10m",
	 .min = 1,
	 .max = 86400000,
	 .doc = "Longest time of a request; it has failed after that."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_bench_serve = {
	.name = "bench serve",
	.args = "MODEL",
	.brief = "Measure how a server behaves under load",
	.doc = "Sends requests with streams to llamad or to any server with OpenAI's API, and prints how "
	       "many it answers per second and how long they take: until the first token, from one "
	       "token to the next, and as a whole. MODEL is the model's name on that server.\n\n"
	       "Percentiles are exact to 1 %. Numbers of tokens are those that the server reports. "
	       "--socket is not used. The exit status is 1 if a request failed. Requests that the "
	       "server refuses because it has too many (429 or 503) have failed, and are counted apart "
	       "as well.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = bench_serve,
};
