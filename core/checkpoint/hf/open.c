/* SPDX-License-Identifier: MIT
 *
 * Opens a checkpoint in this order: configuration, tensors of the files, keys, vocabulary, our
 * tensors.  Data comes last, when everything else has been checked. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/format/format.h"
#include "core/format/part_load.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "core/quant/quant.h"

#define CONFIG       "config.json"
#define CONFIG_BYTES (1u << 20)
#define CONFIG_NODES (1u << 17)
#define MAX_KEYS     256u
#define PIECE_BYTES  (8u << 20) /* bytes built at once */
#define MAX_PATH     4000u

/* Splits the path into the folder and the named file, if any. */
static enum lmd_status set_path(struct lmi_checkpoint *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = strlen(path);
	struct stat sb;
	char show[112];

	if (n < 1 || n > MAX_PATH)
		return lmd_fail(f->err, LMD_INVALID, "path of %zu bytes, must be 1..%u", n,
				MAX_PATH);
	if (stat(path, &sb))
		return lmd_fail(f->err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%s: %s",
				lmi_printable_path(show, sizeof(show), path), strerror(errno));
	if (S_ISDIR(sb.st_mode)) {
		while (n > 1 && path[n - 1] == '/')
			n--;
		f->dir = lmi_arena_strndup(f->m->arena, path, n);
	} else {
		const char *name = slash ? slash + 1 : path;

		f->dir = !slash	      ? "."
			 : slash > path ? lmi_arena_strndup(f->m->arena, path,
							    (size_t)(slash - path))
					: "/";
		if (strcmp(name, CONFIG) != 0)
			f->single_file = lmi_arena_strndup(f->m->arena, name, strlen(name));
		if (!f->single_file && strcmp(name, CONFIG) != 0)
			f->dir = NULL;
	}
	if (!f->dir)
		return lmd_fail(f->err, LMD_NOMEM, "%s: no memory for its path",
				lmi_printable_path(show, sizeof(show), path));
	return LMD_OK;
}

/* The map of the first of "architectures", if there is one of that name. */
static const struct lmd_checkpoint_map *map_of_class(const struct lmi_checkpoint *f)
{
	const struct lmi_json_node *all = lmi_json_node_get(f->root, "architectures");
	const struct lmi_json_node *first =
		lmi_json_node_is(all, LMI_JSON_ARRAY) ? lmi_json_node_at(all, 0) : NULL;

	return first ? lmi_checkpoint_map_find(&f->maps, first) : NULL;
}

/* Opens config.json, which is part 0. */
static enum lmd_status open_config(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *type;
	struct lmi_model_part *p;
	char show[48];
	enum lmd_status st =
		lmi_checkpoint_read_json(f, CONFIG, true, CONFIG_BYTES, CONFIG_NODES, &f->config);

	if (st == LMD_OK && !f->config.root)
		st = lmd_fail(f->err, LMD_NOTFOUND,
			      "%s: no " CONFIG
			      " in this folder, which is needed to interpret the tensors",
			      f->dir);
	if (st == LMD_OK)
		st = lmi_model_reserve_parts(f->m, 1, f->err);
	if (st != LMD_OK)
		return st;
	p = &f->m->parts[0];
	p->path = lmi_arena_printf(f->m->arena, "%s/" CONFIG, f->dir);
	if (!p->path)
		return lmi_model_no_memory(f->m, strlen(f->dir) + 16, f->err);
	st = lmi_file_open(&p->file, p->path, f->err);
	if (st != LMD_OK)
		return st;
	f->root = f->config.root;
	f->text = lmi_json_node_get(f->root, "text_config");
	f->text = lmi_json_node_is(f->text, LMI_JSON_OBJECT) ? f->text : f->root;
	type = lmi_json_node_get(f->root, "model_type");
	st = lmi_checkpoint_maps_take(&f->maps, f->m->plugins, f->err);
	if (st != LMD_OK)
		return st;
	f->map = map_of_class(f);
	if (!f->map)
		f->map = lmi_checkpoint_map_find(&f->maps, type);
	if (!f->map && f->text != f->root)
		f->map =
			lmi_checkpoint_map_find(&f->maps, lmi_json_node_get(f->text, "model_type"));
	lmi_checkpoint_init_view(f);
	if (f->map)
		return LMD_OK;
	return lmd_fail(
		f->err, LMD_UNSUPPORTED,
		"%s/" CONFIG
		": \"model_type\" %s: no architecture plugin has a map of such checkpoints; a "
		"GGUF file of the model may be supported",
		f->dir,
		lmi_json_node_is(type, LMI_JSON_STRING)
			? lmi_printable(show, sizeof(show), type->u.s, type->n)
			: lmi_json_node_kind(type));
}

