/* SPDX-License-Identifier: MIT
 *
 * llamactl ps --memory: the metrics of memory, a row for each model. */
#include "client/llamactl/ps_memory.h"

#include <string.h>

#include "client/llamactl/remote.h"

#define PREFIX "llamad_model_"

static const struct lmi_ctl_column cols[] = {
	{"MODEL", "model", LMI_CTL_COL_TEXT},
	{"WEIGHTS", "weight_bytes", LMI_CTL_COL_BYTES},
	{"VOCABULARY", "vocabulary_bytes", LMI_CTL_COL_BYTES},
	{"ACTIVATIONS", "activation_bytes", LMI_CTL_COL_BYTES},
	{"KV RESERVED", "kv_bytes", LMI_CTL_COL_BYTES},
	{"KV NOW", "kv_used_bytes", LMI_CTL_COL_BYTES},
	{"KV PEAK", "kv_peak_bytes", LMI_CTL_COL_BYTES},
	{"STATE RESERVED", "state_bytes", LMI_CTL_COL_BYTES},
	{"STATE NOW", "state_used_bytes", LMI_CTL_COL_BYTES},
	{"STATE PEAK", "state_peak_bytes", LMI_CTL_COL_BYTES},
};

/* Returns the value of the label `model` of a metric, or NULL. */
static const char *model_of(const json_t *metric)
{
	const json_t *l;
	size_t i;

	json_array_foreach(json_object_get(metric, "labels"), i, l)
	{
		const char *name = json_string_value(json_object_get(l, "name"));

		if (name && !strcmp(name, "model"))
			return json_string_value(json_object_get(l, "value"));
	}
	return NULL;
}

/* Returns the row of a model, a new one if need be; NULL: no memory. */
static json_t *row_of(json_t *rows, const char *model)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "model")), model))
			return row;
	row = json_pack("{s:s}", "model", model);
	return row && !json_array_append_new(rows, row) ? row : NULL;
}

/* Returns the rows of all models; NULL: no memory. */
static json_t *make_rows(const json_t *metrics)
{
	json_t *rows = json_array();
	const json_t *m;
	size_t i;

	json_array_foreach(metrics, i, m)
	{
		const char *name = json_string_value(json_object_get(m, "name")), *model = model_of(m);
		json_t *row;

		if (!rows || !name || !model || strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		row = row_of(rows, model);
		for (size_t k = 1; row && k < LMD_LEN(cols); k++)
			if (!strcmp(name + sizeof(PREFIX) - 1, cols[k].member))
				(void)json_object_set_new(
					row, cols[k].member,
					json_integer((json_int_t)json_number_value(json_object_get(m, "value"))));
	}
	return rows;
}

enum lmd_status lmi_ctl_ps_memory(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *reply, *rows;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "stats", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	rows = make_rows(json_object_get(reply, "metrics"));
	json_decref(reply);
	if (!rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for a table");
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(rows);
	else
		lmi_ctl_remote_table(rows, cols, LMD_LEN(cols));
	json_decref(rows);
	return LMD_OK;
}
