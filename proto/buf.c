/* SPDX-License-Identifier: MIT
 *
 * A growing buffer, which doubles its capacity. */
#include "proto/buf.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"

void lmi_wire_buf_fini(struct lmi_wire_buf *b)
{
	lmi_free(b->p);
	*b = (struct lmi_wire_buf){0};
}

bool lmi_wire_buf_add(struct lmi_wire_buf *b, const void *p, size_t n)
{
	if (n > b->cap - b->n) {
		uint64_t cap;
		uint8_t *q;

		if (!lmi_add_ok(b->n, n, &cap) || !lmi_add_ok(cap, cap / 2 + 256, &cap))
			return false;
		q = lmi_realloc(b->p, cap, 1);
		if (!q)
			return false;
		b->p = q;
		b->cap = cap;
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	return true;
}
