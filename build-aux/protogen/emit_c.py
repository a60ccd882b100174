# SPDX-License-Identifier: MIT
"""Emits C: structs, enum words and the field tables of the codec."""

HEAD = """/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema.  %s */
"""


def c_str(s):
    return '"%s"' % s.replace("\\", "\\\\").replace('"', '\\"')


def num(v):
    return {-2**63: "INT64_MIN", 2**63 - 1: "INT64_MAX"}.get(v, "%d" % v)


def flt(v):
    return {1.7976931348623157e308: "DBL_MAX", -1.7976931348623157e308: "-DBL_MAX"}.get(v, repr(v))


def elem_type(f, kind):
    return {"bool": "bool", "int": "int64_t", "float": "double", "string": "struct lmd_str",
            "text": "struct lmd_str", "bytes": "struct lmd_str", "id": "struct lmi_wire_id",
            "token": "lmd_token", "status": "enum lmd_status",
            "enum": "enum lmi_wire_%s" % f.of, "object": "struct lmi_wire_%s" % f.of,
            "item": "struct lmi_wire_item", "chain": "struct lmi_wire_sampler",
            "bias": "struct lmd_bias"}[kind]


def wrap(text, indent, width=96):
    """A C comment, wrapped into lines."""
    lines, line = [], indent + "/* "
    for word in text.split():
        if len(line.expandtabs(8)) + len(word) > width:
            lines.append(line.rstrip())
            line = indent + " * "
        line += word + " "
    return "\n".join(lines + [line + "*/"])


def range_text(f):
    """Unit, bounds and default of a field, as they appear in a comment."""
    words = []
    if f.unit:
        words.append(f.unit)
    if f.type in ("int", "float") and f.bounds:
        lo = "%g" % f.min if f.type == "float" else str(f.min)
        hi = "%g" % f.max if f.type == "float" else str(f.max)
        if f.bounds == ["min", "max"]:
            words.append("%s..%s" % (lo, hi))
        else:
            words.append(">= " + lo if f.bounds == ["min"] else "<= " + hi)
    if f.presence == "default" and not f.list and f.default != "" and f.default is not False:
        d = f.default
        words.append("default %s" % ("true" if d is True else d))
    return " (%s)" % "; ".join(words) if words else ""


def members(fields, indent):
    out = []
    for f in fields:
        out.append(wrap(f.doc + range_text(f), indent))
        if f.presence == "optional":
            out.append("%sbool has_%s;" % (indent, f.name))
        if f.list:
            out.append("%sconst %s *%s;" % (indent, elem_type(f, f.elem), f.name))
            out.append("%suint32_t n_%s;" % (indent, f.name))
        else:
            out.append("%s%s %s;" % (indent, elem_type(f, f.elem), f.name))
    return out


def struct(name, s):
    out = ["", wrap(s.doc, ""), "struct %s {" % name]
    out += members(s.fields, "\t") or ["\tchar none; /* no fields */"]
    return out + ["};"]


def enumerator(text, doc):
    """A row of an enum: the comment stands beside it, or above if the line would be too long."""
    row = "\t%s /* %s */" % (text, doc.rstrip("."))
    return [row] if len(row.expandtabs(8)) <= 100 else [wrap(doc, "\t"), "\t" + text]


def words(s):
    out = []
    for w in s.words.values():
        out += ["", wrap(w.doc, ""), "enum lmi_wire_%s {" % w.name,
                "\tLMI_WIRE_%s_UNKNOWN = 0, /* sent by a newer server; never in a request */"
                % w.name.upper()]
        rows = []
        for i, (n, doc) in enumerate(w.values):
            comma = "," if i + 1 < len(w.values) else ""
            rows += enumerator("LMI_WIRE_%s_%s = %d%s" % (w.name.upper(), n.upper(), i + 1, comma),
                               doc)
        out += rows + ["};", "extern const struct lmi_wire_words lmi_wire_words_%s;" % w.name]
    return out


def ops_enum(s):
    out = ["", "/* The operations.  Only names are sent; the numbers are private to a build. */",
           "enum lmi_wire_op {", "\tLMI_WIRE_OP_NONE = 0,"]
    for i, op in enumerate(s.ops):
        out.append("\tLMI_WIRE_OP_%s = %d%s" % (op.name.upper(), i + 1,
                                                "," if i + 1 < len(s.ops) else ""))
    return out + ["};", "#define LMI_WIRE_N_OP %d" % (len(s.ops) + 1)]


