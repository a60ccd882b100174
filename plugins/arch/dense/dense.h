/* SPDX-License-Identifier: MIT
 *
 * dense.h - the architectures of arch-dense.so; plugin.c gives them their names. */
#ifndef LLAMAD_ARCH_DENSE_DENSE_H
#define LLAMAD_ARCH_DENSE_DENSE_H

#include "llamad/arch.h"

extern const struct lmd_arch_ops lmi_arch_llama, lmi_arch_llama_embed;

#endif /* LLAMAD_ARCH_DENSE_DENSE_H */
