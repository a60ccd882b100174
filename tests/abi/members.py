#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the declarations of the installed headers: every member of every struct, every constant.

usage: members.py HEADER...    writes C to standard output

Each line of the output is a call of a macro that tests/abi/abi_test.c defines:
  STRUCT(lmd_tensor)  MEMBER(lmd_tensor, dims)  CONSTANT(LMD_MAX_DIMS)
The parser supports only the C used in these headers: no bit-fields, no K&R declarations, structs at
the top level with anonymous unions and structs inside."""
import re
import sys


def without_comments(text):
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    return re.sub(r'//[^\n]*', ' ', text)


def split_at(text, sep):
    """Splits text at each `sep` that is outside brackets of any kind."""
    depth, start, out = 0, 0, []
    for i, c in enumerate(text):
        if c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
        elif c == sep and depth == 0:
            out.append(text[start:i])
            start = i + 1
    out.append(text[start:])
    return [p.strip() for p in out if p.strip()]


def name_of(declarator):
    """The declared name of a function pointer, an array, or a plain member."""
    m = re.search(r'\(\s*\*\s*(\w+)\s*\)', declarator)
    if m:
        return m.group(1)
    m = re.search(r'(\w+)\s*(\[[^\]]*\]\s*)*$', declarator)
    if not m:
        sys.exit(f'members.py: cannot read the declarator "{declarator}"')
    return m.group(1)


def members(body):
    """Designators of all members of a struct body, in order."""
    out = []
    for declaration in split_at(body, ';'):
        m = re.match(r'(union|struct)\s*\{(.*)\}\s*(\w*)\s*(\[[^\]]*\])?$', declaration, re.S)
        if m:
            prefix = m.group(3) + '.' if m.group(3) else ''
            if m.group(3):
                out.append(m.group(3))
            if not m.group(4):
                out += [prefix + x for x in members(m.group(2))]
            continue
        # attributes after a function pointer, such as LMD_PRINTF(4, 5)
        declaration = re.sub(r'\bLMD_[A-Z]+\([^()]*\)\s*$', '', declaration)
        out += [name_of(d) for d in split_at(declaration, ',')]
    return out


def bodies(text, keyword):
    """Yields (name, body) of every definition at the top level."""
    for m in re.finditer(r'^' + keyword + r'\s+(lmd_\w+)\s*\{', text, re.M):
        depth, i = 1, m.end()
        while depth:
            depth += {'{': 1, '}': -1}.get(text[i], 0)
            i += 1
        yield m.group(1), text[m.end():i - 1]


def constants(text):
    """Object-like macros whose value is a number or an expression of numbers and such macros."""
    for m in re.finditer(r'^#define[ \t]+(LMD_\w+)[ \t]+([^\n]*\S)[ \t]*$', text, re.M):
        words = re.findall(r'[A-Za-z_]\w*', m.group(2))
        if '"' in m.group(2) or '\\' in m.group(2):
            continue
        if all(re.fullmatch(r'(LMD_|INT|UINT)\w*(MIN|MAX)?|u|ull|x[0-9a-fA-F]+u?', w) and
               not re.fullmatch(r'(LMD_EXPORT|LMD_\w+_SYMBOL|LMD_NO_REDZONE)', w)
               for w in words) and re.search(r'\d|MIN|MAX', m.group(2)):
            yield m.group(1)


def list_rows(raws):
    """The rows of list macros, #define LIST(X) X(A, ...) X(B, ...): LIST -> first arguments."""
    lists = {}
    for raw in raws:
        joined = without_comments(raw).replace('\\\n', ' ')
        for m in re.finditer(r'^#define[ \t]+(LMD_\w+)\(X\)[ \t]+(.*)$', joined, re.M):
            lists[m.group(1)] = re.findall(r'X\((\w+)', m.group(2))
    return lists


def with_lists(body, text, lists):
    """The body of an enum in which LIST(MACRO) is replaced by the constants that MACRO makes."""
    def constants_of(m):
        made = re.search(r'^#define[ \t]+' + m.group(2) + r'\(\w+[^)]*\)[ \t]+(\w+_)##', text, re.M)
        if m.group(1) not in lists or not made:
            sys.exit(f'members.py: cannot expand "{m.group(0)}"')
        return ''.join(f'{made.group(1)}{row},' for row in lists[m.group(1)])
    return re.sub(r'\b(\w+)\((\w+)\)', constants_of, body)


def main():
    lists = list_rows(open(path, encoding='utf-8').read() for path in sys.argv[1:])
    print('/* SPDX-License-Identifier: MIT')
    print(' *')
    print(' * Written by tests/abi/members.py from the installed headers (make update-abi). */')
    for path in sorted(sys.argv[1:], key=lambda p: p.rsplit('/', 1)[-1]):
        raw = open(path, encoding='utf-8').read()
        text = without_comments(raw)
        lines = []
        for name, body in bodies(text, 'struct'):
            lines.append(f'STRUCT({name})')
            lines += [f'MEMBER({name}, {m})' for m in members(body)]
        for _, body in bodies(text, 'enum'):
            lines += [f'CONSTANT({re.match(r"[A-Z0-9_]+", e).group(0)})'
                      for e in split_at(with_lists(body, text, lists), ',')]
        if not path.endswith('version.h'):
            lines += [f'CONSTANT({n})' for n in constants(text)]
        if lines:
            print(f'\n/* {path.rsplit("/", 1)[-1]} */')
            print('\n'.join(lines))


main()
