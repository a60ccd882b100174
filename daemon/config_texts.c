/* SPDX-License-Identifier: MIT
 *
 * What is written from the rows: the configuration that holds, the example file, and the
 * manual pages llamad.conf(5) and llamad(8). */
#include <string.h>

#include "core/cli/texts.h"
#include "daemon/config.h"
#include "llamad/attr.h"
#include "llamad/version.h"

/* Whether row i begins a section. */
static bool first_of_section(const struct lmi_config_table *t, uint32_t i)
{
	return !i || strcmp(t->row[i].section, t->row[i - 1].section);
}

/* ---- as a file ---- */

/* Word i of "a|b|c". */
static void put_word(FILE *f, const char *words, int64_t i)
{
	for (; i > 0; i--)
		words += strcspn(words, "|") + 1;
	fprintf(f, "%.*s", (int)strcspn(words, "|"), words);
}

static void print_row(FILE *f, const struct lmi_config_row *row, const struct lmi_config *c)
{
	const char *member = (const char *)c + row->at;
	int64_t v;
	char key[LMI_CONFIG_KEY_BYTES];

	lmi_config_key(row, key, sizeof(key));
	if (row->opt.type == LMI_OPT_LIST) {
		const struct lmi_config_list *list = (const struct lmi_config_list *)member;

		for (uint32_t i = 0; i < list->n; i++)
			fprintf(f, "%s = %s\n", key, list->item[i]);
		return;
	}
	if (row->opt.type == LMI_OPT_STR) {
		const char *s = *(const char *const *)member;

		if (s)
			fprintf(f, "%s = %s\n", key, s);
		return;
	}
	v = *(const int64_t *)member;
	if (!row->opt.def && !v)
		return;
	fprintf(f, "%s = ", key);
	if (row->opt.type == LMI_OPT_CHOICE)
		put_word(f, row->opt.value, v);
	else
		fprintf(f, "%lld%s", (long long)v, row->opt.type == LMI_OPT_TIME ? "ms" : "");
	putc('\n', f);
}

void lmi_config_print(FILE *f, const struct lmi_config *c)
{
	struct lmi_config_table t;

	lmi_config_table_init(&t);
	fprintf(f, "# %s\n", c->file ? c->file : "no configuration file");
	for (uint32_t i = 0; i < t.n; i++) {
		if (first_of_section(&t, i))
			fprintf(f, "\n[%s]\n", t.row[i].section);
		print_row(f, &t.row[i], c);
	}
}

/* Words as comment lines of at most 80 columns. */
static void put_comment(FILE *f, const char *text)
{
	int at = 1;

	putc('#', f);
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at > 1 && at + 1 + n > 80) {
			fputs("\n#", f);
			at = 1;
		}
		fprintf(f, " %.*s", n, text);
		at += 1 + n;
		text += n;
		text += strspn(text, " ");
	}
	putc('\n', f);
}

void lmi_config_example(FILE *f)
{
	char key[LMI_CONFIG_KEY_BYTES], bounds[192], text[1024];
	struct lmi_config_table t;

	lmi_config_table_init(&t);
	fputs("# Configuration of llamad, see llamad.conf(5).\n"
	      "# Written by 'llamad --emit-config': every key, commented out, at its default.\n",
	      f);
	for (uint32_t i = 0; i < t.n; i++) {
		const struct lmi_opt *o = &t.row[i].opt;

		if (first_of_section(&t, i))
			fprintf(f, "\n[%s]\n", t.row[i].section);
		lmi_opt_bounds(o, bounds, sizeof(bounds));
		snprintf(text, sizeof(text), "%s%s%s", o->doc, *bounds ? " " : "", bounds);
		putc('\n', f);
		put_comment(f, text);
		if (t.row[i].unset) {
			snprintf(text, sizeof(text), "Default: %s.", t.row[i].unset);
			put_comment(f, text);
		}
		fprintf(f, "#%s = %s\n", lmi_config_key(&t.row[i], key, sizeof(key)),
			o->def ? o->def : o->value);
	}
}

/* ---- manual pages ---- */

