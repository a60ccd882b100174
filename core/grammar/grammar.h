/* SPDX-License-Identifier: MIT
 *
 * grammar.h - structured output: which tokens may come next.
 *
 * A grammar is compiled once from GBNF or from a JSON schema and is immutable afterwards. A
 * vocabulary is indexed once. A matcher combines a grammar with a vocabulary and caches what it
 * computes. A state is one sequence in a matcher; it is small and cheap to copy for a fork or a
 * draft.
 *
 *     lmi_grammar_from_gbnf(&g, text, n, vocab, &err);   not on the engine's thread
 *     lmi_gr_matcher_create(&m, &opts, &err);               once per grammar and vocabulary
 *     lmi_gr_state_create(&s, m, &err);                    once per sequence
 *     lmi_gr_state_mask(s, &mask);  choose a token;  lmi_gr_state_accept(s, token);
 *
 * Grammars are untrusted. Compilation is bounded in time and memory and fails with an error
 * message. Matching takes time proportional to text times grammar for unambiguous grammars; if the
 * ambiguity of a grammar explodes, matching stops with LMD_NOMEM.
 *
 * Method: rules are NFAs that call each other. Call stacks are shared and interned, so that equal
 * parser states get the same number however they were reached. Transitions between parser states
 * and the token masks of parser states are computed on first use and cached; the result is an
 * automaton that grows on demand. */
#ifndef LLAMAD_CORE_GRAMMAR_GRAMMAR_H
#define LLAMAD_CORE_GRAMMAR_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"
#include "llamad/status.h"

/* Maximum length of a grammar or schema text, in bytes. */
#define LMI_GRAMMAR_BYTES_MAX (4u << 20)
/* Maximum memory for the expressions of a grammar while it is compiled, in bytes, whatever it is made
 * of: GBNF, a schema, a regular expression or a structural tag. */
#define LMI_GRAMMAR_BUILD_BYTES_MAX (128u << 20)
/* Repetitions {m,n}: m above this is an error, n above this means unbounded. */
#define LMI_GRAMMAR_COUNT_MAX 2000

struct lmi_grammar;
struct lmi_grammar_vocab;
struct lmi_grammar_matcher;
struct lmi_grammar_state;

/* Vocabularies */

/* Builds the index of a vocabulary: token texts in sorted order, and which characters they
 * contain. If vocab is NULL, the tokens are the 256 bytes (id = byte) and 256 for the end of text.
 * The result keeps no reference to vocab. */
enum lmd_status lmi_gr_vocab_create(struct lmi_grammar_vocab **out,
				    const struct lmd_sample_vocab *vocab, struct lmd_error *err);
void lmi_gr_vocab_destroy(struct lmi_grammar_vocab *v);
uint32_t lmi_gr_vocab_size(const struct lmi_grammar_vocab *v);
/* Returns the token with exactly this text, or -1. */
lmd_token lmi_gr_vocab_find(const struct lmi_grammar_vocab *v, const char *text, size_t bytes);
/* Returns true if some token starts with this text and is longer than it. */
bool lmi_gr_vocab_has_longer(const struct lmi_grammar_vocab *v, const char *text, size_t bytes);

/* Grammars */

/* vocab resolves token literals by their text (<think>); if it is NULL, no such literal resolves.
 * An empty text constrains nothing. LMD_INVALID: the message gives the line and what is wrong
 * there. */
enum lmd_status lmi_grammar_from_gbnf(struct lmi_grammar **out, const char *text, size_t bytes,
				      const struct lmi_grammar_vocab *vocab, struct lmd_error *err);
/* Compiles the JSON schema (drafts 7 to 2020-12) in `text` to a grammar of the JSON texts that it
 * accepts.
 *
 * Object members come in the order of the schema, or with the required ones first. Members that
 * the schema does not describe are allowed only if it asks for them or describes none. White space
 * between the parts of a value is optional and bounded. Formats other than date, time, date-time,
 * uuid and ipv4 are annotations. oneOf is treated as anyOf.
 *
 * LMD_CORRUPT: not JSON. LMD_INVALID: not a schema, a duplicate key, or a limit is exceeded.
 * LMD_UNSUPPORTED: a keyword that the grammar would not enforce (the table in schema_keywords.c), or
 * a pattern that no grammar can express. LMD_CANCELLED: see core/base/cancel.h. The message names the
 * place by its JSON pointer. A schema that no value satisfies compiles to a grammar that matches
 * nothing. */
enum lmd_status lmi_grammar_from_schema(struct lmi_grammar **out, const char *text, size_t bytes,
					struct lmd_error *err);
/* Compiles a regular expression to a grammar of the texts that match it as a whole. The syntax is
 * that of ECMAScript (regex.h). LMD_INVALID: a mistake, or a limit is exceeded. LMD_UNSUPPORTED: no
 * grammar can express it. The message names the byte. */
enum lmd_status lmi_grammar_from_regex(struct lmi_grammar **out, const char *regex, size_t bytes,
				       struct lmd_error *err);
/* Compiles a structural tag, a JSON document that says which parts an answer has
 * (docs/grammar.md). LMD_CORRUPT: not JSON. LMD_INVALID: not a structural tag, or a limit is
 * exceeded. LMD_UNSUPPORTED: see lmi_grammar_from_schema and lmi_grammar_from_regex. */
