/* SPDX-License-Identifier: MIT
 *
 * tokenizer.h - kind TOKENIZER: text to token ids and back.
 *
 * The factory's name and aliases are values of lmd_tokspec.kind ("gpt2", "llama", ...).  An
 * instance is one vocabulary: the host allocates state_bytes and calls open once; then encode,
 * decode and piece from any number of threads concurrently; then close when the instance is no
 * longer in use.  After open an instance is immutable; encode and decode use scratch memory of
 * their own (host->alloc is fine, because they never run on the threads of the token path; piece
 * does, and must not allocate).
 *
 * Text is bytes.  Invalid UTF-8 and NUL are legal input and never an error. */
#ifndef LLAMAD_TOKENIZER_H
#define LLAMAD_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/model.h"
#include "llamad/status.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

/* encode flags */
#define LMD_ENCODE_ADD_SPECIAL   1u /* add the begin/end tokens that the vocabulary asks for */
#define LMD_ENCODE_PARSE_SPECIAL 2u /* text of control tokens becomes the token */

/* decode flags */
#define LMD_DECODE_REMOVE_SPECIAL  1u /* omit the begin/end tokens that encode adds */
#define LMD_DECODE_UNPARSE_SPECIAL 2u /* write control tokens out as their text */

/* What the host needs to know about a vocabulary.  Filled by open. */
struct lmd_tok_info {
	uint32_t struct_size;
	uint32_t n_tokens;
	int32_t bos, eos, eot, eom, unk, sep, pad, cls, mask;  /* -1 = none */
	int32_t fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep;
	int8_t add_bos, add_eos, add_sep;   /* 0 or 1, after all defaults have been applied */
	int8_t add_space_prefix, clean_spaces, reserved[3];
	/* End-of-generation set, ascending; lives as long as the instance. */
	const int32_t *eog;
	uint32_t n_eog;
	uint32_t max_piece_bytes;           /* no piece is longer, whatever the flags */
};

struct lmd_tokenizer_ops {
	uint32_t struct_size;

	/* Mandatory.  Builds the tables from `spec`, which outlives the instance.  Must release
	 * everything if it fails: the state is then discarded and close is not called.  Returns
	 * LMD_CORRUPT and an error message if the vocabulary contradicts itself. */
	enum lmd_status (*open)(void *state, const struct lmd_host *host,
				const struct lmd_tokspec *spec, struct lmd_tok_info *info,
				struct lmd_error *err);
	/* Mandatory. */
	void (*close)(void *state);

	/* Mandatory.  Writes up to cap ids and sets *n to the total number; *n > cap means that out
	 * was too small and holds the first cap ids (call again).  flags: LMD_ENCODE_*.  Takes at
	 * most O(n log n) time in the length of the text. */
	enum lmd_status (*encode)(const void *state, const char *text, size_t bytes, uint32_t flags,
				  lmd_token *out, size_t cap, size_t *n, struct lmd_error *err);

	/* Mandatory.  The inverse of encode for a whole list, including the rules that depend on
	 * neighbours (a leading space, cleaning).  cap and n work as in encode, in bytes.  Returns
	 * LMD_INVALID and names the id if it is outside the vocabulary. */
	enum lmd_status (*decode)(const void *state, const lmd_token *ids, size_t n_ids,
				  uint32_t flags, char *out, size_t cap, size_t *n,
				  struct lmd_error *err);

	/* Mandatory.  The bytes that one token adds in the middle of a text; returns the length and
	 * writes at most cap bytes.  Of the flags only LMD_DECODE_UNPARSE_SPECIAL is used.  Returns
	 * 0 for an id outside the vocabulary.  Never allocates. */
	size_t (*piece)(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap);
};

LMD_END_DECLS

#endif /* LLAMAD_TOKENIZER_H */
