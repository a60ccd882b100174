#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Conversations on a pseudo-terminal. Grammars make the answers of the tiny model known.

    chat_test.py LLAMACTL SOURCE DIR HAS_LIBEDIT HAS_LIBPNG
"""
import base64
import json
import os
import signal
import sys

CTL, SRC, DIR, EDIT, PNG = sys.argv[1:]
sys.path.insert(0, f"{SRC}/tests")
from tally import check, finish  # noqa: E402
from terminal import Terminal  # noqa: E402

MODEL = f"{DIR}/full.gguf"
HISTORY = f"{DIR}/history"
TEMPLATE = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}"


def grammar(text):
    with open(f"{DIR}/g.gbnf", "w") as f:
        f.write("root ::= " + json.dumps(text) + "\n")
    return f"{DIR}/g.gbnf"


class Chat(Terminal):
    """A conversation in which every answer is `text`."""

    def __init__(self, text, *words, template=TEMPLATE, **env):
        super().__init__(CTL, "chat", MODEL, "--template", template, "--grammar", grammar(text),
                         "--temp", "0", "-c", "4000", *words, columns=100,
                         env={"TERM": "xterm", "LLAMACTL_HISTORY": HISTORY, "LC_ALL": "C.UTF-8", **env})
        self.at = 0
        check("it says how to get help", self.sees(b"/help"), self.seen)
        self.prompt()

    def prompt(self):
        """Waits for the next prompt."""
        check("a prompt", self.read(lambda s: b"\n> " in s[self.at:]), self.seen[self.at:])

    def say(self, keys, want=None):
        """Types a line and waits for a text in what follows, and for the next prompt."""
        self.at = len(self.seen)
        self.type(keys + b"\n")
        if want is not None:
            check(f"{keys!r}", self.sees(want, self.at), self.seen[self.at:])
        self.prompt()
        return self.seen[self.at:]

    def leave(self):
        self.type(b"\x04")
        status = self.end()
        check("Ctrl-D leaves", status == 0, (status, self.seen[-200:]))


def pictures():
    with open(f"{DIR}/one.png", "wb") as f:
        f.write(base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAIAAABChommAAAAG0lEQVR42mPUcGPgZGDHj1gYeNkZGAig4a0IAKn8A+MvoG14AAAAAElFTkSuQmCC"))
    t = Chat("yes", "--mmproj", f"{DIR}/tower.gguf")
    t.say(f"/file {DIR}/one.png".encode(), b"a picture, 84 bytes")
    if PNG != "yes":
        print("SKIP: answers about pictures: llamad was built without libpng")
        t.say(b"what is it", b"built without libpng")
        t.leave()
        return
    t.say(b"what is it", b"yes")
    t.say(f"/save {DIR}/p.json".encode(), b"message 1 has pictures")
    t.say(b"/undo", b"taken back")
    t.say(f"/save {DIR}/p.json".encode(), b"saved")
    t.leave()
    t = Chat("yes")
    t.say(f"/file {DIR}/one.png".encode(), b"a picture, 84 bytes")
    t.say(b"what is it", b"it has no vision tower")
    t.leave()


def commands():
    t = Chat("yes")
    t.say(b"one", b"yes")
    t.say(b"/help", b"Ctrl-C")
    t.say(b"/nix", b"/nix is not a command")
    t.say(b"/system", b"no system message")
    t.say(b"/system Be brief", None)
    t.say(b"/set temperature 9", b"above 5")
    t.say(b"/set top_k 3", None)
    t.say(b"/set nonsense 1", b"not a setting")
    t.say(b"/set", b"top-k 3")
    t.say(b"/set verbose", None)
    t.say(b"two", b"tokens/s")
    t.say(b"/set verbose off", None)
    with open(f"{DIR}/notes.txt", "w") as f:
        f.write("some notes\n")
    t.say(f"/file {DIR}/notes.txt".encode(), b"11 bytes")
    t.say(b"/file /nonexistent", b"No such file")
    t.say(b"three", b"yes")
    t.say(b"/retry", b"yes")
    t.say(f"/save {DIR}/a.json".encode(), b"7 messages saved")
    t.say(b"/undo", b"taken back")
    t.say(f"/save {DIR}/b.json".encode(), b"5 messages saved")
    t.say(b"/clear", b"a new conversation")
    t.say(f"/save {DIR}/c.json".encode(), b"1 message saved")
    t.say(f"/load {DIR}/a.json".encode(), b"7 messages loaded")
    t.say(b"/load /nonexistent", b"No such file")
    os.symlink("e.json", f"{DIR}/link")
    t.say(f"/save {DIR}/link".encode(), b"leads to no file")
    with open(f"{DIR}/e.json", "w"):
        pass
    t.say(f"/save {DIR}/link".encode(), b"7 messages saved")
    t.say(b"/retry", b"yes")
    t.say(b"/tools", b"no tools")
    t.type(b"/bye\n")
    check("/bye leaves", t.end() == 0, t.seen[-200:])
    saved = json.load(open(f"{DIR}/a.json"))["messages"]
    check("what was saved", [m["role"] for m in saved] ==
          ["system", "user", "assistant", "user", "assistant", "user", "assistant"], saved)
    check("the system message", saved[0]["content"] == "Be brief", saved[0])
    check("the answers", {m["content"] for m in saved if m["role"] == "assistant"} == {"yes"}, saved)
    check("the attached file", "some notes\n\n```\n\nthree" in saved[5]["content"] and
          "notes.txt" in saved[5]["content"], saved[5])
    check("a link is followed", os.path.islink(f"{DIR}/link") and
          len(json.load(open(f"{DIR}/e.json"))["messages"]) == 7)
    check("private", os.stat(f"{DIR}/a.json").st_mode & 0o777 == 0o600)


def messages_of_several_lines():
    t = Chat("yes")
    t.at = len(t.seen)
    t.type(b'"""first\n')
    check("a message goes on", t.read(lambda s: b"\n. " in s[t.at:]), t.seen[t.at:])
    t.say(b'second"""', b"yes")
    if EDIT == "yes":
        t.say(b"third\033\nfourth", b"yes")
    t.say(f"/save {DIR}/d.json".encode(), b"saved")
    t.leave()
    said = [m["content"] for m in json.load(open(f"{DIR}/d.json"))["messages"] if m["role"] == "user"]
    check("several lines", said == ["first\nsecond", "third\nfourth"][:len(said)], said)


