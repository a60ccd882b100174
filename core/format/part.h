/* SPDX-License-Identifier: MIT
 *
 * part.h - the data of a model's files, mapped or read as the flags of format.h say: for the
 * readers of all formats. */
#ifndef LLAMAD_CORE_FORMAT_PART_H
#define LLAMAD_CORE_FORMAT_PART_H

#include "core/model/model.h"

/* Before the first part: `copied` bytes of files will be read into memory; may it be? */
enum lmd_status lmi_parts_begin(struct lmi_model *m, uint64_t copied, uint32_t flags,
				struct lmd_error *err);

/* `made` bytes will be computed beside that: may they be?  They count as work to come. */
enum lmd_status lmi_parts_make(struct lmi_model *m, uint64_t made, struct lmd_error *err);
/* So much of them is done. */
enum lmd_status lmi_parts_made(struct lmi_model *m, uint64_t bytes, struct lmd_error *err);

/* Brings the data of part i, which begins at byte `from` of its file, into memory, or maps the
 * file.  copy: as with LMI_OPEN_NO_MMAP.  Fills map, map_at and locked of the part. */
enum lmd_status lmi_part_load(struct lmi_model *m, uint32_t i, uint64_t from, bool copy,
			      uint32_t flags, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_PART_H */
