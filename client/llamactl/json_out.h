/* SPDX-License-Identifier: MIT
 *
 * json_out.h - writes one JSON value to a stream, piece by piece.
 *
 *     lmi_ctl_json_init(&j, stdout);
 *     lmi_ctl_json_object(&j, NULL);
 *     lmi_ctl_json_str(&j, "name", "qwen3");
 *     lmi_ctl_json_array(&j, "ids");
 *     lmi_ctl_json_int(&j, NULL, 42);
 *     lmi_ctl_json_end(&j);
 *     lmi_ctl_json_end(&j);
 *     lmi_ctl_json_fini(&j);           // newline
 *
 * `key` is the member's name inside an object and NULL inside an array or at the top. Text may be
 * any bytes: invalid UTF-8 becomes U+FFFD, so that the output is always valid. Infinities and NaN
 * are written as the strings "inf", "-inf" and "nan". Write errors stay in the stream (ferror).
 *
 * A writer must not be moved. */
#ifndef LLAMAD_LLAMACTL_JSON_OUT_H
#define LLAMAD_LLAMACTL_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/json_text.h"

struct lmi_ctl_json {
	FILE *f;
	struct lmi_json_text text; /* writes to f */
};

void lmi_ctl_json_init(struct lmi_ctl_json *j, FILE *f);
/* Writes the final newline; every object and array must have been ended. */
void lmi_ctl_json_fini(struct lmi_ctl_json *j);

void lmi_ctl_json_object(struct lmi_ctl_json *j, const char *key);
void lmi_ctl_json_array(struct lmi_ctl_json *j, const char *key);
/* Begins an object or array that is written on one line. */
void lmi_ctl_json_flat_object(struct lmi_ctl_json *j, const char *key);
void lmi_ctl_json_flat_array(struct lmi_ctl_json *j, const char *key);
void lmi_ctl_json_end(struct lmi_ctl_json *j);

void lmi_ctl_json_str(struct lmi_ctl_json *j, const char *key, const char *s); /* NULL: null */
void lmi_ctl_json_strn(struct lmi_ctl_json *j, const char *key, const char *s, size_t n);
void lmi_ctl_json_int(struct lmi_ctl_json *j, const char *key, int64_t v);
void lmi_ctl_json_uint(struct lmi_ctl_json *j, const char *key, uint64_t v);
/* Write a short text that reads back as the same number. */
void lmi_ctl_json_f32(struct lmi_ctl_json *j, const char *key, float v);
void lmi_ctl_json_f64(struct lmi_ctl_json *j, const char *key, double v);
void lmi_ctl_json_bool(struct lmi_ctl_json *j, const char *key, bool v);
void lmi_ctl_json_null(struct lmi_ctl_json *j, const char *key);

#endif /* LLAMAD_LLAMACTL_JSON_OUT_H */
