/* SPDX-License-Identifier: MIT
 *
 * preset_toml.h - presets in TOML 1.0, with what a Modelfile says:
 *
 *     base = "smollm2"            # FROM
 *     adapter = "pirate.gguf"
 *     system = """
 *     You are a pirate.
 *     You answer in one sentence."""
 *
 *     [parameters]
 *     temperature = 0.2
 *     stop = ["User:", "<end>"]
 *
 *     [[messages]]
 *     role = "user"
 *     content = "Who are you?"
 *
 * Further keys are template and license. Values are strings, integers, floats and booleans, and arrays
 * of them in [parameters]; dates, inline tables and dotted keys mean nothing here and are errors. */
#ifndef LLAMAD_STORE_PRESET_TOML_H
#define LLAMAD_STORE_PRESET_TOML_H

#include <stddef.h>

#include "llamad/status.h"

/* Writes the Modelfile of a preset of n bytes, which need not end with a zero; lmi_free it. Roles and
 * the names of parameters are not checked. Commands are on the lines of the preset, for errors of who
 * reads them, except after a text with more lines than it has in the preset (by \n). LMD_INVALID: the
 * message names the line. Any thread. */
LMD_NODISCARD enum lmd_status lmi_store_preset_toml(char **out, const char *text, size_t n,
						    struct lmd_error *err);

#endif /* LLAMAD_STORE_PRESET_TOML_H */
