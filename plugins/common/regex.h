/* SPDX-License-Identifier: MIT
 *
 * regex.h - regular expressions of pre-tokenizers: a small backtracking matcher over UTF-8.
 *
 * Syntax: alternation; groups ( ) (?<name> ) (?: ) (?i: ) (?> ); look-ahead (?= ) (?! );
 * look-behind for one character (?<= ) (?<! ); quantifiers * + ? {n} {n,} {n,m} with the suffixes
 * + (possessive) and ? (lazy); sets [ ] with ranges, nested sets and &&; \p{..} \P{..} by general
 * category; \s \d \w \h and their complements; ^ $ \A \z \b \B; and the usual escapes. The first
 * alternative that matches wins, as in Perl. The compiler rejects everything else with an error
 * that names it.
 *
 * Why not PCRE2, which the rest of the tree uses (tensor names, triggers of grammars): its
 * character classes are those of the installed version (14.0 with 10.42), and a tokenizer must
 * split as the one that made the vocabulary; expressions come from model files, so that steps
 * are counted, bounded and can be cancelled; Oniguruma's and PCRE's meaning of the same
 * expression differ (TOK_RX_RUBY).  PCRE2 10.42 gives the same words with Llama 3's expression.
 * On English text its interpreter has about a quarter of the speed of this matcher, and its JIT
 * compiler, which needs memory that is writable and executable, about the same (17 and 4, 12 to
 * 19 MB/s on a busy core); on long words in other scripts the JIT compiler has one to three
 * times the speed.
 *
 * Text is canonical UTF-8 (tok_utf8_canonical). A compiled expression is immutable and may be used
 * by any number of threads, each with its own struct tok_regex_run. */
#ifndef LLAMAD_PLUGINS_COMMON_REGEX_H
#define LLAMAD_PLUGINS_COMMON_REGEX_H

#include "common/mem.h"
#include "llamad/status.h"
#include "llamad/types.h"

struct tok_regex;

/* LMD_INVALID: a syntax error, with its byte offset. LMD_UNSUPPORTED: a construct that is not in
 * the list above. */
#define TOK_RX_NOCASE 1u /* as if inside (?i: ) */
#define TOK_RX_RUBY   2u /* ^ and $ also match at line ends; {n,m}+ repeats x{n,m} */
enum lmd_status tok_regex_compile(struct tok_regex **out, const struct lmd_host *host,
				  const char *pattern, size_t bytes, uint32_t flags,
				  struct lmd_error *err);
void tok_regex_free(struct tok_regex *rx);

/* The state of one user of expressions: the text, and scratch memory. Matching never looks outside
 * [begin, end). */
struct tok_regex_run {
	const struct lmd_host *host;
	const char *begin, *end;
	struct tok_buf stack;
	uint64_t steps;       /* work done so far, in basic operations */
	uint64_t max_steps;   /* 0 = unlimited */
	uint64_t told;        /* steps that the host has been told of */
	uint64_t look_at;     /* steps at which limits and cancellation are checked next */
	/* LMD_NOMEM, LMD_INVALID (too many steps) or LMD_CANCELLED: matching was aborted */
	enum lmd_status st;
	/* the last run of white space examined, see op LINES in regex.c */
	const char *ws_begin, *ws_end, *ws_line;
};

/* Matches at exactly `at`, which may be the end of the text. Sets *match_end on success. */
bool tok_regex_match(const struct tok_regex *rx, struct tok_regex_run *run, const char *at,
		     const char **match_end);

/* Finds the first match at or after `at`, possibly an empty match at the end. Returns false if
 * there is none. */
bool tok_regex_search(const struct tok_regex *rx, struct tok_regex_run *run, const char *at,
		      const char **match_begin, const char **match_end);

/* Sets the text of a run. */
static inline void tok_regex_set_text(struct tok_regex_run *run, const char *begin, const char *end)
{
	run->begin = begin;
	run->end = end;
	run->ws_begin = run->ws_end = NULL;
}

static inline void tok_regex_run_fini(struct tok_regex_run *run)
{
	tok_buf_fini(&run->stack, run->host);
}

#endif /* LLAMAD_PLUGINS_COMMON_REGEX_H */
