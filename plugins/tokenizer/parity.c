/* SPDX-License-Identifier: MIT
 *
 * Reads the case files of the parity pack. */
#include "plugins/tokenizer/parity_test.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *parity_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;
	long len;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (len = ftell(f)) >= 0) {
		rewind(f);
		p = malloc((size_t)len + 1);
		if (p && fread(p, 1, (size_t)len, f) == (size_t)len) {
			p[len] = '\0';
			*n = (size_t)len;
		} else {
			free(p);
			p = NULL;
		}
	}
	fclose(f);
	return p;
}

bool tsv_load(struct tsv *t, const char *path, size_t n_cols)
{
	size_t n, row = 0;
	char *p;

	memset(t, 0, sizeof(*t));
	t->text = parity_read(path, &n);
	if (!t->text)
		return false;
	t->n_cols = n_cols;
	for (size_t i = 0; i < n; i++)
		t->n_rows += t->text[i] == '\n';
	t->cell = calloc(t->n_rows * n_cols + 1, sizeof(char *));
	for (p = t->text; row < t->n_rows; row++) {
		char *end = strchr(p, '\n');

		*end = '\0';
		for (size_t c = 0; c < n_cols; c++) {
			char *tab = strchr(p, '\t');

			t->cell[row * n_cols + c] = p;
			if (!tab) {
				p += strlen(p);
				continue;
			}
			*tab = '\0';
			p = tab + 1;
		}
		p = end + 1;
	}
	return true;
}

void tsv_free(struct tsv *t)
{
	free(t->text);
	free(t->cell);
	memset(t, 0, sizeof(*t));
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *from_hex(const char *hex, size_t *n)
{
	size_t len = strlen(hex) / 2;
	char *p = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		p[i] = (char)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
	*n = len;
	return p;
}

bool parity_cases_add(struct parity_cases *p, const char *path)
{
	struct tsv t;

	if (!tsv_load(&t, path, 3))
		return false;
	p->c = realloc(p->c, (p->n + t.n_rows) * sizeof(*p->c));
	for (size_t r = 0; r < t.n_rows; r++) {
		struct parity_case *c = &p->c[p->n++];

		snprintf(c->id, sizeof(c->id), "%s", t.cell[r * 3]);
		c->text = from_hex(t.cell[r * 3 + 2], &c->bytes);
	}
	tsv_free(&t);
	return true;
}

const struct parity_case *parity_case_find(const struct parity_cases *p, const char *id)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->c[i].id, id))
			return &p->c[i];
	return NULL;
}

void parity_cases_free(struct parity_cases *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->c[i].text);
	free(p->c);
	memset(p, 0, sizeof(*p));
}

static void sha256_hex(const void *p, size_t n, char out[65])
{
	unsigned char d[32];
	unsigned len = 0;

	EVP_Digest(p, n, d, &len, EVP_sha256(), NULL);
	for (unsigned i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", d[i]);
}

/* Compares "#COUNT:SHA" with count items of `item` bytes at p. */
static bool digest_equal(const char *want, const void *p, size_t count, size_t item)
{
	char sum[65], have[100];

	sha256_hex(p, count * item, sum);
	snprintf(have, sizeof(have), "#%zu:%s", count, sum);
	if (strcmp(want, have) != 0)
		printf("  want %s\n  have %s\n", want, have);
	return !strcmp(want, have);
}

bool parity_ids_equal(const char *want, const lmd_token *ids, size_t n)
{
	const char *p = want;
	size_t i = 0;

	if (*want == '#')
		return digest_equal(want, ids, n, sizeof(*ids));
	while (*p && i < n) {
		char *end;

		if (strtol(p, &end, 10) != ids[i])
			break;
		i++;
		p = *end == ',' ? end + 1 : end;
	}
	if (!*p && i == n)
		return true;
	printf("  want %.600s\n  have ", want);
	for (i = 0; i < n && i < 60; i++)
		printf("%s%d", i ? "," : "", ids[i]);
	printf("\n");
	return false;
}

bool parity_bytes_equal(const char *want, const struct parity_case *c, const char *p, size_t n)
{
	size_t len;
	char *bytes;
	bool ok;

	if (*want == '#')
		return digest_equal(want, p, n, 1);
	if (!strcmp(want, "=")) {
		ok = n == c->bytes && !memcmp(p, c->text, n);
	} else {
		bytes = from_hex(want, &len);
		ok = n == len && !memcmp(p, bytes, n);
		free(bytes);
	}
	if (!ok) {
		printf("  want %.600s\n  have ", want);
		for (size_t i = 0; i < n && i < 300; i++)
			printf("%02x", (unsigned char)p[i]);
		printf("\n");
	}
	return ok;
}

void parity_piece_digest(const struct lmi_tokenizer *t, lmd_token from, lmd_token to, char out[17])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t cap = lmi_tokenizer_info(t)->max_piece_bytes + 1u;
	char *piece = malloc(cap);
	unsigned char d[32];
	unsigned len;

	EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
	for (lmd_token id = from; id < to; id++) {
		size_t n = lmi_tokenizer_piece(t, id, LMD_DECODE_UNPARSE_SPECIAL, piece, cap);
		unsigned char le[4] = {(unsigned char)n, (unsigned char)(n >> 8),
				       (unsigned char)(n >> 16), (unsigned char)(n >> 24)};

		EVP_DigestUpdate(ctx, le, 4);
		EVP_DigestUpdate(ctx, piece, n < cap ? n : cap);
	}
	EVP_DigestFinal_ex(ctx, d, &len);
	EVP_MD_CTX_free(ctx);
	free(piece);
	for (unsigned i = 0; i < 8; i++)
		snprintf(out + 2 * i, 3, "%02x", d[i]);
}
