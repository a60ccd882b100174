/* SPDX-License-Identifier: MIT
 *
 * model_builder.h - the host's side of struct lmd_model_builder (llamad/format.h): checks what a
 * format says about a model and turns it into a struct lmi_model.
 *
 *     model_builder.c       files and tensors, each checked when it is added; open and close
 *     model_builder_keys.c  keys, each checked when it is added
 *     model_finish.c        the whole: unique names, overlaps, vocabulary; then mapping and loading
 *
 * Readers that are part of the host have the same interface, but fill the model themselves
 * (lmi_model_builder_of). */
#ifndef LLAMAD_CORE_FORMAT_MODEL_BUILDER_H
#define LLAMAD_CORE_FORMAT_MODEL_BUILDER_H

#include "core/format/format.h"
#include "core/model/model.h"
#include "llamad/format.h"

struct lmi_model_builder;

struct lmi_model_builder_opts {
	struct lmi_model *m; /* empty; gets the load_progress of the caller before */
	const struct lmd_host *host;
	const struct lmd_format_ops *ops;
	const char *format;  /* name of the factory */
	size_t state_bytes;
	const char *path;    /* a folder has no slash at its end */
	uint32_t open_flags; /* LMI_OPEN_* */
	struct lmi_file *own_file; /* the open file of the path; NULL if it is a folder */
	/* Called when the format is closed, or at once if it could not be opened; may be NULL. */
	void (*release)(void *arg);
	void *arg;
};

/* Lets the format open and describe the model, checks the result and loads it.  On success and on
 * failure the model owns everything; the caller destroys it in either case.  The error message does
 * not name the path. */
enum lmd_status lmi_model_builder_run(const struct lmi_model_builder_opts *o,
				      struct lmd_error *err);

/* Part of the host's own formats: gives up the checks of the builder and returns the model to be
 * filled, and the open file of the path, which then belongs to the caller (fd -1 for a folder). */
struct lmi_model *lmi_model_builder_fill(const struct lmd_model_builder *b, uint32_t *open_flags,
					 struct lmi_file *file);

/* Is this a plain file name: 1..255 bytes, no slash, no dot at its start? */
bool lmi_model_file_name_ok(const char *name);

/* Writes "FOLDER/NAME", where the folder is that of the path; false if it does not fit. */
bool lmi_model_beside(char *buf, size_t n, const char *path, bool is_folder, const char *name);

#endif /* LLAMAD_CORE_FORMAT_MODEL_BUILDER_H */
