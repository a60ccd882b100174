/* SPDX-License-Identifier: MIT
 *
 * convert_safetensors.h - the tensors of a model as one safetensors file. */
#ifndef LLAMAD_LLAMACTL_CONVERT_SAFETENSORS_H
#define LLAMAD_LLAMACTL_CONVERT_SAFETENSORS_H

#include <stdint.h>

#include "client/llamactl/ctl.h"

/* Writes model `in` to `out`. Tensors keep their names, and their dimensions in the order of
 * safetensors, the outermost first; keys that are no arrays become texts of "__metadata__".
 * type: LMD_DTYPE_F32, F16 or BF16 for all tensors of floats; -1: plain ones keep their type, and
 * quantised ones become F16. LMD_INVALID: a value is beyond the range of the type. */
enum lmd_status lmi_ctl_convert_safetensors(struct lmi_ctl *ctl, const char *in, const char *out,
					    int64_t type, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_CONVERT_SAFETENSORS_H */
