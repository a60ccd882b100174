/* SPDX-License-Identifier: MIT */
#include "client/llamactl/top_sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

/* Takes the list out of a reply, or the whole reply without a member's name. */
static enum lmd_status ask(struct lmi_ctl *ctl, const char *op, const char *member, json_t **out,
			   struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, op, NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (member) {
		*out = json_incref(json_object_get(reply, member));
		json_decref(reply);
	} else {
		*out = reply;
	}
	return *out ? LMD_OK
		    : lmd_fail(err, LMD_CORRUPT, "%s: the daemon's reply lacks its list", op);
}

enum lmd_status lmi_ctl_top_sample(struct lmi_ctl *ctl, struct lmi_ctl_top_sample *s,
				   struct lmd_error *err)
{
	enum lmd_status st;

	*s = (struct lmi_ctl_top_sample){0};
	st = ask(ctl, "status", NULL, &s->status, err);
	if (st == LMD_OK)
		st = ask(ctl, "ps", "models", &s->models, err);
	if (st == LMD_OK)
		st = ask(ctl, "devices", "devices", &s->devices, err);
	if (st == LMD_OK)
		st = ask(ctl, "streams", "streams", &s->streams, err);
	if (st == LMD_OK)
		st = ask(ctl, "stats", "metrics", &s->metrics, err);
	s->at_ns = lmi_clock_monotonic_ns();
	if (st != LMD_OK)
		lmi_ctl_top_sample_fini(s);
	return st;
}

void lmi_ctl_top_sample_fini(struct lmi_ctl_top_sample *s)
{
	json_decref(s->status);
	json_decref(s->models);
	json_decref(s->devices);
	json_decref(s->streams);
	json_decref(s->metrics);
	*s = (struct lmi_ctl_top_sample){0};
}

static bool is_of_model(const json_t *metric, const char *model)
{
	const json_t *labels = json_object_get(metric, "labels"), *l;
	size_t i;

	json_array_foreach(labels, i, l)
	{
		const char *name = json_string_value(json_object_get(l, "name"));
		const char *value = json_string_value(json_object_get(l, "value"));

		if (name && value && !strcmp(name, "model"))
			return !strcmp(value, model);
	}
	return false;
}

/* Returns a counter of a model, or of all models together; 0: there is none. */
static double counter(const struct lmi_ctl_top_sample *s, const char *name, const char *model)
{
	double sum = 0;
	size_t i;
	json_t *m;

	json_array_foreach(s->metrics, i, m)
	{
		const char *other = json_string_value(json_object_get(m, "name"));

		if (other && !strcmp(name, other) && (!model || is_of_model(m, model)))
			sum += json_number_value(json_object_get(m, "value"));
	}
	return sum;
}

static double increase(const struct lmi_ctl_top_sample *before, const struct lmi_ctl_top_sample *now,
		       const char *name, const char *model)
{
	double n = counter(now, name, model) - counter(before, name, model);

	return n > 0 ? n : 0; /* a model that was loaded again begins at 0 */
}

static int64_t member(const struct lmi_ctl_top_sample *s, const char *name)
{
	return json_integer_value(json_object_get(s->status, name));
}

static bool is_same_daemon(const struct lmi_ctl_top_sample *before,
			   const struct lmi_ctl_top_sample *now)
{
	return before->status && member(before, "pid") == member(now, "pid") &&
	       member(before, "uptime_ms") <= member(now, "uptime_ms") && now->at_ns > before->at_ns;
}

static json_t *per_second(double n, uint64_t ns)
{
	return json_real(round(n / (double)ns * 1e10) / 10);
}

json_t *lmi_ctl_top_rates(const struct lmi_ctl_top_sample *before,
			  const struct lmi_ctl_top_sample *now)
{
	static const char *const names[][2] = {
		{"generation_tokens_per_s", "llamad_model_generation_tokens_total"},
		{"computed_tokens_per_s", "llamad_model_rows_total"},
		{"cached_tokens_per_s", "llamad_model_rows_shared_total"},
		{"steps_per_s", "llamad_model_steps_total"},
		{"requests_per_s", "llamad_requests_total"},
	};
	json_t *rates = is_same_daemon(before, now) ? json_object() : NULL;

	for (size_t i = 0; rates && i < LMD_LEN(names); i++)
		(void)json_object_set_new(rates, names[i][0],
					  per_second(increase(before, now, names[i][1], NULL),
						     now->at_ns - before->at_ns));
	return rates;
}

void lmi_ctl_top_add_rates(const struct lmi_ctl_top_sample *before, struct lmi_ctl_top_sample *now)
{
	size_t i;
	json_t *m;

	if (!is_same_daemon(before, now))
		return;
	json_array_foreach(now->models, i, m)
	{
		const char *name = json_string_value(json_object_get(m, "model"));
		double tokens = increase(before, now, "llamad_model_generation_tokens_total", name);
		double drafted = increase(before, now, "llamad_model_draft_tokens_total", name);
		double accepted =
			increase(before, now, "llamad_model_draft_tokens_accepted_total", name);

		(void)json_object_set_new(m, "generation_tokens_per_s",
					  per_second(tokens, now->at_ns - before->at_ns));
		if (drafted > 0)
			(void)json_object_set_new(m, "drafts_accepted_percent",
						  json_integer((json_int_t)(100 * accepted / drafted)));
	}
}
