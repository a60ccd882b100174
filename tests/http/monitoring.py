#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the dashboard and the alert rules of monitoring/ against metrics, from standard input.

    monitoring.py FOLDER

Each metric that an expression names must be there, and each label that it selects or groups by must be one of
that metric, or one that Prometheus adds."""
import json
import re
import sys

ADDED = {"instance", "job"}
labels = {}
for line in sys.stdin:
    if not line.startswith("#"):
        name = re.match(r"[a-zA-Z_:][\w:]*", line)[0]
        labels.setdefault(name, set()).update(re.findall(r'[{,]([a-z_]+)="', line))


def expressions():
    with open(f"{sys.argv[1]}/grafana-dashboard.json", encoding="utf-8") as f:
        dashboard = json.load(f)
    ids = [p["id"] for p in dashboard["panels"]]
    assert len(set(ids)) == len(ids), "a panel's id is used twice"
    for panel in dashboard["panels"]:
        for t in panel.get("targets", []):
            yield panel["title"], t["expr"]
    for v in dashboard["templating"]["list"]:
        if v["type"] == "query":
            yield v["name"], v["definition"]
    with open(f"{sys.argv[1]}/alerts.yml", encoding="utf-8") as f:
        rules = f.read()
    found = re.findall(r"- alert: (\w+)\n +expr: (?:>-\n)?((?:.|\n)*?)\n +(?:for|labels):", rules)
    assert len(found) == rules.count("- alert:"), "a rule has no expr"
    yield from found


n = bad = 0
for where, text in expressions():
    names = re.findall(r"\b(?:llamad_\w+|up\b)", text)
    known = set(ADDED)
    for name in names:
        n += 1
        if name not in labels and name != "up":
            print(f"{where}: there is no metric {name}")
            bad += 1
        known |= labels.get(name, set())
    used = set(re.findall(r'[{,](\w+)=', text))
    for group in re.findall(r"\bby \(([^)]*)\)", text):
        used |= {x.strip() for x in group.split(",")}
    used |= set(re.findall(r"label_values\([^,]*(?:\{[^}]*\})?, (\w+)\)", text))
    for label in used - known:
        print(f"{where}: {', '.join(names)} has no label {label}")
        bad += 1
print(f"{n} metrics in expressions, {bad} errors")
sys.exit(bad > 0 or n < 40)
