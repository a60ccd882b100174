/* SPDX-License-Identifier: MIT
 *
 * pick.h - what an attribute argument such as "name", "x.y.0" or 3 selects from an item. */
#ifndef LLAMAD_TEMPLATE_PICK_H
#define LLAMAD_TEMPLATE_PICK_H

#include "core/text/template/builtin.h"

struct lmi_pick {
	const struct lmi_list *parts; /* names and indices; empty: the item itself */
	struct lmi_val fallback;      /* replaces undefined values; MISSING: keep them */
	bool fold;                    /* strings in lower case, for case-insensitive comparison */
};

/* If attribute is MISSING or NONE, selects the item itself. */
struct lmi_pick lmi_pick_make(struct lmi_run *run, struct lmi_val attribute, bool fold);
struct lmi_val lmi_pick(struct lmi_run *run, const struct lmi_pick *p, struct lmi_val item);
/* Selects from all items. */
struct lmi_list *lmi_pick_all(struct lmi_run *run, const struct lmi_pick *p,
			      const struct lmi_list *items);
/* For sort: the attribute may be a list "a,b"; each key is then a list. */
struct lmi_list *lmi_pick_keys(struct lmi_run *run, struct lmi_val attribute, bool fold,
			       const struct lmi_list *items);

#endif /* LLAMAD_TEMPLATE_PICK_H */
