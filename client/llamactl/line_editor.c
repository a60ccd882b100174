/* SPDX-License-Identifier: MIT
 *
 * libedit reads characters through a function of this file, so that a signal ends the wait for a
 * key without a race.  A build without libedit, and standard input that is no terminal, read plain
 * lines. */
#include "client/llamactl/line_editor.h"

#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/user_state.h"
#include "core/base/alloc.h"
#include "llamad/attr.h"

#ifdef LMD_HAVE_LIBEDIT
#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <sys/stat.h>
#include <wchar.h>

#define HISTORY_MAX 1000
#endif

struct lmi_ctl_line_editor {
	char *line; /* of plain input */
	size_t cap;
	struct termios shown; /* how the terminal was before it was hidden */
	bool hidden;
#ifdef LMD_HAVE_LIBEDIT
	EditLine *el; /* NULL: plain input */
	History *history;
	const char *prompt;
	char *text; /* the line, on the heap */
	char path[PATH_MAX]; /* of the history; "": not kept */
#endif
};

void lmi_ctl_line_editor_hide(struct lmi_ctl_line_editor *e)
{
	struct termios t;

	if (e->hidden || tcgetattr(STDIN_FILENO, &e->shown))
		return;
	t = e->shown;
	t.c_lflag &= ~(tcflag_t)ECHO;
	e->hidden = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
}

void lmi_ctl_line_editor_show(struct lmi_ctl_line_editor *e)
{
	if (e->hidden)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &e->shown);
	e->hidden = false;
}

/* ---- plain input ---- */

static enum lmi_ctl_line read_plain(struct lmi_ctl_line_editor *e, const char *prompt,
				    const char **text, size_t *n)
{
	bool terminal = isatty(STDIN_FILENO);
	ssize_t got;

	if (terminal)
		fputs(prompt, stderr);
	got = lmi_ctl_read_line(&e->line, &e->cap);
	if (got < 0 && terminal)
		putc('\n', stderr); /* ends the line of the prompt */
	if (got < 0)
		return lmi_ctl_interrupted() ? LMI_CTL_LINE_STOPPED : LMI_CTL_LINE_END;
	got -= got && e->line[got - 1] == '\n';
	e->line[got] = 0;
	*text = e->line;
	*n = (size_t)got;
	return LMI_CTL_LINE_TEXT;
}

#ifdef LMD_HAVE_LIBEDIT

/* ---- libedit ---- */

static wchar_t *show_prompt(EditLine *el)
{
	static wchar_t wide[64];
	struct lmi_ctl_line_editor *e = NULL;

	(void)el_wget(el, EL_CLIENTDATA, &e);
	if (!e || mbstowcs(wide, e->prompt, LMD_LEN(wide) - 1) == (size_t)-1)
		return wcscpy(wide, L"> "); /* not characters of this locale */
	return wide;
}

/* Reads a character of any number of bytes; -1: a signal, 0: the end of the input. */
static int read_key(EditLine *el, wchar_t *out)
{
	mbstate_t state = {0};
	char c;

	(void)el;
	for (;;) {
		ssize_t got = lmi_ctl_read_input(&c, 1);
		size_t used;

		if (got <= 0)
			return (int)got;
		used = mbrtowc(out, &c, 1, &state);
		if (used == (size_t)-1) { /* not a character of this locale: its byte */
			*out = (unsigned char)c;
			return 1;
		}
		if (used != (size_t)-2)
			return 1;
	}
}

static unsigned char insert_newline(EditLine *el, int key)
{
	(void)key;
	return el_insertstr(el, "\n") ? CC_ERROR : CC_REFRESH;
}

/* Finds the file of the history and makes its folder. */
static void find_history(struct lmi_ctl_line_editor *e)
{
	const char *given = getenv("LLAMACTL_HISTORY");

	if (given)
		(void)snprintf(e->path, sizeof(e->path), "%s", given);
	else /* without a folder for it the history is not kept */
		lmi_ctl_user_state_path(e->path, "history");
	if (!given)
		lmi_ctl_user_state_make_folders(e->path);
}

static void open_history(struct lmi_ctl_line_editor *e)
{
	HistEvent ev;

	e->history = history_init();
	if (!e->history)
		return;
	(void)history(e->history, &ev, H_SETSIZE, HISTORY_MAX);
	(void)history(e->history, &ev, H_SETUNIQUE, 1);
	find_history(e);
	if (*e->path)
		(void)history(e->history, &ev, H_LOAD, e->path);
	(void)el_set(e->el, EL_HIST, history, e->history);
}

