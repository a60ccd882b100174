/* SPDX-License-Identifier: MIT
 *
 * tensor_diff.h - how far the values of two tensors are apart. */
#ifndef LLAMAD_LLAMACTL_TENSOR_DIFF_H
#define LLAMAD_LLAMACTL_TENSOR_DIFF_H

#include "core/format/format.h"

struct lmi_tensor_diff {
	bool same_bytes; /* then everything below is 0 */
	uint64_t n;	 /* values */
	uint64_t n_diff; /* that are not equal; NaN equals NaN */
	double max;	 /* greatest |a - b|; infinite when one of both is no number */
	double rms;	 /* root of the mean of (a - b)^2 */
	double nmse;	 /* sum of (a - b)^2 over the sum of a^2 */
	uint64_t at;	 /* number of the value with the greatest difference */
};

/* Compares two tensors of one shape after decoding both to float; their types may differ.  Reads
 * both files in pieces.  LMD_UNSUPPORTED when a type cannot be decoded and the bytes differ. */
enum lmd_status lmi_tensor_diff(struct lmi_tensor_diff *out, const struct lmi_model *ma,
				const struct lmd_tensor *a, const struct lmi_model *mb,
				const struct lmd_tensor *b, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_TENSOR_DIFF_H */
