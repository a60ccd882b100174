#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a person at a terminal meets: llamactl as the foreground process of a pseudo-terminal.

    terminal_test.py LLAMACTL URL MODEL
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))
from tally import check, finish  # noqa: E402
from terminal import Terminal  # noqa: E402

CTL, URL, MODEL = sys.argv[1:]
HINT = b"end with Ctrl-D (or use -p TEXT)"
CTRL_C, CTRL_D = b"\x03", b"\x04"


def one_ctrl_d(words):
    t = Terminal(CTL, *words, "-n", "8", "--temp", "0")
    check(f"{words[0]}: a hint", t.read(lambda s: HINT in s), t.seen)
    t.type(b"Hello\n" + CTRL_D)
    status = t.end()
    answer = t.seen.split(b"Hello\r\n")[-1]
    check(f"{words[0]}: one Ctrl-D ends the prompt", status == 0, (status, t.seen))
    check(f"{words[0]}: it answers", len(answer.strip(b"\r\n^D\b")) == 8, t.seen)


def ctrl_c_at_hint(words):
    t = Terminal(CTL, *words)
    check(f"{words[0]}: a hint", t.read(lambda s: HINT in s), t.seen)
    t.type(b"Hello\n" + CTRL_C)
    status = t.end()
    check(f"{words[0]}: Ctrl-C while the prompt is read", status == 128 + signal.SIGINT, (status, t.seen))


def ctrl_c_in_answer(words):
    t = Terminal(CTL, *words, "-p", "Hello", "--ignore-eos", "-n", "100000000")
    check(f"{words[0]}: it begins", t.read(lambda s: len(s) > 4), t.seen)
    t.type(CTRL_C)
    status = t.end()
    check(f"{words[0]}: Ctrl-C in an answer", status == 128 + signal.SIGINT, (status, t.seen[-200:]))
    check(f"{words[0]}: and it says so", b"stopped by a signal" in t.seen, t.seen[-200:])
    check(f"{words[0]}: no hint with -p", HINT not in t.seen)


def terminated(words):
    t = Terminal(CTL, *words, "-p", "Hello", "--ignore-eos", "-n", "100000000")
    check(f"{words[0]}: it begins", t.read(lambda s: len(s) > 4), t.seen)
    os.kill(t.pid, signal.SIGTERM)
    status = t.end()
    check(f"{words[0]}: SIGTERM in an answer", status == 128 + signal.SIGTERM, (status, t.seen[-200:]))


def conversation():
    words = ("run", MODEL, "--temp", "0", "--ignore-eos", "--context-shift")
    t = Terminal(CTL, *words)
    check("-i: a prompt", t.read(lambda s: b"> " in s), t.seen)
    begun = len(t.seen) + 60  # more than what was typed and its echo
    t.type(b"Hello\n")
    check("-i: an answer", t.read(lambda s: len(s) > begun), t.seen)
    t.type(CTRL_C)
    check("-i: Ctrl-C ends the answer alone", t.sees(b"\n> ", begun), t.seen[-200:])
    t.type(CTRL_D)
    status = t.end()
    check("-i: Ctrl-D leaves with a newline", status == 0 and t.seen.endswith(b"\r\n"),
          (status, t.seen[-50:]))
    t = Terminal(CTL, *words)
    check("-i: a prompt", t.read(lambda s: b"> " in s), t.seen)
    t.type(CTRL_C)
    check("-i: Ctrl-C at the prompt stays", t.sees(b"a second Ctrl-C"), t.seen)
    check("-i: and prompts again", t.read(lambda s: b"> " in s.split(b"a second Ctrl-C")[1]), t.seen)
    t.type(CTRL_C)
    status = t.end()
    check("-i: the second leaves", status == 128 + signal.SIGINT, (status, t.seen))
    check("-i: with a newline and without a message", t.seen.endswith(b"^C\r\n"), t.seen)


def command_without_cleanup():
    """tokenize reads the terminal and does not catch signals."""
    t = Terminal(CTL, "tokenize", MODEL, "--batch")
    t.type(b'{"hex": "41"}\n')
    check("tokenize: it answers", t.read(lambda s: b'"ids"' in s), t.seen)
    t.type(CTRL_C)
    status = t.end()
    check("tokenize: Ctrl-C", status == 128 + signal.SIGINT, (status, t.seen[-200:]))


def reader_gone():
    read, write = os.pipe()
    os.close(read)
    p = subprocess.run([CTL, "--help"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    check("the reader of the output has gone", p.returncode == 128 + signal.SIGPIPE, p.returncode)
    check("no message then", not p.stderr, p.stderr)


RUN = ("run", MODEL)
GENERATE = ("generate", "full", "--socket", URL)
one_ctrl_d(GENERATE)
ctrl_c_at_hint(GENERATE)
for command in RUN + ("--context-shift",), GENERATE + ("--context-shift",):  # endless answers
    ctrl_c_in_answer(command)
    terminated(command)
conversation()
command_without_cleanup()
reader_gone()
finish("terminal")