def item(s):
    out = ["", "/* An item of a stream. */", "enum lmi_wire_item_kind {",
           "\tLMI_WIRE_ITEM_UNKNOWN = 0, /* sent by a newer server: only n is known */"]
    for i, it in enumerate(s.items):
        comma = "," if i + 1 < len(s.items) else ""
        out += enumerator("LMI_WIRE_ITEM_%s = %d%s" % (it.symbol.upper(), i + 1, comma),
                          it.doc + (" Final." if it.name in s.final else ""))
    out += ["};", "#define LMI_WIRE_N_ITEM %d" % (len(s.items) + 1), "", "struct lmi_wire_item {",
            "\tenum lmi_wire_item_kind kind;"]
    out += members(s.common.fields, "\t")
    out.append("\tunion {")
    for it in s.items:
        out.append("\t\tstruct {")
        out += members(it.fields, "\t\t\t")
        out.append("\t\t} %s;" % it.symbol)
    return out + ["\t} u;", "};"]


def union(s, prefix):
    out = ["", "union %ss {" % prefix]
    out += ["\tstruct %s_%s %s;" % (prefix, op.name, op.name) for op in s.ops]
    return out + ["};"]


def types_h(s):
    out = [HEAD % "The structs of the messages;\n * proto/proto.h explains bounds and ownership."
           + "#ifndef LLAMAD_PROTO_GEN_TYPES_GEN_H\n#define LLAMAD_PROTO_GEN_TYPES_GEN_H\n",
           "#include <stdbool.h>", "#include <stdint.h>", "",
           '#include "llamad/sampler.h"', '#include "llamad/status.h"', '#include "llamad/types.h"',
           '#include "proto/value.h"']
    out += ["", "struct lmi_wire_words; /* the words of an enum, see table.h */"]
    out += ops_enum(s) + words(s)
    for t in s.types.values():
        out += struct("lmi_wire_" + t.name, t)
    out += item(s)
    for op in s.ops:
        out += struct("lmi_wire_req_" + op.name, op.request)
        out += struct("lmi_wire_rep_" + op.name, op.reply)
    out += union(s, "lmi_wire_req") + union(s, "lmi_wire_rep")
    out += ["", "#endif /* LLAMAD_PROTO_GEN_TYPES_GEN_H */"]
    return "\n".join(out) + "\n"


def limits_h(s):
    out = [HEAD % "The bounds of the protocol." +
           "#ifndef LLAMAD_PROTO_GEN_LIMITS_GEN_H\n#define LLAMAD_PROTO_GEN_LIMITS_GEN_H\n"]
    out += ["/* Versions of the protocol that this build speaks, and the latest revision it knows. */",
            "#define LMI_WIRE_V_MIN %d" % s.v_min, "#define LMI_WIRE_V %d" % s.v,
            "#define LMI_WIRE_REVISION %d" % s.revision, ""]
    for r in s.limits:
        out.append(wrap(r["doc"] + (" (%s)" % r["unit"] if r.get("unit") else ""), ""))
        out.append("#define LMI_WIRE_LIMIT_%s %d" % (r["name"].upper(), r["value"]))
    out += ["", "#define LMI_WIRE_N_LIMIT %d" % len(s.limits), "",
            "#endif /* LLAMAD_PROTO_GEN_LIMITS_GEN_H */"]
    return "\n".join(out) + "\n"


KIND = {"bool": "BOOL", "int": "INT", "float": "FLOAT", "string": "STRING", "text": "TEXT",
        "bytes": "BYTES", "id": "ID", "token": "TOKEN", "status": "STATUS", "enum": "ENUM",
        "object": "OBJECT", "item": "ITEM", "chain": "CHAIN", "bias": "BIAS"}


def field_row(f, sname, path):
    at = "offsetof(struct %s, %s%%s)" % (sname, path)
    row = ["\t{.name = %s," % c_str(f.name), "\t .type = LMI_WIRE_T_%s," % KIND[f.elem],
           "\t .presence = LMI_WIRE_%s," % f.presence.upper(),
           "\t .at = %s," % (at % f.name)]
    if f.presence == "optional":
        row.append("\t .has_at = %s," % (at % ("has_" + f.name)))
    if f.list:
        row += ["\t .list = true,", "\t .n_at = %s," % (at % ("n_" + f.name)),
                "\t .max_items = %d," % f.max_items]
    if f.elem == "int":
        row.append("\t .u.i = {%s, %s, %s}," % (num(f.min), num(f.max),
                                                num(f.default) if f.default is not None else "0"))
    elif f.elem == "float":
        row.append("\t .u.f = {%s, %s, %s}," % (flt(f.min), flt(f.max), flt(float(f.default or 0))))
    elif f.elem in ("string", "text", "bytes"):
        row.append("\t .u.s = {%d, %d, %s}," % (f.min, f.max,
                                               c_str("" if f.list else f.default or "")))
    elif f.elem == "enum":
        d = "LMI_WIRE_%s_%s" % (f.of.upper(), f.default.upper()) if f.presence == "default" else "0"
        row.append("\t .u.e = {&lmi_wire_words_%s, %s}," % (f.of, d))
    elif f.elem == "object":
        row.append("\t .u.of = &type_%s," % f.of)
    elif f.elem == "bool" and f.default:
        row.append("\t .u.b = true,")
    row[-1] = row[-1].rstrip(",") + "},"
    return row


