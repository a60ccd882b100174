/* SPDX-License-Identifier: MIT
 *
 * find.h - searching in strings and taking parts of them, for string methods. */
#ifndef LLAMAD_CORE_JINJA_FIND_H
#define LLAMAD_CORE_JINJA_FIND_H

#include <string.h>

#include "core/jinja/builtin.h"

/* Bytes from..to of a string; shares the bytes and keeps the flags. */
static inline struct lmi_jinja_val lmi_jinja_str_substr(struct lmi_jinja_val v, size_t from,
							size_t to)
{
	struct lmi_jinja_val p = lmi_jinja_strn(v.u.s + from, to - from);

	p.flags = v.flags;
	return p;
}

static inline bool lmi_jinja_str_starts(struct lmi_jinja_val v, struct lmi_jinja_val x)
{
	return v.n >= x.n && !memcmp(v.u.s, x.u.s, x.n);
}

static inline bool lmi_jinja_str_ends(struct lmi_jinja_val v, struct lmi_jinja_val x)
{
	return v.n >= x.n && !memcmp(v.u.s + v.n - x.n, x.u.s, x.n);
}

/* Offset of the first occurrence of x in v[from..to), or SIZE_MAX. */
size_t lmi_jinja_str_find(struct lmi_jinja_val v, size_t from, size_t to, struct lmi_jinja_val x);
/* Offset of the last occurrence of x in v[0..to), or SIZE_MAX. */
size_t lmi_jinja_str_rfind(struct lmi_jinja_run *run, struct lmi_jinja_val v, size_t to,
			   struct lmi_jinja_val x);

#endif /* LLAMAD_CORE_JINJA_FIND_H */
