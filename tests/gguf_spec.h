/* SPDX-License-Identifier: MIT
 *
 * gguf_spec.h - builds test files byte by byte, so that any byte can be wrong.
 *
 * A spec is a list of words separated by blanks; each appends bytes:
 *
 *     m:TEXT   only the text              s:TEXT   length (8 bytes) and text
 *     1:N 2:N 4:N 8:N   a number          S:TEXT   length (4 bytes) and text
 *     B4:N B8:N         big-endian        Z:TEXT   length (8 bytes, big-endian) and text
 *     f:X      float                      d:X      double
 *     z:N      N zero bytes               c:N,X    N times the byte X
 *     p:N      zeros up to a multiple of N
 *
 * Numbers are decimal (a sign is allowed) or 0x...; '~' in a text stands for a blank, '^'
 * for a zero byte. */
#ifndef LLAMAD_TESTS_GGUF_SPEC_H
#define LLAMAD_TESTS_GGUF_SPEC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of well-formed files. */
#define SPEC_HEAD(nt, nk) "m:GGUF 4:3 8:" #nt " 8:" #nk " "
#define SPEC_ARCH         "s:general.architecture 4:8 s:llama "
/* An f32 tensor of 8 values at an offset, and its data. */
#define SPEC_TENSOR(name, at) "s:" #name " 4:1 8:8 4:0 8:" #at " "
#define SPEC_DATA             "p:32 z:32 "

struct spec_file {
	uint8_t *p;
	size_t n, cap;
};

static inline void spec_bytes(struct spec_file *f, const void *p, size_t n)
{
	if (f->n + n > f->cap) {
		f->cap = 2 * (f->n + n) + 256;
		f->p = realloc(f->p, f->cap);
		if (!f->p)
			abort();
	}
	if (n)
		memcpy(f->p + f->n, p, n);
	f->n += n;
}

static inline void spec_number(struct spec_file *f, uint64_t v, int width, int big)
{
	uint8_t b[8];

	for (int i = 0; i < width; i++)
		b[big ? width - 1 - i : i] = (uint8_t)(v >> 8 * i);
	spec_bytes(f, b, (size_t)width);
}

static inline void spec_text(struct spec_file *f, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		spec_bytes(f, s[i] == '~' ? " " : s[i] == '^' ? "\0" : &s[i], 1);
}

/* Parses a number in the range of int64_t or uint64_t. */
static inline uint64_t spec_parse(const char *s)
{
	return *s == '-' ? (uint64_t)strtoll(s, NULL, 0) : strtoull(s, NULL, 0);
}

static inline void spec_word(struct spec_file *f, const char *w, size_t n)
{
	const char *v = memchr(w, ':', n);
	size_t len;

	if (!v++)
		abort();
	len = n - (size_t)(v - w);
	switch (*w) {
	case 'm':
		spec_text(f, v, len);
		return;
	case 's':
	case 'S':
	case 'Z':
		spec_number(f, len, *w == 'S' ? 4 : 8, *w == 'Z');
		spec_text(f, v, len);
		return;
	case 'B':
		spec_number(f, spec_parse(v), w[1] - '0', 1);
		return;
	case 'f': {
		float x = strtof(v, NULL);
		uint32_t u;

		memcpy(&u, &x, 4);
		spec_number(f, u, 4, 0);
		return;
	}
	case 'd': {
		double x = strtod(v, NULL);
		uint64_t u;

		memcpy(&u, &x, 8);
		spec_number(f, u, 8, 0);
		return;
	}
	case 'z':
	case 'c': {
		const char *byte = *w == 'c' ? strchr(v, ',') : NULL;

		for (uint64_t k = spec_parse(v); k; k--)
			spec_number(f, byte ? spec_parse(byte + 1) : 0, 1, 0);
		return;
	}
	case 'p':
		while (f->n % spec_parse(v))
			spec_number(f, 0, 1, 0);
		return;
	default:
		spec_number(f, spec_parse(v), *w - '0', 0);
	}
}

/* Builds the bytes of a spec; the caller frees p. */
static inline struct spec_file spec_build(const char *spec)
{
	struct spec_file f = {0};

	while (*spec) {
		size_t n = strcspn(spec, " ");

		if (n)
			spec_word(&f, spec, n);
		spec += n + (spec[n] != 0);
	}
	return f;
}

#endif /* LLAMAD_TESTS_GGUF_SPEC_H */
