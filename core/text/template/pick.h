/* SPDX-License-Identifier: MIT
 *
 * pick.h - what an attribute argument picks out of an item: "name", "x.y.0", 3. */
#ifndef LLAMAD_TEMPLATE_PICK_H
#define LLAMAD_TEMPLATE_PICK_H

#include "core/text/template/builtin.h"

struct lmi_pick {
	const struct lmi_list *parts; /* names and numbers; none: the item itself */
	struct lmi_val fallback;      /* MISSING: what is undefined stays so */
	bool fold;                    /* texts in lower case, to compare without case */
};

/* attribute: MISSING or NONE: the item itself. */
struct lmi_pick lmi_pick_make(struct lmi_run *run, struct lmi_val attribute, bool fold);
struct lmi_val lmi_pick(struct lmi_run *run, const struct lmi_pick *p, struct lmi_val item);
/* The picks of all items. */
struct lmi_list *lmi_pick_all(struct lmi_run *run, const struct lmi_pick *p,
			      const struct lmi_list *items);
/* For sort: an attribute may be a list of them, "a,b"; each key is a list then. */
struct lmi_list *lmi_pick_keys(struct lmi_run *run, struct lmi_val attribute, bool fold,
			       const struct lmi_list *items);

#endif /* LLAMAD_TEMPLATE_PICK_H */
