/* SPDX-License-Identifier: MIT
 *
 * llamactl plugins new: writes the beginning of a plugin.  It is the example of its kind (examples/),
 * a complete plugin in a page or few, under another name. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/plugin_examples.h"

#define NAME_MAX_BYTES 32
#define MAKEFILE       "Makefile"
#define MAKEFILE_OF    "sampler-margin" /* whose Makefile it is */

static const struct kind {
	const char *name, *example; /* example without .c */
} kinds[] = {{"arch", "bigram"},
	     {"backend", "tiny"},
	     {"format", "llama2c"},
	     {"sampler", "margin"},
	     {"tokenizer", "bytes"}};

/* ---- names ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns true if text[at], where `old` begins, is the plugin's name and not another word: a name in
 * quotes, in a file's name, in a key, or the beginning of a function's name. */
static bool is_name(const char *text, size_t at, const char *old)
{
	const char *end = text + at + strlen(old);
	char before = at ? text[at - 1] : '\n';

	if (in_word(before))
		return false;
	return before == '"' || *end == '"' || *end == '_' || *end == ':' ||
	       (*end == '.' && isalpha((unsigned char)end[1]));
}

static void put_source(FILE *f, const char *text, const struct kind *k, const char *name)
{
	size_t n = strlen(k->example);

	for (size_t i = 0; text[i];) {
		if (!strncmp(text + i, k->example, n) && is_name(text, i, k->example)) {
			fputs(name, f);
			i += n;
		} else {
			putc(text[i++], f);
		}
	}
}

/* The Makefile is that of one example; it has the plugin's name, and that of its source. */
static void put_makefile(FILE *f, const char *text, const struct kind *k, const char *name)
{
	const char *source = strchr(MAKEFILE_OF, '-') + 1;

	for (size_t i = 0; text[i];) {
		if (!strncmp(text + i, MAKEFILE_OF, strlen(MAKEFILE_OF))) {
			fprintf(f, "%s-%s", k->name, name);
			i += strlen(MAKEFILE_OF);
		} else if (!strncmp(text + i, source, strlen(source))) {
			fputs(name, f);
			i += strlen(source);
		} else {
			putc(text[i++], f);
		}
	}
}

static enum lmd_status check_name(const char *name, struct lmd_error *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (name[n] || !islower((unsigned char)*name) || n > NAME_MAX_BYTES)
		return lmd_fail(err, LMD_INVALID,
				"'%.60s' is not a name for a plugin: up to %d characters a-z, 0-9 and "
				"_, the first one a letter",
				name, NAME_MAX_BYTES);
	return LMD_OK;
}

/* ---- files ---- */

static const char *example(const char *file)
{
	for (unsigned i = 0; i < lmi_ctl_plugin_examples_n; i++)
		if (!strcmp(lmi_ctl_plugin_examples[i].name, file))
			return lmi_ctl_plugin_examples[i].text;
	return NULL;
}

/* Writes DIR/FILE. */
static enum lmd_status write_file(const char *dir, const char *file, const char *text,
				  void (*put)(FILE *f, const char *text, const struct kind *k,
					      const char *name),
				  const struct kind *k, const char *name, struct lmd_error *err)
{
	char path[160];
	FILE *f;
	bool failed;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "wx");
	if (!f)
		return lmd_fail(err, LMD_IO, "%s: %s", path, strerror(errno));
	put(f, text, k, name);
	failed = ferror(f);
	failed = fclose(f) || failed;
	if (failed)
		return lmd_fail(err, LMD_IO, "%s: cannot be written: %s", path, strerror(errno));
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *kind = lmi_arg_pos(&ctl->args, 0), *name = lmi_arg_pos(&ctl->args, 1);
	char dir[64], from[64], to[64];
	struct lmi_ctl_json j;
	const struct kind *k = NULL;
	enum lmd_status st;

	for (size_t i = 0; i < LMD_LEN(kinds); i++)
		if (!strcmp(kinds[i].name, kind))
			k = &kinds[i];
	if (!k)
		return lmi_ctl_usage(ctl, err,
				     "'%s' is not a kind of plugin: arch, backend, format, "
				     "sampler or tokenizer", kind);
	st = check_name(name, err);
	if (st != LMD_OK)
		return st;
	(void)snprintf(dir, sizeof(dir), "%s-%s", k->name, name);
	(void)snprintf(from, sizeof(from), "%s.c", k->example);
	(void)snprintf(to, sizeof(to), "%s.c", name);
	if (mkdir(dir, 0755)) /* plugins in a folder that its group may write are refused */
		return lmd_fail(err, errno == EEXIST ? LMD_INVALID : LMD_IO, "%s: %s", dir,
				strerror(errno));
	st = write_file(dir, to, example(from), put_source, k, name, err);
	if (st == LMD_OK)
		st = write_file(dir, MAKEFILE, example(MAKEFILE), put_makefile, k, name, err);
	if (st != LMD_OK)
		return st;
	if (!lmi_arg_flag(&ctl->args, "json")) {
		printf("%s/%s\n%s/" MAKEFILE "\n", dir, to, dir);
		return LMD_OK;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "folder", dir);
	lmi_ctl_json_flat_array(&j, "files");
	lmi_ctl_json_str(&j, NULL, to);
	lmi_ctl_json_str(&j, NULL, MAKEFILE);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_plugins_new = {
	.name = "plugins new",
	.args = "KIND NAME",
	.brief = "Write the beginning of a plugin",
	.doc = "KIND is arch, backend, format, sampler or tokenizer. Makes the folder KIND-NAME with NAME.c, a "
	       "small complete plugin of that kind to be changed, and a Makefile. `make` builds it "
	       "with the installed headers, `make check` tests it with `llamactl plugins test`, and "
	       "`make install` puts it where llamad and llamactl find it.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