static enum lmd_status read_all(struct lmi_checkpoint *f, const char *pre)
{
	enum lmd_status st = open_config(f);

	if (st == LMD_OK)
		st = lmi_st_open(&f->st, f->m, f->dir, f->single_file, 1, f->err);
	if (st == LMD_OK)
		st = lmi_model_reserve_meta(f->m, MAX_KEYS, f->err);
	if (st != LMD_OK)
		return st;
	f->used = lmi_alloc(f->st.n + 1, 1);
	if (!f->used)
		return lmd_fail(f->err, LMD_NOMEM, "no memory for %u tensors", f->st.n);
	lmi_checkpoint_read_quant_config(f);
	lmi_checkpoint_add_keys(f);
	lmi_checkpoint_read_generation(f);
	if (f->status == LMD_OK)
		lmi_checkpoint_add_tensors(f);
	if (f->status != LMD_OK)
		return f->status;
	f->m->view.format = "safetensors";
	st = lmi_model_check_general(f->m, f->dir, f->err);
	if (st == LMD_OK)
		st = lmi_model_read_tokspec(f->m, f->err);
	if (st != LMD_OK) {
		lmd_error_prefix(f->err, f->dir);
		return st;
	}
	lmi_checkpoint_read_vocab(f);
	f->no_vocab = lmi_checkpoint_add_vocab_keys(f, pre);
	return f->status;
}

enum lmd_status lmi_checkpoint_open(struct lmi_checkpoint **out, struct lmi_model *m,
				    const char *path, uint32_t flags, const char *pre,
				    struct lmd_error *err)
{
	struct lmd_error own = {0};
	struct lmi_checkpoint *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for a folder");
	if (pthread_mutex_init(&f->lock, NULL)) {
		lmi_free(f);
		return lmd_fail(err, LMD_NOMEM, "no memory for a lock");
	}
	f->m = m;
	f->flags = flags;
	f->err = err ? err : &own;
	st = set_path(f, path);
	if (st == LMD_OK)
		st = read_all(f, pre);
	f->err = NULL;
	/* free what was needed to read the keys */
	lmi_json_tree_fini(&f->config);
	lmi_json_tree_fini(&f->generation);
	lmi_free(f->used);
	f->used = NULL;
	f->root = f->text = NULL;
	f->map = NULL;
	lmi_checkpoint_maps_give(&f->maps);
	if (st != LMD_OK)
		lmi_checkpoint_close(f);
	else
		*out = f;
	return st;
}

void lmi_checkpoint_close(struct lmi_checkpoint *f)
{
	if (!f)
		return;
	lmi_hf_tokenizer_close(f->tokenizer);
	lmi_st_fini(&f->st);
	lmi_free(f->transforms);
	lmi_free(f->used);
	lmi_free(f->raw.p);
	lmi_free(f->values.p);
	lmi_free(f->codes.p);
	lmi_free(f->whole.p);
	lmi_free(f->transposed.p);
	lmi_free(f->row.p);
	lmi_free(f->piece.p);
	(void)pthread_mutex_destroy(&f->lock);
	lmi_free(f);
}

