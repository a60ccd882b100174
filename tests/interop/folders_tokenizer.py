# SPDX-License-Identifier: MIT
"""Small tokenizer.json files, one for each pre-tokenizer that has a name in GGUF files."""

import json

BYTES = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
BYTE_TEXT = {b: chr(b) for b in BYTES}
for _i, _b in enumerate(b for b in range(256) if b not in BYTES):
    BYTE_TEXT[_b] = chr(256 + _i)

SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + TAIL
QWEN2 = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + TAIL


def split(rx):
    return {"type": "Split", "pattern": {"Regex": rx}, "behavior": "Isolated", "invert": False}


def level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
            "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


DIGITS = {"type": "Digits", "individual_digits": True}

# model_type, steps, name
CASES = [
    ("llama", sequence(split(LLAMA3), level(False)), "llama-bpe"),
    ("glm4", sequence(split(LLAMA3), level(False)), "glm4"),
    ("qwen2", sequence(split(QWEN2), level(False)), "qwen2"),
    ("stablelm", sequence(split(QWEN2), level(False)), "stablelm2"),
    ("llama", sequence(DIGITS, level(True)), "smollm"),
    ("starcoder2", sequence(DIGITS, level(True)), "starcoder"),
    ("cohere", sequence(DIGITS, level(True)), "command-r"),
    ("gpt2", level(True), "gpt-2"),
    ("olmo", level(True), "olmo"),
    ("llama", sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
                       split("[!\"#$%&'()*+,"
                             r"\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
                             "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                             "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
                       level(False)), "deepseek-v3"),
    ("llama", sequence(split(r"\w+"), level(False)), None),
    ("llama", sequence({"type": "Whitespace"}, level(False)), None),
]


def bytelevel(pre, n):
    """n tokens: the bytes, then pairs, and two special ones at the end."""
    texts = [BYTE_TEXT[b] for b in range(256)]
    merges = []
    for a, b in [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("e", "r"), ("1", "2")]:
        merges.append(f"{a} {b}")
        texts.append(a + b)
    vocab = {t: i for i, t in enumerate(texts)}
    added = [{"id": len(texts) + i, "content": t, "special": True, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False}
             for i, t in enumerate(["<|begin|>", "<|end|>"])]
    assert len(texts) + len(added) <= n
    post = {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {"<|begin|>": {"id": "<|begin|>",
                                                          "ids": [len(texts)],
                                                          "tokens": ["<|begin|>"]}}}
    return {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": pre,
            "post_processor": post, "decoder": level(True),
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "byte_fallback": False, "vocab": vocab, "merges": merges}}


def fallback():
    """BPE over characters with byte tokens and spaces as U+2581, as in Llama 2."""
    texts = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    texts += ["▁"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    merges = []
    for a, b in [("▁", "t"), ("h", "e"), ("▁t", "he"), ("i", "n"), ("▁", "a"), ("in", "g")]:
        merges.append([a, b])
        texts.append(a + b)
    added = [{"id": i, "content": texts[i], "special": True, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False} for i in range(3)]
    return {"version": "1.0", "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True,
                      "byte_fallback": True,
                      "vocab": {t: i for i, t in enumerate(texts)}, "merges": merges}}


def wordpiece():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "th", "##ing", "##i", "##n",
             "in", "a", "b", ",", ".", "<", ">", "1", "##2"]
    words += [c for c in "cdefghijklmnopqrstuvwxyz" if c not in words]
    words += ["##" + c for c in "abcdefghijklmopqrstuvwxyz" if "##" + c not in words]
    added = [{"id": i, "content": words[i], "special": True, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False} for i in range(5)]

    def special(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    return {"version": "1.0", "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": True,
                           "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}},
                                          special("[SEP]")],
                               "pair": [], "special_tokens": {
                                   w: {"id": w, "ids": [words.index(w)], "tokens": [w]}
                                   for w in ("[CLS]", "[SEP]")}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]",
                      "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {w: i for i, w in enumerate(words)}}}


def unigram():
    vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -2.5],
             ["▁the", -3.5], ["th", -4.0], ["ing", -3.75], ["in", -4.25], ["▁in", -4.5]]
    vocab += [[c, -6.0 - 0.125 * i] for i, c in enumerate("abcdefghijklmnopqrstuvwxyz<>12.,")]
    added = [{"id": i, "content": vocab[i][0], "special": True, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False} for i in range(4)]

    def special(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    return {"version": "1.0", "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
                              "prepend_scheme": "always", "split": True},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [special("<s>"), {"Sequence": {"id": "A", "type_id": 0}},
                                          special("</s>")],
                               "pair": [], "special_tokens": {
                                   w: {"id": w, "ids": [i], "tokens": [w]}
                                   for i, w in ((0, "<s>"), (2, "</s>"))}},
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
            "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False}}


def dump(j):
    return json.dumps(j, ensure_ascii=False).encode()