static void put_head(FILE *f, const char *title, const char *section, const char *option)
{
	fprintf(f,
		".\\\" SPDX-License-Identifier: MIT\n"
		".\\\" Written by 'llamad --%s' from its table of keys.\n"
		".TH %s %s \"\" \"llamad %s\"\n",
		option, title, section, LMD_VERSION);
}

static void put_key(FILE *f, const struct lmi_config_row *row)
{
	char key[LMI_CONFIG_KEY_BYTES], bounds[192];

	fprintf(f, ".TP\n\\fB%s\\fR = \\fI", lmi_config_key(row, key, sizeof(key)));
	lmi_roff_text(f, row->opt.value);
	fputs("\\fR\n", f);
	lmi_roff_text(f, row->opt.doc);
	lmi_opt_bounds(&row->opt, bounds, sizeof(bounds));
	if (*bounds) {
		putc(' ', f);
		lmi_roff_text(f, bounds);
	}
	putc('\n', f);
	if (row->unset) {
		fputs("Default: ", f);
		lmi_roff_text(f, row->unset);
		fputs(".\n", f);
	}
	if (row->opt.type == LMI_OPT_LIST)
		fputs("The key may be repeated.\n", f);
	if (row->live)
		fputs("Can be changed while the daemon runs.\n", f);
	if (row->option) {
		fputs("Option: \\fB\\-\\-", f);
		lmi_roff_text(f, row->opt.name);
		fputs("\\fR.\n", f);
	}
}

static const struct lmi_roff_item config_examples[] = {
	{"[daemon]\ndrain = 60s\n\n[limits]\nconnections = 64\nmessage = 4M",
	 "Give running answers a minute at a shutdown; allow fewer connections and smaller messages:"},
	{"[daemon]\nlisten = tls+tcp://0.0.0.0:7443\ntls_cert = /etc/llamad/cert.pem\n"
	 "tls_key = /etc/llamad/key.pem",
	 "Clients on other machines, with a key (`llamactl key add`) and TLS:"},
	{"[models]\nmodel_dir = /srv/models", "Administrators may add models below one folder only:"},
	{"llamad --config new.conf --check-config && systemctl reload llamad",
	 "Check a file before the running daemon reads it:"},
};

static const struct lmi_roff_item config_files[] = {
	{LMI_CONFIG_FILE, "Read when --config names no other file."},
	{"PREFIX/share/doc/llamad/llamad.conf", "Every key at its default; also `llamad --emit-config`."},
};

void lmi_config_man(FILE *f)
{
	struct lmi_config_table t;

	lmi_config_table_init(&t);
	put_head(f, "LLAMAD.CONF", "5", "emit\\-config\\-man");
	fputs(".SH NAME\nllamad.conf \\- configuration of llamad\n"
	      ".SH SYNOPSIS\n\\fI" LMI_CONFIG_FILE "\\fR\n"
	      ".SH DESCRIPTION\n"
	      "The file consists of sections, \\fB[\\fIname\\fB]\\fR, and of lines "
	      "\\fIkey\\fB = \\fIvalue\\fR below them.\n"
	      "Blanks around keys and values do not count; a value is the rest of its line, "
	      "without quotes.\n"
	      "Empty lines and lines that begin with \\fB#\\fR or \\fB;\\fR are comments.\n"
	      "A key stands once at most, unless it says that it may be repeated.\n"
	      ".PP\n"
	      "Numbers of bytes take the units k, M, G and T (powers of 1024), times need a unit: "
	      "ms, s, m or h.\n"
	      ".PP\n"
	      "The file is used as a whole or refused as a whole: an unknown section or key, a "
	      "value out of its range or a key that is set twice is an error that names file and "
	      "line.\n"
	      "\\fBllamad \\-\\-check\\-config\\fR reads it and prints what holds.\n"
	      ".PP\n"
	      "SIGHUP makes a running daemon read the file again.\n"
	      "When the new one is refused, or changes a key that a running daemon cannot change, "
	      "everything stays as it was and the log says why.\n"
	      "Options of the command line win over the file, also then.\n",
	      f);
	for (uint32_t i = 0; i < t.n; i++) {
		if (first_of_section(&t, i))
			fprintf(f, ".SH \"[%s]\"\n", t.row[i].section);
		put_key(f, &t.row[i]);
	}
	lmi_roff_examples(f, config_examples, LMD_LEN(config_examples));
	lmi_roff_list(f, "FILES", config_files, LMD_LEN(config_files));
	fputs(".SH \"SEE ALSO\"\n\\fBllamad\\fR(8), \\fBllamactl\\fR(1)\n", f);
}

