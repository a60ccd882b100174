/* SPDX-License-Identifier: MIT
 *
 * model.h - the model while a format reader fills it.
 *
 * A reader creates an empty model, allocates what the view points to in the model's arena,
 * and registers keys and tensors, which also proves that their names are unique.  Users
 * see only the view and the functions of core/format/format.h. */
#ifndef LLAMAD_CORE_MODEL_MODEL_H
#define LLAMAD_CORE_MODEL_MODEL_H

#include <stdbool.h>

#include "core/base/file.h"
#include "core/base/strmap.h"
#include "llamad/model.h"
#include "llamad/status.h"

struct lmd_arena;

/* Bound on what keys, vocabulary and tensor table of one model may take on the heap. */
#define LMI_MODEL_HEAP_BYTES (120ull << 20)

#define LMI_MAX_KEYS    (1u << 20)
#define LMI_MAX_TENSORS (1u << 17)
#define LMI_MAX_VOCAB   (1u << 22)
#define LMI_MAX_LAYERS  1024u /* also heads of a layer, and experts */
#define LMI_MAX_DIM     (1ull << 40)

struct lmi_model_part {
	uint64_t made; /* bytes of `map` that are no part of the file, but made of others */
	char *path;
	struct lmi_file file;
	struct lmi_map map; /* ptr NULL when only the header is open */
	uint64_t map_at;    /* offset in the file of map.ptr */
	bool locked;
	bool big_endian;    /* numbers of tensor data in the file */
};

/* Who waits for the data of a model, and how far that is; see struct lmi_open. */
struct lmi_model_wait {
	uint64_t max_copy;
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t done, total, copied;
	bool given_up;
};

struct lmi_model {
	struct lmd_model view;
	struct lmd_tokspec tok;
	struct lmd_arena *arena;
	struct lmi_strmap keys, names;
	struct lmd_meta *meta;        /* [cap_meta] */
	struct lmd_tensor *tensors;   /* [cap_tensors] */
	struct lmi_model_part *parts; /* [n_parts] in the arena */
	uint32_t cap_meta, cap_tensors, n_parts;
	uint64_t heap_bytes; /* bound of the arena */
	struct lmi_model_wait wait;
	/* What a reader keeps as long as the model lives, for tensors whose bytes are not those of
	 * a file; own_read, if set, reads all of them.  All NULL: nothing. */
	void *own;
	void (*own_close)(void *own);
	enum lmd_status (*own_read)(void *own, uint32_t i_tensor, uint64_t at, void *buf, size_t n,
				    struct lmd_error *err);
};

/* heap_bytes bounds what the tables may take: LMI_MODEL_HEAP_BYTES, or less.  NULL without
 * memory. */
struct lmi_model *lmi_model_create(uint64_t heap_bytes);

/* Closes files and mappings too.  NULL allowed. */
void lmi_model_destroy(struct lmi_model *m);

/* Why an allocation from the arena failed: a model beyond its heap_bytes is LMD_INVALID,
 * otherwise LMD_NOMEM.  `bytes` is what was asked for. */
enum lmd_status lmi_model_no_memory(const struct lmi_model *m, uint64_t bytes,
				    struct lmd_error *err);

/* Room for that many; called once each, before the first add. */
enum lmd_status lmi_model_reserve_meta(struct lmi_model *m, uint32_t n, struct lmd_error *err);
enum lmd_status lmi_model_reserve_tensors(struct lmi_model *m, uint32_t n, struct lmd_error *err);
enum lmd_status lmi_model_reserve_parts(struct lmi_model *m, uint32_t n, struct lmd_error *err);

/* Copies the record; LMD_CORRUPT when its name is there already. */
enum lmd_status lmi_model_add_meta(struct lmi_model *m, const struct lmd_meta *v,
				   struct lmd_error *err);
enum lmd_status lmi_model_add_tensor(struct lmi_model *m, const struct lmd_tensor *t,
				     struct lmd_error *err);

/* Typed look-ups.  *found says whether the key is there (if not, *out is untouched); a value
 * of another type or out of range is LMD_INVALID and names the key.  Integers of any width
 * and 0/1 booleans fit integer keys; integers 0/1 fit boolean keys. */
enum lmd_status lmi_model_get_int(const struct lmi_model *m, const char *key, int64_t min,
				  int64_t max, int64_t *out, bool *found, struct lmd_error *err);
enum lmd_status lmi_model_get_bool(const struct lmi_model *m, const char *key, int8_t *out,
				   bool *found, struct lmd_error *err);
enum lmd_status lmi_model_get_str(const struct lmi_model *m, const char *key, struct lmd_str *out,
				  bool *found, struct lmd_error *err);

/* "an array of strings", "an integer", ... for sentences. */
const char *lmi_meta_type_text(uint32_t type);

/* Checks what every architecture relies on: general.architecture and the counts that size
 * tables (layers, heads, experts) against their bounds; sets view.arch and view.name.
 * `path` gives the name when the file has none. */
enum lmd_status lmi_model_check_general(struct lmi_model *m, const char *path,
					struct lmd_error *err);

/* Fills m->tok from the tokenizer.* keys, and the chat template. */
enum lmd_status lmi_model_read_tokspec(struct lmi_model *m, struct lmd_error *err);

#endif /* LLAMAD_CORE_MODEL_MODEL_H */
