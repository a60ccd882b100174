/* SPDX-License-Identifier: MIT
 *
 * format.h - kind FORMAT: from a path to a model descriptor.
 *
 * A factory is one file format; its name ("llama2c") becomes lmd_model.format.  The host opens a
 * path as follows:
 *
 *   1. The probe function of each format says how sure it is that it recognises the path.
 *      Plugins are not asked if a built-in format is LMD_FORMAT_SURE.
 *   2. The format with the highest result opens the path.  Of equal results a built-in format
 *      comes first, then the factory with the higher priority, then the one with the higher score
 *      of lmd_factory.probe, then the plugin whose folder is searched first, then file names in
 *      order, and in one plugin the factories in order.  If opening fails, no other format is
 *      tried.
 *   3. The open function describes the model to the builder: files, keys, tensors.
 *   4. The host checks the whole description, maps the files or reads them into memory, whichever
 *      the user asked for, and builds the struct lmd_model that architectures and tokenizers see.
 *   5. The read_rows function supplies the numbers of tensors that no file stores in the form in
 *      which they are used.
 *   6. The close function is called when the model is closed.
 *
 * An instance is one open model.  The host allocates its state_bytes, zeroed and aligned to 64
 * bytes; the state is NULL if there are none.  Keys have the names and values of GGUF files
 * (docs/formats.md): general.architecture, ARCHITECTURE.block_count and so on, tokenizer.ggml.* for
 * the vocabulary.  Tensors have the names that the architecture expects; their data is
 * little-endian.
 *
 * Files are input from outside.  A format checks counts and sizes before it allocates memory or
 * reads by them.  It need not check what it passes to the builder, which does that; but a pointer
 * must point to as much memory as the length beside it says.  Structs grow as docs/abi.md
 * promises. */
#ifndef LLAMAD_FORMAT_H
#define LLAMAD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llamad/attr.h"
#include "llamad/host.h"
#include "llamad/model.h"
#include "llamad/status.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

/* Results of probe; any number of 0..100 is allowed. */
#define LMD_FORMAT_NO     0   /* not this format */
#define LMD_FORMAT_MAYBE  10  /* a folder or an extension that other formats use as well */
#define LMD_FORMAT_LIKELY 50  /* the name or the layout of the first bytes fits */
#define LMD_FORMAT_SURE   100 /* a magic number, or the whole structure fits */

/* The greatest number of bytes at lmd_format_probe.head. */
#define LMD_FORMAT_HEAD_BYTES 4096

/* A path as a format sees it before it is opened.  Valid during the call of probe. */
struct lmd_format_probe {
	uint32_t struct_size;
	uint32_t head_bytes;  /* 0 for a folder */
	const uint8_t *head;  /* the first bytes of the file, at most LMD_FORMAT_HEAD_BYTES */
	uint64_t file_bytes;  /* size of the file; 0 for a folder */
	const char *path;     /* as the user gave it; a folder has no slash at its end */
	const char *name;     /* the last part of the path */
	bool is_folder;       /* otherwise it is a regular file */
	uint8_t reserved[7];
	/* Returns true if the folder, or the folder of the file, contains a regular file of this
	 * name; false for a name that add_file would reject. */
	bool (*has_file)(const struct lmd_format_probe *p, const char *name);
};

/* Flags of lmd_model_builder. */
#define LMD_FORMAT_HEADER_ONLY 1u /* the weights are not wanted; read_rows may still be called */

/* The value of lmd_tensor.file for a tensor whose rows come from read_rows. */
#define LMD_FORMAT_NO_FILE UINT32_MAX

/* The greatest number of files of one model. */
#define LMD_FORMAT_MAX_FILES 1024

/* Given to open.  file_bytes and read_file may be called until close, by any thread; the other
 * functions only in open, by its thread.  The builder keeps the first error of add_meta and
 * add_tensor, and these then only return it, so open may be a straight list of calls: the host
 * looks at the kept error when open returns. */
struct lmd_model_builder {
	uint32_t struct_size;
	uint32_t flags;       /* LMD_FORMAT_HEADER_ONLY; ignore other bits */
	void *ctx;            /* private to the host; first argument of every function below */
	const struct lmd_host *host;
	const char *path;     /* as in probe; valid until close */
	bool is_folder;
	uint8_t reserved[7];

	/* Opens a file of the folder, or of the folder in which the file of the path lies, and sets
	 * *file to its number.  Files are numbered from 0 in the order in which they are added.  If
	 * the path is a file, it is number 0 from the start.  If the path is a folder, the first
	 * file that is added stands for the model: opening its path must open the same model.
	 * `name` has 1..255 bytes, no slash and no dot at its start; it must name a regular file or
	 * a link to one.  LMD_NOTFOUND if it does not exist. */
	enum lmd_status (*add_file)(void *ctx, const char *name, uint32_t *file,
				    struct lmd_error *err);
	/* Size of the file when it was opened; 0 if there is no such number. */
	uint64_t (*file_bytes)(void *ctx, uint32_t file);
	/* Reads exactly n bytes from byte `at` on.  LMD_INVALID if they are not all inside the
	 * file, LMD_IO if they cannot be read. */
	enum lmd_status (*read_file)(void *ctx, uint32_t file, uint64_t at, void *buf, size_t n,
				     struct lmd_error *err);

