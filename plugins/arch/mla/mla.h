/* SPDX-License-Identifier: MIT
 *
 * mla.h - architectures with latent attention. */
#ifndef LLAMAD_ARCH_MLA_MLA_H
#define LLAMAD_ARCH_MLA_MLA_H

#include "arch/common/attn_mla.h"

extern const struct lmd_arch_ops lmi_arch_deepseek2, lmi_arch_mistral4, lmi_arch_minicpm3,
	lmi_arch_plm, lmi_arch_deepseek32, lmi_arch_glm_dsa, lmi_arch_dots3note, lmi_arch_hy_v4;

/* YaRN as DeepSeek-V2 has it: m->scale and the magnitude of the rotation. */
void lmi_deepseek_yarn(struct lmi_hparams *hp, struct lmi_keys *k, struct lmi_mla *m);

#endif /* LLAMAD_ARCH_MLA_MLA_H */
