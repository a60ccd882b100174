/* SPDX-License-Identifier: MIT
 *
 * A screen of what the daemon is doing, drawn again and again. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/top_sample.h"

#define HOME	   "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"
#define OPEN	   "\033[?1049h\033[?25l" /* a screen of its own, without a cursor */
#define CLOSE	   "\033[?25h\033[?1049l"

/* ---- the text ---- */

static const char *word(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "-";
}

static json_int_t number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static double rate(const json_t *rates, const char *name)
{
	return json_number_value(json_object_get(rates, name));
}

static void put_head(FILE *out, const struct lmi_ctl_top_sample *s, const json_t *rates)
{
	char up[24], used[24], limit[24];

	fprintf(out, "llamad %s, %s, up %s\n", word(s->status, "version"), word(s->status, "state"),
		lmi_ctl_show_ms(up, sizeof(up), number(s->status, "uptime_ms")));
	fprintf(out, "Requests: %lld running, %lld waiting. Streams: %lld. Connections: %lld. ",
		(long long)number(s->status, "running"), (long long)number(s->status, "waiting"),
		(long long)number(s->status, "streams"), (long long)number(s->status, "connections"));
	fprintf(out, "Memory: %s",
		lmi_ctl_show_bytes(used, sizeof(used), number(s->status, "memory_bytes")));
	if (number(s->status, "memory_limit"))
		fprintf(out, " of %s",
			lmi_ctl_show_bytes(limit, sizeof(limit), number(s->status, "memory_limit")));
	fputs(".\n", out);
	if (!rates) {
		fputs("Tokens per second: measuring ...\n", out);
		return;
	}
	fprintf(out,
		"Tokens per second: %.1f generated; %.1f computed, %.1f taken from the cache; %.1f steps\n",
		rate(rates, "generation_tokens_per_s"), rate(rates, "computed_tokens_per_s"),
		rate(rates, "cached_tokens_per_s"), rate(rates, "steps_per_s"));
}

static void put_table(FILE *out, const json_t *rows, const struct lmi_ctl_column *cols, size_t n_cols)
{
	if (!json_array_size(rows))
		return;
	fputc('\n', out);
	lmi_ctl_table_print(out, 0, rows, cols, n_cols);
}

static void put_all(FILE *out, const struct lmi_ctl_top_sample *s, const json_t *rates)
{
	static const struct lmi_ctl_column devices[] = {
		{"DEVICE", "name", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_TEXT},
		{"MODELS", "models", LMI_CTL_COL_COUNT},
		{"USED", "memory_models", LMI_CTL_COL_BYTES},
		{"FREE", "memory_free", LMI_CTL_COL_BYTES},
		{"TOTAL", "memory_total", LMI_CTL_COL_BYTES},
		{"DESCRIPTION", "description", LMI_CTL_COL_TEXT},
	};
	static const struct lmi_ctl_column models[] = {
		{"MODEL", "model", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_STATE},
		{"BACKEND", "backend", LMI_CTL_COL_TEXT},
		{"ACTIVE", "active", LMI_CTL_COL_COUNT},
		{"WAITING", "waiting", LMI_CTL_COL_COUNT},
		{"TOKENS/S", "generation_tokens_per_s", LMI_CTL_COL_COUNT},
		{"DRAFTS %", "drafts_accepted_percent", LMI_CTL_COL_COUNT},
		{"WEIGHTS", "weight_bytes", LMI_CTL_COL_BYTES},
		{"KV RESERVED", "kv_bytes", LMI_CTL_COL_BYTES},
		{"IDLE", "idle_ms", LMI_CTL_COL_TIME},
	};
	static const struct lmi_ctl_column streams[] = {
		{"STREAM", "id", LMI_CTL_COL_TEXT},   {"KIND", "kind", LMI_CTL_COL_TEXT},
		{"MODEL", "model", LMI_CTL_COL_TEXT}, {"STATE", "state", LMI_CTL_COL_TEXT},
		{"ITEMS", "last", LMI_CTL_COL_COUNT}, {"AGE", "age_ms", LMI_CTL_COL_TIME},
	};

	put_head(out, s, rates);
	put_table(out, s->models, models, LMD_LEN(models));
	put_table(out, s->streams, streams, LMD_LEN(streams));
	put_table(out, s->devices, devices, LMD_LEN(devices));
}

static void print_json(const struct lmi_ctl_top_sample *s, const json_t *rates)
{
	json_t *o = json_pack("{sO sO? sO sO sO}", "status", s->status, "rates", (json_t *)rates,
			      "models", s->models, "streams", s->streams, "devices", s->devices);

	if (o)
		(void)json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

/* ---- the screen ---- */

struct screen {
	bool on; /* standard input and output are a terminal */
	struct termios before;
	char *last; /* the latest report; NULL: none */
};

static void screen_open(struct screen *s)
{
	struct termios t;

	s->on = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &s->before);
	if (!s->on)
		return;
	t = s->before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
	fputs(OPEN, stdout);
}

static void screen_close(struct screen *s)
{
	if (!s->on)
		return;
	fputs(CLOSE, stdout);
	(void)fflush(stdout);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
}

/* Returns the bytes of the first `most` characters of a line. */
static int cut(const char *line, size_t n, int most)
{
	size_t i = 0;

	for (; i < n && most >= 0; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80 && !most--)
			return (int)i;
	return (int)n;
}