def table(var, sname, label, s, path="", static=True, extra=()):
    out = []
    if s.fields:
        out += ["", "static const struct lmi_wire_field fields_%s[] = {" % var]
        for f in s.fields:
            out += field_row(f, sname, path)
        out.append("};")
    out += ["%sconst struct lmi_wire_struct %s = {" % ("static " if static else "", var),
            "\t.name = %s," % c_str(label), "\t.bytes = sizeof(struct %s)," % sname]
    if s.fields:
        out += ["\t.fields = fields_%s," % var, "\t.n_fields = LMD_LEN(fields_%s)," % var]
    return out + list(extra) + ["};"]


def tables_c(s):
    out = [HEAD % "The tables of the codec." + '#include "proto/table.h"', "", "#include <float.h>",
           "#include <stddef.h>", "", '#include "proto/limits.h"']
    for w in s.words.values():
        out += ["", "static const char *const names_%s[] = {" % w.name]
        out += ["\t%s," % c_str(n) for n in w.names]
        out += ["};", "const struct lmi_wire_words lmi_wire_words_%s = {" % w.name,
                "\t%s, names_%s, LMD_LEN(names_%s)};" % (c_str(w.name), w.name, w.name)]
    for t in s.types.values():
        out += table("type_" + t.name, "lmi_wire_" + t.name, t.name, t)
    out += table("item_common", "lmi_wire_item", "item", s.common)
    for it in s.items:
        out += table("item_" + it.symbol, "lmi_wire_item", it.name, it, "u.%s." % it.symbol)
    out += ["", "const struct lmi_wire_variants lmi_wire_items = {",
            "\t.tag = %s," % c_str(s.tag), "\t.common = &item_common,", "\t.of = {"]
    for it in s.items:
        out.append("\t\t[LMI_WIRE_ITEM_%s] = &item_%s," % (it.symbol.upper(), it.symbol))
    out += ["\t},", "\t.final = " + " | ".join("1u << LMI_WIRE_ITEM_%s" % it.symbol.upper()
                                              for it in s.items if it.name in s.final) + ",", "};"]
    out += ["", "const char *const lmi_wire_codes[LMD_N_STATUS] = {"]
    out += ["\t[LMD_%s] = %s," % (e["name"].upper(), c_str(e["name"])) for e in s.errors]
    out += ["};"]
    out += ['_Static_assert(LMD_%s == %d, "numbers of errors never change");'
            % (e["name"].upper(), e["number"]) for e in s.errors]
    out += ['_Static_assert(LMD_N_STATUS == %d, "every status has a word");' % (len(s.errors) + 1)]
    out += ["", "const struct lmi_wire_struct *const lmi_wire_error_struct = &type_error;"]
    for op in s.ops:
        extra = []
        if op.one_of:
            idx = [[f.name for f in op.request.fields].index(n) for n in op.one_of]
            extra = ["\t.n_one_of = %d," % len(idx), "\t.one_of = {%s}," % ", ".join(map(str, idx))]
        out += table("req_" + op.name, "lmi_wire_req_" + op.name, op.name, op.request, extra=extra)
        out += table("rep_" + op.name, "lmi_wire_rep_" + op.name, op.name, op.reply)
    out += ["", "const struct lmi_wire_opinfo lmi_wire_ops[LMI_WIRE_N_OP] = {"]
    for op in s.ops:
        out += ["\t[LMI_WIRE_OP_%s] = {" % op.name.upper(), "\t\t.name = %s," % c_str(op.name),
                "\t\t.since = %d," % op.since, "\t\t.role = LMI_WIRE_ROLE_%s," % op.role.upper(),
                "\t\t.changes = LMI_WIRE_CHANGES_%s," % op.changes.upper(),
                "\t\t.request = &req_%s," % op.name, "\t\t.reply = &rep_%s," % op.name, "\t},"]
    out += ["};", "", "const struct lmi_wire_limit_row lmi_wire_limit_rows[LMI_WIRE_N_LIMIT] = {"]
    for r in s.limits:
        out.append("\t{%s, %s, LMI_WIRE_LIMIT_%s, %s}," % (
            c_str(r["name"]), c_str(r.get("unit", "")), r["name"].upper(),
            "true" if r.get("config") else "false"))
    out += ["};"]
    return "\n".join(out) + "\n"


def files(s):
    return {"proto/gen/types.gen.h": types_h(s), "proto/gen/limits.gen.h": limits_h(s),
            "proto/gen/tables.gen.c": tables_c(s)}
