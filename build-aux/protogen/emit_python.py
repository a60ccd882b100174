# SPDX-License-Identifier: MIT
"""Emits Python: a dataclass for each message and type, and conversion to and from plain maps.

The module is long because every field is written out, with its type and its documentation: editors and
type checkers read the text of a module and run none of it, so classes made at run time from a table
would be shorter and invisible to them."""
import keyword
import re
import textwrap

from . import aliases

HEAD = '''# SPDX-License-Identifier: MIT
# Made by build-aux/gen-proto from proto/schema.
"""Messages of llamad's protocol as dataclasses.

to_map() returns a dict for msgpack and leaves out fields that are None or have their default;
from_map() takes a dict that msgpack unpacked and ignores keys that it does not know."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import (Any, ClassVar, Generic, Literal, Mapping, Protocol, Sequence, TypedDict, TypeVar,
                    Union)

#: Versions of the protocol that this module speaks, and the latest revision it knows.
V_MIN = @V_MIN@
V_MAX = @V_MAX@
REVISION = @REVISION@


M = TypeVar("M", bound="Message")
R = TypeVar("R", bound="Message")


class SchemaModel(Protocol):
    """A model of pydantic."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]: ...


def _size(n: float) -> str:
    """A number of bytes for people, such as 98 MB."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


class Message:
    """Base of all messages and types."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = []
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.repr and value is not None and value != f.metadata.get("default"):
                shown.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_map(self) -> dict[str, Any]:
        kind = getattr(self, "KIND", "")
        out: dict[str, Any] = {"@TAG@": kind} if kind else {}
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if value is None or ("default" in f.metadata and value == f.metadata["default"]):
                continue
            if isinstance(value, Message):
                value = value.to_map()
            elif isinstance(value, (list, tuple)):
                value = [v.to_map() if isinstance(v, Message) else v for v in value]
            out[f.metadata["wire"]] = value
        return out

    @classmethod
    def from_map(cls: type[M], m: Mapping[str, Any]) -> M:
        args = {}
        for f in dataclasses.fields(cls):  # type: ignore[arg-type]
            value = m.get(f.metadata["wire"])
            if value is None:
                continue
            make = f.metadata.get("make")
            if make is not None:
                of = globals()[make]
                many = f.metadata.get("many", False)
                value = [of.from_map(v) for v in value] if many else of.from_map(value)
            elif isinstance(value, str) and f.metadata.get("bytes", False):
                value = value.encode()
            args[f.name] = value
        return cls(**args)


class Request(Message, Generic[R]):
    """Base of all requests.  R is the type of the reply."""

    __slots__ = ()
    OP: ClassVar[str]
    ROLE: ClassVar[str]
    CHANGES: ClassVar[str]
    REPLY: ClassVar[Any]
'''


#: What a value prints in place of its fields.
REPR = {
    "model": "{self.name} {self.state}, {_size(self.size)}",
    "resident": "{self.model} {self.state} on {self.backend}, {_size(self.weight_bytes)}",
    "plugin": "{self.name or self.file} {self.version} {self.state}",
    "stream": "{self.kind} of {self.model} {self.state}, {self.last} items",
    "key": "{self.label} of {self.role}",
    "metric": "{self.name} {self.value:g}",
}

#: Fields that are not printed.
SECRETS = {("hello", "key")}


def camel(name):
    return "".join(p.capitalize() for p in name.split("_"))


def py_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def words_name(s, name):
    return camel(name) + ("Word" if name in s.types else "")


def elem(s, f):
    return {"bool": "bool", "int": "int", "float": "float", "string": "str",
            "text": "Union[str, bytes]", "bytes": "bytes", "id": "bytes", "token": "int",
            "status": "str", "enum": "str", "object": camel(f.of or ""), "item": "Item",
            "chain": "Union[str, Mapping[str, Any]]",
            "bias": "tuple[int, Union[float, bool]]"}[f.elem]


def bounds(f):
    out = []
    if f.unit:
        out.append(f.unit)
    if f.type in ("int", "float"):
        if "min" in f.bounds:
            out.append("at least %g" % f.min if f.type == "float" else "at least %d" % f.min)
        if "max" in f.bounds:
            out.append("at most %g" % f.max if f.type == "float" else "at most %d" % f.max)
    return " (%s)" % ", ".join(out) if out else ""


def comment(text, indent):
    out, line = [], indent + "#:"
    for w in text.split():
        if len(line) + 1 + len(w) > 98:
            out.append(line)
            line = indent + "#:"
        line += " " + w
    return out + [line]


def row(s, f, of=None):
    typ = elem(s, f)
    if f.list:
        typ = "list[%s]" % typ
    hide = "repr=False, " if (of, f.name) in SECRETS else ""
    meta = ['"wire": "%s"' % f.name]
    head = ""
    if f.presence == "optional":
        typ = "Union[%s, None]" % typ
        head = "default=None, "
    elif f.presence == "default":
        if f.list:
            head = "default_factory=list, "
            meta.append('"default": []')
        else:
            d = b"" if f.type == "bytes" else f.default
            if f.type == "float":
                d = float(d)
            head = "default=%r, " % (d,)
            meta.append('"default": %r' % (d,))
    if f.type in ("bytes", "id"):
        meta.append('"bytes": True')
    if f.elem in ("object", "item"):
        meta.append('"make": "%s"' % ("Item_" if f.elem == "item" else camel(f.of)))
        if f.list:
            meta.append('"many": True')
    return comment(f.doc + bounds(f), "    ") + [
        "    %s: %s = field(%s%smetadata={%s})" % (py_name(f.name), typ, head, hide, ", ".join(meta))]


