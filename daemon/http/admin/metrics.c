/* SPDX-License-Identifier: MIT
 *
 * Metrics in the text format of Prometheus: those of op stats, and those of the listener.  The
 * histograms are in times.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/http/admin/admin.h"
#include "daemon/http/admin/metrics.h"
#include "daemon/http/http_impl.h"
#include "proto/buf.h"
#include "proto/proto.h"

static const struct {
	const char *name, *help;
} helps[] = {
	{"llamad_requests_running", "Running generations."},
	{"llamad_requests_waiting", "Generations that wait to run."},
	{"llamad_streams", "Streams of all clients, including ended ones that were not read."},
	{"llamad_calls_waiting", "Requests that wait for their reply."},
	{"llamad_models_loaded", "Models in memory."},
	{"llamad_kv_pages_total", "Pages of the KV caches."},
	{"llamad_kv_pages_used", "Pages of the KV caches that are in use."},
	{"llamad_requests_total", "Generations requested."},
	{"llamad_rejected_total", "Requests that failed at once."},
	{"llamad_done_total", "Generations that ended by themselves."},
	{"llamad_cancelled_total", "Generations that were cancelled."},
	{"llamad_failed_total", "Generations that failed through a fault of the server."},
	{"llamad_invalid_total", "Generations that failed through an error in the request."},
	{"llamad_busy_total", "Generations that failed because the server was busy."},
	{"llamad_prompt_tokens_total", "Tokens of prompts."},
	{"llamad_prompt_tokens_cached_total", "Tokens of prompts that were not computed again."},
	{"llamad_generation_tokens_total", "Generated tokens."},
	{"llamad_steps_total", "Steps of all models."},
	{"llamad_prefix_memory_bytes", "Size of the host-memory tier of the prefix cache."},
	{"llamad_prefix_memory_evictions_total", "Pages and states that the host-memory tier dropped."},
	{"llamad_prefix_memory_tokens_restored_total",
	 "Tokens whose rows were copied back from the host-memory tier."},
	{"llamad_prefix_memory_timeouts_total",
	 "Prompts that were computed because copying from the host-memory tier would have taken longer."},
	{"llamad_prefix_disk_bytes", "Size of the disk tier of the prefix cache."},
	{"llamad_prefix_disk_tokens_restored_total", "Tokens whose rows were read from the disk tier."},
	{"llamad_prefix_disk_timeouts_total",
	 "Prompts that were computed because reading from the disk tier would have taken longer."},
	{"llamad_model_weight_bytes", "Weights of a model, with the files they lie in."},
	{"llamad_model_vocabulary_bytes", "Tokenizer and vocabulary of a model."},
	{"llamad_model_activation_bytes", "Values that steps of a model compute."},
	{"llamad_model_kv_bytes", "Keys and values that a model has room for."},
	{"llamad_model_kv_used_bytes", "Keys and values of the sequences that a model runs."},
	{"llamad_model_kv_peak_bytes", "The most keys and values that its sequences had."},
	{"llamad_model_state_bytes", "States of recurrent layers that a model has room for."},
	{"llamad_model_state_used_bytes", "States of the sequences that a model runs."},
	{"llamad_model_state_peak_bytes", "The most states that its sequences had."},
	{"llamad_model_sequences_active", "Sequences that a model runs."},
	{"llamad_model_sequences_waiting", "Sequences that wait for a model."},
	{"llamad_model_steps_total", "Steps of a model."},
	{"llamad_model_rows_total", "Tokens that a model computed."},
	{"llamad_model_rows_shared_total", "Tokens taken from the KV cache (prefix caching)."},
	{"llamad_model_prefix_cache_queries_total", "Sequences looked up in the prefix cache."},
	{"llamad_model_prefix_cache_hits_total", "Sequences that found rows there."},
	{"llamad_model_kv_pages_cached", "Free pages and slots that the prefix cache still knows."},
	{"llamad_model_kv_evictions_total", "Pages and slots that the prefix cache has lost."},
	{"llamad_model_preemptions_total", "Sequences that lost their pages to others."},
	{"llamad_model_bounded_steps_total",
	 "Steps that computed prompts while running generations waited."},
	{"llamad_model_late_steps_total", "How many of those took longer than target_itl."},
	{"llamad_model_generation_tokens_total", "Tokens that a model generated."},
	{"llamad_model_step_allocations_total", "Allocations of memory during steps."},
	{"llamad_model_generation_tokens_forced_total", "Tokens that a grammar left no choice for."},
	{"llamad_model_grammars", "Compiled grammars in memory."},
	{"llamad_model_grammar_bytes", "Memory of compiled grammars in bytes."},
	{"llamad_model_grammar_hits_total", "Grammars that were found compiled."},
	{"llamad_model_grammar_misses_total", "Grammars that had to be compiled."},
	{"llamad_model_grammar_evictions_total", "Compiled grammars that were dropped."},
};

void lmi_http_metrics_add(struct lmi_wire_buf *b, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)lmi_wire_buf_add(b, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void add_head(struct lmi_wire_buf *b, const char *name, size_t n, bool counter)
{
	for (size_t i = 0; i < LMD_LEN(helps); i++)
		if (strlen(helps[i].name) == n && !memcmp(helps[i].name, name, n))
			lmi_http_metrics_add(b, "# HELP %s %s\n", helps[i].name, helps[i].help);
	lmi_http_metrics_add(b, "# TYPE %.*s %s\n", (int)n, name, counter ? "counter" : "gauge");
}

void lmi_http_metrics_add_value(struct lmi_wire_buf *b, const struct lmd_str *v)
{
	for (size_t i = 0; i < v->len; i++)
		if (v->ptr[i] == '\n')
			(void)lmi_wire_buf_add(b, "\\n", 2);
		else
			lmi_http_metrics_add(b, "%s%c", strchr("\\\"", v->ptr[i]) ? "\\" : "", v->ptr[i]);
}

static void add_sample(struct lmi_wire_buf *b, const struct lmi_wire_metric *m)
{
	lmi_http_metrics_add(b, "%.*s", (int)m->name.len, m->name.ptr);
	for (uint32_t i = 0; i < m->n_labels; i++) {
		lmi_http_metrics_add(b, "%s%.*s=\"", i ? "," : "{", (int)m->labels[i].name.len, m->labels[i].name.ptr);
		lmi_http_metrics_add_value(b, &m->labels[i].value);
		lmi_http_metrics_add(b, "\"%s", i + 1 == m->n_labels ? "}" : "");
	}
	lmi_http_metrics_add(b, " %.17g\n", m->value);
}

static bool same_name(const struct lmi_wire_metric *a, const struct lmi_wire_metric *b)
{
	return a->name.len == b->name.len && !memcmp(a->name.ptr, b->name.ptr, a->name.len);
}

/* Writes the samples of one name together, as the format requires. */
static void add_stats(struct lmi_wire_buf *b, const struct lmi_wire_rep_stats *r)
{
	for (uint32_t i = 0; i < r->n_metrics; i++) {
		const struct lmi_wire_metric *m = &r->metrics[i];
		uint32_t k = 0;

		while (!same_name(&r->metrics[k], m))
			k++;
		if (k < i) /* written with the first of its name */
			continue;
		add_head(b, m->name.ptr, m->name.len, m->kind == LMI_WIRE_METRIC_KIND_COUNTER);
		for (; k < r->n_metrics; k++)
			if (same_name(&r->metrics[k], m))
				add_sample(b, &r->metrics[k]);
	}
}