const char *lmi_checkpoint_no_vocab_reason(const struct lmi_checkpoint *f)
{
	return f->no_vocab;
}

/* ---- data ---- */

static enum lmd_status in_file(const struct lmi_model_part *p, enum lmd_status st,
			       struct lmd_error *err)
{
	char show[112];

	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), p->path));
	return st;
}

/* True if a tensor is used in place in that file. */
static bool is_needed(const struct lmi_checkpoint *f, uint32_t part)
{
	for (uint32_t k = 0; k < f->m->view.n_tensors; k++)
		if (f->transforms[k].in_place && f->m->tensors[k].file == part)
			return true;
	return false;
}

/* Maps the files that hold tensors used in place. */
static enum lmd_status map_files(struct lmi_checkpoint *f, uint32_t flags, struct lmd_error *err)
{
	uint64_t copied = 0;
	enum lmd_status st;

	for (uint32_t i = 1; i < f->m->n_parts; i++)
		if ((flags & (LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT)) && is_needed(f, i))
			copied += f->m->parts[i].file.bytes;
	st = lmi_model_load_begin(f->m, copied, flags, err);
	if (st == LMD_OK && !(flags & LMI_OPEN_MEASURE))
		st = lmi_model_load_add_built(f->m, f->m->parts[0].built_bytes, err);
	for (uint32_t i = 1; st == LMD_OK && i < f->m->n_parts; i++)
		if (is_needed(f, i))
			st = in_file(&f->m->parts[i],
				     lmi_model_load_part(f->m, i, 0, false, flags, err), err);
	return st;
}

static enum lmd_status build_tensor(struct lmi_checkpoint *f, uint32_t i, uint8_t *out,
				    struct lmd_error *err)
{
	const struct lmd_tensor *t = &f->m->tensors[i];
	uint64_t rows = 1, row_bytes, per;
	enum lmd_status st = LMD_OK;

	for (uint32_t d = 1; d < t->n_dim; d++)
		rows *= (uint64_t)t->dims[d]; /* no overflow, checked when the tensor was added */
	row_bytes = t->bytes / rows;
	per = PIECE_BYTES / row_bytes + 1;
	for (uint64_t r = 0; st == LMD_OK && r < rows; r += per) {
		uint64_t n = rows - r < per ? rows - r : per;

		st = lmi_checkpoint_read_rows(f, i, r, n, out + r * row_bytes, err);
	}
	return st;
}

/* Assigns offsets in the map of part 0 to the tensors that are built in memory. */
static enum lmd_status assign_offsets(struct lmi_checkpoint *f, struct lmd_error *err)
{
	struct lmi_model *m = f->m;
	uint64_t total = 0;

	for (uint32_t i = 0; i < m->view.n_tensors; i++) {
		struct lmd_tensor *t = &m->tensors[i];

		if (f->transforms[i].in_place)
			continue;
		t->file = 0;
		t->offset = total;
		if (!lmi_add_ok(total, t->bytes, &total) || !lmi_align_ok(total, 64, &total))
			return lmd_fail(err, LMD_INVALID, "tensor %s: the sizes overflow", t->name);
	}
	m->parts[0].built_bytes = total;
	return LMD_OK;
}

/* Allocates the memory for them; for measuring, zero pages only. */
static enum lmd_status alloc_built(struct lmi_checkpoint *f, uint32_t flags, struct lmd_error *err)
{
	struct lmi_model_part *p = &f->m->parts[0];
	uint8_t *data;

