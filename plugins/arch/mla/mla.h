/* SPDX-License-Identifier: MIT
 *
 * mla.h - the architectures of arch-mla.so, which have latent attention. */
#ifndef LLAMAD_ARCH_MLA_MLA_H
#define LLAMAD_ARCH_MLA_MLA_H

#include "arch/common/attn_mla.h"

extern const struct lmd_arch_ops arch_deepseek2, arch_mistral4, arch_minicpm3, arch_plm,
	arch_deepseek32, arch_glm_dsa, arch_dots3note, arch_hy_v4;

enum arch_yarn_log {
	ARCH_YARN_LOG_NONE = 0, /* rope.scaling.yarn_log_multiplier is not read */
	ARCH_YARN_LOG = 1, /* magnitude of rotated columns: (1 + 0.1 ln f) / (1 + 0.1 m ln f) */
	ARCH_YARN_LOG_LEVEL = 2 /* magnitude 1, for any m */
};
/* YaRN as in DeepSeek-V2: sets m->scale and the magnitude of the rotation. */
void arch_deepseek_yarn(struct arch_hparams *hp, struct arch_keys *k, struct arch_mla *m,
			enum arch_yarn_log log_mode);

#endif /* LLAMAD_ARCH_MLA_MLA_H */
