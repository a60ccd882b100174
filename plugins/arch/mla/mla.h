/* SPDX-License-Identifier: MIT
 *
 * mla.h - the architectures of arch-mla.so, which have latent attention. */
#ifndef LLAMAD_ARCH_MLA_MLA_H
#define LLAMAD_ARCH_MLA_MLA_H

#include "arch/common/attn_mla.h"

extern const struct lmd_arch_ops lmi_arch_deepseek2, lmi_arch_mistral4, lmi_arch_minicpm3,
	lmi_arch_plm, lmi_arch_deepseek32, lmi_arch_glm_dsa, lmi_arch_dots3note, lmi_arch_hy_v4;

enum lmi_yarn_log {
	LMI_YARN_LOG_NONE = 0, /* rope.scaling.yarn_log_multiplier is not read */
	LMI_YARN_LOG = 1,      /* magnitude of rotated columns: (1 + 0.1 ln f) / (1 + 0.1 m ln f) */
	LMI_YARN_LOG_LEVEL = 2 /* magnitude 1, for any m */
};
/* YaRN as in DeepSeek-V2: sets m->scale and the magnitude of the rotation. */
void lmi_deepseek_yarn(struct lmi_hparams *hp, struct lmi_keys *k, struct lmi_mla *m,
		       enum lmi_yarn_log log_mode);

#endif /* LLAMAD_ARCH_MLA_MLA_H */
