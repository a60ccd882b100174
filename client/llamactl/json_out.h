/* SPDX-License-Identifier: MIT
 *
 * json_out.h - writes one JSON value to a stream, piece by piece.
 *
 *     lmi_json_init(&j, stdout);
 *     lmi_json_object(&j, NULL);
 *     lmi_json_str(&j, "name", "qwen3");
 *     lmi_json_array(&j, "ids");
 *     lmi_json_int(&j, NULL, 42);
 *     lmi_json_end(&j);
 *     lmi_json_end(&j);
 *     lmi_json_fini(&j);           // newline
 *
 * `key` is the member's name inside an object and NULL inside an array or at the top. Text may be
 * any bytes: invalid UTF-8 becomes U+FFFD, so that the output is always valid. Infinities and NaN
 * are written as the strings "inf", "-inf" and "nan". Write errors stay in the stream (ferror). */
#ifndef LLAMAD_LLAMACTL_JSON_OUT_H
#define LLAMAD_LLAMACTL_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LMI_JSON_DEPTH 32

struct lmi_json {
	FILE *f;
	uint32_t depth;
	struct {
		bool object, flat, used;
	} level[LMI_JSON_DEPTH];
};

void lmi_json_init(struct lmi_json *j, FILE *f);
/* Writes the final newline; every object and array must have been ended. */
void lmi_json_fini(struct lmi_json *j);

void lmi_json_object(struct lmi_json *j, const char *key);
void lmi_json_array(struct lmi_json *j, const char *key);
/* Begins an object or array that is written on one line. */
void lmi_json_flat_object(struct lmi_json *j, const char *key);
void lmi_json_flat_array(struct lmi_json *j, const char *key);
void lmi_json_end(struct lmi_json *j);

void lmi_json_str(struct lmi_json *j, const char *key, const char *s);   /* NULL: null */
void lmi_json_strn(struct lmi_json *j, const char *key, const char *s, size_t n);
void lmi_json_int(struct lmi_json *j, const char *key, int64_t v);
void lmi_json_uint(struct lmi_json *j, const char *key, uint64_t v);
/* Writes the shortest text that reads back as the same number. */
void lmi_json_f32(struct lmi_json *j, const char *key, float v);
void lmi_json_f64(struct lmi_json *j, const char *key, double v);
void lmi_json_bool(struct lmi_json *j, const char *key, bool v);
void lmi_json_null(struct lmi_json *j, const char *key);

#endif /* LLAMAD_LLAMACTL_JSON_OUT_H */
