/* SPDX-License-Identifier: MIT
 *
 * match.h - interned parser states of a grammar.
 *
 * A frame says where calls return to: it is a set of (state, frame) pairs, a node of a
 * graph-structured stack. A parser state (struct lmi_gr_parser_state) is a set of pairs (state that
 * consumes something, frame) and a flag that says whether the text may end. Frames and parser
 * states are interned by content and named by a number. Equal stacks are therefore stored once,
 * and the successor of a parser state for a character class is computed once.
 *
 * Frame 0 is the bottom of the stack: returning to it ends the text. Parser state 0 is dead. */
#ifndef LLAMAD_GRAMMAR_MATCH_H
#define LLAMAD_GRAMMAR_MATCH_H

#include "core/grammar/nfa.h"
#include "core/grammar/vocab.h"

#define LMI_GR_PARSER_STATE_ERROR UINT32_MAX /* failure: out of memory */
#define LMI_GR_PARSER_STATE_DEAD  0u
/* The state after the whole grammar, in frame 0. */
#define LMI_GR_NFA_FINAL_STATE (UINT32_MAX - 1)

struct lmi_gr_parser_item {
	uint32_t state, frame;
};

/* Numbers interned by content: an open-addressing table of number + 1; 0 = free slot. */
struct lmi_gr_intern {
	uint32_t *slot;
	uint32_t n, n_slots;
};

struct lmi_gr_gss_node {
	uint32_t item, n; /* in matcher.item */
	uint32_t hash;
};

struct lmi_gr_parser_state {
	uint32_t item, n; /* in matcher.item */
	uint32_t hash;
	bool may_end;
};

/* A position in a text: a parser state and a partially read character. */
struct lmi_gr_match_cursor {
	uint32_t parser_state;
	uint32_t value;     /* bits of the character so far */
	uint32_t n_missing; /* bytes of that character still missing, 0..3 */
};

struct lmi_gr_key {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

/* Map from 64-bit keys to numbers. */
struct lmi_gr_keymap {
	struct lmi_gr_key *slot;
	uint32_t n, n_slots;
};

struct lmi_gr_trigger;
struct lmi_gr_closure;

struct lmi_grammar_matcher {
	const struct lmi_grammar *g;
	const struct lmi_grammar_vocab *vocab;
	struct lmi_gr_trigger *trigger; /* NULL if not lazy */
	uint64_t cache_bytes, bytes; /* limit; size of the tables below */
	struct lmi_grammar_state *states; /* list of all states; what they need is never dropped */

	struct lmi_gr_parser_item *item; /* items of frames and parser states */
	uint32_t n_item, cap_item;
	struct lmi_gr_gss_node *frame;
	uint32_t n_frame, cap_frame;
	struct lmi_gr_parser_state *parser_state;
	uint32_t n_parser_state, cap_parser_state;
	struct lmi_gr_intern frames, parser_states;
	uint32_t n_ascii;  /* number of classes of ASCII characters */
	uint32_t *next;    /* [n_parser_state][n_ascii], LMI_GR_PARSER_STATE_ERROR = not computed */
	uint32_t cap_next; /* of parser states */
	struct lmi_gr_keymap others; /* (parser state, class) to parser state */
	struct lmi_gr_keymap masks;  /* (parser state, value, n_missing) to mask */
	uint64_t **mask;             /* bit sets of ids */
	uint32_t n_mask, cap_mask;
	struct lmi_gr_class_tokens *class_tokens;
	uint32_t n_class_tokens, cap_class_tokens;
	uint32_t start;
	uint64_t live_bytes; /* bytes in use after the last lmi_gr_matcher_collect_garbage */
	struct lmi_gr_closure *closure;      /* scratch */
	struct lmi_gr_match_cursor *cursors; /* [longest text + 1] scratch */
};

/* Grows an array of the matcher; returns false if out of memory. */
bool lmi_gr_matcher_grow(struct lmi_grammar_matcher *m, void **p, uint32_t *cap, uint32_t n,
			 size_t item);
bool lmi_gr_keymap_find(const struct lmi_gr_keymap *map, uint64_t key, uint32_t *value);
bool lmi_gr_keymap_add(struct lmi_grammar_matcher *m, struct lmi_gr_keymap *map, uint64_t key,
		       uint32_t value);
/* Returns the number of the frame or parser state with these items (sorted in place). */
uint32_t lmi_gr_gss_node_intern(struct lmi_grammar_matcher *m, struct lmi_gr_parser_item *items,
				uint32_t n);
uint32_t lmi_gr_parser_state_intern(struct lmi_grammar_matcher *m, struct lmi_gr_parser_item *items,
				    uint32_t n, bool may_end);
/* Drops everything that no state needs; parser states are renumbered. On failure nothing
 * changes. */
void lmi_gr_matcher_collect_garbage(struct lmi_grammar_matcher *m);
/* Calls lmi_gr_matcher_collect_garbage if the memory limit is exceeded. */
void lmi_gr_matcher_enforce_limit(struct lmi_grammar_matcher *m);

/* Closures (closure.c) */
struct lmi_gr_closure *lmi_gr_closure_create(const struct lmi_grammar *g);
void lmi_gr_closure_destroy(struct lmi_gr_closure *c);
/* Start a set of items, add to it, and return the parser state that follows from it. */
/* From now on each new item takes one from *budget; a closure fails when nothing is left. NULL: no
 * limit. */
void lmi_gr_closure_set_budget(struct lmi_gr_closure *c, uint64_t *budget);
void lmi_gr_closure_begin(struct lmi_gr_closure *c);
bool lmi_gr_closure_add(struct lmi_gr_closure *c, uint32_t state, uint32_t frame);
uint32_t lmi_gr_closure_end(struct lmi_grammar_matcher *m);

/* Steps (match.c); LMI_GR_PARSER_STATE_ERROR if out of memory */
uint32_t lmi_gr_match_class(struct lmi_grammar_matcher *m, uint32_t parser_state,
			    uint32_t class_id);
uint32_t lmi_gr_match_token(struct lmi_grammar_matcher *m, uint32_t parser_state, lmd_token token);
uint32_t lmi_gr_match_union(struct lmi_grammar_matcher *m, uint32_t a, uint32_t b);
/* Consumes one byte. Returns false if dead or, with parser state LMI_GR_PARSER_STATE_ERROR, out of
 * memory. */
bool lmi_gr_match_cursor_feed(struct lmi_grammar_matcher *m, struct lmi_gr_match_cursor *s,
			      unsigned char byte);
/* Returns true if the text can still be continued or completed. */
bool lmi_gr_match_cursor_alive(const struct lmi_grammar_matcher *m,
			       const struct lmi_gr_match_cursor *s);

/* Returns the token mask of a position (mask.c), or NULL if out of memory. */
const uint64_t *lmi_gr_match_cursor_mask(struct lmi_grammar_matcher *m,
					 const struct lmi_gr_match_cursor *s);
/* Returns that mask if it has been computed, otherwise NULL. */
const uint64_t *lmi_gr_match_cursor_mask_cached(const struct lmi_grammar_matcher *m,
						const struct lmi_gr_match_cursor *s);

#endif /* LLAMAD_GRAMMAR_MATCH_H */
