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

#define RUN_MIN 24
#define REMOVED "(removed)"

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
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
	static const char *const ends[] = {"key", "token", "secret", "password"};

	for (size_t i = 0; i < LMD_LEN(whole); i++)
		if (n == strlen(whole[i]) && !strncasecmp(key, whole[i], n))
			return true;
	for (size_t i = 0; i < LMD_LEN(ends); i++)
		if (ends_with(key, n, ends[i]))
			return true;
	return false;
}

/* Returns where the value of a line begins whose value is removed, otherwise NULL. */
static const char *secret_value(const char *line, size_t n)
{
	size_t from = 0, k;

	while (from < n && strchr(" \t\"#;", line[from]))
		from++;
	for (k = from; k < n && (is_alpha(line[k]) || is_digit(line[k]) || strchr("_-", line[k]));)
		k++;
	if (k == from || !is_secret_key(line + from, k - from))
		return NULL;
	while (k < n && strchr(" \t\"", line[k]))
		k++;
	if (k == n || (line[k] != '=' && line[k] != ':'))
		return NULL;
	for (k++; k < n && line[k] == ' ';)
		k++;
	return line + k;
}

/* Returns the length of a run that looks like a secret, otherwise 0. */
static size_t secret_run(const char *s, const char *end)
{
	bool alpha = false, digit = false;
	size_t n = 0;

	for (; s + n < end && (is_alpha(s[n]) || is_digit(s[n])); n++) {
		alpha |= is_alpha(s[n]);
		digit |= is_digit(s[n]);
	}
	return n >= RUN_MIN && alpha && digit ? n : 0;
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
	size_t n_home = home ? strlen(home) : 0, k;
	const char *stop = secret_value(line, (size_t)(end - line));
	bool in_run = false;

	for (const char *p = line; p < (stop ? stop : end); p++) {
		if (n_home > 1 && (size_t)(end - p) >= n_home && !memcmp(p, home, n_home)) {
			(void)fputc('~', f);
			p += n_home - 1;
			continue;
		}
		k = in_run ? 0 : secret_run(p, end);
		if (k) {
			(void)fputs(REMOVED, f);
			p += k - 1;
			continue;
		}
		in_run = is_alpha(*p) || is_digit(*p);
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
