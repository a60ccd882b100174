/* SPDX-License-Identifier: MIT
 *
 * Histograms in the text format of Prometheus, and the names under which vLLM and llama.cpp's server
 * publish the same figures, so that dashboards made for them work. */
#include <inttypes.h>
#include <string.h>

#include "daemon/http/admin/metrics.h"
#include "daemon/http/http_impl.h"
#include "proto/proto.h"

/* ---- histograms ---- */

static const struct {
	enum lmi_http_time what;
	const char *name, *alias, *help;
} rows[] = {
	{LMI_HTTP_TIME_QUEUE, "llamad_queue_time_seconds", "vllm:request_queue_time_seconds",
	 "Time from the arrival of a request of HTTP to its first step."},
	{LMI_HTTP_TIME_FIRST_TOKEN, "llamad_time_to_first_token_seconds",
	 "vllm:time_to_first_token_seconds",
	 "Time from the arrival of a request of HTTP to its first token."},
	{LMI_HTTP_TIME_BETWEEN, "llamad_inter_token_latency_seconds",
	 "vllm:inter_token_latency_seconds", "Time between two tokens of an answer over HTTP."},
	{LMI_HTTP_TIME_PER_TOKEN, "llamad_time_per_output_token_seconds",
	 "vllm:request_time_per_output_token_seconds",
	 "Mean time between the tokens of an answer over HTTP."},
	{LMI_HTTP_TIME_ALL, "llamad_e2e_request_latency_seconds", "vllm:e2e_request_latency_seconds",
	 "Time from the arrival of a request of HTTP to the end of its answer."},
	{LMI_HTTP_TIME_PROMPT, "llamad_prefill_time_seconds", "vllm:request_prefill_time_seconds",
	 "Time to compute the prompt of a request of HTTP."},
	{LMI_HTTP_TIME_OUT, "llamad_decode_time_seconds", "vllm:request_decode_time_seconds",
	 "Time to compute the answer of a request of HTTP."},
	{LMI_HTTP_TIME_PROMPT_TOKENS, "llamad_prompt_length", "vllm:request_prompt_tokens",
	 "Tokens of the prompt of a request of HTTP."},
	{LMI_HTTP_TIME_OUT_TOKENS, "llamad_generation_length", "vllm:request_generation_tokens",
	 "Tokens of the answer of a request of HTTP."},
};

static void add_labels(struct lmi_wire_buf *b, const char *label, const char *model)
{
	const struct lmd_str v = {.ptr = model, .len = strlen(model)};

	lmi_http_metrics_add(b, "{%s=\"", label);
	lmi_http_metrics_add_value(b, &v);
	lmi_http_metrics_add(b, "\"");
}

static void add_histogram(struct lmi_wire_buf *b, const char *name, const char *label,
			  const struct lmi_http_times *t, enum lmi_http_time what)
{
	const struct lmi_http_histogram *h = &t->histogram[what];
	uint64_t sum = 0;
	uint32_t n;
	const double *bounds = lmi_http_time_bounds(what, &n);

	for (uint32_t i = 0; i <= n; i++) {
		sum += h->n[i];
		lmi_http_metrics_add(b, "%s_bucket", name);
		add_labels(b, label, t->model);
		if (i < n)
			lmi_http_metrics_add(b, ",le=\"%g\"} %" PRIu64 "\n", bounds[i], sum);
		else
			lmi_http_metrics_add(b, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
	}
	lmi_http_metrics_add(b, "%s_sum", name);
	add_labels(b, label, t->model);
	lmi_http_metrics_add(b, "} %.9g\n%s_count", h->sum, name);
	add_labels(b, label, t->model);
	lmi_http_metrics_add(b, "} %" PRIu64 "\n", h->n_all);
}

static void add_finished(struct lmi_wire_buf *b, const struct lmi_http_times *list)
{
	lmi_http_metrics_add(b, "# HELP llamad_finished_total Answers over HTTP by the reason of "
				"their end.\n# TYPE llamad_finished_total counter\n");
	for (const struct lmi_http_times *t = list; t; t = t->next)
		for (int i = LMI_WIRE_FINISH_EOG; i <= LMI_WIRE_FINISH_DONE; i++) {
			lmi_http_metrics_add(b, "llamad_finished_total");
			add_labels(b, "model", t->model);
			lmi_http_metrics_add(b, ",finish_reason=\"%s\"} %" PRIu64 "\n",
					     lmi_wire_word(&lmi_wire_words_finish, i),
					     t->finished[i]);
		}
}

void lmi_http_metrics_add_times(struct lmi_wire_buf *b, const struct lmi_http_times *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < LMD_LEN(rows); i++)
		for (int alias = 0; alias < 2; alias++) {
			const char *name = alias ? rows[i].alias : rows[i].name;

			lmi_http_metrics_add(b, "# HELP %s %s\n# TYPE %s histogram\n", name,
					     rows[i].help, name);
			for (const struct lmi_http_times *t = list; t; t = t->next)
				add_histogram(b, name, alias ? "model_name" : "model", t,
					      rows[i].what);
		}
	add_finished(b, list);
}

