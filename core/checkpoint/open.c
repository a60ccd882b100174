/* SPDX-License-Identifier: MIT
 *
 * Opens a model: determines the format, from the path or the first bytes, and calls its reader.  To
 * add a format, add a row to the table. */
#include <string.h>
#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint.h"
#include "core/checkpoint/open.h"
#include "core/format/gguf/gguf.h"
#include "core/format/safetensors/safetensors.h"
#include "core/quant/quant.h"

#define MIN_BYTES 24u /* size of the shortest container */
#define HEAD      16u
#define ALL_FLAGS                                                                                  \
	(LMI_OPEN_HEADER_ONLY | LMI_OPEN_NO_MMAP | LMI_OPEN_MLOCK | LMI_OPEN_DIRECT |              \
	 LMI_OPEN_MEASURE)

/* A format: how to recognise it by path and first bytes, and how to open it. */
struct format {
	const char *name;
	bool (*sniff)(const uint8_t head[HEAD], const char *path);
	/* Takes ownership of own_file in any case; its fd is -1 for a folder. */
	enum lmd_status (*open)(struct lmi_model *m, const char *path, struct lmi_file *own_file,
				uint32_t flags, struct lmd_error *err);
};

static bool sniff_gguf(const uint8_t head[HEAD], const char *path)
{
	(void)path;
	return !memcmp(head, "GGUF", 4);
}

/* config.json stands for its whole folder. */
static bool sniff_config(const uint8_t head[HEAD], const char *path)
{
	const char *base = strrchr(path, '/');

	(void)head;
	return !strcmp(base ? base + 1 : path, "config.json");
}

static bool sniff_safetensors(const uint8_t head[HEAD], const char *path)
{
	(void)path;
	return lmi_st_sniff(head);
}

static enum lmd_status open_folder(struct lmi_model *m, const char *path, struct lmi_file *own_file,
				   uint32_t flags, struct lmd_error *err)
{
	lmi_file_close(own_file);
	return lmi_checkpoint_open_model(m, path, flags, err);
}

static const struct format formats[] = {
	{"GGUF", sniff_gguf, lmi_gguf_open},
	{"config.json", sniff_config, open_folder},
	{"safetensors", sniff_safetensors, open_folder},
};

/* Finds the format of an open file. */
static enum lmd_status find_format(const struct lmi_file *f, const char *path,
				   const struct format **out, struct lmd_error *err)
{
	char show[112], found[24];
	uint8_t head[HEAD];
	enum lmd_status st;

	lmi_printable_path(show, sizeof(show), path);
	if (f->bytes < MIN_BYTES)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: %llu bytes, but a model file has at least %u",
				show, (unsigned long long)f->bytes, MIN_BYTES);
	st = lmi_file_read(f, 0, head, sizeof(head), err);
	if (st != LMD_OK) {
		lmd_error_prefix(err, show);
		return st;
	}
	for (size_t i = 0; i < LMD_LEN(formats); i++) {
		*out = &formats[i];
		if (formats[i].sniff(head, path))
			return LMD_OK;
	}
	return lmd_fail(err, LMD_UNSUPPORTED, "%s: starts with \"%s\", not \"GGUF\"", show,
			lmi_printable(found, sizeof(found), (const char *)head, 4));
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err)
{
	return lmi_model_open_with(out, path, &(struct lmi_open_opts){.flags = flags}, err);
}

enum lmd_status lmi_model_open_with(struct lmi_model **out, const char *path,
				    const struct lmi_open_opts *opts, struct lmd_error *err)
{
	static const struct format folder = {"folder", NULL, open_folder};
	const struct format *format = &folder;
	struct lmi_file f = {.fd = -1};
	struct lmi_model *m;
	enum lmd_status st = LMD_OK;

	if (opts->flags & ~ALL_FLAGS)
		return lmd_fail(err, LMD_INVALID,
				"open flags 0x%x, must be a subset of 0x%x", opts->flags,
				ALL_FLAGS);
	if (!is_folder(path)) {
		st = lmi_file_open(&f, path, err);
		if (st == LMD_OK)
			st = find_format(&f, path, &format, err);
	}
	if (st != LMD_OK) {
		lmi_file_close(&f);
		return st;
	}
	m = lmi_model_create(LMI_MODEL_HEAP_BYTES);
	if (!m) {
		lmi_file_close(&f);
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a model", path);
	}
	m->load_progress = (struct lmi_model_load_progress){
		.max_copy = opts->max_copy, .progress = opts->progress, .arg = opts->arg};
	st = format->open(m, path, &f, opts->flags, err);
	m->load_progress = (struct lmi_model_load_progress){0};
	if (st != LMD_OK) {
		lmi_model_destroy(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}
