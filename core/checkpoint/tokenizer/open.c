/* SPDX-License-Identifier: MIT
 *
 * Finds the tokenizer files of a folder. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "core/checkpoint/tokenizer/hf_impl.h"
#include "core/sign/policy.h"

#define MAX_PATH 4096

static bool is_folder(const char *path)
{
	struct stat sb;

	return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

static bool ends_in(const char *path, const char *tail)
{
	size_t n = strlen(path), k = strlen(tail);

	return n >= k && !strcmp(path + n - k, tail);
}

bool lmi_hf_is_tokenizer_path(const char *path)
{
	return ends_in(path, ".json") || ends_in(path, ".model") || is_folder(path);
}

enum lmd_status lmi_hf_read_file(struct lmi_map *map, const char *path, bool *found,
				 struct lmd_error *err)
{
	char show[112];
	struct lmi_file f;
	enum lmd_status st = lmi_file_open(&f, path, err);

	*found = st != LMD_NOTFOUND;
	if (st != LMD_OK)
		return *found ? st : LMD_OK;
	lmi_printable_path(show, sizeof(show), path);
	if (f.bytes == 0 || f.bytes > LMI_HF_MAX_FILE) {
		st = lmd_fail(err, LMD_INVALID, "%s: %llu bytes, must be 1..%u", show,
			      (unsigned long long)f.bytes, LMI_HF_MAX_FILE);
	} else {
		st = lmi_map_read(map, &f, 0, f.bytes, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, show);
	}
	lmi_file_close(&f);
	return st;
}

/* Writes FOLDER/name to out, where path is the folder or a file in it. */
static enum lmd_status sibling_path(char out[MAX_PATH], const char *path, bool folder,
				    const char *name, struct lmd_error *err)
{
	const char *slash = strrchr(path, '/');
	size_t dir = folder ? strlen(path) : slash ? (size_t)(slash - path) : 0;
	int n = snprintf(out, MAX_PATH, "%.*s%s%s", (int)dir, path, folder || slash ? "/" : "",
			 name);

	if (n < 0 || n >= MAX_PATH)
		return lmd_fail(err, LMD_INVALID,
				"path of %zu bytes, must be at most %d", strlen(path),
				MAX_PATH - 32);
	return LMD_OK;
}

/* Reads the vocabulary of a file into h; *found is false if there is no such file. */
static enum lmd_status read_vocab(struct lmi_hf_tokenizer *h, const char *file, bool *found,
				  struct lmd_error *err)
{
	char show[112];
	enum lmd_status st = lmi_hf_read_file(&h->map, file, found, err);

	if (st != LMD_OK || !*found)
		return st;
	if (ends_in(file, ".model"))
		st = lmi_hf_read_sentencepiece(h, (const char *)h->map.ptr, h->map.bytes, err);
	else
		st = lmi_hf_parse(h, (const char *)h->map.ptr, h->map.bytes, err);
	if (st != LMD_OK) {
		lmi_printable_path(show, sizeof(show), file);
		lmd_error_prefix(err, show);
	}
	return st;
}

static enum lmd_status read_all(struct lmi_hf_tokenizer *h, const char *path, struct lmd_error *err)
{
	static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
	static const char *const configs[] = {"special_tokens_map.json", "tokenizer_config.json"};
	char file[MAX_PATH], show[112];
	bool folder = is_folder(path), found = false;
	enum lmd_status st = LMD_OK;

	if (strlen(path) >= MAX_PATH)
		return sibling_path(file, path, true, "", err);
	if (!folder)
		st = read_vocab(h, path, &found, err);
	for (size_t i = 0; folder && i < LMD_LEN(names) && st == LMD_OK && !found; i++) {
		st = sibling_path(file, path, true, names[i], err);
		if (st == LMD_OK)
			st = read_vocab(h, file, &found, err);
	}
	if (st == LMD_OK && !found) {
		lmi_printable_path(show, sizeof(show), path);
		return lmd_fail(err, LMD_NOTFOUND,
				folder ? "%s: contains no tokenizer.json or tokenizer.model"
				       : "%s: no such file",
				show);
	}
	if (st == LMD_OK && !h->spec.n_step) {
		st = sibling_path(file, path, folder, "added_tokens.json", err);
		if (st == LMD_OK)
			st = lmi_hf_finish_sentencepiece(h, file, err);
	}
	for (size_t i = 0; i < LMD_LEN(configs) && st == LMD_OK; i++) {
		st = sibling_path(file, path, folder, configs[i], err);
		if (st == LMD_OK)
			st = lmi_hf_read_config(h, file, err);
	}
	if (st == LMD_OK)
		st = sibling_path(file, path, folder, "chat_template.jinja", err);
	return st == LMD_OK ? lmi_hf_read_template(h, file, err) : st;
}

enum lmd_status lmi_hf_tokenizer_open(struct lmi_hf_tokenizer **out, const char *path,
				      struct lmd_error *err)
{
	struct lmi_hf_tokenizer *h = lmi_hf_create();
	struct lmi_sign_scope scope;
	enum lmd_status st;

	if (!h)
		return lmi_hf_no_memory(err);
	st = lmi_sign_scope_begin_path(&scope, path, err);
	if (st == LMD_OK)
		st = read_all(h, path, err);
	lmi_sign_scope_end(&scope);
	if (st == LMD_OK)
		*out = h;
	else
		lmi_hf_tokenizer_close(h);
	return st;
}
