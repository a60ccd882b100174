/* SPDX-License-Identifier: MIT
 *
 * pretok.h - pre-tokenizers of byte-pair encoding, by name: they split a text into words.
 *
 * A family is a list of steps. A step finds matches in a piece of text; the matches, and the text
 * between them, are the pieces that the next step works on. The pieces of the last step are the
 * words. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H
#define LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H

#include "common/regex.h"
#include "common/tokenizer_base.h"

#define PRETOK_MAX_STEPS 6

/* A step that is not a regular expression is named by a text that starts with a colon. */
#define PRETOK_DIGITS    ":digits"    /* groups of 3 ASCII digits, counted from the right */
/* groups of 3 \p{N} characters; the text before a number belongs to its first group */
#define PRETOK_NUMBERS   ":numbers"
#define PRETOK_END_SPACE ":end-space" /* trailing white space */

struct pretok_family {
	const char *name;
	const char *step[PRETOK_MAX_STEPS + 1]; /* NULL-terminated */
};

/* Further properties of a name. */
#define PRETOK_IGNORE_MERGES 1u
#define PRETOK_ADD_BOS       2u
#define PRETOK_ADD_SEP       4u
#define PRETOK_KEEP_SPACES   8u   /* decode does not clean up spaces */
#define PRETOK_PLAIN         16u  /* plain UTF-8 instead of the byte alphabet */
#define PRETOK_ESCAPE_SPACE  32u  /* spaces are written as U+2581 */
#define PRETOK_NO_BOS          64u  /* ignore the begin token of the kind */
#define PRETOK_FORCE_BOS       128u /* add_bos overrides the file */
#define PRETOK_KEEP_LINE_FEEDS 256u /* a run of line feeds that is a token is not merged */
#define PRETOK_NO_MERGES       512u /* a file without merges is valid */
#define PRETOK_MASK_LSTRIP     1024u /* "<mask>" strips the white space before it */

struct pretok_name {
	const char *name;
	const struct pretok_family *family;
	uint32_t flags;
};

/* Returns the row of a name, or NULL. */
const struct pretok_name *pretok_find(const char *name);
/* Returns row i of all names, or NULL after the last one. */
const struct pretok_name *pretok_row(size_t i);

/* A compiled family. */
struct pretok {
	const struct lmd_host *host;
	uint32_t n;
	struct {
		int kind;          /* 0: rx; otherwise one of the named steps */
		struct tok_regex *rx;
	} step[PRETOK_MAX_STEPS];
};

enum lmd_status pretok_open(struct pretok *p, const struct lmd_host *host,
			    const struct pretok_family *f, struct lmd_error *err);
void pretok_close(struct pretok *p);

/* Calls word for each word of canonical UTF-8 text, in order, n >= 1; stops at the first status
 * other than LMD_OK and returns it. The concatenated words are the text. Adds the number of basic
 * operations that matching took to *work (may be NULL). */
typedef enum lmd_status (*pretok_word_fn)(void *arg, const char *w, size_t n);
enum lmd_status pretok_split(const struct pretok *p, const char *s, size_t n, pretok_word_fn word,
			     void *arg, uint64_t *work);

#endif /* LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H */