/* Draws as many lines, and as much of each, as the terminal has room for. */
static void screen_draw(const char *text)
{
	struct winsize w = {0};
	int rows, columns;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	rows = w.ws_row ? w.ws_row : 24;
	columns = w.ws_col ? w.ws_col : 80;
	fputs(HOME, stdout);
	for (int row = 0; *text && row < rows - 1; row++) {
		size_t n = strcspn(text, "\n");

		printf("%.*s" CLEAR_LINE "\r\n", cut(text, n, columns), text);
		text += n + (text[n] == '\n');
	}
	fputs(CLEAR_REST "Press q to leave." CLEAR_LINE, stdout);
}

/* Waits. Returns false if a signal came or, at a terminal, q was pressed; *quit: it was q. */
static bool wait_for(const struct screen *s, int64_t ms, bool *quit)
{
	struct pollfd p = {.fd = s->on ? STDIN_FILENO : -1, .events = POLLIN};
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	sigset_t ours, old;
	char key = 0;
	int n = 0;

	/* a signal between the check of the flag and the wait stays pending until the wait */
	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGINT);
	(void)sigaddset(&ours, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &ours, &old);
	if (!lmi_ctl_interrupted())
		n = ppoll(&p, 1, &time, &old);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* the end of the input, when the terminal has gone, is a reason to leave as well */
	*quit = n > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q');
	return !lmi_ctl_interrupted() && !*quit;
}

/* ---- the command ---- */

static enum lmd_status show(struct screen *screen, bool json, bool first,
			    const struct lmi_ctl_top_sample *s, const json_t *rates,
			    struct lmd_error *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f;

	if (json) {
		print_json(s, rates);
		return LMD_OK;
	}
	f = open_memstream(&text, &n);
	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the screen");
	put_all(f, s, rates);
	if (fclose(f)) {
		free(text);
		return lmd_fail(err, LMD_NOMEM, "no memory for the screen");
	}
	if (!screen->on) {
		printf("%s%s", first ? "" : "\n", text);
		free(text);
		return LMD_OK;
	}
	screen_draw(text);
	free(screen->last);
	screen->last = text;
	return LMD_OK;
}

static enum lmd_status show_again(struct lmi_ctl *ctl, struct screen *screen,
				  struct lmd_error *err)
{
	int64_t count = lmi_arg_int(&ctl->args, "count"), ms = lmi_arg_int(&ctl->args, "interval");
	bool json = lmi_arg_flag(&ctl->args, "json"), quit = false;
	struct lmi_ctl_top_sample before = {0}, now;
	enum lmd_status st = LMD_OK;

	for (int64_t i = 0; st == LMD_OK && (!count || i < count); i++) {
		json_t *rates;

		if (i && !wait_for(screen, ms, &quit)) {
			st = quit ? LMD_OK : LMD_CANCELLED;
			break;
		}
		st = lmi_ctl_top_sample(ctl, &now, err);
		if (st != LMD_OK)
			break;
		rates = lmi_ctl_top_rates(&before, &now);
		lmi_ctl_top_add_rates(&before, &now);
		st = show(screen, json, !i, &now, rates, err);
		json_decref(rates);
		(void)fflush(stdout);
		if (st == LMD_OK && ferror(stdout))
			st = lmd_fail(err, LMD_IO, "standard output: %s", strerror(errno));
		lmi_ctl_top_sample_fini(&before);
		before = now;
	}
	lmi_ctl_top_sample_fini(&before);
	return st;
}

static enum lmd_status top(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct screen screen = {0};
	struct lmd_client *c;
	enum lmd_status st = lmi_ctl_client(ctl, &c, err); /* an error is shown on the usual screen */

	if (st != LMD_OK)
		return st;
	lmi_ctl_interrupt_install();
	if (!lmi_arg_flag(&ctl->args, "json"))
		screen_open(&screen);
	st = show_again(ctl, &screen, err);
	screen_close(&screen);
	if (screen.last)
		fputs(screen.last, stdout); /* stays on the usual screen */
	free(screen.last);
	return st;
}

static const struct lmi_opt top_opts[] = {
	{.name = "interval",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 100,
	 .max = 3600000,
	 .def = "2s",
	 .doc = "Time between two reports."},
	{.name = "count",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 0,
	 .max = 1000000000,
	 .def = "0",
	 .doc = "End after N reports; 0: run until q or Ctrl-C."},
	{.name = "json", .type = LMI_OPT_FLAG, .doc = "Print each report as a JSON object on one line."},
};

const struct lmi_cli_cmd lmi_ctl_cmd_top = {
	.name = "top",
	.brief = "Watch the daemon: models, streams, devices, tokens per second",
	.doc = "On a terminal each report replaces the one before, and q quits. Otherwise the reports are "
	       "printed one after the other.\n\nThe tokens computed per second include those of prompts. "
	       "TOKENS/S is the number of tokens that a model has generated per second since the report "
	       "before, DRAFTS % the share of drafted tokens that were accepted. The first report has no "
	       "rates. With --json each object has the members status, rates, models, streams and "
	       "devices; rates is null in the first one.",
	.opts = top_opts,
	.n_opts = LMD_LEN(top_opts),
	.run = top,
};
