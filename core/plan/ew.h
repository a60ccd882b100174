/* SPDX-License-Identifier: MIT
 *
 * ew.h - the instructions of EW programs. */
#ifndef LLAMAD_CORE_PLAN_EW_H
#define LLAMAD_CORE_PLAN_EW_H

#include <stdint.h>

/* Returns the name of an instruction and sets *n_arg to the number of registers it reads (0..3: a,
 * b, c); NULL if unknown. */
const char *lmi_ew_info(uint32_t op, uint32_t *n_arg);

#endif /* LLAMAD_CORE_PLAN_EW_H */
