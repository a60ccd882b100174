# SPDX-License-Identifier: MIT
"""Emits JavaScript: a table of the operations, and TypeScript types of all messages."""
import json

TABLE = "bindings/js/lib/protocol.gen.js"
TYPES = "bindings/js/lib/types.gen.d.ts"

HEAD = """// SPDX-License-Identifier: MIT
// Made by build-aux/gen-proto from proto/schema.
"""

# Numbers that use all 63 bits of their range.  Others are sizes, counts and times, which a number of
# JavaScript holds exactly.
WIDE = {"seed"}


def camel(name):
    return "".join(p.capitalize() for p in name.split("_"))


def ts_type(s, f):
    one = {"bool": "boolean", "int": "number | bigint" if f.name in WIDE else "number",
           "float": "number", "string": "string", "text": "Text", "bytes": "Text", "id": "Id",
           "token": "number", "status": "string",
           "enum": " | ".join(json.dumps(n) for n in s.words[f.of].names) if f.elem == "enum" else "",
           "object": camel(f.of or ""), "item": "Item", "chain": "Sampler",
           "bias": "[token: number, bias: number]"}[f.elem]
    if not f.list:
        return one
    return "Array<%s>" % one


def rows(s, struct, sent):
    """sent: fields with a default may be left out; in what the server sends they may be missing too."""
    out = []
    for f in struct.fields:
        doc = f.doc + (" In %s." % f.unit if f.unit else "")
        if f.presence == "default" and f.default not in ("", [], False):
            doc += " Default: %s." % json.dumps(f.default)
        out.append("  /** %s */" % doc.replace("*/", "* /"))
        out.append("  %s%s: %s;" % (f.name, "" if f.presence == "required" else "?", ts_type(s, f)))
    return out


def interface(s, name, struct, first=()):
    return ["", "/** %s */" % struct.doc, "export interface %s {" % name, *first,
            *rows(s, struct, True), "}"]


def types(s):
    out = [HEAD + """
/** Text arrives as a string if it is valid UTF-8, otherwise as bytes; both may be sent. */
export type Text = string | Uint8Array;

/** The id of a stream: 16 bytes, or their 32 hexadecimal digits. */
export type Id = string | Uint8Array;

/** One member of a sampler chain: its name and its parameters. */
export interface Sampler {
  sampler: string;
  [parameter: string]: unknown;
}"""]
    for name, t in s.types.items():
        out += interface(s, camel(name), t)
    kinds = []
    for it in s.items:
        kinds.append(camel(it.symbol) + "Item")
        out += interface(s, kinds[-1], it, ['  kind: "%s";' % it.name] + rows(s, s.common, False))
    out += ["", "/** %s */" % s.events_doc, "export type Item =",
            "  | " + "\n  | ".join(kinds) + ";"]
    for op in s.ops:
        out += interface(s, camel(op.name) + "Request", op.request)
        out += interface(s, camel(op.name) + "Reply", op.reply)
    out += ["", "/** All operations: what is sent and what is answered. */", "export interface Ops {"]
    for op in s.ops:
        name = camel(op.name)
        out.append("  %s: { request: %sRequest; reply: %sReply };" % (op.name, name, name))
    return "\n".join(out + ["}", ""])


def table(s):
    out = [HEAD, "/** Versions of the protocol that this package speaks, and the latest revision it knows. */",
           "export const V_MIN = %d;" % s.v_min, "export const V_MAX = %d;" % s.v,
           "export const REVISION = %d;" % s.revision, "",
           "/** Most items of a reply to next. */", "export const ITEMS_MAX = %d;" % s.limit["items"], "",
           "/** Kinds of items after which a stream has no more. */",
           "export const FINAL = new Set(%s);" % json.dumps(sorted(s.final)), "",
           "/** For each operation: whether a repetition needs a request id, and the types of the fields",
           " * that each reply has. */", "export const OPS = {"]
    for op in s.ops:
        fields = ", ".join('%s: "%s"' % (f.name, "array" if f.list else f.type)
                           for f in op.reply.fields if f.presence == "required")
        out.append("  %s: { once: %s, reply: {%s} }," % (op.name, "true" if op.changes == "once" else "false",
                                                        " %s " % fields if fields else ""))
    return "\n".join(out + ["};", ""])


def files(s):
    return {TABLE: table(s), TYPES: types(s)}
