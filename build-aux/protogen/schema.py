# SPDX-License-Identifier: MIT
"""Reads proto/schema/*.json, checks them, and returns them as objects.

This module defines all members that a schema file may contain; any other member is an error."""
import json
import os
import re

from . import sampling

GROUPS = ("server", "models", "text", "sessions", "streams", "plugins", "keys")
INT_MIN, INT_MAX = -2**63, 2**63 - 1
FLOAT_MAX = 1.7976931348623157e308

# type: members that are allowed in addition to the common ones
TYPES = {
    "bool": (), "int": ("min", "max", "unit"), "float": ("min", "max", "unit"),
    "string": ("min", "max"), "text": ("min", "max"), "bytes": ("min", "max"),
    "id": (), "token": (), "status": (), "enum": ("of",), "object": ("of",), "item": (),
    "array": ("of", "max", "item_min", "item_max"), "chain": ("max",), "bias": ("max",),
}
LISTS = ("array", "chain", "bias")
SPANS = ("string", "text", "bytes")


class SchemaError(Exception):
    pass


def need(ok, where, what):
    if not ok:
        raise SchemaError("%s: %s" % (where, what))


def members(where, d, must, may=()):
    for k in must:
        need(k in d, where, "%s is missing" % k)
    for k in d:
        need(k in must or k in may, where, "%s is unknown" % k)


class Field:
    """name type of min max item_min item_max unit since doc presence default"""

    def __init__(self, schema, where, d, since):
        self.name = d.get("name", "?")
        where = "%s: %s" % (where, self.name)
        kind = d.get("type")
        need(kind in TYPES, where, "type %r is unknown" % kind)
        members(where, d, ("name", "type", "doc"), ("default", "optional", "since") + TYPES[kind])
        need(re.fullmatch("[a-z][a-z0-9_]{0,40}", self.name), where, "the name is not valid")
        need(d["doc"].endswith("."), where, "doc does not end with a full stop")
        need(not ("default" in d and "optional" in d), where, "has both default and optional")
        self.type, self.doc, self.unit = kind, d["doc"], d.get("unit", "")
        self.since = d.get("since", since)
        self.presence = ("default" if "default" in d else
                         "optional" if d.get("optional") else "required")
        self.default = d.get("default")
        self.of = d.get("of")
        self.list = kind in LISTS
        self.elem = self.of if kind == "array" else kind
        if kind == "array" and self.elem not in TYPES:
            self.elem = "object"
        num = schema.number
        self.max_items = num(where, d["max"]) if self.list else 0
        if kind in SPANS:
            self.min, self.max = num(where, d.get("min", 0)), num(where, d["max"])
        elif kind == "array" and self.elem in SPANS:
            self.min, self.max = num(where, d.get("item_min", 0)), num(where, d["item_max"])
        elif kind == "int":
            self.min, self.max = num(where, d.get("min", INT_MIN)), num(where, d.get("max", INT_MAX))
        elif self.elem == "float":
            bound = "item_" if kind == "array" else ""
            self.min, self.max = (float(d.get(bound + "min", -FLOAT_MAX)),
                                  float(d.get(bound + "max", FLOAT_MAX)))
        else:
            self.min = self.max = None
        if kind == "int" and self.presence == "default":
            self.default = num(where, self.default)
        self.bounds = [k for k in ("min", "max") if k in d]
        if self.list:
            need(self.presence != "default" or self.default == [], where, "default is not []")
        elif self.presence == "default":
            self.check_default(schema, where)
        if self.elem == "enum":
            need(self.of in schema.words, where, "no words %s" % self.of)
        if self.elem == "object":
            need(self.of in schema.types, where, "no type %s" % self.of)

    def check_default(self, schema, where):
        d = self.default
        ok = {"bool": lambda: isinstance(d, bool),
              "int": lambda: type(d) is int and self.min <= d <= self.max,
              "float": lambda: type(d) in (int, float) and self.min <= d <= self.max,
              "string": lambda: isinstance(d, str) and self.min <= len(d) <= self.max,
              "text": lambda: d == "", "bytes": lambda: d == "",
              "enum": lambda: d in schema.words[self.of].names}.get(self.type)
        need(ok and ok(), where, "default %r does not fit" % (d,))


class Struct:
    """A request, a reply, a shared type or an item of a stream."""

    def __init__(self, schema, where, name, doc, fields, since):
        need(doc.endswith("."), where, "doc does not end with a full stop")
        self.name, self.doc, self.since = name, doc, since
        self.fields = [Field(schema, where, f, since) for f in fields]
        names = [f.name for f in self.fields]
        need(len(set(names)) == len(names), where, "a field occurs twice")
        need(len(names) <= 100, where, "too many fields")


