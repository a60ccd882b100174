/* SPDX-License-Identifier: MIT
 *
 * Splits a file into sections, keys and values.  Text from the file is escaped before it is quoted in
 * an error message. */
#include "core/cli/conf_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/printable.h"

/* Prefixes the error message with "FILE:LINE". */
static enum lmd_status at_line(const struct lmi_cli_conf *c, enum lmd_status st,
			       struct lmd_error *err)
{
	char where[120], path[90];

	snprintf(where, sizeof(where), "%s:%u", lmi_printable_path(path, sizeof(path), c->path),
		 c->line);
	lmd_error_prefix(err, where);
	return st;
}

static enum lmd_status take_section(struct lmi_cli_conf *c, const char **section, char *text, size_t n,
				    struct lmd_error *err)
{
	char shown[64];

	if (text[n - 1] != ']')
		return lmd_fail(err, LMD_INVALID, "'%s' does not end in ']'",
				lmi_printable(shown, sizeof(shown), text, n));
	text[n - 1] = 0;
	*section = text + 1;
	return c->section(c->arg, *section, err);
}

static enum lmd_status take_pair(struct lmi_cli_conf *c, const char *section, char *text,
				 struct lmd_error *err)
{
	char *eq = strchr(text, '='), *end = eq, shown[64];

	if (!eq)
		return lmd_fail(err, LMD_INVALID,
				"'%s' is neither a comment, a [section] nor key = value",
				lmi_printable(shown, sizeof(shown), text, strlen(text)));
	while (end > text && strchr(" \t", end[-1]))
		end--;
	*end = 0;
	if (!section)
		return lmd_fail(err, LMD_INVALID, "the key '%s' is outside any [section]",
				lmi_printable(shown, sizeof(shown), text, strlen(text)));
	return c->pair(c->arg, section, text, eq + 1 + strspn(eq + 1, " \t"), err);
}

/* Parses one line without its newline: n bytes, then a byte that may be overwritten. */
static enum lmd_status take_line(struct lmi_cli_conf *c, const char **section, char *text, size_t n,
				 struct lmd_error *err)
{
	if (n > LMI_CLI_CONF_LINE)
		return lmd_fail(err, LMD_INVALID, "the line has %zu bytes, the maximum is %u", n,
				LMI_CLI_CONF_LINE);
	if (n && text[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7F)
			return lmd_fail(err, LMD_INVALID, "control byte 0x%02x at column %zu",
					(unsigned char)text[i], i + 1);
	while (n && strchr(" \t", text[n - 1]))
		n--;
	text[n] = 0;
	while (*text == ' ' || *text == '\t') {
		text++;
		n--;
	}
	if (!n || *text == '#' || *text == ';')
		return LMD_OK;
	return *text == '[' ? take_section(c, section, text, n, err)
			    : take_pair(c, *section, text, err);
}

/* Reads the whole file; *n is its length. */
static enum lmd_status read_text(const struct lmi_cli_conf *c, char **text, size_t *n,
				 struct lmd_error *err)
{
	struct lmi_file f = {.fd = -1};
	enum lmd_status st = lmi_file_open(&f, c->path, err);
	char shown[200];

	if (st != LMD_OK)
		return st;
	*n = (size_t)f.bytes;
	if (f.bytes > LMI_CLI_CONF_BYTES)
		st = lmd_fail(err, LMD_INVALID, "%s has %llu bytes, the maximum is %u",
			      lmi_printable_path(shown, sizeof(shown), c->path),
			      (unsigned long long)f.bytes, LMI_CLI_CONF_BYTES);
	else if (!(*text = lmi_arena_array(c->arena, *n + 1, 1)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	else if (*n)
		st = lmi_file_read(&f, 0, *text, *n, err);
	lmi_file_close(&f);
	return st;
}

enum lmd_status lmi_cli_conf_read(struct lmi_cli_conf *c, struct lmd_error *err)
{
	const char *section = NULL;
	char *text = NULL, *end;
	size_t n = 0;
	enum lmd_status st = read_text(c, &text, &n, err);

	c->line = 0;
	end = st == LMD_OK ? text + n : text;
	for (char *p = text; st == LMD_OK && p < end;) {
		char *nl = memchr(p, '\n', (size_t)(end - p));

		nl = nl ? nl : end;
		c->line++;
		st = take_line(c, &section, p, (size_t)(nl - p), err);
		if (st != LMD_OK)
			return at_line(c, st, err);
		p = nl + 1;
	}
	return st;
}
