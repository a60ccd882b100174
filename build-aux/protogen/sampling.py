# SPDX-License-Identifier: MIT
"""Reads proto/schema/sampling.json, the table of sampling parameters, and emits what is made of it
besides the protocol: parameters of the engine, options of llamactl, parameter tables of the
samplers, and the defaults that a checkpoint brings.

The rows are fields of the request generate, which includes them; the members that the table adds
to those of a field are described in its "members"."""
import copy

from . import emit_c

FILE = "sampling"
#: members of a row that are not members of a field
MEMBERS = ("value", "option", "sets", "window", "usual", "aliases", "hf", "gguf")

PARAMS_H = "core/engine/sample_params.gen.h"
PARAMS_C = "core/engine/sample_params.gen.c"
OPTIONS_H = "client/llamactl/sampling_opts.gen.h"
SAMPLER_H = "plugins/sampler/basic/params.gen.h"
CHECKPOINT_H = "core/checkpoint/hf/sampling.gen.h"

HEAD = """/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema/sampling.json.  %s */
"""

#: type of a value -> type of a sampler's parameter
PARAM = {"int": "INT", "float": "FLOAT", "text": "STRS", "bias": "BIAS", "token": "TOKENS"}


class Sets:
    """An argument of a sampler that a row sets."""

    def __init__(self, row, d):
        own = d if isinstance(d, dict) else {"arg": d}
        if not set(own) <= {"arg", "min", "max"}:
            raise ValueError("sampling: %s: sets: unknown member" % row["name"])
        self.sampler, self.arg = own["arg"].split(".")
        self.min, self.max = own.get("min", row.get("min")), own.get("max", row.get("max"))


class Row:
    def __init__(self, d):
        self.name = d["name"]
        self.field = {k: v for k, v in d.items() if k not in MEMBERS}
        self.doc, self.default = d["doc"], d.get("default")
        self.plain_doc = d["doc"]
        self.type = d["of"] if d["type"] == "array" else d["type"]
        self.list = d["type"] in ("array", "bias")
        self.optional = d.get("optional", False)
        self.min, self.max = d.get("min"), d.get("max")
        if self.type not in PARAM:
            raise ValueError("sampling: %s: type %s is not possible" % (self.name, self.type))
        self.value = d["value"]
        self.option = d.get("option", self.name.replace("_", "-"))
        self.sets = [Sets(d, x) for x in d.get("sets", [])]
        self.window, self.usual = d.get("window", False), d.get("usual", [])
        self.aliases = d.get("aliases", {})
        self.hf, self.gguf = d.get("hf"), d.get("gguf")
        if not self.list:  # what a request leaves out is a matter of configuration and model
            self.doc += " Defaults to the value of the configuration or of the model, or %g." % self.default
            self.field.update(optional=True, doc=self.doc)
            del self.field["default"]
        self.has = self.optional or not self.list


def num(v):
    return v if isinstance(v, str) else repr(v)


def text(s):
    out = "".join({"\n": "\\n", '"': '\\"', "\\": "\\\\"}.get(c, c) for c in s)
    return '"%s"' % out


def columns(lines):
    """A macro of several lines."""
    return " \\\n".join(lines)


def guard(path):
    name = "LLAMAD_" + path.upper().replace("/", "_").replace(".", "_")
    return "#ifndef %s\n#define %s\n" % (name, name), "#endif /* %s */\n" % name


def scalars(rows):
    return [r for r in rows if not r.list]


def plain(field, rows):
    """The field as a member of a struct that has all values."""
    row = next(r for r in rows if r.name == field.name)
    if row.list:
        return field
    out = copy.copy(field)
    out.presence, out.default, out.doc = "default", row.default, row.plain_doc
    return out


# ---- core/engine ----

