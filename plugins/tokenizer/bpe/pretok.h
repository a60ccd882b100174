/* SPDX-License-Identifier: MIT
 *
 * pretok.h - where byte-pair encoding cuts a text into words, by the pre-tokenizer's name.
 *
 * A family is a list of steps.  A step finds places in a piece of text; the places, and what
 * is between them, are the pieces that the next step works on; those of the last are the
 * words. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H
#define LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H

#include "common/rx.h"
#include "common/tok.h"

#define PRETOK_MAX_STEPS 6

/* Steps that are no regular expression are named by a text that begins with a colon. */
#define PRETOK_DIGITS    ":digits"    /* groups of 3 ASCII digits, counted from the right */
#define PRETOK_NUMBERS   ":numbers"   /* the same with \p{N}; the text in front of a number goes
				       * with its first group */
#define PRETOK_END_SPACE ":end-space" /* white space at the end */

struct pretok_family {
	const char *name;
	const char *step[PRETOK_MAX_STEPS + 1]; /* NULL-terminated */
};

/* What a name says besides. */
#define PRETOK_IGNORE_MERGES 1u
#define PRETOK_ADD_BOS       2u
#define PRETOK_ADD_SEP       4u
#define PRETOK_KEEP_SPACES   8u   /* no cleaning of spaces on decode */
#define PRETOK_PLAIN         16u  /* plain UTF-8, not the byte alphabet */
#define PRETOK_ESCAPE_SPACE  32u  /* spaces are U+2581 */
#define PRETOK_NO_BOS        64u  /* the kind's begin token does not hold */
#define PRETOK_FORCE_BOS     128u /* add_bos, whatever the file says */
#define PRETOK_LINES_WHOLE   256u /* a run of line feeds that is a token is that token */
#define PRETOK_NO_MERGES     512u /* a file without merges is complete */
#define PRETOK_MASK_LSTRIP   1024u /* "<mask>" takes the white space in front of it */

struct pretok_name {
	const char *name;
	const struct pretok_family *family;
	uint32_t flags;
};

/* The row of a name, or NULL. */
const struct pretok_name *pretok_find(const char *name);
/* Row i of all names, or NULL behind the last. */
const struct pretok_name *pretok_row(size_t i);

/* A family ready to be used. */
struct pretok {
	const struct lmd_host *host;
	uint32_t n;
	struct {
		int kind;          /* 0: rx; else one of the named steps */
		struct lmi_rx *rx;
	} step[PRETOK_MAX_STEPS];
};

enum lmd_status pretok_open(struct pretok *p, const struct lmd_host *host,
			    const struct pretok_family *f, struct lmd_error *err);
void pretok_close(struct pretok *p);

/* Calls word for each word of canonical UTF-8 text, in order, n >= 1; stops at the first
 * status that is not LMD_OK and returns it.  The words in a row are the text.  Adds the
 * basic operations that matching took to *work (NULL allowed). */
typedef enum lmd_status (*pretok_word_fn)(void *arg, const char *w, size_t n);
enum lmd_status pretok_split(const struct pretok *p, const char *s, size_t n, pretok_word_fn word,
			     void *arg, uint64_t *work);

#endif /* LLAMAD_PLUGINS_TOKENIZER_BPE_PRETOK_H */
