/* SPDX-License-Identifier: MIT
 *
 * write.h - writes GGUF version 3, little-endian.
 *
 *     lmi_gguf_writer_create(&w, 32, err)
 *     lmi_gguf_put_str(w, "general.architecture", "llama") ...      all keys
 *     lmi_gguf_add_tensor(w, "output.weight", ...) ...              all tensors
 *     lmi_gguf_writer_start(w, path, err)                           writes keys and table
 *     lmi_gguf_writer_data(w, bytes, n, err) ...                    data, tensor by tensor
 *     lmi_gguf_writer_finish(w, err)                                fsync and rename
 *     lmi_gguf_writer_destroy(w)
 *
 * The put and add functions return nothing: an error in one of them (out of memory, a name that the
 * reader would reject) is stored and returned by the next call that takes an err.  The file appears
 * under its path only when it is complete. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_WRITE_H
#define LLAMAD_CORE_FORMAT_GGUF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/format/gguf/gguf.h"

struct lmi_gguf_writer;

/* alignment: a power of two, 8..2^20; written as general.alignment unless it is 32. */
enum lmd_status lmi_gguf_writer_create(struct lmi_gguf_writer **out, uint32_t alignment,
				       struct lmd_error *err);
/* w may be NULL.  Removes an unfinished file. */
void lmi_gguf_writer_destroy(struct lmi_gguf_writer *w);

void lmi_gguf_put_u16(struct lmi_gguf_writer *w, const char *key, uint16_t v);
void lmi_gguf_put_u32(struct lmi_gguf_writer *w, const char *key, uint32_t v);
void lmi_gguf_put_i32(struct lmi_gguf_writer *w, const char *key, int32_t v);
void lmi_gguf_put_f32(struct lmi_gguf_writer *w, const char *key, float v);
void lmi_gguf_put_bool(struct lmi_gguf_writer *w, const char *key, bool v);
void lmi_gguf_put_str(struct lmi_gguf_writer *w, const char *key, const char *s);
void lmi_gguf_put_strings(struct lmi_gguf_writer *w, const char *key, const struct lmd_str *s,
			  uint64_t n);

/* Writes a value as a model holds it: v->file_type, an enum lmi_gguf_type, is the type of the value
 * or of its elements in the file; values are truncated to that width.  Skips general.alignment and
 * folder.*, which holds properties of a checkpoint that have no form in files. */
void lmi_gguf_put_meta(struct lmi_gguf_writer *w, const struct lmd_meta *v);

/* Offset and size follow from type and shape; n_dim is 1..4. */
void lmi_gguf_add_tensor(struct lmi_gguf_writer *w, const char *name, enum lmd_dtype type,
			 uint32_t n_dim, const int64_t *dims);

/* Returns header, keys and tensor table, padded up to the data; valid until the next put or add.
 * Duplicate names are LMD_INVALID. */
enum lmd_status lmi_gguf_writer_header(struct lmi_gguf_writer *w, const uint8_t **bytes, size_t *n,
				       struct lmd_error *err);

/* Size of the whole file in bytes, padding included. */
enum lmd_status lmi_gguf_writer_bytes(struct lmi_gguf_writer *w, uint64_t *bytes,
				      struct lmd_error *err);

/* Called after each write, in the writing thread, when `done` of `total` bytes of the file are
 * written.  Return false to cancel: the call that wrote then returns LMD_CANCELLED. */
typedef bool (*lmi_gguf_progress_fn)(void *arg, uint64_t done, uint64_t total);
/* Takes effect with the next start; fn may be NULL. */
void lmi_gguf_writer_on_progress(struct lmi_gguf_writer *w, lmi_gguf_progress_fn fn, void *arg);

enum lmd_status lmi_gguf_writer_start(struct lmi_gguf_writer *w, const char *path,
				      struct lmd_error *err);

/* What happens to completed tensors if a run is interrupted. */
enum lmi_gguf_keep {
	LMI_GGUF_KEEP_NONE,    /* nothing is kept, as with lmi_gguf_writer_start */
	LMI_GGUF_KEEP_RESTART, /* kept, but tensors of an earlier run are not reused */
	LMI_GGUF_KEEP_RESUME,  /* kept, and an earlier run is resumed */
};
struct lmi_gguf_resume {
	enum lmi_gguf_keep keep;
	/* Receives a sentence about what was found of an earlier run; may be NULL. */
	void (*note)(void *arg, const char *text);
	void *note_arg;
};

/* Like lmi_gguf_writer_start, but writes "PATH.partial" with a journal
 * (core/base/resumable_file.h).
 *
 * key: digest of everything the data depends on besides keys and tensor table
 * *n_done: number of tensors that are already complete; data starts with the next one */
enum lmd_status lmi_gguf_writer_resume(struct lmi_gguf_writer *w, const char *path,
				       const struct lmi_gguf_resume *r,
				       const uint8_t key[LMI_SHA256_BYTES], uint32_t *n_done,
				       struct lmd_error *err);
/* Call when a run ends with status st and error err.  If a later run may succeed, completed tensors
 * are kept and the error message says so.  Returns st. */
enum lmd_status lmi_gguf_writer_interrupt(struct lmi_gguf_writer *w, enum lmd_status st,
					  struct lmd_error *err);

/* Writes the next n bytes of the current tensor; the next tensor starts, aligned, when this one is
 * complete.  More bytes than the tensor still needs are LMD_INVALID. */
enum lmd_status lmi_gguf_writer_data(struct lmi_gguf_writer *w, const void *data, uint64_t n,
				     struct lmd_error *err);
/* Returns LMD_INVALID if bytes of a tensor are missing. */
enum lmd_status lmi_gguf_writer_finish(struct lmi_gguf_writer *w, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_GGUF_WRITE_H */
