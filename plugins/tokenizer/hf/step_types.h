/* SPDX-License-Identifier: MIT
 *
 * step_types.h - the list of step types: the table of steps.c, and tests that go through all of them.
 * X gets the phase, the name in the file, and further members of struct hf_type. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_STEP_TYPES_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_STEP_TYPES_H

#define HF_STEP_TYPES(X)                                                                           \
	X(LMD_TOK_NORMALIZE, "NFC", .normal = hf_unicode_form, .detail = HF_NFC)                   \
	X(LMD_TOK_NORMALIZE, "NFD", .normal = hf_unicode_form, .detail = HF_NFD)                   \
	X(LMD_TOK_NORMALIZE, "NFKC", .normal = hf_unicode_form, .detail = HF_NFKC)                 \
	X(LMD_TOK_NORMALIZE, "NFKD", .normal = hf_unicode_form, .detail = HF_NFKD)                 \
	X(LMD_TOK_NORMALIZE, "Nmt", .normal = hf_nmt)                                              \
	X(LMD_TOK_NORMALIZE, "Lowercase", .normal = hf_lowercase)                                  \
	X(LMD_TOK_NORMALIZE, "StripAccents", .normal = hf_strip_accents)                           \
	X(LMD_TOK_NORMALIZE, "Strip", .normal = hf_strip)                                          \
	X(LMD_TOK_NORMALIZE, "Replace", .normal = hf_replace)                                      \
	X(LMD_TOK_NORMALIZE, "Prepend", .normal = hf_prepend)                                      \
	X(LMD_TOK_NORMALIZE, "Precompiled", .normal = hf_precompiled)                              \
	X(LMD_TOK_NORMALIZE, "BertNormalizer", .normal = hf_bert)                                  \
	X(LMD_TOK_NORMALIZE, "ByteLevel", .normal = hf_byte_chars)                                 \
	X(LMD_TOK_SPLIT, "ByteLevel", .split = hf_split_byte_level)                                \
	X(LMD_TOK_SPLIT, "Metaspace", .split = hf_split_metaspace)                                 \
	X(LMD_TOK_SPLIT, "Split", .split = hf_split_pattern)                                       \
	X(LMD_TOK_SPLIT, "CharDelimiterSplit", .split = hf_split_pattern)                          \
	X(LMD_TOK_SPLIT, "Whitespace", .split = hf_split_words)                                    \
	X(LMD_TOK_SPLIT, "WhitespaceSplit", .split = hf_split_words, .detail = 1)                  \
	X(LMD_TOK_SPLIT, "BertPreTokenizer", .split = hf_split_bert)                               \
	X(LMD_TOK_SPLIT, "Punctuation", .split = hf_split_class, .is = hf_is_punctuation)          \
	X(LMD_TOK_SPLIT, "Digits", .split = hf_split_class, .is = hf_is_number)                    \
	X(LMD_TOK_SPLIT, "UnicodeScripts", .split = hf_split_scripts)                              \
	X(LMD_TOK_SPLIT, "FixedLength", .split = hf_split_length)                                  \
	X(LMD_TOK_DECODE, "ByteLevel", .detail = HF_DEC_BYTES)                                     \
	X(LMD_TOK_DECODE, "Replace", .detail = HF_DEC_REPLACE)                                     \
	X(LMD_TOK_DECODE, "WordPiece", .detail = HF_DEC_WORDPIECE)                                 \
	X(LMD_TOK_DECODE, "ByteFallback", .detail = HF_DEC_FALLBACK)                               \
	X(LMD_TOK_DECODE, "Fuse", .detail = HF_DEC_FUSE)                                           \
	X(LMD_TOK_DECODE, "Strip", .detail = HF_DEC_STRIP)                                         \
	X(LMD_TOK_DECODE, "Metaspace", .detail = HF_DEC_METASPACE)                                 \
	X(LMD_TOK_DECODE, "BPEDecoder", .detail = HF_DEC_SUFFIX)                                   \
	X(LMD_TOK_DECODE, "CTC", .detail = HF_DEC_CTC)

/* The models, the step of phase LMD_TOK_MODEL: the name in the file and the value of enum hf_model. */
#define HF_MODELS(X)                                                                               \
	X("BPE", HF_BPE)                                                                           \
	X("Unigram", HF_UNIGRAM)                                                                   \
	X("WordPiece", HF_WORDPIECE)                                                               \
	X("WordLevel", HF_WORDLEVEL)

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_STEP_TYPES_H */
