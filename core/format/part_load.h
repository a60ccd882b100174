/* SPDX-License-Identifier: MIT
 *
 * part_load.h - maps or reads the data of a model's files according to the flags of format.h;
 * shared by the readers of all formats. */
#ifndef LLAMAD_CORE_FORMAT_PART_LOAD_H
#define LLAMAD_CORE_FORMAT_PART_LOAD_H

#include "core/model/model.h"

/* Call before the first part: checks whether `copied` bytes of files may be read into memory. */
enum lmd_status lmi_model_load_begin(struct lmi_model *m, uint64_t copied, uint32_t flags,
				     struct lmd_error *err);

/* Checks whether `made` more bytes may be computed, and adds them to the total work. */
enum lmd_status lmi_model_load_add_built(struct lmi_model *m, uint64_t made, struct lmd_error *err);
/* Reports that `bytes` of them are done. */
enum lmd_status lmi_model_load_built(struct lmi_model *m, uint64_t bytes, struct lmd_error *err);

/* Maps the file of part i or reads its data, which begins at byte `from`, into memory.  copy: as
 * with LMI_OPEN_NO_MMAP.  Fills map, map_at and locked of the part. */
enum lmd_status lmi_model_load_part(struct lmi_model *m, uint32_t i, uint64_t from, bool copy,
				    uint32_t flags, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_PART_LOAD_H */
