# SPDX-License-Identifier: MIT
"""Other names and forms that the Python client accepts for the parameters of generate.

The generated types, the client and docs/clients.md follow from these tables.  Other names of sampling
parameters are in proto/schema/sampling.json."""
import os
import re

PATH = "docs/clients.md"

#: name, parameter of generate, where users know the name from, what its values may be (if other than
#: those of the parameter) and what the documentation says about them
ALIASES = [
    ("max_tokens", "n", "openai", None, ""),
    ("max_completion_tokens", "n", "openai", None, ""),
    ("num_predict", "n", "ollama", None, ""),
    ("ignore_eos", "ignore_eog", "llamactl, vLLM", None, ""),
    ("response_format", "json_schema", "openai", "Union[Mapping[str, Any], type[SchemaModel]]",
     'an object with `"type"`: `"json_schema"`, `"json_object"` or `"text"`, or a pydantic model'),
    ("format", "json_schema", "ollama", "Union[str, Mapping[str, Any], type[SchemaModel]]",
     '`"json"`, a schema or a pydantic model'),
]

#: parameter, type of the values that the client accepts, what the documentation says about them
FORMS = [
    ("stop", "Union[str, bytes, Sequence[Union[str, bytes]]]", "one stop sequence or a list"),
    ("json_schema", "Union[str, bytes, Mapping[str, Any], type[SchemaModel], SchemaModel]",
     "a JSON schema as text or as a dict, or a pydantic model"),
    ("structural_tag", "Union[str, bytes, Mapping[str, Any]]", "JSON or a dict"),
    ("tools", "Union[str, bytes, Sequence[Mapping[str, Any]]]", "JSON or a list of dicts"),
    ("template_args", "Union[str, bytes, Mapping[str, Any]]", "JSON or a dict"),
    ("logit_bias", "Union[Mapping[int, float], Mapping[str, float], "
     "Sequence[tuple[int, Union[float, bool]]]]", "a dict from tokens to values, or a list of pairs"),
]
#: Parameters of the client that are no fields of the request.
EXTRA = [
    ("options", "Union[Mapping[str, Any], None]", "Parameters as a dict, as ollama takes them."),
    ("tool_choice", 'Union[Literal["auto", "none"], None]',
     "With none, the tools are not presented to the model."),
]
FORM = {name: typ for name, typ, _ in FORMS}


def names(s):
    """The rows of ALIASES with those of the sampling parameters."""
    return [(other, r.name, known, None, "") for r in s.sampling
            for other, known in r.aliases.items()] + ALIASES


def markdown(s):
    out = ["| name | parameter | known from | values |", "|---|---|---|---|"]
    out += ["| `%s` | `%s` | %s | %s |" % (name, field, known, doc or "the same")
            for name, field, known, _, doc in names(s)]
    out += ["", "| parameter | values |", "|---|---|"]
    out += ["| `%s` | %s |" % (name, doc) for name, _, doc in FORMS]
    out += ["| `%s` | %s |" % (name, doc[0].lower() + doc[1:].rstrip(".")) for name, _, doc in EXTRA]
    return "\n".join(out)


def go_get(top):
    """How the module of Go is fetched; bindings/go/go.mod is the only place that knows its path."""
    with open(os.path.join(top, "bindings/go/go.mod"), encoding="utf-8") as f:
        path = re.search(r"^module (\S+)$", f.read(), re.M).group(1)
    return "    go get %s\n\n    import llamad \"%s\"" % (path, path)


def fill(s, text, top):
    """docs/clients.md with what stands between its marks."""
    body = {"aliases": markdown(s), "go module": go_get(top)}
    return re.sub(r"<!-- begin ([a-z ]+) -->\n.*?<!-- end -->",
                  lambda m: "<!-- begin %s -->\n%s\n<!-- end -->" % (m.group(1), body[m.group(1)]), text,
                  flags=re.S)
