/* SPDX-License-Identifier: MIT
 *
 * spec.h - formats one value by a format specification, for "{:>8.2f}" and "%8.2f" alike. */
#ifndef LLAMAD_CORE_JINJA_SPEC_H
#define LLAMAD_CORE_JINJA_SPEC_H

#include "core/jinja/builtin.h"

/* Maximum width and precision. */
#define LMI_JINJA_SPEC_MAX 100000

struct lmi_jinja_spec {
	uint32_t fill;
	char align;           /* < > ^ =; 0 = the default of the type */
	char sign;            /* + - or space; 0 = - */
	bool zero;            /* 0 before the width: pads numbers after their sign */
	bool plain_zero;      /* z: a negative zero is written as zero */
	bool alt;             /* # */
	char group;           /* , or _; 0 = none */
	uint32_t width;
	int32_t precision;    /* -1 = none */
	char type;            /* 0 = none */
};

/* Parses "[[fill]align][sign][z][#][0][width][group][.precision][type]"; returns false on
 * failure. */
bool lmi_jinja_spec_parse(struct lmi_jinja_run *run, struct lmi_jinja_val text,
			  struct lmi_jinja_spec *s);

void lmi_jinja_spec_str(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s,
			struct lmi_jinja_val v);
void lmi_jinja_spec_int(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s, int64_t v);
void lmi_jinja_spec_float(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s, double v);

#endif /* LLAMAD_CORE_JINJA_SPEC_H */