def params(s, op):
    """The optional fields of a request, for functions with keyword arguments."""
    fields = [f for f in op.request.fields
              if f.presence != "required" and f.name not in (op.one_of or ())]
    if not fields:
        return []
    name = camel(op.name) + "Params"
    out = ["", "", "class %s(TypedDict, total=False):" % name,
           '    """Optional fields of %s."""' % op.name, ""]
    types = {}
    for f in fields:
        typ = "list[%s]" % elem(s, f) if f.list else elem(s, f)
        if op.name == "generate":
            typ = aliases.FORM.get(f.name, typ)
        if f.presence == "optional" or op.name == "generate":
            typ = "Union[%s, None]" % typ
        types[f.name] = typ
        out += comment(f.doc + bounds(f), "    ") + ["    %s: %s" % (py_name(f.name), typ)]
    if op.name == "generate":
        for name, of, known, typ, _ in aliases.names(s):
            out += comment("Another name of %s, known from %s." % (of, known), "    ")
            out.append("    %s: %s" % (name, "Union[%s, None]" % typ if typ else types[of]))
        for name, typ, doc in aliases.EXTRA:
            out += comment(doc, "    ") + ["    %s: %s" % (name, typ)]
        out += ["", "", "#: Other names of parameters of generate.", "ALIASES: dict[str, str] = {"]
        out += ['    "%s": "%s",' % (name, of) for name, of, _, _, _ in aliases.names(s)]
        out.append("}")
    return out


def cls(s, name, doc, fields, consts=(), base="Message", of=None):
    out = ["", "", "@dataclass(kw_only=True, repr=False)", "class %s(%s):" % (name, base),
           '    """%s"""' % doc]
    body = list(consts)
    for f in fields:
        body += row(s, f, of)
    if base == "Message" and of in REPR:
        body += ["", "    def __repr__(self) -> str:",
                 '        return f"<%s %s>"' % (name, REPR[of])]
    return out + ([""] + body if body else [])


def public_names(text):
    """__all__ of a module, for `from llamad.types import *`."""
    names = re.findall(r"^(?:class )?([A-Z]\w+)(?=[(:]| = |: )", text, re.M)
    rows = textwrap.wrap(", ".join('"%s"' % n for n in sorted(set(names))), 95,
                         break_on_hyphens=False)
    return ["", "", "__all__ = ["] + ["    " + r for r in rows] + ["]"]


def types_py(s):
    head = HEAD.replace("@V_MIN@", str(s.v_min)).replace("@V_MAX@", str(s.v))
    out = [head.replace("@REVISION@", str(s.revision)).replace("@TAG@", s.tag)]
    for w in s.words.values():
        out += comment(w.doc, "")
        out.append("%s = Literal[%s]" % (words_name(s, w.name),
                                         ", ".join('"%s"' % n for n in w.names)))
    out += ["#: Error codes.",
            "ErrorCode = Literal[%s]" % ", ".join('"%s"' % e["name"] for e in s.errors)]
    out += ["", "#: Bounds of the protocol by name.", "LIMITS: dict[str, int] = {"]
    out += ['    "%s": %d,' % (r["name"], r["value"]) for r in s.limits]
    out += ["}"]
    for t in s.types.values():
        out += cls(s, camel(t.name), t.doc, t.fields, of=t.name)
    for it in s.items:
        out += cls(s, camel(it.symbol) + "Item", it.doc, s.common.fields + it.fields,
                   ['    KIND: ClassVar[str] = "%s"' % it.name,
                    "    FINAL: ClassVar[bool] = %s" % (it.name in s.final)])
    out += cls(s, "UnknownItem", "An item of a kind that only newer versions know.", s.common.fields,
               ['    KIND: ClassVar[str] = ""', "    FINAL: ClassVar[bool] = False"])
    out += ["", "", "Item = Union[%s]" % ", ".join(
        [camel(it.symbol) + "Item" for it in s.items] + ["UnknownItem"])]
    for it in s.items:
        if it.symbol != it.name:
            out += ["", "#: Deprecated name of %sItem." % camel(it.symbol),
                    "%sItem = %sItem" % (camel(it.name), camel(it.symbol))]
    out += ["", "_ITEMS: dict[str, Any] = {"]
    out += ['    "%s": %sItem,' % (it.name, camel(it.symbol)) for it in s.items]
    out += ["}", "", "", "class Item_:", '    """Chooses the class of an item."""', "",
            "    @staticmethod", "    def from_map(m: Mapping[str, Any]) -> Item:",
            '        item: Item = _ITEMS.get(m.get("%s", ""), UnknownItem).from_map(m)' % s.tag,
            "        return item"]
    for op in s.ops:
        name = camel(op.name)
        out += cls(s, name + "Reply", "Reply to %s." % op.name, op.reply.fields)
        out += cls(s, name + "Request", op.doc, op.request.fields,
                   ['    OP: ClassVar[str] = "%s"' % op.name,
                    '    ROLE: ClassVar[str] = "%s"' % op.role,
                    '    CHANGES: ClassVar[str] = "%s"' % op.changes,
                    "    REPLY: ClassVar[Any] = %sReply" % name],
                   "Request[%sReply]" % name, of=op.name)
        out += params(s, op)
    out += public_names("\n".join(out))
    return "\n".join(out) + "\n"


def files(s):
    return {"bindings/python/llamad/_types.py": types_py(s)}