	if (flags & LMI_OPEN_MEASURE)
		return in_file(p, lmi_map_zeros(&p->map, p->built_bytes, err), err);
	data = p->built_bytes <= SIZE_MAX / 2 ? lmi_alloc((size_t)p->built_bytes, 1) : NULL;
	if (!data)
		return lmd_fail(err, LMD_NOMEM,
				"%s: no memory for %llu bytes of tensors that are not stored in "
				"the form in which they are used; llamactl convert makes a file "
				"that needs no such memory",
				f->dir, (unsigned long long)p->built_bytes);
	p->map = (struct lmi_map){
		.ptr = data, .bytes = p->built_bytes, .on_heap = true, .block = data};
	return LMD_OK;
}

static enum lmd_status build_tensors(struct lmi_checkpoint *f, uint32_t flags,
				     struct lmd_error *err)
{
	struct lmi_model *m = f->m;
	enum lmd_status st;

	if (!m->parts[0].built_bytes)
		return LMD_OK;
	st = alloc_built(f, flags, err);
	for (uint32_t i = 0; st == LMD_OK && !(flags & LMI_OPEN_MEASURE) && i < m->view.n_tensors;
	     i++) {
		const struct lmd_tensor *t = &m->tensors[i];
		uint8_t *data = m->parts[0].map.block;

		if (f->transforms[i].in_place)
			continue;
		st = build_tensor(f, i, data + t->offset, err);
		if (st == LMD_OK)
			st = lmi_model_load_built(m, t->bytes, err);
	}
	return st;
}

enum lmd_status lmi_checkpoint_load(struct lmi_checkpoint *f, uint32_t open_flags,
				    struct lmd_error *err)
{
	enum lmd_status st = assign_offsets(f, err);

	if (st == LMD_OK)
		st = map_files(f, open_flags, err);
	if (st == LMD_OK)
		st = build_tensors(f, open_flags, err);
	for (uint32_t i = 0; st == LMD_OK && i < f->m->view.n_tensors; i++) {
		struct lmd_tensor *t = &f->m->tensors[i];

		t->data = f->m->parts[t->file].map.ptr + t->offset;
	}
	return st;
}

/* Reads bytes of a tensor, for lmi_model_read. */
static enum lmd_status read_tensor(void *state, uint32_t i, uint64_t at, void *buf, size_t n,
				   struct lmd_error *err)
{
	struct lmi_checkpoint *f = state;
	const struct lmd_tensor *t = &f->m->tensors[i];
	uint64_t row_bytes = 0, row0, rows;
	enum lmd_status st = LMD_OK;
	uint8_t *p;

	if (!n)
		return LMD_OK;
	(void)lmi_quant_row_bytes(lmi_dtype(t->dtype), (uint64_t)t->dims[0], &row_bytes);
	row0 = at / row_bytes;
	rows = (at + n + row_bytes - 1) / row_bytes - row0;
	(void)pthread_mutex_lock(&f->lock);
	p = lmi_checkpoint_scratch_reserve(&f->piece, rows, row_bytes, err);
	st = p ? lmi_checkpoint_read_rows(f, i, row0, rows, p, err) : LMD_NOMEM;
	if (st == LMD_OK)
		memcpy(buf, p + (at - row0 * row_bytes), n);
	(void)pthread_mutex_unlock(&f->lock);
	return st;
}

static void close_checkpoint(void *state)
{
	lmi_checkpoint_close(state);
}

enum lmd_status lmi_checkpoint_open_model(struct lmi_model *m, const char *path,
					  uint32_t open_flags, struct lmd_error *err)
{
	/* without data nothing is copied, so experts can be one tensor as in GGUF files */
	uint32_t flags = open_flags & LMI_OPEN_HEADER_ONLY ? LMI_CHECKPOINT_STACKED : 0;
	struct lmi_checkpoint *f;
	enum lmd_status st = lmi_checkpoint_open(&f, m, path, flags, NULL, err);

	if (st != LMD_OK)
		return st;
	m->reader_state = f;
	m->reader_close = close_checkpoint;
	m->reader_read = read_tensor;
	return open_flags & LMI_OPEN_HEADER_ONLY ? LMD_OK : lmi_checkpoint_load(f, open_flags, err);
}