def editing():
    if EDIT != "yes":
        print("SKIP: no libedit")
        return
    os.path.exists(HISTORY) and os.remove(HISTORY)
    t = Chat("yes")
    t.say("Grüße".encode(), b"yes")
    t.say(b"helo\033[D\033[Dl\033[C\033[C!", b"yes")
    t.say(b"gone\001\013kept", b"yes")
    t.say(b"\033[A\033[A", b"yes")  # the line before the last one
    t.at = len(t.seen)
    t.type(b"never sent")
    check("what is typed is shown", t.sees(b"never sent", t.at), t.seen[t.at:])
    t.type(b"\x03")
    check("Ctrl-C discards it", t.sees(b"^C", t.at), t.seen[t.at:])
    t.prompt()
    t.say(f"/save {DIR}/e.json".encode(), b"saved")
    t.leave()
    said = [m["content"] for m in json.load(open(f"{DIR}/e.json"))["messages"] if m["role"] == "user"]
    check("edited lines", said == ["Grüße", "hello!", "kept", "hello!"], said)
    check("the history is private", os.stat(HISTORY).st_mode & 0o777 == 0o600)
    t = Chat("yes")
    t.say(b"\033[A\033[A", b"yes")  # of the last conversation, before its /save
    t.say(f"/save {DIR}/e.json".encode(), b"saved")
    t.leave()
    said = json.load(open(f"{DIR}/e.json"))["messages"][0]["content"]
    check("the history outlives a conversation", said == "hello!", said)


