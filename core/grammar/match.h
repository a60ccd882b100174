/* SPDX-License-Identifier: MIT
 *
 * match.h - interned parser states of a grammar.
 *
 * A frame says where calls return to: it is a set of (state, frame) pairs, a node of a
 * graph-structured stack. A parser state (struct lmi_situation) is a set of pairs (state that
 * consumes something, frame) and a flag that says whether the text may end. Frames and parser
 * states are interned by content and named by a number. Equal stacks are therefore stored once,
 * and the successor of a parser state for a character class is computed once.
 *
 * Frame 0 is the bottom of the stack: returning to it ends the text. Parser state 0 is dead. */
#ifndef LLAMAD_GRAMMAR_MATCH_H
#define LLAMAD_GRAMMAR_MATCH_H

#include "core/grammar/net.h"
#include "core/grammar/vocab.h"

#define LMI_NOWHERE UINT32_MAX /* failure: out of memory */
#define LMI_DEAD    0u
/* The state after the whole grammar, in frame 0. */
#define LMI_THE_END (UINT32_MAX - 1)

struct lmi_item {
	uint32_t state, frame;
};

/* Numbers interned by content: an open-addressing table of number + 1; 0 = free slot. */
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

/* A position in a text: a parser state and a partially read character. */
struct lmi_spot {
	uint32_t situation;
	uint32_t value; /* bits of the character so far */
	uint32_t left;  /* bytes of that character still missing, 0..3 */
};

struct lmi_key {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

/* Map from 64-bit keys to numbers. */
struct lmi_keymap {
	struct lmi_key *slot;
	uint32_t n, n_slots;
};

struct lmi_trigger;
struct lmi_closure;

struct lmi_matcher {
	const struct lmi_grammar *g;
	const struct lmi_gvocab *vocab;
	struct lmi_trigger *trigger; /* NULL if not lazy */
	uint64_t cache_bytes, bytes; /* limit; size of the tables below */
	struct lmi_gstate *states;   /* list of all states; what they need is never dropped */

	struct lmi_item *item; /* items of frames and parser states */
	uint32_t n_item, cap_item;
	struct lmi_frame *frame;
	uint32_t n_frame, cap_frame;
	struct lmi_situation *situation;
	uint32_t n_situation, cap_situation;
	struct lmi_intern frames, situations;
	uint32_t n_ascii;         /* number of classes of ASCII characters */
	uint32_t *next;           /* [situation][n_ascii], LMI_NOWHERE = not computed */
	uint32_t cap_next;        /* situations */
	struct lmi_keymap others; /* (situation, class) to situation */
	struct lmi_keymap masks;  /* (situation, value, left) to mask */
	uint64_t **mask;          /* bit sets of ids */
	uint32_t n_mask, cap_mask;
	struct lmi_cover *cover;
	uint32_t n_cover, cap_cover;
	uint32_t start;
	uint64_t floor;              /* bytes in use after the last lmi_matcher_forget */
	struct lmi_closure *closure; /* scratch */
	struct lmi_spot *walk;       /* [longest text + 1] scratch */
};

/* Grows an array of the matcher; returns false if out of memory. */
bool lmi_matcher_grow(struct lmi_matcher *m, void **p, uint32_t *cap, uint32_t n, size_t item);
bool lmi_keymap_find(const struct lmi_keymap *map, uint64_t key, uint32_t *value);
bool lmi_keymap_add(struct lmi_matcher *m, struct lmi_keymap *map, uint64_t key, uint32_t value);
/* Returns the number of the frame or parser state with these items (sorted in place). */
uint32_t lmi_frame_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n);
uint32_t lmi_situation_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n,
			      bool may_end);
/* Drops everything that no state needs; parser states are renumbered. On failure nothing
 * changes. */
void lmi_matcher_forget(struct lmi_matcher *m);
/* Calls lmi_matcher_forget if the memory limit is exceeded. */
void lmi_matcher_tidy(struct lmi_matcher *m);

/* Closures (closure.c) */
struct lmi_closure *lmi_closure_create(const struct lmi_grammar *g);
void lmi_closure_destroy(struct lmi_closure *c);
/* Start a set of items, add to it, and return the parser state that follows from it. */
void lmi_closure_begin(struct lmi_closure *c);
bool lmi_closure_add(struct lmi_closure *c, uint32_t state, uint32_t frame);
uint32_t lmi_closure_end(struct lmi_matcher *m);

/* Steps (match.c); LMI_NOWHERE if out of memory */
uint32_t lmi_match_class(struct lmi_matcher *m, uint32_t situation, uint32_t class_id);
uint32_t lmi_match_token(struct lmi_matcher *m, uint32_t situation, lmd_token token);
uint32_t lmi_match_union(struct lmi_matcher *m, uint32_t a, uint32_t b);
/* Consumes one byte. Returns false if dead or, with situation LMI_NOWHERE, out of memory. */
bool lmi_spot_feed(struct lmi_matcher *m, struct lmi_spot *s, unsigned char byte);
/* Returns true if the text can still be continued or completed. */
bool lmi_spot_alive(const struct lmi_matcher *m, const struct lmi_spot *s);

/* Returns the token mask of a position (mask.c), or NULL if out of memory. */
const uint64_t *lmi_mask_of(struct lmi_matcher *m, const struct lmi_spot *s);

#endif /* LLAMAD_GRAMMAR_MATCH_H */
