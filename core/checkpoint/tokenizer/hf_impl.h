/* SPDX-License-Identifier: MIT
 *
 * hf_impl.h - internals of the tokenizer.json reader: the state so far, and the parts of the
 * reader. Each part is called at the item that begins its value and returns after its end. */
#ifndef LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_IMPL_H
#define LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_IMPL_H

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "llamad/model.h"

#define LMI_HF_MAX_FILE  (1u << 28)
#define LMI_HF_MAX_HEAP  (1u << 29)
#define LMI_HF_MAX_VOCAB (1u << 22)
#define LMI_HF_MAX_STEPS 64
#define LMI_HF_MAX_ADDED 256 /* tokens before or after the text */

/* A growing array on the heap. */
struct lmi_hf_list {
	void *p;
	size_t n, cap;
};

/* A token as read from a file. */
struct lmi_hf_entry {
	struct lmd_str text;
	uint32_t id;
	uint8_t added;   /* LMD_ADDED_* */
	uint8_t type;    /* enum lmd_token_kind; only from a tokenizer.model */
	bool in_model;   /* from the model's vocabulary */
	double score;
};

struct lmi_hf_tokenizer {
	struct lmd_tok_spec spec;
	struct lmd_arena *arena;
	struct lmi_map map;
	struct lmi_json_reader json;
	struct lmd_str chat_template;
	struct lmi_hf_list entries;  /* struct lmi_hf_entry, from the model */
	struct lmi_hf_list added;    /* struct lmi_hf_entry */
	struct lmi_hf_list merges;   /* struct lmd_str: "left right" */
	struct lmi_hf_list left_bytes; /* uint32_t: bytes of the left piece of each merge */
	struct lmi_hf_list params;   /* struct lmd_meta: parameters of the step being read */
	struct lmd_tok_step steps[LMI_HF_MAX_STEPS];
	bool has_scores;
	int32_t prefix[LMI_HF_MAX_ADDED], suffix[LMI_HF_MAX_ADDED];
};

/* Makes room for at least n items; false if out of memory. */
bool lmi_hf_list_reserve(struct lmi_hf_list *l, size_t n, size_t item_bytes);
/* Frees the capacity that a list does not use. */
void lmi_hf_list_shrink(struct lmi_hf_list *l, size_t item_bytes);

/* Appends an uninitialised item; NULL if out of memory. */
static inline void *lmi_hf_list_push(struct lmi_hf_list *l, size_t item_bytes)
{
	if (l->n == l->cap && !lmi_hf_list_reserve(l, l->cap ? l->cap * 2 : 64, item_bytes))
		return NULL;
	return (char *)l->p + l->n++ * item_bytes;
}

enum lmd_status lmi_hf_no_memory(struct lmd_error *err);

/* Reads the next item, which must have that type; `what` is for the error message. */
enum lmd_status lmi_hf_expect(struct lmi_hf_tokenizer *h, struct lmi_json_reader_item *it,
			      enum lmi_json_reader_type type, const char *what,
			      struct lmd_error *err);

/* Text of a KEY or STRING with escapes decoded; valid as long as the tokenizer, NUL-terminated only
 * if `terminated`. */
enum lmd_status lmi_hf_text(struct lmi_hf_tokenizer *h, const struct lmi_json_reader_item *it,
			    bool terminated, struct lmd_str *out, struct lmd_error *err);

/* An empty tokenizer; NULL if out of memory. */
struct lmi_hf_tokenizer *lmi_hf_create(void);

/* Reads the text of a tokenizer.json. */
enum lmd_status lmi_hf_parse(struct lmi_hf_tokenizer *h, const char *text, size_t bytes,
			     struct lmd_error *err);

/* The parts of a tokenizer.json. */
enum lmd_status lmi_hf_read_steps(struct lmi_hf_tokenizer *h,
				  const struct lmi_json_reader_item *begin,
				  enum lmd_tok_phase phase, struct lmd_error *err);
enum lmd_status lmi_hf_read_added(struct lmi_hf_tokenizer *h,
				  const struct lmi_json_reader_item *begin, struct lmd_error *err);
enum lmd_status lmi_hf_read_model(struct lmi_hf_tokenizer *h,
				  const struct lmi_json_reader_item *begin, struct lmd_error *err);
enum lmd_status lmi_hf_read_post(struct lmi_hf_tokenizer *h,
				 const struct lmi_json_reader_item *begin, struct lmd_error *err);

/* Adds a parameter to the step being read. */
enum lmd_status lmi_hf_add_param(struct lmi_hf_tokenizer *h, const struct lmd_meta *v,
				 struct lmd_error *err);
/* Adds the next value as parameter `key` (in the arena); skips values that cannot be parameters. */
enum lmd_status lmi_hf_read_param(struct lmi_hf_tokenizer *h, const char *key,
				  struct lmd_error *err);
/* Ends the step, whose parameters are those from `first` on. */
enum lmd_status lmi_hf_add_step(struct lmi_hf_tokenizer *h, enum lmd_tok_phase phase,
				const char *type, size_t first, struct lmd_error *err);

/* Call when all tokens and merges have been read: fills the arrays of the spec. */
enum lmd_status lmi_hf_finish_vocab(struct lmi_hf_tokenizer *h, struct lmd_error *err);

/* Maps a whole file; *found is false if it does not exist.  Error messages name it. */
enum lmd_status lmi_hf_read_file(struct lmi_map *map, const char *path, bool *found,
				 struct lmd_error *err);

/* Optional files next to the vocabulary: a JSON object that names special tokens, and the chat
 * template as plain text. */
enum lmd_status lmi_hf_read_config(struct lmi_hf_tokenizer *h, const char *path,
				   struct lmd_error *err);
enum lmd_status lmi_hf_read_template(struct lmi_hf_tokenizer *h, const char *path,
				     struct lmd_error *err);

/* Reads the bytes of a tokenizer.model into the spec and the entries. */
enum lmd_status lmi_hf_read_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					  size_t bytes, struct lmd_error *err);
/* Adds the tokens of an added_tokens.json, if there is one (else NULL), and fills the arrays. */
enum lmd_status lmi_hf_finish_sentencepiece(struct lmi_hf_tokenizer *h, const char *added,
					    struct lmd_error *err);

/* lmi_hf_read_sentencepiece and lmi_hf_finish_sentencepiece in one call, without added tokens. */
enum lmd_status lmi_hf_parse_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					   size_t bytes, struct lmd_error *err);

/* *n is the highest id plus 1.  Returns false if that is far beyond the number of entries, which
 * would only waste memory. */
bool lmi_hf_count_ids(const struct lmi_hf_tokenizer *h, uint32_t *n);

#endif /* LLAMAD_CORE_CHECKPOINT_TOKENIZER_HF_IMPL_H */
