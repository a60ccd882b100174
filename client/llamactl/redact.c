/* SPDX-License-Identifier: MIT
 *
 * One pass over the lines of a text. What looks like a secret is removed even if it is none. */
#include "client/llamactl/redact.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "llamad/attr.h"

#define RUN_MIN	 24 /* letters and digits */
#define RUN_MAX	 1024 /* of one step; the rest is the next run */
#define PART_MIN 8  /* of a run with joints: with both letters and digits */
#define REMOVED "(removed)"

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns whether a byte is part of the name of a key. */
static bool is_word(char c)
{
	return is_alpha(c) || is_digit(c) || c == '_' || c == '-';
}

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n >= k && !strncasecmp(s + n - k, end, k);
}

/* Returns whether the value of this key is removed. */
static bool is_secret_key(const char *key, size_t n)
{
	static const char *const whole[] = {"system", "template", "prefix", "suffix", "messages"};
	static const char *const ends[] = {"key",	   "token",	 "secret",	  "password",
					    "passwd",	   "passphrase", "authorization", "bearer",
					    "cookie"};

	for (size_t i = 0; i < LMD_LEN(whole); i++)
		if (n == strlen(whole[i]) && !strncasecmp(key, whole[i], n))
			return true;
	for (size_t i = 0; i < LMD_LEN(ends); i++)
		if (ends_with(key, n, ends[i]))
			return true;
	return false;
}

/* Returns where the value after a key at `k` begins, or n if there is none. The value of an option
 * may be the next word: --api-key VALUE. */
static size_t value_after(const char *line, size_t n, size_t k, bool next_word)
{
	size_t at = k;

	while (at < n && strchr(" \t\"'", line[at]))
		at++;
	if (at < n && (line[at] == '=' || line[at] == ':'))
		for (at++; at < n && line[at] == ' ';)
			at++;
	else if (!next_word || at == k)
		return n;
	return at;
}

/* Returns where the first value of a line begins that is removed to the end of the line; NULL if
 * there is none. */
static const char *secret_value(const char *line, size_t n)
{
	for (size_t from = 0, k; from < n; from = k + 1) {
		size_t at;
		bool next_word;

		for (k = from; k < n && is_word(line[k]);)
			k++;
		if (k == from || !is_secret_key(line + from, k - from))
			continue;
		next_word = line[from] == '-' ||
			    (k - from == 6 && !strncasecmp(line + from, "bearer", 6));
		at = value_after(line, n, k, next_word);
		if (at < n)
			return line + at;
	}
	return NULL;
}

static bool is_joint(char c)
{
	return c && strchr("+/_-", c);
}

/* Returns the length of a run that looks like a secret, otherwise 0. The parts of a run are joined
 * by one or two of + / _ -, but a path has no joint /. Names are joined as well: a run of several
 * parts counts if one of them is as random as "4f0a9c21". */
static size_t secret_run(const char *s, const char *end, bool is_path)
{
	size_t n = 0, n_part = 0, n_all = 0, n_joint = 0, n_parts = 0;
	bool alpha = false, digit = false, random = false;

	if (!is_alpha(*s) && !is_digit(*s))
		return 0;
	for (; s + n < end && n < RUN_MAX; n++) {
		if (is_alpha(s[n]) || is_digit(s[n])) {
			n_parts += !n_part;
			n_part++;
			n_all++;
			n_joint = 0;
			alpha |= is_alpha(s[n]);
			digit |= is_digit(s[n]);
			random |= n_part >= RUN_MIN || (n_part >= PART_MIN && alpha && digit);
		} else if (is_joint(s[n]) && !(is_path && s[n] == '/') && n_joint < 2) {
			n_part = 0;
			n_joint++;
			alpha = digit = false;
		} else {
			break;
		}
	}
	n -= n_joint;
	if (n_all < RUN_MIN || !random)
		return 0;
	for (; s + n < end && s[n] == '='; n++)
		;
	return n;
}

static bool is_file_name(char c)
{
	return is_word(c) || c == '.';
}

/* Returns the length of a path's part that names a user, and its replacement, otherwise 0. */
static size_t user_folder(const char *line, const char *p, const char *end, const char *home,
			  const char **text)
{
	size_t n = home ? strlen(home) : 0, left = (size_t)(end - p);

	while (n && home[n - 1] == '/')
		n--;
	if (n && left >= n && !memcmp(p, home, n) && (left == n || !is_file_name(p[n])) &&
	    (p == line || !is_file_name(p[-1]))) {
		*text = "~";
		return n;
	}
	n = 6;
	if (left <= n || memcmp(p, "/home/", n) != 0)
		return 0;
	while (n < left && !strchr(" \t\"'/:;,<>()", p[n]))
		n++;
	*text = "/home/" REMOVED;
	return n == 6 ? 0 : n;
}

/* Returns the length of "user:password@" after "://", otherwise 0. */
static size_t credentials(const char *s, const char *end)
{
	for (const char *p = s; p < end && !strchr(" \t\"'/<>", *p); p++)
		if (*p == '@')
			return (size_t)(p + 1 - s);
	return 0;
}

static void put_line(FILE *f, const char *line, const char *end, const char *home)
{
	const char *stop = secret_value(line, (size_t)(end - line)), *text = REMOVED;
	bool in_run = false, is_path = false;
	size_t k;

	for (const char *p = line; p < (stop ? stop : end); p++) {
		k = user_folder(line, p, stop ? stop : end, home, &text);
		if (!k && !in_run) {
			text = REMOVED;
			k = secret_run(p, stop ? stop : end, is_path);
		}
		if (k) {
			(void)fputs(text, f);
			p += k - 1;
			continue;
		}
		in_run = is_alpha(*p) || is_digit(*p);
		is_path = strchr("/~.", *p) || (is_path && is_word(*p));
		(void)fputc(*p, f);
		if (p - line >= 2 && !memcmp(p - 2, "://", 3))
			p += credentials(p + 1, end);
	}
	if (stop && stop < end)
		(void)fputs(REMOVED, f);
}

char *lmi_ctl_redact(const char *text, const char *home)
{
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	if (!f)
		return NULL;
	while (*text) {
		const char *end = text + strcspn(text, "\n");

		put_line(f, text, end, home);
		if (*end)
			(void)fputc(*end++, f);
		text = end;
	}
	if (!fclose(f))
		return out;
	free(out);
	return NULL;
}
