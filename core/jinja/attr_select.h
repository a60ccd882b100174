/* SPDX-License-Identifier: MIT
 *
 * attr_select.h - what an attribute argument such as "name", "x.y.0" or 3 selects from an item. */
#ifndef LLAMAD_CORE_JINJA_ATTR_SELECT_H
#define LLAMAD_CORE_JINJA_ATTR_SELECT_H

#include "core/jinja/builtin.h"

struct lmi_jinja_attr_selector {
	const struct lmi_jinja_list *parts; /* names and indices; empty: the item itself */
	struct lmi_jinja_val fallback;      /* replaces undefined values; MISSING: keep them */
	bool fold; /* strings in lower case, for case-insensitive comparison */
};

/* If attribute is MISSING or NONE, selects the item itself. */
struct lmi_jinja_attr_selector
lmi_jinja_attr_selector_make(struct lmi_jinja_run *run, struct lmi_jinja_val attribute, bool fold);
struct lmi_jinja_val lmi_jinja_attr_select(struct lmi_jinja_run *run,
					   const struct lmi_jinja_attr_selector *p,
					   struct lmi_jinja_val item);
/* Selects from all items. */
struct lmi_jinja_list *lmi_jinja_attr_select_all(struct lmi_jinja_run *run,
						 const struct lmi_jinja_attr_selector *p,
						 const struct lmi_jinja_list *items);
/* For sort: the attribute may be a list "a,b"; each key is then a list. */
struct lmi_jinja_list *lmi_jinja_attr_select_keys(struct lmi_jinja_run *run,
						  struct lmi_jinja_val attribute, bool fold,
						  const struct lmi_jinja_list *items);

#endif /* LLAMAD_CORE_JINJA_ATTR_SELECT_H */