def params_h(fields, rows):
    begin, end = guard(PARAMS_H)
    out = [HEAD % "The sampling\n * parameters of a request." + begin,
           "#include <stdbool.h>", "#include <stdint.h>", "", '#include "llamad/sampler.h"', "",
           "struct lmi_sampler_params {"]
    out += emit_c.members([plain(f, rows) for f in fields], "\t")
    out += ["\tint64_t n_ctx; /* the window that -1 stands for; 0 = not known, no window */", "};", "",
            "/* Copies the parameters that a request has; the others keep their values. */",
            "#define LMI_SAMPLER_PARAMS_COPY(to, from)"]
    copy = ["\tdo {"]
    for r in rows:
        if not r.list:
            copy.append("\t\tif ((from)->has_%s)" % r.name)
        copy.append("\t\t%s(to)->%s = (from)->%s;" % ("" if r.list else "\t", r.name, r.name))
        if r.list:
            copy.append("\t\t(to)->n_%s = (from)->n_%s;" % (r.name, r.name))
        if r.optional:
            copy.append("\t\t(to)->has_%s = (from)->has_%s;" % (r.name, r.name))
    out[-1] = columns([out[-1]] + copy + ["\t} while (0)"])
    out += ["", "/* Parameters that are one number. */",
            "#define LMI_SAMPLER_N_SCALAR %d" % len(scalars(rows))]
    out += ["", "/* Keys of GGUF files. */"]
    out += ['#define LMI_SAMPLER_KEY_%s "%s"' % (r.name.upper(), r.gguf) for r in rows if r.gguf]
    return "\n".join(out) + "\n\n" + end


def arg_row(r, s):
    at = "offsetof(struct lmi_sampler_params, %s)"
    out = ['\t{.sampler = "%s",' % s.sampler, '\t .name = "%s",' % s.arg,
           "\t .type = LMD_PARAM_%s," % PARAM[r.type], "\t .at = %s," % (at % r.name)]
    if r.list:
        out.append("\t .n_at = %s," % (at % ("n_" + r.name)))
    if r.optional:
        out += ["\t .optional = true,", "\t .has_at = %s," % (at % ("has_" + r.name))]
    if r.usual:
        out += ["\t .usual = usual_%s," % r.name, "\t .n_usual = LMD_LEN(usual_%s)," % r.name]
    if r.window:
        out.append("\t .window = true,")
    out[-1] = out[-1].rstrip(",") + "},"
    return out


def params_c(rows):
    out = [HEAD % "Defaults of the\n * parameters, and the arguments of samplers that they set.",
           '#include "core/engine/sample_args.h"', "", "#include <stddef.h>", "",
           "void lmi_sampler_params_default(struct lmi_sampler_params *p)", "{",
           "\t*p = (struct lmi_sampler_params){"]
    out += ["\t\t.%s = %s," % (r.name, num(r.default)) for r in rows
            if not r.list and r.default]
    out += ["\t};", "}"]
    for r in rows:
        if r.usual:
            out += ["", "static const struct lmd_str usual_%s[] = {" % r.name]
            out += ["\t{%s, %d}," % (text(u), len(u.encode())) for u in r.usual] + ["};"]
    out += ["", "const struct lmi_sampler_arg_row lmi_sampler_arg_rows[] = {"]
    for r in rows:
        for s in r.sets:
            out += arg_row(r, s)
    out += ["};", "const size_t lmi_sampler_n_arg_rows = LMD_LEN(lmi_sampler_arg_rows);"]
    out += ["", "const struct lmi_sampler_scalar_row lmi_sampler_scalar_rows[] = {"]
    for r in scalars(rows):
        o = ['\t{.name = "%s",' % r.name, "\t .at = offsetof(struct lmi_sampler_params, %s)," % r.name,
             "\t .type = LMD_PARAM_%s," % PARAM[r.type], "\t .min = %s," % num(r.min),
             "\t .max = %s," % num(r.max)]
        if r.gguf:
            o.append('\t .key = "%s",' % r.gguf)
        o[-1] = o[-1].rstrip(",") + "},"
        out += o
    out += ["};", "_Static_assert(LMD_LEN(lmi_sampler_scalar_rows) == LMI_SAMPLER_N_SCALAR, "
            '"the number of rows");']
    return "\n".join(out) + "\n"