enum lmd_status lmi_grammar_from_structural_tag(struct lmi_grammar **out, const char *text,
						size_t bytes, struct lmd_error *err);
/* g may be NULL. Callable from any thread. */
void lmi_grammar_destroy(struct lmi_grammar *g);
/* Returns the size of the grammar in bytes. */
uint64_t lmi_grammar_bytes(const struct lmi_grammar *g);

/* Matching: a matcher and everything below that uses it belong to one thread at a time */

struct lmi_gr_matcher_opts {
	const struct lmi_grammar *grammar; /* must outlive the matcher */
	const struct lmi_grammar_vocab *vocab; /* must outlive the matcher */
	/* Lazy grammar: if there is any pattern or token here, nothing is constrained until a
	 * trigger occurs. A pattern is an ECMAScript regular expression that is searched for in
	 * all text so far; if it starts with ^ and ends with $, it must match all of the text. The
	 * constraint starts at the first group that took part in the match, or else at the start
	 * of the match. A trigger token starts the constraint with itself. */
	const struct lmd_str *patterns; /* [n_patterns], copied */
	uint32_t n_patterns;
	const lmd_token *tokens; /* [n_tokens], copied */
	uint32_t n_tokens;
	/* Memory limit of the cache in bytes (0 = 64 MiB). Above it, entries that no state needs
	 * are dropped. */
	uint64_t cache_bytes;
};

enum lmd_status lmi_gr_matcher_create(struct lmi_grammar_matcher **out,
				      const struct lmi_gr_matcher_opts *opts,
				      struct lmd_error *err);
/* m may be NULL. All its states must have been destroyed. */
void lmi_gr_matcher_destroy(struct lmi_grammar_matcher *m);

enum lmd_status lmi_gr_state_create(struct lmi_grammar_state **out, struct lmi_grammar_matcher *m,
				    struct lmd_error *err);
enum lmd_status lmi_gr_state_clone(struct lmi_grammar_state **out,
				   const struct lmi_grammar_state *from);
/* Makes `to` a copy of `from`; both must belong to the same matcher. */
enum lmd_status lmi_gr_state_copy(struct lmi_grammar_state *to,
				  const struct lmi_grammar_state *from);
void lmi_gr_state_destroy(struct lmi_grammar_state *s);

/* Accepts one token. LMD_INVALID: the token is not allowed here. On any error, including
 * LMD_NOMEM, the state is unchanged. LMD_TIMEOUT, also from mask and forced: the state has used up
 * its share of time, because the ambiguity of its grammar explodes; nothing more can be accepted. */
enum lmd_status lmi_gr_state_accept(struct lmi_grammar_state *s, lmd_token token);
/* Accepts text byte by byte, as one-byte tokens that match no token literal. LMD_INVALID: byte
 * number *n_taken is not allowed. */
enum lmd_status lmi_gr_state_accept_text(struct lmi_grammar_state *s, const char *text,
					 size_t bytes, size_t *n_taken);

/* As lmi_gr_state_accept, if the matcher has cached all that it needs; otherwise LMD_BUSY, and the
 * state is unchanged. */
enum lmd_status lmi_gr_state_accept_cached(struct lmi_grammar_state *s, lmd_token token);
/* Returns how much work the state may still cause: its share of time, see LMD_TIMEOUT. */
uint64_t lmi_gr_state_budget(const struct lmi_grammar_state *s);

/* Bit i % 64 of word i / 64 is set if token i may come next; end-of-generation tokens are set
 * exactly when the text may end here. *out is valid until the next call with this matcher. */
enum lmd_status lmi_gr_state_mask(struct lmi_grammar_state *s, const uint64_t **out);
/* As lmi_gr_state_mask, if the matcher has cached the mask; otherwise LMD_BUSY. */
enum lmd_status lmi_gr_state_mask_cached(const struct lmi_grammar_state *s, const uint64_t **out);

/* Returns the text that must come next because the grammar allows nothing else: whole characters,
 * at most cap bytes. *ends is set if the grammar is complete after that text. *n is 0 if the text
 * may end here, if a token literal may come, in the middle of a character, and while waiting for a
 * trigger. */
enum lmd_status lmi_gr_state_forced(struct lmi_grammar_state *s, char *out, size_t cap, size_t *n,
				    bool *ends);
/* Returns the only token below n that the mask allows, or -1 if it allows none or several. */
lmd_token lmi_gr_mask_only_token(const uint64_t *mask, uint32_t n);
/* Returns true if this text may come next, byte by byte. The state is unchanged. */
bool lmi_gr_state_allows_text(struct lmi_grammar_state *s, const char *text, size_t bytes);

/* Returns true if the text may end here; always true while a lazy grammar waits for its trigger. */
bool lmi_gr_state_may_end(const struct lmi_grammar_state *s);

/* Returns the memory held by the matcher in bytes, for reports. */
uint64_t lmi_gr_matcher_bytes(const struct lmi_grammar_matcher *m);

#endif /* LLAMAD_CORE_GRAMMAR_GRAMMAR_H */
