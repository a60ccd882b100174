/* SPDX-License-Identifier: MIT
 *
 * write.h - writes GGUF version 3, little-endian.
 *
 *     lmi_gguf_writer_create(&w, 32, err)
 *     lmi_gguf_put_str(w, "general.architecture", "llama") ...      all keys
 *     lmi_gguf_add_tensor(w, "output.weight", ...) ...              all tensors
 *     lmi_gguf_writer_start(w, path, err)                           keys and table go out
 *     lmi_gguf_writer_data(w, bytes, n, err) ...                    data, tensor by tensor
 *     lmi_gguf_writer_finish(w, err)                                fsync and rename
 *     lmi_gguf_writer_destroy(w)
 *
 * The put and add calls return nothing: what goes wrong in them (memory, a name that the
 * reader would refuse) is kept and returned by the next call that has an error.  A file
 * appears under its path only when it is complete. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_WRITE_H
#define LLAMAD_CORE_FORMAT_GGUF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/format/gguf/gguf.h"

struct lmi_gguf_writer;

/* alignment: a power of two, 8..2^20; other than 32 it is written as general.alignment. */
enum lmd_status lmi_gguf_writer_create(struct lmi_gguf_writer **out, uint32_t alignment,
				       struct lmd_error *err);
/* NULL allowed; an unfinished file is removed. */
void lmi_gguf_writer_destroy(struct lmi_gguf_writer *w);

void lmi_gguf_put_u16(struct lmi_gguf_writer *w, const char *key, uint16_t v);
void lmi_gguf_put_u32(struct lmi_gguf_writer *w, const char *key, uint32_t v);
void lmi_gguf_put_i32(struct lmi_gguf_writer *w, const char *key, int32_t v);
void lmi_gguf_put_u64(struct lmi_gguf_writer *w, const char *key, uint64_t v);
void lmi_gguf_put_f32(struct lmi_gguf_writer *w, const char *key, float v);
void lmi_gguf_put_bool(struct lmi_gguf_writer *w, const char *key, bool v);
void lmi_gguf_put_str(struct lmi_gguf_writer *w, const char *key, const char *s);
void lmi_gguf_put_strings(struct lmi_gguf_writer *w, const char *key, const struct lmd_str *s,
			  uint64_t n);

/* Any value as a model holds it: v->file_type, an enum lmi_gguf_type, is the (element) type
 * in the file; the value is cut to its width.  Left out are general.alignment and folder.*, which
 * say of a folder what has no form in files. */
void lmi_gguf_put_meta(struct lmi_gguf_writer *w, const struct lmd_meta *v);

/* Place and size follow from type and shape; n_dim 1..4. */
void lmi_gguf_add_tensor(struct lmi_gguf_writer *w, const char *name, enum lmd_dtype type,
			 uint32_t n_dim, const int64_t *dims);

/* Header, keys and tensor table with the padding up to the data; lives until the next put
 * or add.  Names that appear twice are LMD_INVALID. */
enum lmd_status lmi_gguf_writer_header(struct lmi_gguf_writer *w, const uint8_t **bytes, size_t *n,
				       struct lmd_error *err);

/* Bytes of the whole file, padding included: header, keys, tensors. */
enum lmd_status lmi_gguf_writer_bytes(struct lmi_gguf_writer *w, uint64_t *bytes,
				      struct lmd_error *err);

/* Called after each write, in the thread that writes: `done` of `total` bytes of the file are
 * written.  false gives up: the call that wrote returns LMD_CANCELLED. */
typedef bool (*lmi_gguf_progress_fn)(void *arg, uint64_t done, uint64_t total);
/* For the next start; fn NULL: nobody. */
void lmi_gguf_writer_on_progress(struct lmi_gguf_writer *w, lmi_gguf_progress_fn fn, void *arg);

enum lmd_status lmi_gguf_writer_start(struct lmi_gguf_writer *w, const char *path,
				      struct lmd_error *err);

/* What is to happen to the tensors that are whole when a run does not end. */
enum lmi_gguf_keep {
	LMI_GGUF_KEEP_NONE, /* as lmi_gguf_writer_start: nothing stays */
	LMI_GGUF_KEEP_ANEW, /* they stay, but those of an earlier run are not used */
	LMI_GGUF_KEEP,	    /* they stay, and an earlier run is gone on with */
};
struct lmi_gguf_resume {
	enum lmi_gguf_keep keep;
	/* Told what was found of an earlier run, in a sentence; NULL: nobody. */
	void (*note)(void *arg, const char *text);
	void *note_arg;
};

/* As start, in "PATH.partial" with a journal (core/base/partial.h).  key: a digest of all that the
 * data depends on besides keys and tensor table.  *n_done tensors are there already: data
 * begins with the next one. */
enum lmd_status lmi_gguf_writer_resume(struct lmi_gguf_writer *w, const char *path,
				       const struct lmi_gguf_resume *r,
				       const uint8_t key[LMI_SHA256_BYTES], uint32_t *n_done,
				       struct lmd_error *err);
/* For a run that ends with status st and sentence err: when it may go better another time, what is
 * whole stays, and the sentence says so.  Returns st. */
enum lmd_status lmi_gguf_writer_leave(struct lmi_gguf_writer *w, enum lmd_status st,
				      struct lmd_error *err);

/* The next n bytes of the current tensor; the one after it begins, aligned, when its bytes
 * are complete.  More than the tensor still needs is LMD_INVALID. */
enum lmd_status lmi_gguf_writer_data(struct lmi_gguf_writer *w, const void *data, uint64_t n,
				     struct lmd_error *err);
/* LMD_INVALID when bytes of a tensor are missing. */
enum lmd_status lmi_gguf_writer_finish(struct lmi_gguf_writer *w, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_GGUF_WRITE_H */
