#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llamactl top beside a generation that runs all the time. At the end the daemon is told to stop.

    top_test.py LLAMACTL URL MODEL
"""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))
from tally import check, finish  # noqa: E402
from terminal import Terminal  # noqa: E402

CTL, URL, MODEL = sys.argv[1:]
AT = ("--socket", URL)
LEAVE = b"Press q to leave."
OPEN, CLOSE = b"\x1b[?1049h", b"\x1b[?1049l"
LINES = 40  # of the terminals here


def piped():
    """Two looks, one after the other."""
    run = subprocess.run([CTL, "top", "-n", "2", "--interval", "100ms", *AT], capture_output=True, text=True)
    check("in a pipe: exit status", run.returncode == 0, run.stderr)
    check("in a pipe: no control characters", "\x1b" not in run.stdout, run.stdout)
    looks = re.findall(r"^llamad [0-9.]+\S*, ready, up ", run.stdout, re.M)
    check("in a pipe: two looks", len(looks) == 2, run.stdout)
    check("in a pipe: no rates at first", run.stdout.count("measuring") == 1, run.stdout)
    check("in a pipe: rates in the second", len(re.findall(r"[\d.]+ generated", run.stdout)) == 1, run.stdout)
    for title in "MODEL", "STREAM", "DEVICE":
        check(f"in a pipe: {title}", len(re.findall(f"^{title} ", run.stdout, re.M)) == 2, run.stdout)


def as_json():
    """Looks until one has a generated token, which comes from the stream that runs."""
    top = subprocess.Popen([CTL, "top", "--json", "--interval", "100ms", *AT], stdout=subprocess.PIPE, text=True)
    first = json.loads(top.stdout.readline())
    check("JSON: members", sorted(first) == ["devices", "models", "rates", "status", "streams"], first)
    check("JSON: no rates at first", first["rates"] is None, first)
    rates, model = {}, {}
    while not rates.get("generation_tokens_per_s"):
        look = json.loads(top.stdout.readline())
        rates, model = look["rates"], look["models"][0]
    check("JSON: of the model", model["generation_tokens_per_s"] == rates["generation_tokens_per_s"], look)
    check("JSON: every rate", sorted(rates) == [f"{x}_per_s" for x in (
        "cached_tokens", "computed_tokens", "generation_tokens", "requests", "steps")], rates)
    check("JSON: the stream", [x["model"] for x in look["streams"]] == [MODEL], look)
    top.send_signal(signal.SIGTERM)
    top.stdout.close()
    check("JSON: SIGTERM", top.wait() == 128 + signal.SIGTERM, top.returncode)


def screen(keys, status):
    """A screen that the keys end."""
    t = Terminal(CTL, "top", "--interval", "100ms", *AT)
    check(f"{keys}: a screen of its own", t.sees(LEAVE) and t.seen.startswith(OPEN), t.seen)
    begun = len(t.seen)
    check(f"{keys}: drawn again", t.sees(LEAVE, begun), t.seen[begun:])
    t.type(b"x")  # means nothing
    begun = len(t.seen)
    check(f"{keys}: goes on after another key", t.sees(LEAVE, begun), t.seen[begun:])
    t.type(keys)
    end = t.end()
    check(f"{keys}: exit status", end == status, end)
    after = t.seen.split(CLOSE)[1] if CLOSE in t.seen else b""
    check(f"{keys}: the latest report stays on the usual screen", after.count(b"DEVICE ") == 1 and LEAVE not in after,
          after)
    check(f"{keys}: nothing was echoed", after.startswith(b"llamad "), after)


def narrow():
    """Nothing is wider than the terminal."""
    t = Terminal(CTL, "top", "--interval", "100ms", *AT, columns=30)
    check("narrow: a screen", t.sees(LEAVE), t.seen)
    t.type(b"q")
    check("narrow: exit status", t.end() == 0)
    text = re.sub(rb"\x1b\[[?0-9]*[A-Za-z]", b"", t.seen.split(LEAVE)[0])
    lines = text.decode().split("\r\n")
    check("narrow: at most 30 columns", max(len(x.rstrip("\r")) for x in lines) == 30, lines)
    check("narrow: at most as many lines as there are", len(lines) <= LINES, lines)


def daemon_stops(generation):
    """The screen is closed before the error message."""
    t = Terminal(CTL, "top", "--interval", "100ms", *AT)
    check("the daemon stops: a screen", t.sees(LEAVE), t.seen)
    generation.kill()
    generation.wait()
    stop = subprocess.run([CTL, "shutdown", *AT], capture_output=True, text=True)
    check("the daemon stops", stop.returncode == 0, stop.stderr)
    check("the daemon stops: exit status", t.end() == 1, t.seen[-200:])
    check("the daemon stops: a message on the usual screen", b"llamactl top: " in t.seen.split(CLOSE)[-1],
          t.seen[-200:])


generation = subprocess.Popen([CTL, "generate", MODEL, "-p", "Hello", "--ignore-eos", "-n", "100000000",
                               "--context-shift", *AT], stdout=subprocess.DEVNULL)
while not json.loads(subprocess.run([CTL, "streams", "--json", *AT], capture_output=True).stdout):
    pass
piped()
as_json()
screen(b"q", 0)
screen(b"\x03", 128 + signal.SIGINT)
narrow()
daemon_stops(generation)
finish("top")
