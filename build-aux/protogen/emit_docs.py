# SPDX-License-Identifier: MIT
"""Emits docs/protocol.md: the tables between lines <!-- begin NAME --> and <!-- end -->."""
import re
import sys

PATH = "docs/protocol.md"


def cell(text):
    return text.replace("|", "\\|")


def type_text(f):
    if f.type == "array":
        inner = f.of if f.elem not in ("enum",) else "word of " + f.of
        return "list of %s, at most %d" % (inner, f.max_items)
    if f.type in ("chain", "bias"):
        return "%s, at most %d" % ({"chain": "sampler chain", "bias": "list of [token, number]"}
                                   [f.type], f.max_items)
    return {"enum": "word of " + (f.of or ""), "object": f.of, "status": "error code"}.get(f.type,
                                                                                       f.type)


def bound_text(f):
    if f.elem in ("string", "text", "bytes"):
        return ("%d to %d bytes" % (f.min, f.max)) if f.min else "at most %d bytes" % f.max
    if f.type in ("int", "float") and f.bounds:
        a = "%g" if f.type == "float" else "%d"
        lo, hi = a % f.min, a % f.max
        return {("min", "max"): lo + " to " + hi, ("min",): "at least " + lo,
                ("max",): "at most " + hi}[tuple(f.bounds)]
    return ""


def presence_text(f):
    if f.presence == "default":
        d = f.default
        return "empty" if d in ("", []) else "true" if d is True else "false" if d is False else \
            str(d)
    return f.presence


def table(fields):
    if not fields:
        return ["No fields."]
    out = ["| field | type | bounds | unit | default | meaning |", "|---|---|---|---|---|---|"]
    for f in fields:
        doc = f.doc + ("" if f.since == 1 else " Since revision %d." % f.since)
        out.append("| `%s` | %s | %s | %s | %s | %s |" % (
            f.name, type_text(f), bound_text(f), f.unit, presence_text(f), cell(doc)))
    return out


def ops(s, group):
    out = []
    for op in (o for o in s.ops if o.group == group):
        facts = ["role %s" % op.role]
        facts += {"no": [], "once": ["not idempotent: needs `rid`"],
                  "again": ["idempotent"]}[op.changes]
        if op.since > 1:
            facts.append("since revision %d" % op.since)
        out += ["", "#### %s" % op.name, "", op.doc + " (%s)" % "; ".join(facts), ""]
        if op.one_of:
            names = ["`%s`" % n for n in op.one_of]
            out += ["Exactly one of %s and %s is required." % (", ".join(names[:-1]), names[-1]), ""]
        out += ["Request:", ""] + table(op.request.fields) + ["", "Reply:", ""]
        out += table(op.reply.fields)
    return out[1:]


def words(s):
    out = []
    for w in s.words.values():
        out += ["", "#### %s" % w.name, "", w.doc, "", "| word | meaning |", "|---|---|"]
        out += ["| `%s` | %s |" % (n, cell(d)) for n, d in w.values]
    return out[1:]


def types(s):
    out = []
    for t in s.types.values():
        out += ["", "#### %s" % t.name, "", t.doc, ""] + table(t.fields)
    return out[1:]


def items(s):
    out = [s.events_doc + " All items have these fields:", ""] + table(s.common.fields)
    for it in s.items:
        out += ["", "#### %s%s" % (it.name, " (final)" if it.name in s.final else ""), "", it.doc,
                ""] + table(it.fields)
    return out


def limits(s):
    out = ["| name | value | unit | configurable | meaning |", "|---|---|---|---|---|"]
    return out + ["| `%s` | %d | %s | %s | %s |" % (
        r["name"], r["value"], r.get("unit", ""), "yes" if r.get("config") else "", r["doc"])
        for r in s.limits]


def errors(s):
    return ["| code | number in C | meaning |", "|---|---|---|"] + [
        "| `%s` | %d | %s |" % (e["name"], e["number"], e["doc"]) for e in s.errors]


def section(s, name):
    if name.startswith("ops "):
        return ops(s, name[4:])
    return {"words": words, "types": types, "items": items, "limits": limits,
            "errors": errors}[name](s)


def fill(s, text, session):
    """Returns the document with regenerated sections.  If session is None, that section is kept."""
    for op in s.ops:
        if "<!-- begin ops %s -->" % op.group not in text:
            sys.exit("%s: add a section 'ops %s' for the op %s" % (PATH, op.group, op.name))

    def sub(m):
        if m.group(1) == "session":
            if session is None:
                return m.group(0)
            body = session.strip("\n")
        else:
            body = "\n".join(section(s, m.group(1)))
        return "<!-- begin %s -->\n%s\n<!-- end -->" % (m.group(1), body)
    return re.sub(r"<!-- begin ([a-z ]+) -->\n(?:.*?\n)??<!-- end -->", sub, text, flags=re.S)
