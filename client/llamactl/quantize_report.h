/* SPDX-License-Identifier: MIT
 *
 * quantize_report.h - prints a quantisation plan on standard output. */
#ifndef LLAMAD_LLAMACTL_QUANTIZE_REPORT_H
#define LLAMAD_LLAMACTL_QUANTIZE_REPORT_H

#include <stdbool.h>

#include "core/quantize/quantize.h"

/* Prints one line per tensor. */
void lmi_quantize_print_table(const struct lmi_quantize_plan *p);
/* Prints the sizes before and after; dry: nothing was written. */
void lmi_quantize_print_sum(const struct lmi_quantize_plan *p, bool dry);
/* Prints everything as one object; path: of the new file. */
enum lmd_status lmi_quantize_print_json(const struct lmi_quantize_plan *p, const char *path,
					bool dry, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_QUANTIZE_REPORT_H */
