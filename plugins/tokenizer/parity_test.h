/* SPDX-License-Identifier: MIT
 *
 * parity_test.h - reads the case files of the tokenizer parity pack: inputs in hex, expected
 * ids and bytes. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H
#define LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text/tokenizer.h"

/* Lines of a TSV file, split at tabs in place. */
struct tsv {
	char *text;
	size_t n_rows, n_cols;
	char **cell;          /* [n_rows * n_cols], "" when a row is shorter */
};
bool tsv_load(struct tsv *t, const char *path, size_t n_cols);
void tsv_free(struct tsv *t);

struct parity_case {
	char id[16];
	char *text;
	size_t bytes;
};
struct parity_cases {
	struct parity_case *c;
	size_t n;
};
/* Appends the cases of a file (id, class, hex); false if it is missing or wrong. */
bool parity_cases_add(struct parity_cases *p, const char *path);
const struct parity_case *parity_case_find(const struct parity_cases *p, const char *id);
void parity_cases_free(struct parity_cases *p);

/* Is the list what `want` says: decimal ids, or #count:sha256?  Otherwise prints both. */
bool parity_ids_equal(const char *want, const lmd_token *ids, size_t n);
/* Are the bytes what `want` says: hex, "=" (the input), or #length:sha256? */
bool parity_bytes_equal(const char *want, const struct parity_case *c, const char *p, size_t n);

/* First 16 hex digits of a SHA-256 state over (u32 length, bytes) of pieces. */
void parity_piece_digest(const struct lmi_tokenizer *t, lmd_token from, lmd_token to, char out[17]);

/* A whole file; NULL if it cannot be read. */
char *parity_read(const char *path, size_t *n);

#endif /* LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H */
