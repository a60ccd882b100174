/* SPDX-License-Identifier: MIT
 *
 * match.h - situations of a grammar, interned.
 *
 * A frame is where calls return to: a set of (state, frame).  A situation is a set of
 * (state that takes something, frame), and whether the text may end.  Both are kept once
 * for each content and named by a number, so stacks that are equal are one, and what
 * follows from a situation for a class of characters is computed once.
 *
 * Frame 0 is the bottom: returning to it ends the text.  Situation 0 is dead. */
#ifndef LLAMAD_GRAMMAR_MATCH_H
#define LLAMAD_GRAMMAR_MATCH_H

#include "core/grammar/net.h"
#include "core/grammar/vocab.h"

#define LMI_NOWHERE UINT32_MAX /* a failure: the matcher's status says why */
#define LMI_DEAD    0u
/* The state behind the whole grammar, in frame 0. */
#define LMI_THE_END (UINT32_MAX - 1)

struct lmi_item {
	uint32_t state, frame;
};

/* Numbers by content: open addressing, number + 1, 0 = free. */
struct lmi_intern {
	uint32_t *slot;
	uint32_t n, n_slots;
};

struct lmi_frame {
	uint32_t item, n; /* in matcher.item */
	uint32_t hash;
};

struct lmi_situation {
	uint32_t item, n; /* in matcher.item */
	uint32_t hash;
	bool may_end;
};

/* A text in progress: a situation, and the begin of a character. */
struct lmi_spot {
	uint32_t situation;
	uint32_t value; /* bits of the character so far */
	uint32_t left;  /* its bytes to come, 0..3 */
};

struct lmi_key {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

/* 64-bit keys to numbers. */
struct lmi_keymap {
	struct lmi_key *slot;
	uint32_t n, n_slots;
};

struct lmi_trigger;
struct lmi_closure;

struct lmi_matcher {
	const struct lmi_grammar *g;
	const struct lmi_gvocab *vocab;
	struct lmi_trigger *trigger; /* NULL: not lazy */
	uint64_t cache_bytes, bytes; /* bound; of the tables below */
	struct lmi_gstate *states;   /* all of them: what they need is kept */

	struct lmi_item *item; /* of frames and situations */
	uint32_t n_item, cap_item;
	struct lmi_frame *frame;
	uint32_t n_frame, cap_frame;
	struct lmi_situation *situation;
	uint32_t n_situation, cap_situation;
	struct lmi_intern frames, situations;
	uint32_t n_ascii;         /* classes of ASCII characters */
	uint32_t *next;           /* [situation][n_ascii], LMI_NOWHERE: not known */
	uint32_t cap_next;        /* situations */
	struct lmi_keymap others; /* (situation, class) to situation */
	struct lmi_keymap masks;  /* (situation, value, left) to mask */
	uint64_t **mask;          /* bit sets of ids */
	uint32_t n_mask, cap_mask;
	struct lmi_cover *cover;
	uint32_t n_cover, cap_cover;
	uint32_t start;
	uint64_t floor;              /* bytes after the last time that something was forgotten */
	struct lmi_closure *closure; /* scratch */
	struct lmi_spot *walk;       /* [longest text + 1] scratch */
};

/* Grows an array of the matcher; false: no memory. */
bool lmi_matcher_grow(struct lmi_matcher *m, void **p, uint32_t *cap, uint32_t n, size_t item);
bool lmi_keymap_find(const struct lmi_keymap *map, uint64_t key, uint32_t *value);
bool lmi_keymap_add(struct lmi_matcher *m, struct lmi_keymap *map, uint64_t key, uint32_t value);
/* The number of a frame or situation with these items (sorted in place). */
uint32_t lmi_frame_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n);
uint32_t lmi_situation_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n,
			      bool may_end);
/* Forgets what no state needs; their situations get other numbers.  On failure everything
 * stays as it was. */
void lmi_matcher_forget(struct lmi_matcher *m);
/* The same when the memory is over its bound. */
void lmi_matcher_tidy(struct lmi_matcher *m);

/* Closures (closure.c) */
struct lmi_closure *lmi_closure_create(const struct lmi_grammar *g);
void lmi_closure_destroy(struct lmi_closure *c);
/* Begins a set of items, adds to it, and makes the situation that follows from them. */
void lmi_closure_begin(struct lmi_closure *c);
bool lmi_closure_add(struct lmi_closure *c, uint32_t state, uint32_t frame);
uint32_t lmi_closure_end(struct lmi_matcher *m);

/* Steps (match.c); LMI_NOWHERE: no memory */
uint32_t lmi_match_class(struct lmi_matcher *m, uint32_t situation, uint32_t class_id);
uint32_t lmi_match_token(struct lmi_matcher *m, uint32_t situation, lmd_token token);
uint32_t lmi_match_union(struct lmi_matcher *m, uint32_t a, uint32_t b);
/* One byte further; false: dead, or (situation NOWHERE) no memory. */
bool lmi_spot_feed(struct lmi_matcher *m, struct lmi_spot *s, unsigned char byte);
/* Can something still come of it? */
bool lmi_spot_alive(const struct lmi_matcher *m, const struct lmi_spot *s);

/* The mask of a spot (mask.c); NULL: no memory. */
const uint64_t *lmi_mask_of(struct lmi_matcher *m, const struct lmi_spot *s);

#endif /* LLAMAD_GRAMMAR_MATCH_H */
