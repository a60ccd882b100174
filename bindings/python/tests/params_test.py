# SPDX-License-Identifier: MIT
"""Parameters and messages as users of other packages write them, what values print, and a peer that does
not read.  Without a server."""
import json
import os
import socket
import tempfile
import threading
import unittest

import llamad
from llamad import _net, _protocol
from llamad import _params, types


class Schema:
    """Stands for a model of pydantic."""

    @classmethod
    def model_json_schema(cls):
        return {"type": "object"}


class Dumped:
    """Stands for a message of the package openai."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self):
        return self.fields


def fields(**params):
    return _params.canonical("generate", params)


def message(**keys):
    return _params.message(keys)


class Names(unittest.TestCase):
    def test_every_alias(self):
        for name, field in types.ALIASES.items():
            value = {"type": "json_object"} if name == "response_format" else \
                "json" if name == "format" else 1
            self.assertEqual(fields(**{name: value}), {field: "{}" if field == "json_schema" else 1})
            self.assertIn(field, types.GenerateRequest.__annotations__)

    def test_two_names(self):
        self.assertEqual(fields(temp=1, temperature=1.0), {"temp": 1})
        self.assertEqual(fields(n=5, max_tokens=None), {"n": 5})
        for wrong in ({"temp": 0, "temperature": 1}, {"max_tokens": 4, "num_predict": 5},
                      {"n": 1, "options": {"num_predict": 2}}):
            with self.assertRaises(llamad.Invalid) as e:
                fields(**wrong)
            for name in wrong:
                self.assertIn("num_predict=2" if name == "options" else f"{name}={wrong[name]}",
                              str(e.exception))

    def test_unknown_names(self):
        with self.assertRaisesRegex(TypeError, r"generate\(\) has no parameter 'temprature'; "
                                               "did you mean 'temperature'"):
            fields(temprature=1)
        with self.assertRaisesRegex(TypeError, "has no parameter 'xyzzy'$"):
            fields(xyzzy=1)
        with self.assertRaisesRegex(TypeError, "has no parameter 'num_predikt'"):
            fields(options={"num_predikt": 1})

    def test_options(self):
        self.assertEqual(fields(options={"temperature": 0, "stop": "x"}, top_k=1),
                         {"temp": 0, "stop": ["x"], "top_k": 1})
        with self.assertRaisesRegex(llamad.Invalid, "options must be a dict, not int"):
            fields(options=1)


class Forms(unittest.TestCase):
    def test_stop(self):
        self.assertEqual(fields(stop="a")["stop"], ["a"])
        self.assertEqual(fields(stop=b"a")["stop"], [b"a"])
        self.assertEqual(fields(stop=("a", "b"))["stop"], ["a", "b"])

    def test_schemas(self):
        want = {"type": "object"}
        for given in (want, Schema, Schema(), json.dumps(want)):
            self.assertEqual(json.loads(fields(json_schema=given)["json_schema"]), want)
            self.assertEqual(json.loads(fields(format=given)["json_schema"]), want)
        given = {"type": "json_schema", "json_schema": {"name": "x", "schema": want}}
        self.assertEqual(json.loads(fields(response_format=given)["json_schema"]), want)
        self.assertEqual(fields(response_format={"type": "text"}), {})
        self.assertEqual(json.loads(fields(response_format=Schema)["json_schema"]), want)
        with self.assertRaisesRegex(llamad.Invalid, "response_format: type 'xml'"):
            fields(response_format={"type": "xml"})
        with self.assertRaisesRegex(llamad.Invalid, "json_schema.schema is missing"):
            fields(response_format={"type": "json_schema", "json_schema": {"name": "x"}})
        with self.assertRaisesRegex(llamad.Invalid, "json_schema: the value is not JSON"):
            fields(json_schema={"a": object()})

    def test_tools_and_others(self):
        tool = {"type": "function", "function": {"name": "f"}}
        self.assertEqual(json.loads(fields(tools=[tool])["tools"]), [tool])
        self.assertEqual(fields(tools="[]")["tools"], "[]")
        self.assertEqual(fields(tools=[tool], tool_choice="none"), {})
        self.assertIn("tools", fields(tools=[tool], tool_choice="auto"))
        with self.assertRaisesRegex(llamad.Unsupported, "tool_choice='required'"):
            fields(tools=[tool], tool_choice="required")
        self.assertEqual(fields(template_args={"a": 1})["template_args"], '{"a": 1}')
        self.assertEqual(fields(logit_bias={"5": 1, 6: -1.5})["logit_bias"], [(5, 1), (6, -1.5)])
        with self.assertRaisesRegex(llamad.Invalid, "logit_bias: must be a dict"):
            fields(logit_bias={"a": 1})


class Messages(unittest.TestCase):
    def test_content(self):
        parts = [{"type": "text", "text": "one "}, {"type": "input_text", "text": "two"}, "!"]
        self.assertEqual(message(role="user", content=parts).content, "one two!")
        with self.assertRaisesRegex(llamad.Unsupported, "message.content.1.: a part of type 'image_url'"):
            message(role="user", content=[parts[0], {"type": "image_url"}])
        with self.assertRaisesRegex(llamad.Invalid, "text is missing"):
            message(role="user", content=[{"type": "text"}])
        with self.assertRaisesRegex(llamad.Invalid, "not int"):
            message(role="user", content=5)

    def test_refusals(self):
        for wrong, text in (({"content": "x"}, "role is missing"), ({"role": "user"}, "content is missing"),
                            ({"role": "user", "content": "x", "images": ["y"]}, "'images'")):
            with self.assertRaisesRegex(llamad.Invalid, text):
                _params.conversation([wrong])
        for wrong in ({"role": "user", "content": "x"}, b"x"):
            with self.assertRaisesRegex(llamad.Invalid, "messages: must be a list"):
                _params.conversation(wrong)
        with self.assertRaisesRegex(llamad.Invalid, r"messages\[1\]: must be a dict .*, not str"):
            _params.conversation([{"role": "user", "content": "x"}, "hi"])

    def test_a_text(self):
        [m] = _params.conversation("hi")
        self.assertEqual((m.role, m.content), ("user", "hi"))

    def test_an_assistant(self):
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
        m = _params.message(Dumped(role="assistant", content=None, thinking="hm", images=None,
                                   tool_calls=[Dumped(**call)]))
        self.assertEqual((m.role, m.content, m.reasoning), ("assistant", "", "hm"))
        self.assertEqual(json.loads(m.tool_calls)[0]["function"]["arguments"], {"a": 1})
        with self.assertRaisesRegex(llamad.Invalid, "arguments of 'f' are not JSON"):
            call["function"]["arguments"] = "{"
            message(role="assistant", tool_calls=[call])
        answer = llamad.Answer(text="yes")
        self.assertEqual(_params.message(answer).content, "yes")


class Prints(unittest.TestCase):
    def test_answer(self):
        done = types.DoneItem(n=4, finish="stop", n_prompt=3, n_out=2, prompt_ns=1000000000)
        a = llamad.Answer(text="Hello").end([1, 2], done, 7)
        self.assertEqual(repr(a), "<Answer 'Hello' 2 tokens, stop>")
        self.assertEqual((str(a), a.seed, a.usage.total_tokens, a.usage.prompt_seconds),
                         ("Hello", 7, 5, 1.0))
        a = llamad.Answer(text="x" * 50, tool_calls=[llamad.ToolCall(name="f")])
        self.assertEqual(repr(a), f"<Answer '{'x' * 37}...' 0 tokens, calls f, unfinished>")

    def test_values(self):
        m = types.Model(name="smollm2", state="ready", size=98362432, arch="llama")
        self.assertEqual(repr(m), "<Model smollm2 ready, 98.4 MB>")
        self.assertEqual(repr(types.TokenItem(n=1, token=5, text=b"a")),
                         "TokenItem(n=1, token=5, text=b'a')")
        self.assertNotIn("secret", repr(types.HelloRequest(client="x", key="secret")))

    def test_call(self):
        with self.assertRaisesRegex(TypeError, "StatusRequest.*, not dict"):
            llamad._protocol.pack_request({"op": "list"})


class Network(unittest.TestCase):
    def test_a_peer_that_does_not_read(self):
        """A call ends within its time-out, although its request cannot be sent."""
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(folder, "sock")
            listener.bind(path)
            listener.listen()
            peers = []

            def greet():
                peers.append(listener.accept()[0])
                peers[0].sendall(_protocol.HANDSHAKE_REP)
            greeter = threading.Thread(target=greet)
            greeter.start()
            c = _net.Connection(_protocol.Address.parse("ipc://" + path), 5, None)
            greeter.join()
            errors = []

            def call():
                try:
                    c.exchange(bytes(15 << 20), 0.2)
                except llamad.LlamadError as e:
                    errors.append(e)
            caller = threading.Thread(target=call, daemon=True)
            caller.start()
            caller.join(_net.SEND_S / 2)
            self.assertFalse(caller.is_alive())
            self.assertEqual(len(errors), 1)
            c.close()
            peers[0].close()


if __name__ == "__main__":
    unittest.main(verbosity=0)
