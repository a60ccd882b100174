/* SPDX-License-Identifier: MIT
 *
 * The text of a manifest.  Reading counts first and allocates once; every number is bounded before
 * it is used. */
#include "core/sign/manifest.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"

#define FIRST	  "llamad-model-manifest 1\n"
#define KEY	  "key "
#define CHUNK	  "chunk "
#define FILE_WORD "file "
#define SHA256	  "sha256 "
#define SIGNATURE "signature "
#define BYTES_MAX (1ull << 50)

#define LEN(literal) (sizeof(literal) - 1)
#define SIGNATURE_LINE (LEN(SIGNATURE) + 2 * LMI_SIGN_SIGNATURE_BYTES + 1)
#define SHA256_LINE    (LEN(SHA256) + 2 * LMI_SHA256_BYTES + 1)

/* ---- parts of a line ---- */

struct cursor {
	const char *p, *end;
	uint32_t line;
};

static bool starts(const struct cursor *c, const char *word, size_t n)
{
	return (size_t)(c->end - c->p) >= n && !memcmp(c->p, word, n);
}

static bool take(struct cursor *c, const char *word, size_t n)
{
	if (!starts(c, word, n))
		return false;
	c->p += n;
	return true;
}

static bool take_end(struct cursor *c)
{
	if (!take(c, "\n", 1))
		return false;
	c->line++;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(struct cursor *c, uint8_t *out, size_t n)
{
	if ((size_t)(c->end - c->p) < 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int hi = digit(c->p[2 * i]), lo = digit(c->p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (uint8_t)(hi * 16 + lo);
	}
	c->p += 2 * n;
	return true;
}

/* A number of at most BYTES_MAX, without leading zeros. */
static bool take_number(struct cursor *c, uint64_t *out)
{
	const char *begin = c->p;
	uint64_t v = 0;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9' && v <= BYTES_MAX)
		v = v * 10 + (uint64_t)(*c->p++ - '0');
	*out = v;
	return c->p > begin && v <= BYTES_MAX && (*begin != '0' || c->p - begin == 1);
}

static bool take_id(struct cursor *c, char id[LMI_SIGN_KEY_ID])
{
	uint8_t raw[(LMI_SIGN_KEY_ID - 1) / 2];
	const char *begin = c->p;

	if (!take_hex(c, raw, sizeof(raw)))
		return false;
	memcpy(id, begin, LMI_SIGN_KEY_ID - 1);
	id[LMI_SIGN_KEY_ID - 1] = 0;
	return true;
}

static enum lmd_status fail_line(const struct cursor *c, const char *want, struct lmd_error *err)
{
	const char *line = c->p;
	char show[48];
	size_t n = (size_t)(c->end - line);
	const char *stop = memchr(line, '\n', n);

	return lmd_fail(err, LMD_CORRUPT, "line %u of the manifest: expected %s at \"%s\"",
			c->line + 1, want,
			lmi_printable(show, sizeof(show), line, stop ? (size_t)(stop - line) : n));
}

/* ---- the envelope ---- */

enum lmd_status lmi_sign_envelope_parse(struct lmi_sign_envelope *out, const char *text, size_t n,
					struct lmd_error *err)
{
	struct cursor c = {.p = text, .end = text + n};
	struct lmi_sign_envelope e = {0};

	if (n > LMI_SIGN_MANIFEST_BYTES)
		return lmd_fail(err, LMD_CORRUPT, "a manifest of %zu bytes, must be at most %u", n,
				LMI_SIGN_MANIFEST_BYTES);
	if (!take(&c, FIRST, LEN(FIRST)))
		return fail_line(&c, "\"llamad-model-manifest 1\"", err);
	c.line++;
	if (!take(&c, KEY, LEN(KEY)) || !take_id(&c, e.key_id) || !take_end(&c))
		return fail_line(&c, "\"key\" and 16 hexadecimal digits", err);
	if ((size_t)(c.end - c.p) < SIGNATURE_LINE)
		return fail_line(&c, "more lines", err);
	e.signed_bytes = n - SIGNATURE_LINE;
	c.p = text + e.signed_bytes;
	if (c.p[-1] != '\n' || !take(&c, SIGNATURE, LEN(SIGNATURE)) ||
	    !take_hex(&c, e.signature, sizeof(e.signature)) || !take_end(&c))
		return lmd_fail(err, LMD_CORRUPT,
				"the manifest does not end in a line \"signature\" with %d "
				"hexadecimal digits: it is cut off or changed",
				2 * LMI_SIGN_SIGNATURE_BYTES);
	*out = e;
	return LMD_OK;
}

/* ---- the body ---- */

bool lmi_sign_name_ok(const char *name, size_t n)
{
	if (!n || n > LMI_SIGN_NAME_MAX || (n <= 2 && !memcmp(name, "..", n)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (name[i] == '/' || (uint8_t)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

static bool chunk_bytes_ok(uint64_t v)
{
	return v >= LMI_SIGN_CHUNK_MIN && v <= LMI_SIGN_CHUNK_MAX && !(v & (v - 1));
}

/* Counts the lines of files and of chunks, and the bytes of the names with a zero for each. */
static void count(const struct cursor *from, uint32_t *n_files, uint32_t *n_chunks, size_t *names)
{
	struct cursor c = *from;

	*n_files = *n_chunks = 0;
	*names = 0;
	while (c.p < c.end) {
		const char *stop = memchr(c.p, '\n', (size_t)(c.end - c.p));
		const char *next = stop ? stop + 1 : c.end;

		if (starts(&c, FILE_WORD, LEN(FILE_WORD))) {
			++*n_files;
			*names += (size_t)(next - c.p) + 1;
		} else if (starts(&c, SHA256, LEN(SHA256))) {
			++*n_chunks;
		}
		c.p = next;
	}
}

static enum lmd_status read_file(struct lmi_sign_manifest *m, struct cursor *c, char **name,
				 struct lmd_error *err)
{
	struct lmi_sign_file *f = &m->files[m->n_files];
	const char *stop = memchr(c->p, '\n', (size_t)(c->end - c->p));
	uint64_t n_chunks;
	size_t n;

	if (!take(c, FILE_WORD, LEN(FILE_WORD)) || !take_number(c, &f->bytes) ||
	    !take(c, " ", 1) || !stop || !lmi_sign_name_ok(c->p, (size_t)(stop - c->p)))
		return fail_line(c, "\"file\", a size and a name", err);
	n = (size_t)(stop - c->p);
	memcpy(*name, c->p, n);
	(*name)[n] = 0;
	f->name = *name;
	*name += n + 1;
	if (m->n_files && strcmp(m->files[m->n_files - 1].name, f->name) >= 0)
		return fail_line(c, "names in ascending order", err);
	c->p = stop;
	(void)take_end(c);
	f->first_chunk = m->n_chunks;
	n_chunks = f->bytes / m->chunk_bytes + (f->bytes % m->chunk_bytes != 0);
	for (uint64_t i = 0; i < n_chunks; i++) {
		if (!take(c, SHA256, LEN(SHA256)) ||
		    !take_hex(c, m->chunks[m->n_chunks], LMI_SHA256_BYTES) || !take_end(c))
			return fail_line(c, "\"sha256\" and 64 hexadecimal digits", err);
		m->n_chunks++;
	}
	f->n_chunks = (uint32_t)n_chunks;
	m->bytes += f->bytes;
	m->n_files++;
	return LMD_OK;
}

enum lmd_status lmi_sign_manifest_parse(struct lmi_sign_manifest *out, const char *text,
					size_t signed_bytes, struct lmd_error *err)
{
	struct cursor c = {.p = text, .end = text + signed_bytes};
	struct lmi_sign_manifest m = {0};
	enum lmd_status st = LMD_OK;
	uint32_t n_files, n_chunks;
	uint64_t chunk;
	size_t names;
	char *name;

	if (!take(&c, FIRST, LEN(FIRST)))
		return fail_line(&c, "\"llamad-model-manifest 1\"", err);
	c.line++;
	if (!take(&c, KEY, LEN(KEY)) || !take_id(&c, m.key_id) || !take_end(&c))
		return fail_line(&c, "\"key\" and 16 hexadecimal digits", err);
	if (!take(&c, CHUNK, LEN(CHUNK)) || !take_number(&c, &chunk) || !chunk_bytes_ok(chunk) ||
	    !take_end(&c))
		return fail_line(&c, "\"chunk\" and a power of two from 65536 to 67108864", err);
	m.chunk_bytes = (uint32_t)chunk;
	count(&c, &n_files, &n_chunks, &names);
	if (!n_files || n_files > LMI_SIGN_FILES_MAX || n_chunks > LMI_SIGN_CHUNKS_MAX)
		return lmd_fail(err, LMD_CORRUPT,
				"%u files and %u chunks, must be 1 to %u files and at most %u "
				"chunks",
				n_files, n_chunks, LMI_SIGN_FILES_MAX, LMI_SIGN_CHUNKS_MAX);
	m.files = lmi_alloc(n_files, sizeof(*m.files));
	m.chunks = lmi_alloc(n_chunks + 1u, sizeof(*m.chunks));
	m.names = lmi_alloc(names, 1);
	if (!m.files || !m.chunks || !m.names)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a manifest of %u chunks", n_chunks);
	name = m.names;
	/* The counts bound the arrays: each turn takes a line "file", and a line "sha256" for each
	 * chunk. */
	while (st == LMD_OK && c.p < c.end)
		st = read_file(&m, &c, &name, err);
	if (st != LMD_OK) {
		lmi_sign_manifest_fini(&m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

void lmi_sign_manifest_fini(struct lmi_sign_manifest *m)
{
	lmi_free(m->files);
	lmi_free(m->chunks);
	lmi_free(m->names);
	*m = (struct lmi_sign_manifest){0};
}

/* ---- writing ---- */

static char *put_hex(char *p, const uint8_t *bytes, size_t n)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*p++ = hex[bytes[i] >> 4];
		*p++ = hex[bytes[i] & 15];
	}
	return p;
}

static char *put_word(char *p, const char *word)
{
	size_t n = strlen(word);

	memcpy(p, word, n);
	return p + n;
}

enum lmd_status lmi_sign_manifest_body(char **out, size_t *n, const struct lmi_sign_manifest *m,
				       const char *key_id, struct lmd_error *err)
{
	size_t room = 256 + SIGNATURE_LINE + (size_t)m->n_chunks * SHA256_LINE;
	char *text, *p;

	for (uint32_t i = 0; i < m->n_files; i++)
		room += strlen(m->files[i].name) + 32;
	text = p = lmi_alloc(room, 1);
	if (!text)
		return lmd_fail(err, LMD_NOMEM, "no memory for a manifest of %u chunks",
				m->n_chunks);
	p += snprintf(p, room, FIRST KEY "%.16s\n" CHUNK "%u\n", key_id, m->chunk_bytes);
	for (uint32_t i = 0; i < m->n_files; i++) {
		const struct lmi_sign_file *f = &m->files[i];

		p += snprintf(p, 32, FILE_WORD "%llu ", (unsigned long long)f->bytes);
		p = put_word(put_word(p, f->name), "\n");
		for (uint32_t k = 0; k < f->n_chunks; k++) {
			p = put_word(p, SHA256);
			p = put_hex(p, m->chunks[f->first_chunk + k], LMI_SHA256_BYTES);
			*p++ = '\n';
		}
	}
	*out = text;
	*n = (size_t)(p - text);
	return LMD_OK;
}

enum lmd_status lmi_sign_manifest_emit(char **out, size_t *n, const struct lmi_sign_manifest *m,
				       const struct lmi_sign_private *key, struct lmd_error *err)
{
	uint8_t signature[LMI_SIGN_SIGNATURE_BYTES];
	char *text, *p;
	size_t body;
	enum lmd_status st = lmi_sign_manifest_body(&text, &body, m, key->public_key.id, err);

	if (st != LMD_OK)
		return st;
	if (!lmi_sign_bytes(key, text, body, signature)) {
		lmi_free(text);
		return lmd_fail(err, LMD_INTERNAL, "libcrypto cannot sign");
	}
	p = put_word(text + body, SIGNATURE);
	p = put_hex(p, signature, sizeof(signature));
	*p++ = '\n';
	*out = text;
	*n = (size_t)(p - text);
	return LMD_OK;
}
