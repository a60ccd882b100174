/* SPDX-License-Identifier: MIT
 *
 * Writes a value of a tree.  A file of its own, so that a program that only writes has no parser. */
#include "core/base/json_text.h"
#include "core/base/json_tree.h"

static void scalar(struct lmi_json_text *j, const struct lmi_json_node *v)
{
	if (v->type == LMI_JSON_BOOL)
		lmi_json_text_bool(j, v->u.b);
	else if (v->type == LMI_JSON_INT)
		lmi_json_text_int(j, v->u.i);
	else if (v->type == LMI_JSON_REAL)
		lmi_json_text_real(j, v->u.d);
	else if (v->type == LMI_JSON_STRING)
		lmi_json_text_strn(j, v->u.s, v->n);
	else
		lmi_json_text_null(j);
}

/* The recursion depth is bounded by the depth of the tree. */
void lmi_json_text_node(struct lmi_json_text *j, const struct lmi_json_node *v)
{
	const struct lmi_json_node *k = lmi_json_node_first(v);
	bool object = v->type == LMI_JSON_OBJECT;

	if (v->type < LMI_JSON_ARRAY) {
		scalar(j, v);
		return;
	}
	if (object)
		lmi_json_text_object(j);
	else
		lmi_json_text_array(j);
	for (uint32_t i = 0; i < v->n && j->status == LMD_OK; i++) {
		if (object)
			lmi_json_text_keyn(j, k->u.s, k->n);
		k += object;
		lmi_json_text_node(j, k);
		k = lmi_json_node_next(k);
	}
	lmi_json_text_end(j);
}
