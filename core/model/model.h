/* SPDX-License-Identifier: MIT
 *
 * model.h - the model while a format reader fills it.
 *
 * A reader creates an empty model, allocates what the view points to in the model's arena, and adds
 * keys and tensors, which also checks that their names are unique.  Users see only the view and the
 * functions of core/format/format.h. */
#ifndef LLAMAD_CORE_MODEL_MODEL_H
#define LLAMAD_CORE_MODEL_MODEL_H

#include <stdbool.h>

#include "core/base/file.h"
#include "core/base/strmap.h"
#include "llamad/model.h"
#include "llamad/status.h"

struct lmd_arena;

/* Limit for the heap memory of one model's keys, vocabulary and tensor table. */
#define LMI_MODEL_HEAP_BYTES (120ull << 20)

#define LMI_MODEL_MAX_KEYS    (1u << 20)
#define LMI_MODEL_MAX_TENSORS (1u << 17)
#define LMI_MODEL_MAX_VOCAB   (1u << 22)
#define LMI_MODEL_MAX_LAYERS  1024u /* also limits heads per layer and experts */
#define LMI_MODEL_MAX_DIM     (1ull << 40)

#define LMI_MODEL_KEY_BYTES    65535u
#define LMI_MODEL_NAME_BYTES   63u /* of a tensor */
#define LMI_MODEL_STRING_BYTES (16ull << 20)
#define LMI_MODEL_TEXT_BYTES   (64ull << 20) /* chat templates and tokenizer.json */

struct lmi_model_part {
	uint64_t built_bytes; /* bytes of `map` that are not in the file but built from others */
	char *path;
	struct lmi_file file;
	struct lmi_map map; /* ptr is NULL if only the header is open */
	uint64_t map_at;    /* file offset of map.ptr */
	bool locked;
	bool big_endian;    /* byte order of tensor data in the file */
};

/* Progress callback and state while the data of a model is loaded; see struct lmi_open_opts. */
struct lmi_model_load_progress {
	uint64_t max_copy;
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t done, total, copied;
	bool cancelled;
};

struct lmi_model {
	struct lmd_model view;
	struct lmd_tok_spec tok;
	struct lmd_arena *arena;
	struct lmi_strmap keys, names;
	struct lmd_meta *meta;        /* [cap_meta] */
	struct lmd_tensor *tensors;   /* [cap_tensors] */
	struct lmi_model_part *parts; /* [n_parts], in the arena */
	uint32_t cap_meta, cap_tensors, n_parts;
	bool has_built_part; /* the last part is no file: tensors built in memory */
	uint64_t heap_bytes; /* limit of the arena */
	struct lmi_model_load_progress load_progress;
	const char *const *set_paths; /* [n_set_paths], while it is opened: see lmi_open_opts */
	uint32_t n_set_paths;
	/* Used by readers while the model is opened; NULL: no plugins. */
	struct lmi_plugin_registry *plugins;
	/* State that a reader keeps as long as the model lives, for tensors whose bytes are not
	 * those of a file; reader_read, if set, then reads all tensors.  All may be NULL. */
	void *reader_state;
	void (*reader_close)(void *state);
	enum lmd_status (*reader_read)(void *state, uint32_t i_tensor, uint64_t at, void *buf,
				       size_t n, struct lmd_error *err);
};

/* heap_bytes limits the memory of the tables: at most LMI_MODEL_HEAP_BYTES.  Returns NULL if out of
 * memory. */
struct lmi_model *lmi_model_create(uint64_t heap_bytes);

/* Also closes files and mappings.  m may be NULL. */
void lmi_model_destroy(struct lmi_model *m);

/* Sets the error after a failed arena allocation of `bytes`: LMD_INVALID if the model exceeds its
 * heap_bytes, otherwise LMD_NOMEM. */
enum lmd_status lmi_model_no_memory(const struct lmi_model *m, uint64_t bytes,
				    struct lmd_error *err);

/* Make room; called once each, before the first add. */
enum lmd_status lmi_model_reserve_meta(struct lmi_model *m, uint32_t n, struct lmd_error *err);
enum lmd_status lmi_model_reserve_tensors(struct lmi_model *m, uint32_t n, struct lmd_error *err);
enum lmd_status lmi_model_reserve_parts(struct lmi_model *m, uint32_t n, struct lmd_error *err);

/* Copy the record; LMD_CORRUPT if the name already exists. */
enum lmd_status lmi_model_add_meta(struct lmi_model *m, const struct lmd_meta *v,
				   struct lmd_error *err);
enum lmd_status lmi_model_add_tensor(struct lmi_model *m, const struct lmd_tensor *t,
				     struct lmd_error *err);

/* Typed look-ups.  *found tells whether the key exists; if not, *out is not changed.  A value of
 * another type or out of range is LMD_INVALID and the error names the key.  Integer keys accept
 * integers of any width and booleans as 0/1; boolean keys accept the integers 0 and 1. */
enum lmd_status lmi_model_get_int(const struct lmi_model *m, const char *key, int64_t min,
				  int64_t max, int64_t *out, bool *found, struct lmd_error *err);
enum lmd_status lmi_model_get_bool(const struct lmi_model *m, const char *key, int8_t *out,
				   bool *found, struct lmd_error *err);
enum lmd_status lmi_model_get_str(const struct lmi_model *m, const char *key, struct lmd_str *out,
				  bool *found, struct lmd_error *err);

/* The limit for the length of a string of this key: whole documents may be longer than others. */
uint64_t lmi_model_string_limit(const char *key);

/* "an array of strings", "an integer", ... for error messages. */
const char *lmi_model_meta_type_text(uint32_t type);

/* Checks the keys that every architecture relies on: general.architecture and the counts that size
 * tables (layers, heads, experts) against their limits; sets view.arch and view.name.  The name
 * comes from `path` if the file has none. */
enum lmd_status lmi_model_check_general(struct lmi_model *m, const char *path,
					struct lmd_error *err);

/* Fills m->tok from the tokenizer.* keys, and sets the chat template. */
enum lmd_status lmi_model_read_tokspec(struct lmi_model *m, struct lmd_error *err);

#endif /* LLAMAD_CORE_MODEL_MODEL_H */
