/* SPDX-License-Identifier: MIT
 *
 * hf_tokenizer.h - reads the tokenizer of a Hugging Face checkpoint as a tokenizer description.
 *
 *     struct lmi_hf_tokenizer *t;
 *     st = lmi_hf_tokenizer_open(&t, "path/of/folder", &err);
 *     st = lmi_tokenizer_open(&tok, registry, host, lmi_hf_tokenizer_spec(t), &err);
 *
 * A tokenizer.json gives a description of kind "hf": its steps are named as in the file, and the
 * plugin of that kind decides which of them it supports.  A tokenizer.model (written by
 * SentencePiece) gives kind "llama" or "t5", as a GGUF file does.
 *
 * Files are read whole and may have at most 256 MiB; no content can make the reader crash, hang or
 * take more than 512 MiB beyond that.  A description is immutable and can be used by any thread. */
#ifndef LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_TOKENIZER_H
#define LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_hf_tokenizer;

/* True if lmi_hf_tokenizer_open may accept the path: a folder, or a file that ends in .json or
 * .model.  Does not look at the content. */
bool lmi_hf_is_tokenizer_path(const char *path);

/* path: a tokenizer.json, a tokenizer.model, or a folder with one of them; the .json is preferred.
 *
 * These files next to it are read if present: special_tokens_map.json and tokenizer_config.json,
 * which name the special tokens and say which of them are added around a text
 * (tokenizer_config.json takes precedence and may hold the chat template); chat_template.jinja; and
 * for a tokenizer.model added_tokens.json.  Error messages name the file.  A folder without a
 * tokenizer is LMD_NOTFOUND. */
LMD_NODISCARD enum lmd_status lmi_hf_tokenizer_open(struct lmi_hf_tokenizer **out, const char *path,
						    struct lmd_error *err);

/* Like lmi_hf_tokenizer_open, from the bytes of a tokenizer.json or, if they do not begin as text,
 * of a tokenizer.model.  The bytes must outlive the tokenizer.  Reads no other files. */
LMD_NODISCARD enum lmd_status lmi_hf_tokenizer_parse(struct lmi_hf_tokenizer **out,
						     const char *text, size_t bytes,
						     struct lmd_error *err);

/* Valid as long as the tokenizer. */
const struct lmd_tok_spec *lmi_hf_tokenizer_spec(const struct lmi_hf_tokenizer *t);

/* The chat template, valid as long as the tokenizer; ptr is NULL if there is none. */
struct lmd_str lmi_hf_tokenizer_template(const struct lmi_hf_tokenizer *t);

/* t may be NULL. */
void lmi_hf_tokenizer_close(struct lmi_hf_tokenizer *t);

#endif /* LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_TOKENIZER_H */
