/* SPDX-License-Identifier: MIT
 *
 * settings.h - settings of a backend in an environment variable: words NAME=NUMBER, separated by
 * commas. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_SETTINGS_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct host_mem_setting {
	const char *name;
	uint64_t most;  /* the greatest number allowed */
	uint64_t value; /* the default; replaced by what the variable says */
};

/* Reads `variable` into the values of s[0..n); a variable that is not set changes nothing.
 * LMD_INVALID for an unknown name, or a number that is malformed or too great; the message begins
 * with `backend` and the variable. */
enum lmd_status host_mem_settings_read(const char *backend, const char *variable,
				       struct host_mem_setting *s, size_t n, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_SETTINGS_H */
