/* SPDX-License-Identifier: MIT
 *
 * model_builder_impl.h - what model_builder.c and model_finish.c share. */
#ifndef LLAMAD_CORE_FORMAT_MODEL_BUILDER_IMPL_H
#define LLAMAD_CORE_FORMAT_MODEL_BUILDER_IMPL_H

#include "core/format/model_builder.h"
#include "llamad/host.h"

struct lmi_model_builder_file {
	char *path; /* in the model's arena */
	struct lmi_file file;
};

struct lmi_model_builder {
	union {
		struct lmd_model_builder api;
		char room[LMD_HOST_TABLE_BYTES];
	} table;
	struct lmi_model_builder_opts o;
	void *state;
	bool open;      /* the format's open has not returned yet */
	bool is_filled; /* a format of the host fills the model itself */
	bool has_parts; /* the files belong to the model's parts */
	enum lmd_status status; /* the first error of add_meta and add_tensor */
	struct lmd_error error;
	/* arrays on the heap; strings and values in the model's arena */
	struct lmi_model_builder_file *files;
	struct lmd_meta *meta;
	struct lmd_tensor *tensors;
	uint32_t n_files, n_meta, n_tensors, cap_files, cap_meta, cap_tensors;
};

/* Makes room for one more element of an array on the heap; false if memory runs out. */
bool lmi_model_builder_grow(void **array, uint32_t n, uint32_t *cap, size_t item);

/* Checks and adds a key; the error goes to b->error. */
enum lmd_status lmi_model_builder_take_meta(struct lmi_model_builder *b,
					    const struct lmd_meta *from);

/* Checks the description as a whole, moves it to the model and loads it. */
enum lmd_status lmi_model_builder_finish(struct lmi_model_builder *b, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_MODEL_BUILDER_IMPL_H */