static const struct lmi_roff_item daemon_examples[] = {
	{"llamad\nllamactl list",
	 "Start a daemon of your own and, in another terminal, look at its models:"},
	{"llamad --socket ipc:///tmp/me.sock --state-dir /tmp/me\n"
	 "llamactl --socket ipc:///tmp/me.sock list",
	 "A second daemon for experiments:"},
	{"systemctl enable --now llamad\nusermod --append --groups llamad alice",
	 "Start the system's daemon now and at boot, and let a user ask it:"},
	{"llamad --check-config", "Print the effective settings without starting the daemon:"},
};

static const struct lmi_roff_item daemon_files[] = {
	{LMI_CONFIG_FILE, "The configuration, llamad.conf(5)."},
	{"/run/llamad/llamad.sock", "The socket of the system's daemon."},
	{"$XDG_RUNTIME_DIR/llamad/llamad.sock", "The socket of a user's own daemon."},
	{"/var/lib/llamad",
	 "The state of the system's daemon: the registry of models, imported files."},
	{"$XDG_STATE_HOME/llamad, ~/.local/state/llamad", "The state of a user's own daemon."},
	{"PREFIX/lib/llamad/plugins", "Plugins; the program looks beside itself."},
};

static const struct lmi_roff_item daemon_environment[] = {
	{"RUNTIME_DIRECTORY, STATE_DIRECTORY",
	 "The folders of socket and state, as systemd gives them."},
	{"XDG_RUNTIME_DIR, XDG_STATE_HOME, HOME", "The same folders for a user's own daemon."},
	{"NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
	 "Where systemd is told that the daemon is ready and lives."},
	{"JOURNAL_STREAM",
	 "Messages have priorities when standard error is the journal."},
};

void lmi_daemon_man(FILE *f)
{
	struct lmi_options o;

	lmi_options_init(&o);
	put_head(f, "LLAMAD", "8", "emit\\-man");
	fputs(".SH NAME\nllamad \\- serve language models\n"
	      ".SH SYNOPSIS\n\\fBllamad\\fR [\\fIOPTION\\fR]...\n"
	      ".SH DESCRIPTION\n"
	      "llamad keeps language models in memory and serves the clients that connect to its "
	      "socket.\n"
	      "It runs in the foreground, logs to standard error (with priorities that the journal "
	      "understands when standard error is the journal), and is ready when "
	      "\\fBllamactl ping\\fR answers; under systemd it says so itself.\n"
	      ".PP\n"
	      "Options win over the configuration file, llamad.conf(5).\n"
	      ".SH OPTIONS\n",
	      f);
	for (uint32_t i = 0; i < o.prog.n_opts; i++)
		lmi_roff_option(f, &o.opt[i]);
	fputs(".SH SIGNALS\n"
	      ".TP\nSIGTERM, SIGINT\n"
	      "Take no new work, let running generations go on for the time of the key "
	      "\\fBdrain\\fR, end what is left, and exit with status 0.\n"
	      "A second one ends what is running at once.\n"
	      ".TP\nSIGHUP\n"
	      "Read the configuration again, and look for plugins again.\n"
	      ".SH \"EXIT STATUS\"\n"
	      ".TP\n0\nStopped as asked.\n"
	      ".TP\n1\nCould not start or go on; the last line on standard error says why.\n"
	      ".TP\n2\nThe command line is wrong.\n",
	      f);
	lmi_roff_examples(f, daemon_examples, LMD_LEN(daemon_examples));
	lmi_roff_list(f, "FILES", daemon_files, LMD_LEN(daemon_files));
	lmi_roff_list(f, "ENVIRONMENT", daemon_environment, LMD_LEN(daemon_environment));
	fputs(".SH \"SEE ALSO\"\n\\fBllamad.conf\\fR(5), \\fBllamactl\\fR(1)\n",
	      f);
}