class Words:
    def __init__(self, d):
        members("words", d, ("name", "doc", "values"))
        self.name, self.doc = d["name"], d["doc"]
        for v in d["values"]:
            members(self.name, v, ("name", "doc"))
        self.values = [(v["name"], v["doc"]) for v in d["values"]]
        self.names = [n for n, _ in self.values]


class Op:
    def __init__(self, schema, where, d):
        members(where, d, ("op", "group", "since", "role", "doc", "request", "reply"),
                ("changes", "one_of"))
        self.name, self.group, self.since = d["op"], d["group"], d["since"]
        self.role, self.doc = d["role"], d["doc"]
        self.changes = d.get("changes", "no")
        need(self.group in GROUPS, where, "group")
        need(self.role in ("user", "admin"), where, "role")
        need(self.changes in ("no", "once", "again"), where, "changes")
        self.request = Struct(schema, where + ": request", self.name, self.doc, d["request"],
                              self.since)
        self.reply = Struct(schema, where + ": reply", self.name, self.doc, d["reply"], self.since)
        for s in (self.request, self.reply):
            for f in s.fields:
                need(f.name not in ("v", "op", "rid", "error"), where, f.name + " is taken")
        self.one_of = d.get("one_of", [])
        for n in self.one_of:
            f = [f for f in self.request.fields if f.name == n]
            need(f and f[0].presence == "optional", where, "one_of: " + n)


class Schema:
    def __init__(self, folder):
        self.folder = folder
        self.files = sorted(f for f in os.listdir(folder) if f.endswith(".json"))
        raw = {f[:-5]: self.read(f) for f in self.files}
        table = raw.pop(sampling.FILE)
        members(sampling.FILE, table, ("doc", "members", "params"))
        self.sampling = [sampling.Row(r) for r in table["params"]]
        generate = raw["generate"]
        generate["request"] = [x for f in generate["request"] for x in (
            [r.field for r in self.sampling] if f == {"include": sampling.FILE} else [f])]
        bounds = raw.pop("bounds")
        members("bounds", bounds, ("doc", "v_min", "v", "limits"))
        self.v_min, self.v, limits = bounds["v_min"], bounds["v"], bounds["limits"]
        for row in limits:
            members("limits", row, ("name", "value", "doc"), ("unit", "config"))
        self.limits = limits
        self.limit = {r["name"]: r["value"] for r in limits}
        self.errors = raw.pop("errors")["errors"]
        types = raw.pop("types")
        self.words = {w["name"]: Words(w) for w in types["words"]}
        self.types = {}
        todo = list(types["types"])
        while todo:  # in each round the types that use none of the remaining ones
            n = len(todo)
            for t in list(todo):
                uses = {f.get("of") for f in t["fields"] if f["type"] in ("object", "array")}
                if not uses & {x["name"] for x in todo}:
                    members("types", t, ("name", "doc", "fields"))
                    self.types[t["name"]] = Struct(self, "type " + t["name"], t["name"], t["doc"],
                                                   t["fields"], 1)
                    todo.remove(t)
            need(len(todo) < n, "types", "types contain each other")
        ev = raw.pop("items")
        members("items", ev, ("doc", "tag", "common", "items"))
        self.tag, self.events_doc = ev["tag"], ev["doc"]
        self.common = Struct(self, "items", "common", ev["doc"], ev["common"], 1)
        self.items, self.final = [], set()
        for it in ev["items"]:
            members("items", it, ("kind", "doc", "fields"), ("final", "since", "symbol"))
            self.items.append(Struct(self, "item " + it["kind"], it["kind"], it["doc"],
                                     it["fields"], it.get("since", 1)))
            self.items[-1].symbol = it.get("symbol", it["kind"])  # its name in C, Python and Go
            if it.get("final"):
                self.final.add(it["kind"])
        self.ops = []
        for name in sorted(raw):
            need(raw[name].get("op") == name, name, "op and file name differ")
            self.ops.append(Op(self, name, raw[name]))
        structs = list(self.types.values()) + self.items + [
            x for o in self.ops for x in (o.request, o.reply)]
        self.revision = max([o.since for o in self.ops] +
                            [f.since for x in structs for f in x.fields])

    def read(self, name):
        def unique(pairs):
            need(len({k for k, _ in pairs}) == len(pairs), name, "a key is there twice")
            return dict(pairs)
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return json.load(f, object_pairs_hook=unique)

    def number(self, where, v):
        if isinstance(v, str):
            need(v in self.limit, where, "no limit " + v)
            return self.limit[v]
        need(type(v) is int, where, "%r is no whole number" % (v,))
        return v
