/* SPDX-License-Identifier: MIT
 *
 * required_call_impl.h - how calls are written in a format as parts of a structural tag, shared by the files
 * required_*.c.  Functions that return a value return NULL if out of memory. */
#ifndef LLAMAD_SERVICE_REQUIRED_CALL_IMPL_H
#define LLAMAD_SERVICE_REQUIRED_CALL_IMPL_H

#include <jansson.h>

#include "core/text/answer/formats.h"
#include "service/required_call.h"

struct lmi_svc_call_writer {
	const struct lmi_answer_format *f;
	const struct lmi_svc_marker_token *tokens; /* [n_token] */
	size_t n_token;
	bool thinks; /* the prompt has begun the reasoning */
};

/* ---- required_markers.c ---- */

/* Returns whether the name can stand in the markers of a format as it is. */
bool lmi_svc_call_name_is_plain(const char *name);
/* Appends the texts and the tokens of a marker to a list of formats; NULL: nothing.  Returns 0, or -1 if
 * out of memory. */
int lmi_svc_call_append_marker(json_t *list, const struct lmi_svc_call_writer *w, const char *marker);
/* Returns a marker as a member of a tag: a string if it is one text, otherwise a format. */
json_t *lmi_svc_call_marker(const struct lmi_svc_call_writer *w, const char *marker);
/* Returns a marker in which "%s" stands for the name. */
json_t *lmi_svc_call_marker_of(const struct lmi_svc_call_writer *w, const char *marker, const char *name);

/* ---- required_params.c ---- */

/* Returns whether parameters that are written one by one can be held to the schema of the function. */
bool lmi_svc_call_params_can_be_written(const struct lmi_answer_format *f, const json_t *function);
/* Returns the format of the parameters with that schema. */
json_t *lmi_svc_call_params(const struct lmi_svc_call_writer *w, const json_t *schema);

#endif /* LLAMAD_SERVICE_REQUIRED_CALL_IMPL_H */
