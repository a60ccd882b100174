/* SPDX-License-Identifier: MIT
 *
 * The list that configure wrote to builtin.inc: one LMD_BUILTIN(symbol) per plugin. */
#include "core/plugin/builtin.h"

#include <stddef.h>

#define LMD_BUILTIN(symbol) extern const struct lmd_plugin symbol;
#include "core/plugin/builtin.inc"
#undef LMD_BUILTIN

#define LMD_BUILTIN(symbol) &symbol,
const struct lmd_plugin *const lmi_builtin_plugins[] = {
#include "core/plugin/builtin.inc"
	NULL,
};
