/* SPDX-License-Identifier: MIT
 *
 * formats.h - the formats that are part of the program: GGUF and Hugging Face checkpoints.
 *
 * They are factories of kind FORMAT like those of plugins (llamad/format.h), in a plugin descriptor
 * that a registry may link in, so that its list shows them.  lmi_model_open asks them first, with
 * and without a registry.  To add a format, add a factory to the table. */
#ifndef LLAMAD_CORE_CHECKPOINT_FORMATS_H
#define LLAMAD_CORE_CHECKPOINT_FORMATS_H

#include "llamad/plugin.h"

/* The size of the shortest file of these formats. */
#define LMI_FORMATS_MIN_BYTES 24u

extern const struct lmd_plugin lmi_formats_builtin;

#endif /* LLAMAD_CORE_CHECKPOINT_FORMATS_H */
