/* SPDX-License-Identifier: MIT
 *
 * What generate and chat share: options and simple members. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/ollama/ollama_impl.h"

/* -1 and -2: until the context is full. */
static void read_num_predict(struct lmi_http_translation *t, const struct lmi_http_at *at,
			     const json_t *v)
{
	int64_t n = lmi_http_read_int(&t->r, at, v, INT64_MIN, INT64_MAX);

	t->q->n = n < 0 ? -1 : n > LMI_WIRE_LIMIT_OUTPUT_MAX ? LMI_WIRE_LIMIT_OUTPUT_MAX : n;
	t->q->has_n = true;
}

static const struct lmi_http_member option_rows[] = {
	{.name = "num_predict", .read = read_num_predict},
	{.name = "seed", .read = lmi_http_read_seed},
	{.name = "temperature", .wire = "temp"},
	{.name = "top_k", .wire = "top_k"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "min_p", .wire = "min_p"},
	{.name = "typical_p", .wire = "typical"},
	{.name = "repeat_last_n", .wire = "repeat_last_n"},
	{.name = "repeat_penalty", .wire = "repeat_penalty"},
	{.name = "presence_penalty", .wire = "presence_penalty"},
	{.name = "frequency_penalty", .wire = "frequency_penalty"},
	{.name = "mirostat", .wire = "mirostat"},
	{.name = "mirostat_tau", .wire = "mirostat_tau"},
	{.name = "mirostat_eta", .wire = "mirostat_eta"},
	{.name = "stop", .wire = "stop"},
	{.name = "num_keep", .wire = "n_keep"},
	/* without effect: how a model is loaded is up to op load */
	{.name = "num_ctx"},
	{.name = "num_batch"},
	{.name = "num_gpu"},
	{.name = "main_gpu"},
	{.name = "num_thread"},
	{.name = "use_mmap"},
	{.name = "use_mlock"},
	{.name = "low_vram"},
	{.name = "f16_kv"},
	{.name = "numa"},
	{.name = "vocab_only"},
	{.name = "logits_all"},
	{.name = "embedding_only"},
	/* without effect: Ollama has dropped them */
	{.name = "penalize_newline"},
	{.name = "tfs_z"},
};

static const struct lmi_http_members option_members = {
	.v = option_rows, .n = LMD_LEN(option_rows), .clamp = true, .ignore_unknown = true};

static void read_options(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	lmi_http_members_read(t, at, v, &option_members);
}

static void read_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const words[] = {"", "json", NULL};

	if (json_is_object(v)) {
		lmi_http_read_schema(t, at, v);
	} else if (lmi_http_read_word(&t->r, at, v, words) == 1) {
		t->q->json_schema = lmi_http_str("{\"type\":\"object\"}");
		t->q->has_json_schema = true;
	}
}

static void read_think(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	static const char *const words[] = {"low", "medium", "high", "max", NULL};

	if (json_is_string(v))
		lmi_http_set_effort(t, words[lmi_http_read_word(&t->r, at, v, words)]);
	else
		lmi_http_read_thinking(t, at, v);
}

/* ---- keep_alive ---- */

/* Returns the milliseconds of a unit of Go's durations, and skips it; 0: there is none. */
static double unit_of(const char **at)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"\xc2\xb5s", 1e-3}, {"ms", 1},
		     {"s", 1e3},   {"m", 6e4},   {"h", 36e5}};

	for (size_t i = 0; i < LMD_LEN(units); i++)
		if (!strncmp(*at, units[i].name, strlen(units[i].name))) {
			*at += strlen(units[i].name);
			return units[i].ms;
		}
	return 0;
}

/* Returns the seconds of a text such as "1h30m" or "90"; NAN: it is none. */
static double seconds_of(const char *s)
{
	bool minus = *s == '-';
	double ms = 0;

	s += minus || *s == '+';
	if (!*s)
		return NAN;
	while (*s) {
		char *end;
		double v = *s >= '0' && *s <= '9' ? strtod(s, &end) : NAN, unit;

		if (isnan(v))
			return NAN;
		s = end;
		unit = *s || ms > 0 ? unit_of(&s) : 1e3;
		if (unit == 0)
			return NAN;
		ms += v * unit;
	}
	return (minus ? -ms : ms) / 1e3;
}

int64_t lmi_ollama_read_keep_alive(struct lmi_http_reader *r, const struct lmi_http_at *at,
				   const json_t *v)
{
	double s = json_is_string(v) ? seconds_of(lmi_http_read_line(r, at, v, 0, 64).ptr)
				     : lmi_http_read_real(r, at, v, -HUGE_VAL, HUGE_VAL);

	if (r->status != LMD_OK)
		return 0;
	if (isnan(s))
		lmi_http_fail(r, at, "is not a duration such as 5m, and not a number of seconds");
	if (s < 0)
		return -1;
	return s * 1e3 < (double)LMI_WIRE_LIMIT_TIMEOUT_MAX ? (int64_t)(s * 1e3)
							     : LMI_WIRE_LIMIT_TIMEOUT_MAX;
}

static void read_keep_alive(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	t->q->keep_alive_ms = lmi_ollama_read_keep_alive(&t->r, at, v);
	t->q->has_keep_alive_ms = t->r.status == LMD_OK;
}

static void read_logprobs(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	t->q->has_logprobs = lmi_http_read_bool(&t->r, at, v);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "options", .read = read_options},
	{.name = "format", .read = read_format},
	{.name = "think", .read = read_think},
	{.name = "images", .refused = "images are not supported"},
	{.name = "logprobs", .read = read_logprobs},
	{.name = "top_logprobs"}, /* read after the others */
	{.name = "keep_alive", .read = read_keep_alive},
	{.name = "shift", .wire = "context_shift"},
	/* without effect */
	{.name = "truncate"}, /* a prompt that is too long is refused */
};

const struct lmi_http_members lmi_ollama_members = {
	.v = rows, .n = LMD_LEN(rows), .clamp = true, .ignore_unknown = true};

/* Has an effect only together with logprobs. */
void lmi_ollama_end(struct lmi_http_translation *t, const json_t *body)
{
	const json_t *top = lmi_http_get(body, "top_logprobs");

	if (top && t->q->has_logprobs)
		lmi_http_wire_read(t, &(struct lmi_http_at){.name = "top_logprobs"}, top, "logprobs",
				   true);
}

void lmi_ollama_begin(struct lmi_http_translation *t, struct lmi_http_generation *out,
		      struct lmd_arena *arena, struct lmd_error *err, bool chat)
{
	struct lmi_ollama_state *s;

	lmi_http_translation_init(t, out, arena, err);
	t->state = out->state = s = lmi_http_alloc(&t->r, 1, sizeof(*s));
	out->form = &lmi_ollama_form;
	out->stream = true;
	if (!s)
		return;
	s->arena = arena;
	s->chat = chat;
}
