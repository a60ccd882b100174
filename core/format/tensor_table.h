/* SPDX-License-Identifier: MIT
 *
 * tensor_table.h - checks of tensor tables that all formats share. */
#ifndef LLAMAD_CORE_FORMAT_TENSOR_TABLE_H
#define LLAMAD_CORE_FORMAT_TENSOR_TABLE_H

#include "llamad/format.h"
#include "llamad/model.h"
#include "llamad/status.h"

/* Sets t->bytes from type and dims, each 1..2^40 with unused ones 1.  Rejects unknown types, types
 * that no file may have, rows that are not whole blocks, and sizes above 2^63 - 1.  what: the start
 * of the error message, "tensor NAME". */
enum lmd_status lmi_model_tensor_size(const char *what, struct lmd_tensor *t,
				      struct lmd_error *err);

/* LMD_CORRUPT if two of n tensors share a byte of a file; the sums of offset and bytes do not
 * overflow.  Tensors of file LMD_FORMAT_NO_FILE are left out.  t may be NULL if n is 0. */
enum lmd_status lmi_model_check_overlap(const struct lmd_tensor *t, uint32_t n,
					struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_TENSOR_TABLE_H */
