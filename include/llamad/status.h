/* SPDX-License-Identifier: MIT
 *
 * status.h - result codes and error messages.
 *
 * One enum travels by return value; results go to out-parameters, which are written only on
 * success.  The same numbers travel over the wire and map to HTTP codes in one table, so they never
 * change meaning.  `struct lmd_error` holds the error message for a human: the lowest layer that
 * knows the cause fills it, and a higher layer may prefix its own context ("loading qwen3-4b:
 * ...").  Every message names the thing, the value and the bound. */
#ifndef LLAMAD_STATUS_H
#define LLAMAD_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "llamad/attr.h"

LMD_BEGIN_DECLS

enum lmd_status {
	LMD_OK = 0,
	LMD_NOMEM = 1,       /* out of memory, pages or table entries; try again with less */
	LMD_INVALID = 2,     /* an argument, key or request is outside its documented range */
	LMD_NOTFOUND = 3,    /* the name or id does not exist */
	LMD_UNSUPPORTED = 4, /* understood, but this build, plugin or device cannot do it */
	LMD_CORRUPT = 5,     /* a file or message is malformed or inconsistent */
	LMD_BUSY = 6,        /* try again later; nothing was changed */
	LMD_CANCELLED = 7,   /* cancelled on request */
	LMD_TIMEOUT = 8,     /* a deadline passed */
	LMD_IO = 9,          /* the operating system reported an error: the message has errno */
	LMD_DEVICE = 10,     /* a device failed or is lost; reopen it */
	LMD_INTERNAL = 11,   /* a bug in llamad */
	LMD_DENIED = 12      /* permission denied: a role or a key is missing */
};
#define LMD_N_STATUS 13

/* Size of the message, including its terminating zero. */
#define LMD_ERROR_TEXT 480

/* Caller-owned; may live on the stack; needs no destructor.  Every function that takes a pointer to
 * it accepts NULL. */
struct lmd_error {
	enum lmd_status status;
	char text[LMD_ERROR_TEXT];
};

/* Fills `err` (may be NULL) and returns `status`, so that an error return is one line:
 *     return lmd_fail(err, LMD_CORRUPT, "%s: type %u is unknown", name, type);
 * A text that does not fit is truncated. */
static inline enum lmd_status lmd_fail(struct lmd_error *err, enum lmd_status status,
				       const char *fmt, ...) LMD_PRINTF(3, 4);

static inline enum lmd_status lmd_fail(struct lmd_error *err, enum lmd_status status,
				       const char *fmt, ...)
{
	if (err) {
		va_list ap;

		va_start(ap, fmt);
		(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		err->status = status;
	}
	return status;
}

/* Puts `prefix` and ": " before the existing message. */
static inline void lmd_error_prefix(struct lmd_error *err, const char *prefix)
{
	if (err) {
		char old[LMD_ERROR_TEXT];

		memcpy(old, err->text, sizeof(old));
		(void)snprintf(err->text, sizeof(err->text), "%.120s: %.350s", prefix, old);
	}
}

/* One lower-case word for a code ("ok", "nomem", ...); "unknown" for any other number.  This word
 * appears in --json output and on the wire. */
static inline const char *lmd_status_text(int status)
{
	static const char *const text[LMD_N_STATUS] = {
		"ok",   "nomem",     "invalid", "notfound", "unsupported", "corrupt",
		"busy", "cancelled", "timeout", "io",       "device",      "internal", "denied",
	};

	return status >= 0 && status < LMD_N_STATUS ? text[status] : "unknown";
}

LMD_END_DECLS

#endif /* LLAMAD_STATUS_H */
