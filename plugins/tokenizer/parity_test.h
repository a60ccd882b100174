/* SPDX-License-Identifier: MIT
 *
 * parity_test.h - reads the case files of the tokenizer parity pack: inputs in hexadecimal,
 * expected ids and bytes. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H
#define LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text/tokenizer.h"

/* The lines of a TSV file, split at tabs in place. */
struct tsv {
	char *text;
	size_t n_rows, n_cols;
	char **cell;          /* [n_rows * n_cols], "" if a row is shorter */
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
/* Appends the cases of a file (id, class, hex); returns false if it is missing or malformed. */
bool parity_cases_add(struct parity_cases *p, const char *path);
const struct parity_case *parity_case_find(const struct parity_cases *p, const char *id);
void parity_cases_free(struct parity_cases *p);

/* Compares the list with `want`: decimal ids, or #count:sha256. Prints both if they differ. */
bool parity_ids_equal(const char *want, const lmd_token *ids, size_t n);
/* Compares the bytes with `want`: hex, "=" (the input), or #length:sha256. */
bool parity_bytes_equal(const char *want, const struct parity_case *c, const char *p, size_t n);

/* Writes the first 16 hexadecimal digits of a SHA-256 over (u32 length, bytes) of each piece. */
void parity_piece_digest(const struct lmi_tokenizer *t, lmd_token from, lmd_token to, char out[17]);

/* Reads a whole file; returns NULL if it cannot be read. */
char *parity_read(const char *path, size_t *n);

#endif /* LLAMAD_PLUGINS_TOKENIZER_PARITY_TEST_H */
