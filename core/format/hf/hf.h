/* SPDX-License-Identifier: MIT
 *
 * hf.h - the tokenizer of a Hugging Face folder as a tokenizer description.
 *
 *     struct lmi_hf_tokenizer *t;
 *     st = lmi_hf_tokenizer_open(&t, "path/of/folder", &err);
 *     st = lmi_tokenizer_open(&tok, registry, host, lmi_hf_tokenizer_spec(t), &err);
 *
 * From a tokenizer.json the description has the kind "hf": its steps are named as in the file,
 * and the plugin of that kind says which of them it knows.  From a tokenizer.model (what
 * SentencePiece writes) it has the kind "llama" or "t5", as from a GGUF file.
 *
 * Files are read whole, at most 256 MiB; nothing in them can make reading crash, hang or take
 * more than 512 MiB beyond that.  A description is immutable; any thread. */
#ifndef LLAMAD_CORE_FORMAT_HF_HF_H
#define LLAMAD_CORE_FORMAT_HF_HF_H

#include <stdbool.h>
#include <stddef.h>

#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_hf_tokenizer;

/* Is it a path that lmi_hf_tokenizer_open takes: a folder, or a file that ends in .json or
 * .model?  Says nothing about what is inside. */
bool lmi_hf_is_tokenizer_path(const char *path);

/* path: a tokenizer.json, a tokenizer.model, or a folder with one of them; of both the .json
 * counts.  Beside it are read, if they are there: special_tokens_map.json and
 * tokenizer_config.json, which name the special tokens and say what is added around a text (the
 * latter has the last word and may hold the chat template); chat_template.jinja; and, for a
 * tokenizer.model, added_tokens.json.  Failures name the file.  A folder without a tokenizer
 * is LMD_NOTFOUND. */
LMD_NODISCARD enum lmd_status lmi_hf_tokenizer_open(struct lmi_hf_tokenizer **out, const char *path,
						    struct lmd_error *err);

/* The same from the bytes of a tokenizer.json or, if their beginning is no text, of a
 * tokenizer.model; they outlive the tokenizer.  Nothing beside. */
LMD_NODISCARD enum lmd_status lmi_hf_tokenizer_parse(struct lmi_hf_tokenizer **out,
						     const char *text, size_t bytes,
						     struct lmd_error *err);

/* Lives as long as the tokenizer. */
const struct lmd_tokspec *lmi_hf_tokenizer_spec(const struct lmi_hf_tokenizer *t);

/* The chat template; ptr NULL: there is none.  Likewise. */
struct lmd_str lmi_hf_tokenizer_template(const struct lmi_hf_tokenizer *t);

/* NULL allowed. */
void lmi_hf_tokenizer_close(struct lmi_hf_tokenizer *t);

#endif /* LLAMAD_CORE_FORMAT_HF_HF_H */
