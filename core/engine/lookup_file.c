/* SPDX-License-Identifier: MIT
 *
 * A text file as a source of guesses: its tokens and an index of them. */
#include "core/engine/lookup_file.h"

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/engine/token_index.h"
#include "core/text/tokenizer.h"

struct lmi_engine_lookup_file {
	struct lmi_text_token_buf text;
	struct lmi_engine_token_index index;
};

void lmi_engine_lookup_file_close(struct lmi_engine_lookup_file *f)
{
	if (!f)
		return;
	lmi_text_token_buf_fini(&f->text);
	lmi_engine_token_index_fini(&f->index);
	lmi_free(f);
}

/* Reads the text of an open file; the caller frees it. */
static enum lmd_status read_text(const struct lmi_file *f, char **out, struct lmd_error *err)
{
	enum lmd_status st;
	size_t n_valid;

	if (!f->bytes || f->bytes > LMI_ENGINE_LOOKUP_FILE_BYTES)
		return lmd_fail(err, LMD_INVALID, "it has %llu bytes; 1 to %u are allowed",
				(unsigned long long)f->bytes, LMI_ENGINE_LOOKUP_FILE_BYTES);
	*out = lmi_alloc((size_t)f->bytes, 1);
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for its %llu bytes",
				(unsigned long long)f->bytes);
	st = lmi_file_read(f, 0, *out, (size_t)f->bytes, err);
	if (st != LMD_OK)
		return st;
	n_valid = lmi_utf8_valid_prefix(*out, (size_t)f->bytes);
	return n_valid == f->bytes ? LMD_OK
				   : lmd_fail(err, LMD_INVALID, "its byte %zu is not UTF-8",
					      n_valid);
}

static enum lmd_status build(struct lmi_engine_lookup_file *f, const struct lmi_file *file,
			     const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	char *text = NULL;
	enum lmd_status st = read_text(file, &text, err);

	if (st == LMD_OK)
		st = lmi_tokenizer_encode(tok, text, (size_t)file->bytes, 0, &f->text, err);
	lmi_free(text);
	if (st != LMD_OK)
		return st;
	if (f->text.n >= LMI_ENGINE_NO_PLACE)
		return lmd_fail(err, LMD_INVALID, "it has %zu tokens", f->text.n);
	st = lmi_engine_token_index_init(&f->index, (uint32_t)f->text.n);
	if (st != LMD_OK)
		return lmd_fail(err, st, "no memory for its %zu tokens", f->text.n);
	lmi_engine_token_index_add(&f->index, f->text.id, 0, (uint32_t)f->text.n);
	return LMD_OK;
}

enum lmd_status lmi_engine_lookup_file_open(struct lmi_engine_lookup_file **out, const char *path,
					    const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	struct lmi_engine_lookup_file *f = lmi_alloc(1, sizeof(*f));
	struct lmi_file file = {.fd = -1};
	struct lmd_error cause = {0};
	char shown[160];
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for a lookup file");
	st = lmi_file_open(&file, path, &cause);
	if (st == LMD_OK)
		st = build(f, &file, tok, &cause);
	lmi_file_close(&file);
	if (st != LMD_OK) {
		lmi_engine_lookup_file_close(f);
		return lmi_printable_has_path(cause.text, path)
			       ? lmd_fail(err, st, "lookup file %s", cause.text)
			       : lmd_fail(err, st, "lookup file %s: %.300s",
					  lmi_printable_path(shown, sizeof(shown), path),
					  cause.text);
	}
	*out = f;
	return LMD_OK;
}

uint32_t lmi_engine_lookup_file_guess(const struct lmi_engine_lookup_file *f,
				      const lmd_token *tokens, uint32_t n, uint32_t most,
				      lmd_token *out, uint32_t *length)
{
	uint32_t at = lmi_engine_token_index_find(&f->index, f->text.id, (uint32_t)f->text.n, tokens,
						  n, length);
	uint32_t n_out = 0;

	if (at == LMI_ENGINE_NO_PLACE)
		return 0;
	while (n_out < most && ++at < f->text.n)
		out[n_out++] = f->text.id[at];
	return n_out;
}