def markdown():
    text = "- a **bold** `word`"  # the tiny model has no token for a newline
    t = Chat("# Title")
    out = t.say(b"x", b"Title")
    check("a heading is bold", b"\033[1mTitle" in out, out)
    t.leave()
    t = Chat(text)
    out = t.say(b"x", b"word")
    check("a list", "• a ".encode() in out and b"\033[1mbold\033[22m" in out, out)
    check("code", b"\033[36mword\033[39m" in out, out)
    t.say(b"/set markdown off", None)
    out = t.say(b"x", b"word`")
    check("off", b"**bold**" in out, out)
    t.leave()
    t = Chat(text, NO_COLOR="1")
    out = t.say(b"x", b"word`")
    check("NO_COLOR", b"**bold**" in out and b"\033[1m" not in out, out)
    t.leave()


def reasoning_and_calls():
    with open(f"{DIR}/tools.json", "w") as f:
        json.dump([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}], f)
    template = "{# <tool_call> <think> #}{% if tools %}{{ tools|length }}{% endif %}" + TEMPLATE
    t = Chat('<think>hm hm</think>Yes<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', "--tools",
             f"{DIR}/tools.json", template=template)
    t.at = len(t.seen)
    t.type(b"x\n")
    check("a call asks for its result", t.sees(b"result of f> ", t.at), t.seen[t.at:])
    out = t.seen[t.at:]
    check("reasoning is folded", b"thinking ..." in out and b"thought for" in out and b"hm" not in out, out)
    check("the call is shown", b'{"name":"f","arguments":{"a": 1}}' in out, out)
    t.at = len(t.seen)
    t.type(b"42\n")
    check("the result is answered", t.sees(b"result of f> ", t.at), t.seen[t.at:])
    t.say(b"", None)
    t.say(b"/set reasoning", None)
    t.at = len(t.seen)
    t.type(b"y\n")
    check("reasoning in full", t.sees(b"hm hm", t.at) and t.sees(b"result of f> ", t.at), t.seen[t.at:])
    t.say(b"", None)
    t.say(f"/save {DIR}/f.json".encode(), b"saved")
    t.say(b"/tools off", None)
    t.say(b"/tools", b"no tools")
    t.leave()
    saved = json.load(open(f"{DIR}/f.json"))["messages"]
    check("calls and results", [m["role"] for m in saved] ==
          ["user", "assistant", "tool", "assistant", "user", "assistant"], saved)
    check("a call", saved[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": 1}}, saved[1])
    check("its result", saved[2]["content"] == "42" and saved[2]["name"] == "f", saved[2])


def interrupted():
    t = Terminal(CTL, "chat", MODEL, "--template", TEMPLATE, "--ignore-eos", "-c", "200000",
                 env={"TERM": "xterm", "LLAMACTL_HISTORY": ""}, columns=100)
    check("a prompt", t.sees(b"\n> "), t.seen)
    t.type(b"Hello\n")
    at = len(t.seen) + 40
    check("an answer", t.read(lambda s: len(s) > at), t.seen)
    t.type(b"\x1b[Atyped-ahead")
    at += 400
    check("more of it", t.read(lambda s: len(s) > at), t.seen)
    check("what is typed meanwhile is not shown", b"typed-ahead" not in t.seen and b"^[[A" not in t.seen,
          t.seen[-400:])
    t.type(b"\x03")
    check("Ctrl-C ends the answer", t.read(lambda s: b"\n> " in s[at:]), t.seen[-200:])
    os.kill(t.pid, signal.SIGTERM)
    check("SIGTERM", t.end() == 128 + signal.SIGTERM, t.seen[-200:])
    check("without a history no file", not os.path.exists(f"{DIR}/.local"))


for part in commands, pictures, messages_of_several_lines, editing, markdown, reasoning_and_calls, interrupted:
    part()
finish("chat")