	/* Adds a key.  The record and everything it points to are copied.  n is 1 unless the
	 * value is an array; the host sets file_type.  Keys are unique; a string has at most 16 MiB
	 * (chat templates and tokenizer.json: 64 MiB); all keys and tensor records together take at
	 * most 120 MiB. */
	enum lmd_status (*add_meta)(void *ctx, const struct lmd_meta *v);
	/* Adds a tensor; the record and its name (1..63 bytes, unique) are copied.  `data` is NULL;
	 * dims beyond n_dim are 0 or 1; bytes is 0 or the size that follows from type and dims.
	 * With the number of a file, its bytes [offset, offset + bytes) are used as they are: they
	 * must lie inside the file and in no other tensor, and offset must be a multiple of 8 (F32:
	 * 4; F16 and BF16: 2).  With LMD_FORMAT_NO_FILE, offset is 0 and the format must have
	 * read_rows. */
	enum lmd_status (*add_tensor)(void *ctx, const struct lmd_tensor *t);
	/* Returns the first error of add_meta and add_tensor, or LMD_OK. */
	enum lmd_status (*status)(void *ctx);
};

struct lmd_format_ops {
	uint32_t struct_size;

	/* Mandatory.  Returns how sure the format is that it can read the path, LMD_FORMAT_NO to
	 * LMD_FORMAT_SURE.  Decides by *p alone, is fast and allocates nothing.  Any thread. */
	int (*probe)(const struct lmd_host *host, const struct lmd_format_probe *p);

	/* Mandatory.  Describes the model: reads keys, vocabulary and tensor table, but not the
	 * weights.  *b is valid until close.  If the function fails, it must release everything:
	 * the state is then discarded and close is not called.  LMD_CORRUPT: the file contradicts
	 * itself or ends too early; LMD_UNSUPPORTED: it is of a version or variant that cannot be
	 * read; LMD_INVALID: a number is outside its limits.  Messages name the thing, the value
	 * and the limit; the host puts path and format before them. */
	enum lmd_status (*open)(void *state, const struct lmd_model_builder *b,
				struct lmd_error *err);

	/* NULL: there is nothing to release. */
	void (*close)(void *state);

	/* NULL: every tensor lies in a file.  Writes n rows of dims[0] values each, in the tensor's
	 * type, to `out`, beginning with row `row` of dims[1] * dims[2] * dims[3] rows.  `tensor`
	 * counts the calls of add_tensor from 0.  Called by any thread and by several at once,
	 * after open and before close. */
	enum lmd_status (*read_rows)(const void *state, uint32_t tensor, uint64_t row, uint64_t n,
				     void *out, struct lmd_error *err);
};

/* ---- keys in one line ---- */

static inline enum lmd_status lmd_add_i64(const struct lmd_model_builder *b, const char *key,
					  int64_t v)
{
	struct lmd_meta m;

	memset(&m, 0, sizeof(m));
	m.key = key;
	m.type = LMD_META_I64;
	m.n = 1;
	m.v.i = v;
	return b->add_meta(b->ctx, &m);
}

static inline enum lmd_status lmd_add_bool(const struct lmd_model_builder *b, const char *key,
					   bool v)
{
	struct lmd_meta m;

	memset(&m, 0, sizeof(m));
	m.key = key;
	m.type = LMD_META_BOOL;
	m.n = 1;
	m.v.i = v;
	return b->add_meta(b->ctx, &m);
}

static inline enum lmd_status lmd_add_f64(const struct lmd_model_builder *b, const char *key,
					  double v)
{
	struct lmd_meta m;

	memset(&m, 0, sizeof(m));
	m.key = key;
	m.type = LMD_META_F64;
	m.n = 1;
	m.v.f = v;
	return b->add_meta(b->ctx, &m);
}

static inline enum lmd_status lmd_add_str(const struct lmd_model_builder *b, const char *key,
					  const char *v)
{
	struct lmd_meta m;

	memset(&m, 0, sizeof(m));
	m.key = key;
	m.type = LMD_META_STR;
	m.n = 1;
	m.v.s.ptr = v;
	m.v.s.len = strlen(v);
	return b->add_meta(b->ctx, &m);
}

/* An array; type: LMD_META_ARR_*, a: n elements of that type. */
static inline enum lmd_status lmd_add_array(const struct lmd_model_builder *b, const char *key,
					    uint32_t type, const void *a, uint64_t n)
{
	struct lmd_meta m;

	memset(&m, 0, sizeof(m));
	m.key = key;
	m.type = type;
	m.n = n;
	m.v.a = a;
	return b->add_meta(b->ctx, &m);
}

LMD_END_DECLS

#endif /* LLAMAD_FORMAT_H */
