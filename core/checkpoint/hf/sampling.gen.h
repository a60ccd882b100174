/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema/sampling.json.  Members of
 * generation_config.json and the keys of GGUF files. */
#ifndef LLAMAD_CORE_CHECKPOINT_HF_SAMPLING_GEN_H
#define LLAMAD_CORE_CHECKPOINT_HF_SAMPLING_GEN_H

/* X(member, key, type) */
#define LMI_CHECKPOINT_SAMPLING(X) \
	X("temperature", "general.sampling.temp", FLOAT) \
	X("top_k", "general.sampling.top_k", INT) \
	X("top_p", "general.sampling.top_p", FLOAT) \
	X("min_p", "general.sampling.min_p", FLOAT) \
	X("repetition_penalty", "general.sampling.penalty_repeat", FLOAT) \
	X("suppress_tokens", "tokenizer.ggml.suppress_tokens", TOKENS)

#endif /* LLAMAD_CORE_CHECKPOINT_HF_SAMPLING_GEN_H */
