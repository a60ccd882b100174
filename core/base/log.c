/* SPDX-License-Identifier: MIT
 *
 * Log lines for a terminal, and lines or entries with fields for the journal of systemd. A failed write is
 * ignored, since there is no other place to report it.
 *
 * The fields of an entry are the words NAME=VALUE after the last "; " of the format. They are found in the
 * format and not in the text, so that a value with blanks or with "; status=200" in it makes no field. */
#include "core/base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FORMAT_MAX 320 /* bytes of a format with fields */
#define FIELD_MAX  32  /* bytes of the name of a field */

void lmi_log_init(struct lmi_log *log, int level, int fd)
{
	atomic_init(&log->level, level);
	log->fd = fd;
	log->journal = false;
	log->socket = -1;
}

void lmi_log_fini(struct lmi_log *log)
{
	if (log->socket >= 0)
		close(log->socket);
	log->socket = -1;
}

bool lmi_log_open_socket(struct lmi_log *log, const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof(log->address.sun_path))
		return false;
	log->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(log->address.sun_path, path, n);
	lmi_log_fini(log);
	log->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return log->socket >= 0;
}

const char *lmi_log_level_name(int level)
{
	static const char *const name[] = {"error", "warn", "info", "debug", "trace"};

	return level >= 0 && level < (int)LMD_LEN(name) ? name[level] : "?";
}

/* The priority of syslog(3). */
static int priority(int level)
{
	static const int of[] = {3, 4, 6, 7, 7};

	return level >= 0 && level < (int)LMD_LEN(of) ? of[level] : 7;
}

/* ---- entries of the journal ---- */

struct entry {
	char text[3 * LMI_LOG_LINE];
	size_t n;
};

static void put(struct entry *e, const char *text, size_t n)
{
	if (n > sizeof(e->text) - e->n)
		n = sizeof(e->text) - e->n;
	memcpy(e->text + e->n, text, n);
	e->n += n;
}

static void put_field(struct entry *e, const char *name, const char *value, size_t n)
{
	size_t room = sizeof(e->text) - e->n, k = strlen(name);

	if (k + n + 2 > room)
		return;
	put(e, name, k);
	put(e, "=", 1);
	put(e, value, n);
	put(e, "\n", 1);
}

/* Returns the bytes of the name if a field, NAME=%..., is at p; otherwise 0. */
static size_t name_bytes(const char *p)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

	return n <= FIELD_MAX && p[n] == '=' && p[n + 1] == '%' ? n : 0;
}

/* Finds the first field of a format; NULL: it has none. */
static const char *first_field(const char *fmt)
{
	const char *found = NULL;

	for (const char *p = fmt; (p = strstr(p, "; ")); p += 2)
		found = name_bytes(p + 2) ? p + 2 : found;
	return found;
}

/* Returns how many bytes the first n bytes of the format become. */
static size_t formatted_bytes(const char *fmt, size_t n, va_list ap)
{
	char part[FORMAT_MAX];
	va_list copy;
	int bytes;

	memcpy(part, fmt, n);
	part[n] = 0;
	va_copy(copy, ap);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	bytes = vsnprintf(NULL, 0, part, copy);
#pragma GCC diagnostic pop
	va_end(copy);
	return bytes < 0 ? 0 : (size_t)bytes;
}

/* Adds the fields of a format whose text is `text`, of n bytes. */
static void put_fields(struct entry *e, const char *text, size_t n, const char *fmt, va_list ap)
{
	const char *p = first_field(fmt);
	size_t k;

	if (!p || strlen(fmt) >= FORMAT_MAX)
		return;
	while ((k = name_bytes(p))) {
		const char *end = p + strcspn(p, " :");
		size_t from = formatted_bytes(fmt, (size_t)(p - fmt) + k + 1, ap);
		size_t to = formatted_bytes(fmt, (size_t)(end - fmt), ap);
		char name[FIELD_MAX + 8] = "LLAMAD_";

		for (size_t i = 0; i < k; i++)
			name[7 + i] = p[i] == '_' ? '_' : (char)(p[i] - 'a' + 'A');
		name[7 + k] = 0;
		if (from < to && to <= n)
			put_field(e, name, text + from, to - from);
		p = end + (*end == ' ');
	}
}

/* Sends an entry whose line is "topic: message", of n bytes; body: where its message begins. Does not wait
 * for a journal whose queue is full: it returns false. */
static bool send_entry(const struct lmi_log *log, const char *topic, int level, const char *line, size_t n,
		       size_t body, const char *fmt, va_list ap)
{
	char digit[2] = {(char)('0' + priority(level)), 0};
	struct entry e = {.n = 0};

	put_field(&e, "MESSAGE", line, n);
	put_field(&e, "PRIORITY", digit, 1);
	put_field(&e, "SYSLOG_IDENTIFIER", "llamad", 6);
	put_field(&e, "LLAMAD_TOPIC", topic, strnlen(topic, 60));
	put_fields(&e, line + body, n - body, fmt, ap);
	return sendto(log->socket, e.text, e.n, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&log->address,
		      sizeof(log->address)) == (ssize_t)e.n;
}

/* ---- a line ---- */

void lmi_log_vwrite(struct lmi_log *log, const char *topic, int level, const char *fmt, va_list ap)
{
	char line[LMI_LOG_LINE];
	int saved = errno, start, head, body;
	va_list again;
	bool sent = false;
	size_t n;

	if (level > atomic_load_explicit(&log->level, memory_order_relaxed))
		return;
	va_copy(again, ap);
	start = log->journal ? snprintf(line, 128, "<%d>", priority(level))
			     : snprintf(line, 128, "llamad: %s: ", lmi_log_level_name(level));
	head = start + snprintf(line + start, 128 - (size_t)start, "%.60s: ", topic);
	body = vsnprintf(line + head, sizeof(line) - 1 - (size_t)head, fmt, ap);
	n = (size_t)head + (body < 0 ? 0 : (size_t)body);
	if (n > sizeof(line) - 2) {
		n = sizeof(line) - 2;
		memcpy(line + n - 3, "...", 3);
	}
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
			line[i] = ' ';
	if (log->journal && log->socket >= 0 && body >= 0)
		sent = send_entry(log, topic, level, line + start, n - (size_t)start, (size_t)(head - start),
				  fmt, again);
	va_end(again);
	line[n++] = '\n';
	while (!sent && body >= 0 && write(log->fd, line, n) < 0 && errno == EINTR)
		;
	errno = saved;
}
