/* SPDX-License-Identifier: MIT
 *
 * Log lines for a terminal or the journal. A failed write is ignored, since there is no other place
 * to report it. */
#include "core/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lmi_log_init(struct lmi_log *log, int level, int fd)
{
	atomic_init(&log->level, level);
	log->fd = fd;
	log->journal = false;
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

void lmi_log_vwrite(struct lmi_log *log, const char *topic, int level, const char *fmt, va_list ap)
{
	char line[LMI_LOG_LINE];
	int saved = errno, head, body;
	size_t n;

	if (level > atomic_load_explicit(&log->level, memory_order_relaxed))
		return;
	head = log->journal ? snprintf(line, 128, "<%d>%.60s: ", priority(level), topic)
			    : snprintf(line, 128, "llamad: %s: %.60s: ",
				       lmi_log_level_name(level), topic);
	body = vsnprintf(line + head, sizeof(line) - 1 - (size_t)head, fmt, ap);
	if (body < 0)
		return;
	n = (size_t)head + (size_t)body;
	if (n > sizeof(line) - 2) {
		n = sizeof(line) - 2;
		memcpy(line + n - 3, "...", 3);
	}
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
			line[i] = ' ';
	line[n++] = '\n';
	while (write(log->fd, line, n) < 0 && errno == EINTR)
		;
	errno = saved;
}
