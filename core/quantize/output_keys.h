/* SPDX-License-Identifier: MIT
 *
 * output_keys.h - the keys of the new file. */
#ifndef LLAMAD_CORE_QUANTIZE_OUTPUT_KEYS_H
#define LLAMAD_CORE_QUANTIZE_OUTPUT_KEYS_H

#include "core/format/gguf/write.h"
#include "core/quantize/quantize.h"

/* Puts all keys of output file i.  The only file, or the first of a set, has the source's keys with
 * the changes (file type, importance matrix, pruned layers, the caller's own); every file of a set
 * has its number.  Strings of the options are borrowed. */
enum lmd_status lmi_quantize_keys(const struct lmi_quantize_plan *p, uint32_t i,
				  struct lmi_gguf_writer *w, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_OUTPUT_KEYS_H */
