#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a small Llama with random weights as files of llama2.c and as a GGUF file:

    make_model.py FOLDER

tied.bin, tied.gguf          the output layer is the table of embeddings
untied.bin, untied.v1.bin, untied.gguf
tokenizer.bin                the vocabulary of all of them
"""
import random
import struct
import sys

DIM, HIDDEN, LAYERS, HEADS, HEADS_KV, CTX = 32, 48, 2, 4, 2, 64
DIM_KV = DIM // HEADS * HEADS_KV
WORDS = [' ', 'a', 'b', 'c', 'd', 'e', 'h', 'l', 'n', 'o', 'r', 't', 'u', 'w', 'he', 'll', 'on', 'ce',
         ' t', ' a', 'the', ' the', 'once', ' once', 'hello', ' hello', 'é', ' there', '\n']
VOCAB = 259 + len(WORDS)


def floats(values):
    return struct.pack(f'<{len(values)}f', *values)


def vocabulary():
    """Text, score and type of each token; texts as in SentencePiece."""
    rows = [('<unk>', 0.0, 2), ('<s>', 0.0, 3), ('</s>', 0.0, 3)]
    rows += [(f'<0x{i:02X}>', 0.0, 6) for i in range(256)]
    rows += [(w.replace(' ', '\u2581'), float(-i), 1) for i, w in enumerate(WORDS)]
    return rows


def weights(tied):
    rng = random.Random(5)

    def matrix(rows, columns):
        return [rng.gauss(0, 0.3) for _ in range(rows * columns)]

    def norm():
        return [1 + rng.gauss(0, 0.1) for _ in range(DIM)]

    w = {'token_embd': (VOCAB, DIM, matrix(VOCAB, DIM)), 'output_norm': (1, DIM, norm())}
    for i in range(LAYERS):
        for name, rows, columns in (('attn_q', DIM, DIM), ('attn_k', DIM_KV, DIM), ('attn_v', DIM_KV, DIM),
                                    ('attn_output', DIM, DIM), ('ffn_gate', HIDDEN, DIM),
                                    ('ffn_down', DIM, HIDDEN), ('ffn_up', HIDDEN, DIM)):
            w[f'blk.{i}.{name}'] = (rows, columns, matrix(rows, columns))
        for name in ('attn_norm', 'ffn_norm'):
            w[f'blk.{i}.{name}'] = (1, DIM, norm())
    if not tied:
        w['output'] = (VOCAB, DIM, matrix(VOCAB, DIM))
    return w


def layers(w, name):
    return b''.join(floats(w[f'blk.{i}.{name}'][2]) for i in range(LAYERS))


def version_0(w, tied):
    out = struct.pack('<7i', DIM, HIDDEN, LAYERS, HEADS, HEADS_KV, VOCAB if tied else -VOCAB, CTX)
    out += floats(w['token_embd'][2])
    for name in ('attn_norm', 'attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_norm', 'ffn_gate',
                 'ffn_down', 'ffn_up'):
        out += layers(w, name)
    out += floats(w['output_norm'][2])
    out += bytes(4 * CTX * (DIM // HEADS))  # sines and cosines, which nobody reads
    return out if tied else out + floats(w['output'][2])


def version_1(w, tied):
    out = struct.pack('<I8iB', 0x616b3432, 1, DIM, HIDDEN, LAYERS, HEADS, HEADS_KV, VOCAB, CTX, tied)
    out = out.ljust(256, b'\0')
    out += layers(w, 'attn_norm') + layers(w, 'ffn_norm')
    out += floats(w['output_norm'][2]) + floats(w['token_embd'][2])
    for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_down', 'ffn_up'):
        out += layers(w, name)
    return out if tied else out + floats(w['output'][2])


def tokenizer():
    texts = [t if i < 259 else t.replace('\u2581', ' ') for i, (t, _, _) in enumerate(vocabulary())]
    texts[1], texts[2] = '\n<s>\n', '\n</s>\n'  # as the program that writes these files has them
    out = struct.pack('<I', max(len(t.encode()) for t in texts))
    for text, (_, score, _) in zip(texts, vocabulary()):
        out += struct.pack('<fI', score, len(text.encode())) + text.encode()
    return out


def string(s):
    b = s.encode()
    return struct.pack('<Q', len(b)) + b


def gguf(w):
    u32, f32, boolean, text, array, i32 = 4, 6, 7, 8, 9, 5
    tokens = vocabulary()
    keys = [('general.architecture', text, string('llama')),
            ('llama.attention.layer_norm_rms_epsilon', f32, struct.pack('<f', 1e-5)),
            ('llama.rope.freq_base', f32, struct.pack('<f', 10000)),
            ('tokenizer.ggml.model', text, string('llama')),
            ('tokenizer.ggml.add_bos_token', boolean, b'\1'),
            ('tokenizer.ggml.tokens', array, struct.pack('<IQ', text, VOCAB) +
             b''.join(string(t) for t, _, _ in tokens)),
            ('tokenizer.ggml.scores', array, struct.pack('<IQ', f32, VOCAB) +
             floats([s for _, s, _ in tokens])),
            ('tokenizer.ggml.token_type', array, struct.pack('<IQ', i32, VOCAB) +
             struct.pack(f'<{VOCAB}i', *[t for _, _, t in tokens]))]
    for key, value in (('context_length', CTX), ('embedding_length', DIM), ('block_count', LAYERS),
                       ('feed_forward_length', HIDDEN), ('attention.head_count', HEADS),
                       ('attention.head_count_kv', HEADS_KV), ('rope.dimension_count', DIM // HEADS),
                       ('vocab_size', VOCAB)):
        keys.append((f'llama.{key}', u32, struct.pack('<I', value)))
    for key, value in (('unknown', 0), ('bos', 1), ('eos', 2), ('eot', 1)):
        keys.append((f'tokenizer.ggml.{key}_token_id', u32, struct.pack('<I', value)))
    out = b'GGUF' + struct.pack('<IQQ', 3, len(w), len(keys))
    for key, kind, value in keys:
        out += string(key) + struct.pack('<I', kind) + value
    data = b''
    for name, (rows, columns, values) in w.items():
        dims = [columns] if rows == 1 else [columns, rows]
        out += string(name + '.weight') + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, 0, len(data))
        data += floats(values)
        data += bytes(-len(data) % 32)
    return out + bytes(-len(out) % 32) + data


def main():
    def write(name, data):
        with open(f'{sys.argv[1]}/{name}', 'wb') as f:
            f.write(data)

    for name, tied in (('tied', True), ('untied', False)):
        w = weights(tied)
        write(f'{name}.bin', version_0(w, tied))
        write(f'{name}.gguf', gguf(w))
    write('untied.v1.bin', version_1(w, False))
    write('tokenizer.bin', tokenizer())


main()
