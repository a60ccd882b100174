/* SPDX-License-Identifier: MIT
 *
 * keys.h - the keys of the new file. */
#ifndef LLAMAD_CORE_QUANTIZE_KEYS_H
#define LLAMAD_CORE_QUANTIZE_KEYS_H

#include "core/format/gguf/write.h"
#include "core/quantize/quantize.h"

/* All keys for file i of the result: the first of a set, or the only file, has those of the
 * source with what changes (file type, importance matrix, layers left out, the caller's own);
 * every file of a set has its number in it.  The strings of the options are borrowed. */
enum lmd_status lmi_quantize_keys(const struct lmi_quantize_plan *p, uint32_t i,
				  struct lmi_gguf_writer *w, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_KEYS_H */