/* ---- names of others ---- */

static const struct {
	const char *alias, *name;
	bool counter;
} aliases[] = {
	{"vllm:num_requests_running", "llamad_model_sequences_active", false},
	{"vllm:num_requests_waiting", "llamad_model_sequences_waiting", false},
	{"vllm:num_preemptions_total", "llamad_model_preemptions_total", true},
	{"vllm:generation_tokens_total", "llamad_model_generation_tokens_total", true},
	{"vllm:prefix_cache_hits_total", "llamad_model_rows_shared_total", true},
	{"llamacpp:requests_processing", "llamad_requests_running", false},
	{"llamacpp:requests_deferred", "llamad_requests_waiting", false},
	{"llamacpp:prompt_tokens_total", "llamad_prompt_tokens_total", true},
	{"llamacpp:tokens_predicted_total", "llamad_generation_tokens_total", true},
	{"llamacpp:n_decode_total", "llamad_steps_total", true},
};

static bool is_named(const struct lmi_wire_metric *m, const char *name)
{
	return m->name.len == strlen(name) && !memcmp(m->name.ptr, name, m->name.len);
}

static double value_of(const struct lmi_wire_rep_stats *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_metrics; i++)
		if (is_named(&r->metrics[i], name))
			return r->metrics[i].value;
	return 0;
}

static void add_type(struct lmi_wire_buf *b, const char *alias, const char *name, bool counter)
{
	lmi_http_metrics_add(b, "# HELP %s See %s.\n# TYPE %s %s\n", alias, name, alias,
			     counter ? "counter" : "gauge");
}

/* Writes the metrics of an alias; the label of a model is called model_name. */
static void add_alias(struct lmi_wire_buf *b, const struct lmi_wire_rep_stats *r, const char *alias,
		      const char *name, bool counter)
{
	bool first = true;

	for (uint32_t i = 0; i < r->n_metrics; i++) {
		const struct lmi_wire_metric *m = &r->metrics[i];

		if (!is_named(m, name))
			continue;
		if (first)
			add_type(b, alias, name, counter);
		first = false;
		lmi_http_metrics_add(b, "%s", alias);
		if (m->n_labels) {
			lmi_http_metrics_add(b, "{model_name=\"");
			lmi_http_metrics_add_value(b, &m->labels[0].value);
			lmi_http_metrics_add(b, "\"}");
		}
		lmi_http_metrics_add(b, " %.17g\n", m->value);
	}
}

static double sum_of(const struct lmi_http_times *list, enum lmi_http_time what)
{
	double sum = 0;

	for (; list; list = list->next)
		sum += list->histogram[what].sum;
	return sum;
}

static void add_prompt_tokens(struct lmi_wire_buf *b, const struct lmi_http_times *list)
{
	if (list)
		add_type(b, "vllm:prompt_tokens_total", "llamad_prompt_length_sum", true);
	for (; list; list = list->next) {
		lmi_http_metrics_add(b, "vllm:prompt_tokens_total");
		add_labels(b, "model_name", list->model);
		lmi_http_metrics_add(b, "} %.17g\n",
				     list->histogram[LMI_HTTP_TIME_PROMPT_TOKENS].sum);
	}
}

void lmi_http_metrics_add_aliases(struct lmi_wire_buf *b, const struct lmi_wire_rep_stats *r,
				  const struct lmi_http_times *list)
{
	double total = value_of(r, "llamad_kv_pages_total"),
	       usage = total > 0 ? value_of(r, "llamad_kv_pages_used") / total : 0;

	for (size_t i = 0; i < LMD_LEN(aliases); i++)
		add_alias(b, r, aliases[i].alias, aliases[i].name, aliases[i].counter);
	add_prompt_tokens(b, list);
	lmi_http_metrics_add(b,
			     "# HELP llamad_kv_usage_ratio Share of the KV caches that is in use.\n"
			     "# TYPE llamad_kv_usage_ratio gauge\nllamad_kv_usage_ratio %.6g\n",
			     usage);
	add_type(b, "vllm:kv_cache_usage_perc", "llamad_kv_usage_ratio", false);
	lmi_http_metrics_add(b, "vllm:kv_cache_usage_perc %.6g\n", usage);
	add_type(b, "llamacpp:kv_cache_usage_ratio", "llamad_kv_usage_ratio", false);
	lmi_http_metrics_add(b, "llamacpp:kv_cache_usage_ratio %.6g\n", usage);
	add_type(b, "llamacpp:prompt_seconds_total", "llamad_prefill_time_seconds_sum", true);
	lmi_http_metrics_add(b, "llamacpp:prompt_seconds_total %.9g\n",
			     sum_of(list, LMI_HTTP_TIME_PROMPT));
	add_type(b, "llamacpp:tokens_predicted_seconds_total", "llamad_decode_time_seconds_sum",
		 true);
	lmi_http_metrics_add(b, "llamacpp:tokens_predicted_seconds_total %.9g\n",
			     sum_of(list, LMI_HTTP_TIME_OUT));
}
