/* SPDX-License-Identifier: MIT
 *
 * buf.h - appends to struct lmi_wire_buf. */
#ifndef LLAMAD_PROTO_BUF_H
#define LLAMAD_PROTO_BUF_H

#include "proto/proto.h"

/* Returns false if out of memory; nothing is appended then. */
bool lmi_wire_buf_add(struct lmi_wire_buf *b, const void *p, size_t n);

#endif /* LLAMAD_PROTO_BUF_H */
