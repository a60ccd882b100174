/* SPDX-License-Identifier: MIT
 *
 * mla.h - architectures with latent attention. */
#ifndef LLAMAD_ARCH_MLA_MLA_H
#define LLAMAD_ARCH_MLA_MLA_H

#include "llamad/arch.h"

extern const struct lmd_arch_ops lmi_arch_deepseek2, lmi_arch_mistral4, lmi_arch_minicpm3, lmi_arch_plm;

#endif /* LLAMAD_ARCH_MLA_MLA_H */
