/* SPDX-License-Identifier: MIT
 *
 * tensor_diff.h - compares the values of two tensors. */
#ifndef LLAMAD_LLAMACTL_TENSOR_DIFF_H
#define LLAMAD_LLAMACTL_TENSOR_DIFF_H

#include "core/format/format.h"

struct lmi_tensor_diff {
	bool same_bytes; /* then all members below are 0 */
	uint64_t n;	 /* number of values */
	uint64_t n_diff; /* number of unequal values; NaN equals NaN */
	double max;	 /* largest |a - b|; infinite if one of the two is NaN or infinite */
	double rms;	 /* root of the mean of (a - b)^2 */
	double nmse;	 /* sum of (a - b)^2 over the sum of a^2 */
	uint64_t at;	 /* index of the value with the largest difference */
};

/* Compares two tensors of the same shape after decoding both to float; their types may differ.
 * Reads both files in pieces. LMD_UNSUPPORTED if a type cannot be decoded and the bytes differ. */
enum lmd_status lmi_tensor_diff(struct lmi_tensor_diff *out, const struct lmi_model *ma,
				const struct lmd_tensor *a, const struct lmi_model *mb,
				const struct lmd_tensor *b, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_TENSOR_DIFF_H */