/* libedit understands multi-byte characters in the locale of the user, or else as UTF-8. */
static void choose_locale(void)
{
	if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static void open_libedit(struct lmi_ctl_line_editor *e)
{
	choose_locale();
	e->el = el_init("llamactl", stdin, stderr, stderr);
	if (!e->el)
		return;
	(void)el_set(e->el, EL_CLIENTDATA, e);
	(void)el_wset(e->el, EL_PROMPT, show_prompt);
	(void)el_wset(e->el, EL_GETCFN, read_key);
	(void)el_set(e->el, EL_EDITOR, "emacs");
	(void)el_set(e->el, EL_ADDFN, "insert-newline", "Insert a newline", insert_newline);
	(void)el_set(e->el, EL_BIND, "\\e\\n", "insert-newline", NULL);
	(void)el_set(e->el, EL_BIND, "\\e\\r", "insert-newline", NULL);
	(void)el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	(void)el_set(e->el, EL_BIND, "\\e[3~", "ed-delete-next-char", NULL);
	(void)el_set(e->el, EL_BIND, "\\e[1;5C", "em-next-word", NULL);
	(void)el_set(e->el, EL_BIND, "\\e[1;5D", "ed-prev-word", NULL);
	open_history(e);
	(void)el_source(e->el, NULL); /* the user's ~/.editrc */
}

static bool has_typed(EditLine *el)
{
	const LineInfo *info = el_line(el);

	return info && info->lastchar > info->buffer;
}

static enum lmi_ctl_line read_edited(struct lmi_ctl_line_editor *e, const char *prompt,
				     const char **text, size_t *n)
{
	for (;;) {
		int got = 0;
		const char *line;
		bool typed;

		e->prompt = prompt;
		/* before the prompt, so that keys typed after it reach the editor one by one */
		(void)el_set(e->el, EL_PREP_TERM, 1);
		line = el_gets(e->el, &got);
		if (line && got > 0) {
			free(e->text);
			got -= line[got - 1] == '\n';
			e->text = strndup(line, (size_t)got);
			*text = e->text ? e->text : "";
			*n = strlen(*text);
			return LMI_CTL_LINE_TEXT;
		}
		typed = has_typed(e->el);
		fputs(lmi_ctl_interrupted() ? "^C\n" : "\n", stderr);
		if (!lmi_ctl_interrupted())
			return LMI_CTL_LINE_END;
		if (!typed || lmi_ctl_interrupt_signal() != SIGINT)
			return LMI_CTL_LINE_STOPPED;
		lmi_ctl_interrupt_clear();
		el_reset(e->el);
	}
}

static void close_libedit(struct lmi_ctl_line_editor *e)
{
	HistEvent ev;
	mode_t old;

	if (e->history && *e->path) {
		old = umask(077);
		(void)history(e->history, &ev, H_SAVE, e->path);
		(void)chmod(e->path, 0600);
		(void)umask(old);
	}
	if (e->el)
		el_end(e->el);
	if (e->history)
		history_end(e->history);
	free(e->text);
}

#endif /* LMD_HAVE_LIBEDIT */

/* ---- the editor ---- */

enum lmd_status lmi_ctl_line_editor_open(struct lmi_ctl_line_editor **out, struct lmd_error *err)
{
	struct lmi_ctl_line_editor *e = lmi_alloc(1, sizeof(*e));

	if (!e)
		return lmd_fail(err, LMD_NOMEM, "no memory for the input");
#ifdef LMD_HAVE_LIBEDIT
	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		open_libedit(e);
#endif
	*out = e;
	return LMD_OK;
}

void lmi_ctl_line_editor_close(struct lmi_ctl_line_editor *e)
{
	if (!e)
		return;
#ifdef LMD_HAVE_LIBEDIT
	close_libedit(e);
#endif
	free(e->line);
	lmi_free(e);
}

enum lmi_ctl_line lmi_ctl_line_editor_read(struct lmi_ctl_line_editor *e, const char *prompt,
					   const char **text, size_t *n)
{
	lmi_ctl_interrupt_clear();
#ifdef LMD_HAVE_LIBEDIT
	if (e->el)
		return read_edited(e, prompt, text, n);
#endif
	return read_plain(e, prompt, text, n);
}

void lmi_ctl_line_editor_remember(struct lmi_ctl_line_editor *e, const char *text)
{
#ifdef LMD_HAVE_LIBEDIT
	HistEvent ev;

	if (e->history && *text)
		(void)history(e->history, &ev, H_ENTER, text);
#else
	(void)e;
	(void)text;
#endif
}
