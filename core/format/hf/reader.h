/* SPDX-License-Identifier: MIT
 *
 * reader.h - inside of the reader of tokenizer.json: what has been read so far, and the parts of
 * the reader.  All of them are called at the item that begins their value and return behind
 * its end. */
#ifndef LLAMAD_CORE_FORMAT_HF_READER_H
#define LLAMAD_CORE_FORMAT_HF_READER_H

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "llamad/model.h"

#define LMI_HF_MAX_FILE  (1u << 28)
#define LMI_HF_MAX_HEAP  (1u << 29)
#define LMI_HF_MAX_VOCAB (1u << 22)
#define LMI_HF_MAX_STEPS 64
#define LMI_HF_MAX_ADDED 256 /* tokens in front or behind */

/* A growing array on the heap. */
struct lmi_hf_list {
	void *p;
	size_t n, cap;
};

/* A token as it was found. */
struct lmi_hf_entry {
	struct lmd_str text;
	uint32_t id;
	uint8_t added;   /* LMD_ADDED_* */
	uint8_t type;    /* enum lmd_token_kind; of a tokenizer.model alone */
	bool in_model;   /* from the model's vocabulary */
	double score;
};

struct lmi_hf_tokenizer {
	struct lmd_tokspec spec;
	struct lmd_arena *arena;
	struct lmi_map map;
	struct lmi_jr json;
	struct lmd_str chat_template;
	struct lmi_hf_list entries;  /* struct lmi_hf_entry: of the model */
	struct lmi_hf_list added;    /* struct lmi_hf_entry */
	struct lmi_hf_list merges;   /* struct lmd_str: "left right" */
	struct lmi_hf_list lefts;    /* uint32_t: bytes of left, for each merge */
	struct lmi_hf_list params;   /* struct lmd_meta: of steps that are being read */
	struct lmd_tokstep steps[LMI_HF_MAX_STEPS];
	bool has_scores;
	int32_t prefix[LMI_HF_MAX_ADDED], suffix[LMI_HF_MAX_ADDED];
};

/* Room for n items at least; false without memory. */
bool lmi_hf_reserve(struct lmi_hf_list *l, size_t n, size_t item_bytes);
/* Gives back what a list has beyond its items. */
void lmi_hf_settle(struct lmi_hf_list *l, size_t item_bytes);

/* Room for one more item; NULL without memory. */
static inline void *lmi_hf_push(struct lmi_hf_list *l, size_t item_bytes)
{
	if (l->n == l->cap && !lmi_hf_reserve(l, l->cap ? l->cap * 2 : 64, item_bytes))
		return NULL;
	return (char *)l->p + l->n++ * item_bytes;
}

enum lmd_status lmi_hf_no_memory(struct lmd_error *err);

/* The next item, which must be of that type; `what` for the sentence. */
enum lmd_status lmi_hf_want(struct lmi_hf_tokenizer *h, struct lmi_jr_item *it,
			    enum lmi_jr_type type, const char *what, struct lmd_error *err);

/* Text of a KEY or STRING, escapes undone; lives as long as the tokenizer, ends with NUL only
 * if `terminated`. */
enum lmd_status lmi_hf_text(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *it,
			    bool terminated, struct lmd_str *out, struct lmd_error *err);

/* An empty one; NULL without memory. */
struct lmi_hf_tokenizer *lmi_hf_create(void);

/* The text of a tokenizer.json. */
enum lmd_status lmi_hf_parse(struct lmi_hf_tokenizer *h, const char *text, size_t bytes,
			     struct lmd_error *err);

/* Parts. */
enum lmd_status lmi_hf_read_steps(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  enum lmd_tok_phase phase, struct lmd_error *err);
enum lmd_status lmi_hf_read_added(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  struct lmd_error *err);
enum lmd_status lmi_hf_read_model(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  struct lmd_error *err);
enum lmd_status lmi_hf_read_post(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				 struct lmd_error *err);

/* A parameter of the step that is being read. */
enum lmd_status lmi_hf_add_param(struct lmi_hf_tokenizer *h, const struct lmd_meta *v,
				 struct lmd_error *err);
/* The value that comes next as a parameter `key` (in the arena); what is none is skipped. */
enum lmd_status lmi_hf_read_param(struct lmi_hf_tokenizer *h, const char *key,
				  struct lmd_error *err);
/* Ends the step: its parameters are those from `first` on. */
enum lmd_status lmi_hf_add_step(struct lmi_hf_tokenizer *h, enum lmd_tok_phase phase,
				const char *type, size_t first, struct lmd_error *err);

/* All tokens and merges have been read: fills the arrays of the spec. */
enum lmd_status lmi_hf_finish_vocab(struct lmi_hf_tokenizer *h, struct lmd_error *err);

/* A whole file; *found false when there is none.  Failures name it. */
enum lmd_status lmi_hf_read_file(struct lmi_map *map, const char *path, bool *found,
				 struct lmd_error *err);

/* Files beside the vocabulary, which need not be there: a JSON object that names special tokens,
 * and the chat template as it stands. */
enum lmd_status lmi_hf_read_config(struct lmi_hf_tokenizer *h, const char *path,
				   struct lmd_error *err);
enum lmd_status lmi_hf_read_template(struct lmi_hf_tokenizer *h, const char *path,
				     struct lmd_error *err);

/* The bytes of a tokenizer.model, into the spec and the entries. */
enum lmd_status lmi_hf_read_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					  size_t bytes, struct lmd_error *err);
/* Adds the tokens of the added_tokens.json beside it, if there is one (NULL: none), and fills the
 * arrays. */
enum lmd_status lmi_hf_finish_sentencepiece(struct lmi_hf_tokenizer *h, const char *added,
					    struct lmd_error *err);

/* Both. */
enum lmd_status lmi_hf_parse_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					   size_t bytes, struct lmd_error *err);

/* *n: the highest id and one.  False when it is far beyond the number of entries: such ids would
 * only cost memory. */
bool lmi_hf_count_ids(const struct lmi_hf_tokenizer *h, uint32_t *n);

#endif /* LLAMAD_CORE_FORMAT_HF_READER_H */
