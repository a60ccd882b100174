/* SPDX-License-Identifier: MIT */
#include "daemon/http/times.h"

#include <string.h>

#include "core/base/alloc.h"
#include "llamad/attr.h"

/* Steps of about 2, so that a quantile has an error of at most that factor. */
static const double long_times[] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
				    0.25,  0.5,    1,     2.5,  5,    10,   20,   40,   60};
static const double short_times[] = {0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05,
				     0.075, 0.1,    0.15,  0.25,   0.5,  0.75,  1,    2.5,  5};
static const double tokens[] = {1,    2,    4,    8,     16,    32,    64,     128,
				256,  512,  1024, 2048,  4096,  8192,  16384,  32768,
				65536, 131072};

const double *lmi_http_time_bounds(enum lmi_http_time what, uint32_t *n)
{
	switch (what) {
	case LMI_HTTP_TIME_BETWEEN:
	case LMI_HTTP_TIME_PER_TOKEN:
		*n = LMD_LEN(short_times);
		return short_times;
	case LMI_HTTP_TIME_PROMPT_TOKENS:
	case LMI_HTTP_TIME_OUT_TOKENS:
		*n = LMD_LEN(tokens);
		return tokens;
	case LMI_HTTP_TIME_QUEUE:
	case LMI_HTTP_TIME_FIRST_TOKEN:
	case LMI_HTTP_TIME_ALL:
	case LMI_HTTP_TIME_PROMPT:
	case LMI_HTTP_TIME_OUT:
		break;
	}
	*n = LMD_LEN(long_times);
	return long_times;
}

static bool is_model(const struct lmi_http_times *t, const struct lmd_str *model)
{
	return strlen(t->model) == model->len && !memcmp(t->model, model->ptr, model->len);
}

struct lmi_http_times *lmi_http_times_of(struct lmi_http_times **list, const struct lmd_str *model)
{
	static const struct lmd_str other = {.ptr = "other", .len = 5};
	struct lmi_http_times **p = list, *t;
	uint32_t n = 0;

	for (; *p && !is_model(*p, model); p = &(*p)->next)
		n++;
	if (!*p && n >= LMI_HTTP_TIMES_MAX) {
		model = &other;
		for (p = list; *p && !is_model(*p, model);)
			p = &(*p)->next;
	}
	if (*p)
		return *p;
	t = lmi_alloc(1, sizeof(*t));
	if (t)
		t->model = lmi_alloc(model->len + 1, 1);
	if (!t || !t->model) {
		lmi_free(t);
		return NULL;
	}
	memcpy(t->model, model->ptr, model->len);
	*p = t;
	return t;
}

void lmi_http_times_add(struct lmi_http_times *t, enum lmi_http_time what, double value, uint32_t n)
{
	struct lmi_http_histogram *h;
	uint32_t n_bound, i = 0;
	const double *bounds = lmi_http_time_bounds(what, &n_bound);

	if (!t)
		return;
	h = &t->histogram[what];
	while (i < n_bound && value > bounds[i])
		i++;
	h->n[i] += n;
	h->n_all += n;
	h->sum += value * n;
}

void lmi_http_times_free(struct lmi_http_times *list)
{
	while (list) {
		struct lmi_http_times *t = list;

		list = t->next;
		lmi_free(t->model);
		lmi_free(t);
	}
}