# ---- client/llamactl ----

def options_h(rows):
    begin, end = guard(OPTIONS_H)
    out = [HEAD % "The sampling\n * options of llamactl." + begin, "/* clang-format off */",
           "/* Rows of an option table. */"]
    opts = ["#define LMI_CTL_OPTS_SAMPLING_PARAMS"]
    for r in rows:
        doc = r.doc + (" May be repeated." if r.list else "")
        if r.list and r.optional:
            doc += " An empty value ('') gives an empty list."
        kind = "LIST" if r.list else r.type.upper()
        o = ["\t{.name = %s," % text(r.option), "\t .type = LMI_OPT_%s," % kind,
             "\t .value = %s," % text(r.value)]
        if not r.list:
            o += ["\t .min = %s," % num(r.min), "\t .max = %s," % num(r.max)]
        opts += o + ["\t .doc = %s}," % text(doc)]
    out += [columns(opts), "", "/* Where the values go in struct lmi_wire_req_generate. */"]
    at = "offsetof(struct lmi_wire_req_generate, %s)"
    rows_ = ["#define LMI_CTL_SAMPLING_ROWS"]
    for r in rows:
        o = ["\t{.opt = %s," % text(r.option), "\t .type = LMD_PARAM_%s," % PARAM[r.type],
             "\t .at = %s," % (at % r.name)]
        if r.list:
            o.append("\t .n_at = %s," % (at % ("n_" + r.name)))
        if r.has:
            o += ["\t .optional = true,", "\t .has_at = %s," % (at % ("has_" + r.name))]
        o[-1] = o[-1].rstrip(",") + "},"
        rows_ += o
    out += [columns(rows_), "/* clang-format on */"]
    return "\n".join(out) + "\n\n" + end


# ---- plugins/sampler/basic ----

def sampler_h(rows):
    begin, end = guard(SAMPLER_H)
    out = [HEAD % "Rows of the\n * samplers' parameter tables: SAMPLER_PARAM_ and the names of sampler "
           "and parameter." + begin, "/* clang-format off */"]
    for r in rows:
        for s in r.sets:
            m = ["#define SAMPLER_PARAM_%s_%s" % (s.sampler, s.arg),
                 '\t{.name = "%s",' % s.arg, "\t .type = LMD_PARAM_%s," % PARAM[r.type]]
            if not r.list:
                m += ["\t .def = %s," % num(r.default), "\t .min = %s," % num(s.min),
                      "\t .max = %s," % num(s.max)]
            elif r.type == "bias":
                m += ["\t .min = -INFINITY,", "\t .max = INFINITY,"]
            out += [columns(m + ["\t .doc = %s}" % text(r.plain_doc)])]
    return "\n".join(out + ["/* clang-format on */"]) + "\n\n" + end


# ---- core/checkpoint/hf ----

def checkpoint_h(rows):
    begin, end = guard(CHECKPOINT_H)
    out = [HEAD % "Members of\n * generation_config.json and the keys of GGUF files." + begin,
           "/* X(member, key, type) */"]
    m = ["#define LMI_CHECKPOINT_SAMPLING(X)"]
    m += ['\tX("%s", "%s", %s)' % (r.hf, r.gguf, PARAM[r.type]) for r in rows if r.hf]
    return "\n".join(out + [columns(m)]) + "\n\n" + end


def files(s):
    rows = s.sampling
    names = [r.name for r in rows]
    fields = [f for op in s.ops if op.name == "generate" for f in op.request.fields
              if f.name in names]
    return {PARAMS_H: params_h(fields, rows), PARAMS_C: params_c(rows), OPTIONS_H: options_h(rows),
            SAMPLER_H: sampler_h(rows), CHECKPOINT_H: checkpoint_h(rows)}