static void add_http(struct lmi_wire_buf *b, const struct lmi_http_server *h)
{
	struct lmi_http_stats s;

	lmi_http_stats(h, &s);
	lmi_http_metrics_add(b, "# HELP llamad_http_connections Open connections of HTTP.\n"
	       "# TYPE llamad_http_connections gauge\nllamad_http_connections %u\n",
	    s.n_conn);
	lmi_http_metrics_add(b, "# HELP llamad_http_requests_running Requests of HTTP that are being handled.\n"
	       "# TYPE llamad_http_requests_running gauge\nllamad_http_requests_running %u\n",
	    s.n_request);
	lmi_http_metrics_add(b, "# HELP llamad_http_connections_refused_total Connections of HTTP over the limit.\n"
	       "# TYPE llamad_http_connections_refused_total counter\n"
	       "llamad_http_connections_refused_total %" PRIu64 "\n",
	    s.n_conn_refused);
	lmi_http_metrics_add(b, "# HELP llamad_http_responses_total Responses of HTTP by class of their code.\n"
	       "# TYPE llamad_http_responses_total counter\n");
	for (int i = 2; i < 6; i++)
		lmi_http_metrics_add(b, "llamad_http_responses_total{class=\"%dxx\"} %" PRIu64 "\n", i, s.n_class[i]);
}

static void answer(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_wire_buf b = {0};

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	add_stats(&b, &reply->u.stats);
	add_http(&b, x->h);
	lmi_http_metrics_add_times(&b, x->h->times);
	lmi_http_metrics_add_aliases(&b, &reply->u.stats, x->h->times);
	lmi_http_reply_text(x, 200, "text/plain; version=0.0.4; charset=utf-8", b.p, b.n);
	lmi_wire_buf_fini(&b);
}

void lmi_http_admin_metrics(struct lmi_http_exchange *x)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_STATS);
	lmi_http_call(x, &q, answer, x);
}
