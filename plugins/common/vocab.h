/* SPDX-License-Identifier: MIT
 *
 * vocab.h - the table of tokens that all kinds of tokenizers share: texts, attributes, the
 * search by text, special ids and the end-of-generation set.
 *
 * Built in two steps, because some kinds take their own tables from the attributes as the
 * file states them: lmi_vocab_open, then the kind's tables, then lmi_vocab_finish, which
 * looks for special tokens by text and corrects attributes. */
#ifndef LLAMAD_PLUGINS_COMMON_VOCAB_H
#define LLAMAD_PLUGINS_COMMON_VOCAB_H

#include "common/mem.h"
#include "common/textmap.h"
#include "llamad/tokenizer.h"

/* Attributes of a token; more than one may be set. */
#define LMI_ATTR_UNKNOWN 1u
#define LMI_ATTR_UNUSED  2u
#define LMI_ATTR_NORMAL  4u
#define LMI_ATTR_CONTROL 8u
#define LMI_ATTR_USER    16u  /* user-defined: always matched in the text */
#define LMI_ATTR_BYTE    32u  /* <0xNN> */
#define LMI_ATTR_LSTRIP  64u  /* takes the white space in front of it */
#define LMI_ATTR_RSTRIP  128u /* takes the white space behind it */
/* not shown unless control tokens are written out */
#define LMI_ATTR_HIDDEN  (LMI_ATTR_CONTROL | LMI_ATTR_UNKNOWN)

/* U+E000 in UTF-8, see marked_from. */
#define LMI_VOCAB_MARK "\xee\x80\x80"

/* What a kind assumes where the file says nothing. */
struct lmi_vocab_defaults {
	int32_t bos, eos, unk, sep, pad, mask; /* -1 = none; ignored when out of range */
	int8_t add_bos, add_eos, add_sep, add_space_prefix, clean_spaces;
	int8_t force_add_bos; /* whatever the file says */
	int8_t mask_lstrip;   /* "<mask>" takes the white space in front of it */
};

#define LMI_SPECIAL_PAIRS 1024u

/* The tokens that are matched in the text before anything else, made by lmi_special_init. */
struct lmi_special {
	uint32_t *id;         /* [n] longest text first, then lower id */
	uint32_t n;
	uint32_t *bucket;     /* [n_bucket + 1] into id: where the texts of one length begin */
	uint32_t n_bucket;
	uint8_t *strips;      /* [n_bucket] some token of the bucket strips white space */
	struct lmi_textmap map;
	/* bit b = a text of bucket b may begin so: by its first byte, by a hash of the first two */
	uint64_t first[256], pair[LMI_SPECIAL_PAIRS];
};

struct lmi_vocab {
	const struct lmd_host *host;
	const struct lmd_tokspec *spec;
	uint32_t n;
	uint32_t max_bytes;        /* longest text */
	struct lmd_str *text;      /* [n] */
	uint8_t *attr;             /* [n] LMI_ATTR_* */
	uint32_t marked_from;      /* from this id on, LMI_VOCAB_MARK at the end of a text is not
				    * part of its piece; LMI_NONE = nowhere */
	char *own_text;            /* texts that are not the file's */
	struct lmi_textmap map;     /* text to id */
	bool few; /* only of texts that may be special: added tokens, and what begins
				    * like one; so for kind hf, whose models have maps of their
				    * own */
	struct lmi_special special;
	struct lmd_tok_info info;  /* what open hands out */
	int32_t *eog;
};

/* Checks the spec and fills texts, attributes and the map.  On failure nothing is left.
 * LMD_CORRUPT names the ids when a text occurs twice. */
enum lmd_status lmi_vocab_open(struct lmi_vocab *v, const struct lmd_host *host,
			       const struct lmd_tokspec *spec, struct lmd_error *err);

/* Special ids, flags, end-of-generation set, special texts. */
enum lmd_status lmi_vocab_finish(struct lmi_vocab *v, const struct lmi_vocab_defaults *def,
				 struct lmd_error *err);

/* Zeroed struct allowed. */
void lmi_vocab_close(struct lmi_vocab *v);

static inline uint32_t lmi_vocab_find(const struct lmi_vocab *v, const char *s, size_t n)
{
	return n <= v->max_bytes ? lmi_textmap_find(&v->map, v->text, s, n) : LMI_NONE;
}

static inline float lmi_vocab_score(const struct lmi_vocab *v, uint32_t id)
{
	return v->spec->score ? v->spec->score[id] : 0.0f;
}

/* Does the model itself make this token from text?  Not so holes and tokens that were only
 * added (kind "hf"). */
static inline bool lmi_vocab_in_model(const struct lmi_vocab *v, uint32_t id)
{
	return (!v->spec->added || !(v->spec->added[id] & LMD_ADDED_ONLY)) &&
	       (!v->spec->type || v->spec->type[id] != LMD_TOKEN_UNUSED);
}

/* The byte of a text of the form <0xNN>, or -1. */
int lmi_byte_text(const char *s, size_t n);

/* The token <0xNN> of a byte (upper-case digits), or LMI_NONE. */
uint32_t lmi_vocab_byte(const struct lmi_vocab *v, unsigned byte);

#endif /* LLAMAD_PLUGINS_COMMON_VOCAB_H */
