# SPDX-License-Identifier: MIT
"""Tests against a live daemon at LMD_TEST_URL with a model `full`.  The file LMD_TEST_WANT contains
its greedy continuation of LMD_TEST_PROMPT by LMD_TEST_N tokens."""
import asyncio
import gc
import json
import os
import socket
import sys
import tempfile
import threading
import unittest

import llamad

URL = os.environ["LMD_TEST_URL"]
PROMPT = os.environ["LMD_TEST_PROMPT"]
N = int(os.environ["LMD_TEST_N"])
with open(os.environ["LMD_TEST_WANT"], "rb") as f:
    WANT = f.read().decode("utf-8", "replace")
ARGS = {"model": "full", "prompt": PROMPT, "n": N, "temp": 0}
LONG = {"model": "full", "prompt": PROMPT, "n": 100000, "ignore_eog": True, "hold_ms": 0}


def shown(text):
    return text if text.endswith("\n") else text + "\n"


SCRIPT = ('root ::= "<think>hm</think>So.<tool_call>'
          '{\\"name\\": \\"f\\", \\"arguments\\": {\\"a\\": 1}}</tool_call>"')


class Sync(unittest.TestCase):
    def setUp(self):
        self.client = llamad.Client(URL)
        self.addCleanup(self.client.close)

    def test_generate(self):
        stream = self.client.generate(**ARGS)
        self.assertEqual(shown("".join(stream)), WANT)
        self.assertIn(stream.finish, ("length", "eog"))
        self.assertEqual(len(stream.tokens), stream.done.n_out)

    def test_answer(self):
        s = self.client.generate("full", "x", parse=True, parse_format="hermes", temp=0, grammar=SCRIPT)
        a = s.answer()
        self.assertEqual((a.text, a.reasoning, a.thinking), ("So.", "hm", "hm"))
        [call] = a.tool_calls
        self.assertEqual((call.name, call.parsed(), call.complete), ("f", {"a": 1}, True))
        self.assertEqual(len(call.id), 9)
        self.assertEqual(len(s.tokens), s.done.n_out)
        self.assertGreater(s.done.n_forced, 0)
        m = a.message()
        self.assertEqual(m.reasoning, "hm")
        self.assertIn('"arguments": {"a": 1}', m.tool_calls)

    def test_chat(self):
        tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        with self.client.chat("full", [{"role": "user", "content": "x"}], tools=tools, temp=0,
                         template="{{ messages[0].content }}<tool_call>", grammar=SCRIPT) as s:
            deltas = list(s.deltas())
        self.assertEqual("".join(d.text for d in deltas), "So.")
        self.assertEqual("".join(d.reasoning for d in deltas), "hm")
        calls = [c for d in deltas for c in d.tool_calls]
        self.assertEqual(calls[0].name, "f")
        self.assertEqual("".join(c.arguments for c in calls), '{"a": 1}')
        self.assertIs(calls[-1].complete, True)

    def test_without_a_stream(self):
        a = self.client.generate("full", PROMPT, max_tokens=N, temperature=0, stream=False)
        self.assertEqual(shown(str(a)), WANT)
        self.assertEqual(a.tokens, self.tokens(self.client))
        self.assertEqual(a.usage.completion_tokens, len(a.tokens))
        self.assertGreater(a.usage.prompt_tokens, 0)
        self.assertIn(f"{len(a.tokens)} tokens, {a.finish}", repr(a))
        self.assertIsInstance(a.seed, int)

    def test_logprobs(self):
        s = self.client.generate(**ARGS, logprobs=2, prompt_logprobs=1)
        a = s.answer()
        self.assertEqual(shown(a.text), WANT)
        self.assertEqual(len(a.logprobs), len(a.tokens))
        for token, probs in zip(a.tokens, a.logprobs):
            own, best, second = probs
            self.assertEqual((own.token, own.logprob), (token, best.logprob))  # greedy
            self.assertGreaterEqual(best.logprob, second.logprob)
        self.assertEqual([p.token for p in a.prompt], self.client.tokenize("full", PROMPT))
        self.assertEqual([len(p.logprobs) for p in a.prompt], [0] + [2] * (len(a.prompt) - 1))
        again = self.client.generate("full", tokens=[p.token for p in a.prompt[:-1]], n=1, temp=0,
                                     logprobs=32).answer()
        for p in again.logprobs[0]:
            if p.token == a.prompt[-1].token:
                self.assertAlmostEqual(p.logprob, a.prompt[-1].logprobs[0].logprob, places=3)
        self.assertEqual(self.client.generate("full", PROMPT, n=0, prompt_tokens=True).answer().tokens, [])

    def test_rerank(self):
        with self.assertRaisesRegex(llamad.Unsupported, "classifier"):
            self.client.rerank("full", "query", ["a", "b"])

    def test_embed(self):
        [a] = self.client.embed("full", "Hello")
        b = self.client.embed("full", ["other", "Hello"], pooling="mean")
        self.assertEqual(b[1], a)
        self.assertNotEqual(b[0], a)
        self.assertAlmostEqual(sum(x * x for x in a), 1, places=5)
        [short] = self.client.embed("full", "Hello", dimensions=3, normalize=False)
        self.assertEqual(len(short), 3)
        with self.assertRaisesRegex(llamad.Invalid, "dimensions: 1000, the vectors"):
            self.client.embed("full", "Hello", dimensions=1000)

    def test_apply_template(self):
        template = ("{% for t in tools or [] %}{{ t.function.name }} {% endfor %}"
                    "{{ messages[0].content }} {{ n }}")
        r = self.client.apply_template(
            "full", [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
            template=template, template_args={"n": 7}, tokens=True,
            tools=[{"type": "function", "function": {"name": "f"}}])
        self.assertEqual(r.prompt, "f Hello 7")
        self.assertEqual(len(r.tokens), r.n_prompt)
        r = self.client.apply_template("full", "Hello", template="{{ messages[0].content }}")
        self.assertEqual((r.prompt, r.tokens), ("Hello", []))
        with self.assertRaisesRegex(TypeError, "has no parameter 'temperature'"):
            self.client.apply_template("full", "Hello", temperature=0)

    def test_suppressed_tokens(self):
        others = [t for t in range(96) if t != ord("z") - 32]
        a = self.client.generate("full", "x", suppress_tokens=others, n=3, stream=False)
        self.assertEqual(str(a), "zzz")
        a = self.client.generate("suppress", "x", n=3, ignore_eog=True, stream=False)
        self.assertEqual(str(a), "AAA")
        a = self.client.generate("suppress", "x", n=3, ignore_eog=True, suppress_tokens=[],
                                 stream=False)
        self.assertNotEqual(str(a), "AAA")

    def test_as_with_other_packages(self):
        parts = [{"type": "text", "text": "x"}]
        a = self.client.chat("full", [{"role": "user", "content": parts, "name": None}],
                             options={"num_predict": 20, "temperature": 0}, stop="T",
                             template="{{ messages[0].content }}<think>", format="json", stream=False)
        self.assertIsInstance(a, llamad.Answer)
        schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"],
                  "additionalProperties": False}
        a = self.client.generate("full", "x", json_schema=schema, temp=0, stream=False)
        self.assertEqual(json.loads(a.text), {"a": 1})
        a = self.client.generate("full", "x", regex="[ab]{3}", temp=0, stream=False)
        self.assertRegex(a.text, "^[ab]{3}$")
        tag = {"format": {"type": "const_string", "value": "xyz"}}
        a = self.client.generate("full", "x", structural_tag=tag, temp=0, stream=False)
        self.assertEqual(a.text, "xyz")
        a = self.client.chat("full", "x", template="{{ messages[0].content }}", n=2, stream=False)
        self.assertEqual(a.finish, "length")

    def test_a_dropped_stream_ends(self):
        stream = self.client.generate(lease_ms=60000, **LONG)
        id = stream.id
        del stream
        gc.collect()
        self.ends(id, 0)
        stream = self.client.generate(lease_ms=60000, **LONG)
        items = stream.items()
        next(items)
        id, after = stream.id, stream.after
        del stream, items
        gc.collect()
        self.ends(id, after)

    def test_a_dropped_stream_that_was_detached_goes_on(self):
        stream = self.client.generate(lease_ms=60000, **ARGS)
        at = stream.detach()
        del stream
        gc.collect()
        self.assertIn(self.client.resume(*at).wait().finish, ("length", "eog"))

    def test_prints(self):
        self.assertRegex(repr(self.client), "^<Client ipc://.*, llamad [0-9.]+")
        stream = self.client.generate(**ARGS)
        self.assertRegex(repr(stream), "^<Stream [0-9a-f]{8} item 0, open>$")
        stream.wait()
        self.assertRegex(repr(stream), f"item {stream.after}, (length|eog)>$")
        self.assertRegex(repr(self.client.models()), r"<Model full ready, [0-9.]+ kB>")
        self.assertRegex(repr(self.client.ps()), "<Resident full ready on ")
        used = [d for d in self.client.devices() if d.models]
        self.assertEqual([d.name for d in used], [p.device for p in self.client.ps()[0].placement])
        self.client.close()
        self.assertRegex(repr(self.client), ", closed>$")

    def test_every_token_alone(self):
        items = list(self.client.generate(hold_ms=0, **ARGS).items())
        self.assertEqual([i.n for i in items], list(range(1, len(items) + 1)))

    def test_eight_threads(self):
        got = [None] * 8

        def one(i):
            got[i] = self.client.generate(**ARGS).text()

        threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([shown(g) for g in got], [WANT] * 8)

    def test_cancel(self):
        stream = self.client.generate(**LONG)
        with self.assertRaises(llamad.Cancelled):
            for i, _ in enumerate(stream.items()):
                if i == 2:
                    stream.cancel()

    def test_pause(self):
        with self.client.generate(**LONG) as stream:
            items = stream.items()
            next(items)
            self.assertGreater(stream.pause(), 0)
            self.assertTrue(stream.unpause())
            self.assertFalse(stream.unpause())
            for _ in range(9):
                next(items)

    def ends(self, id, after):
        with self.assertRaisesRegex(llamad.Cancelled, "asked"):
            self.client.resume(id, after).wait()

    def test_leaving_the_loop_cancels(self):
        stream = self.client.generate(lease_ms=60000, **LONG)
        for _ in stream:
            break
        self.ends(stream.id, stream.after)
        self.assertEqual(stream.text(), "")
        for _ in stream.items():
            self.fail("an item of a stream that was left")

    def test_leaving_the_block_cancels(self):
        with self.assertRaises(ZeroDivisionError):
            with self.client.generate(lease_ms=60000, **LONG) as stream:
                1 / 0
        self.ends(stream.id, stream.after)

    def test_detach_does_not_cancel(self):
        stream = self.client.generate(lease_ms=60000, **ARGS)
        items = stream.items()
        seen = [next(items).token]
        rest = self.client.resume(*stream.detach())
        items.close()
        with self.assertRaises(llamad.Cancelled):
            stream.wait()
        rest.wait()
        self.assertEqual(seen + rest.tokens, self.tokens(self.client))
        self.assertEqual(list(self.client.resume(rest.id, rest.after).items()), [])

    def test_a_client_that_nobody_holds_ends(self):
        before = set(threading.enumerate())
        for _ in llamad.Client(URL).generate(**LONG):
            fresh = set(threading.enumerate()) - before
            break
        self.assertEqual(len(fresh), 1)
        for thread in fresh:
            thread.join(10)
            self.assertFalse(thread.is_alive())

    def test_resume_from_another_connection(self):
        stream = self.client.generate(lease_ms=60000, hold_ms=0, **ARGS)
        items = stream.items()
        seen = [next(items).token for _ in range(3)]
        self.client.close()
        with llamad.Client(URL) as other:
            rest = other.resume(stream.id, stream.after)
            rest.text()
            self.assertEqual(seen + rest.tokens, self.tokens(other))

    def test_reconnects(self):
        before = self.tokens(self.client)
        self.break_connection()
        self.assertEqual(self.tokens(self.client), before)

    def break_connection(self):
        """Breaks the connection as a network failure would."""
        self.client._connection._transport._sock.shutdown(2)

    def test_reconnects_within_a_stream(self):
        stream = self.client.generate(lease_ms=60000, hold_ms=0, **ARGS)
        items = stream.items()
        next(items)
        self.break_connection()
        for _ in items:
            pass
        self.assertEqual(stream.tokens, self.tokens(self.client))

    def tokens(self, client):
        stream = client.generate(**ARGS)
        stream.text()
        return stream.tokens

    def test_refusals(self):
        with self.assertRaises(llamad.NotFound) as e:
            self.client.generate(model="nothere", prompt="x").text()
        self.assertIn("nothere", str(e.exception))
        with self.assertRaises(llamad.Invalid) as e:
            self.client.generate(model="full", prompt="x", temp=7.5)
        self.assertIn("temp", str(e.exception))
        with self.assertRaises(llamad.NotFound):
            self.client.resume("00" * 16).text()
        with self.assertRaisesRegex(TypeError, "did you mean 'temperature'"):
            self.client.generate(model="full", prompt="x", temperatur=1)
        with self.assertRaisesRegex(llamad.Invalid, "temp=0 and temperature=1"):
            self.client.generate("full", "x", temp=0, temperature=1)
        with self.assertRaises(llamad.Invalid) as e:
            self.client.generate("full", "x", n="many")
        self.assertIn("n", str(e.exception))
        with self.assertRaises(llamad.Invalid):
            self.client.generate("full", "x", stop=[self])
        with self.assertRaises(llamad.Invalid):
            self.client.resume("nonsense")
        self.client.close()
        with self.assertRaises(llamad.ConnectionLost):
            self.client.ping()

    def test_text_and_tokens(self):
        ids = self.client.tokenize("full", PROMPT, add_special=False)
        self.assertEqual(self.client.detokenize("full", ids), PROMPT.encode())

    def test_seed_and_tokens_as_prompt(self):
        one = self.client.generate("full", PROMPT, n=N, temp=1, seed=7)
        two = self.client.generate("full", tokens=self.client.tokenize("full", PROMPT), n=N,
                                   temp=1, seed=one.seed)
        self.assertEqual(one.seed, 7)
        self.assertEqual(one.text(), two.text())

    def test_jobs(self):
        self.assertEqual(self.client.reload("full").wait().finish, "done")

    def test_lists(self):
        self.assertIn("full", [m.name for m in self.client.models()])
        self.assertEqual(self.client.ping().state, "ready")
        self.assertTrue(self.client.plugins())
        self.assertEqual(self.client.status().state, "ready")
        self.assertIn("llamad_failed_total", [m.name for m in self.client.stats()])
        self.assertEqual(self.client.info("full").model.name, "full")


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_chat(self):
        async with llamad.AsyncClient(URL) as c:
            a = await c.chat("full", [{"role": "user", "content": "x"}], temp=0, grammar=SCRIPT,
                             template="{{ messages[0].content }}<tool_call>").answer()
        self.assertEqual((a.text, a.reasoning, a.tool_calls[0].arguments), ("So.", "hm", '{"a": 1}'))

    async def test_embed(self):
        async with llamad.AsyncClient(URL) as c:
            a, b = await c.embed("full", ["Hello", "Hello"])
            self.assertEqual(a, b)

    async def test_generate(self):
        async with llamad.AsyncClient(URL) as c:
            pieces = [p async for p in c.generate(**ARGS)]
        self.assertEqual(shown("".join(pieces)), WANT)

    async def test_without_a_stream(self):
        async with llamad.AsyncClient(URL) as c:
            a = await c.generate("full", PROMPT, max_tokens=N, temperature=0, stream=False)
            self.assertEqual(shown(str(a)), WANT)
            b = await c.chat("full", "x", template="{{ messages[0].content }}", num_predict=2,
                             stream=False)
            self.assertEqual((len(b.tokens), b.finish), (2, "length"))
            with self.assertRaisesRegex(llamad.Invalid, "n=3 and max_tokens=4"):
                c.generate("full", "x", n=3, max_tokens=4)
            self.assertTrue(await c.stats())
            self.assertEqual((await c.info("full")).model.name, "full")

    async def test_a_dropped_stream_ends(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(lease_ms=60000, **LONG)
            self.assertRegex(repr(stream), "^<AsyncStream [0-9a-f]{8} item 0, open>$")
            id = stream.id
            del stream
            gc.collect()
            await asyncio.sleep(0)  # the garbage collector leaves the request to the event loop
            await self.ends(c, id, 0)

    async def test_eight(self):
        async with llamad.AsyncClient(URL) as c:
            got = await asyncio.gather(*[c.generate(**ARGS).text() for _ in range(8)])
        self.assertEqual([shown(g) for g in got], [WANT] * 8)

    async def test_cancel(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(**LONG)
            with self.assertRaises(llamad.Cancelled):
                async for item in stream.items():
                    if item.n == 3:
                        await stream.cancel()

    async def test_pause(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(**LONG)
            async for item in stream.items():
                if item.n == 3:
                    self.assertGreater(await stream.pause(), 0)
                    self.assertTrue(await stream.unpause())
                if item.n == 9:
                    break

    async def test_resume_and_reconnect(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(lease_ms=60000, hold_ms=0, **ARGS)
            items = stream.items()
            await items.__anext__()
            c._connection._writer.close()
            async for _ in items:
                pass
            again = await c.generate(**ARGS)
            await again.text()
            self.assertEqual(stream.tokens, again.tokens)


    async def ends(self, client, id, after):
        with self.assertRaisesRegex(llamad.Cancelled, "asked"):
            await client.resume(id, after).wait()

    async def test_leaving_the_loop_cancels(self):
        async with llamad.AsyncClient(URL) as c:
            stream = c.generate(lease_ms=60000, **LONG)
            async for _ in stream:
                break
            await self.ends(c, stream.id, stream.after)
            self.assertEqual(await stream.text(), "")

    async def test_cancelling_the_task_cancels(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(lease_ms=60000, **LONG)
            task = asyncio.create_task(stream.text())
            while not stream.tokens:
                await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await self.ends(c, stream.id, stream.after)

    async def test_cancelling_the_start_cancels(self):
        async with llamad.AsyncClient(URL) as c:
            await c.ping()
            before = asyncio.all_tasks()
            task = asyncio.ensure_future(c.generate(lease_ms=60000, **LONG).wait())
            await asyncio.sleep(0)  # the request has not been answered yet
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            orphans = asyncio.all_tasks() - before
            self.assertEqual(len(orphans), 1)
            started = (await orphans.pop()).id
            await self.ends(c, started, 0)


class Strangers(unittest.TestCase):
    """Peers that are not llamad."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.url = f"ipc://{self.dir.name}/sock"
        self.sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.sock.close)

    def listen(self, greeting):
        self.sock.bind(self.url[6:])
        self.sock.listen()

        def serve():
            peer, _ = self.sock.accept()
            with peer:
                peer.sendall(greeting)
                while peer.recv(4096):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)

    def refused(self, kind, pattern, **more):
        with self.assertRaisesRegex(kind, pattern):
            llamad.Client(self.url, connect_timeout=0.2, **more)

    def test_nobody(self):
        self.refused(llamad.ConnectionLost, "is llamad running")

    def test_another_protocol(self):
        self.listen(b"HTTP/1.1")
        self.refused(llamad.ConnectionLost, "does not speak the protocol")

    def test_silence(self):
        self.listen(b"")
        self.refused(llamad.ConnectionLost, "within 0.2 s")

    def test_no_answer(self):
        self.listen(b"\0SP\0\0\x31\0\0")
        self.refused(llamad.Timeout, "within 0.2 s")

    def test_a_frame_of_any_length(self):
        self.listen(b"\0SP\0\0\x31\0\0" + b"\1" + b"\xff" * 8)
        self.refused(llamad.ConnectionLost, "a frame of 18446744073709551615 bytes")

    def test_addresses(self):
        for url in ("nonsense", "ipc://", "tcp://host", "tcp://:1", "tcp://h:0", "tcp://h:99999",
                    "http://h:1"):
            with self.assertRaisesRegex(llamad.Invalid, url):
                llamad.Client(url)
        with self.assertRaisesRegex(llamad.Invalid, "ca_file '/nowhere'"):
            llamad.Client("tls+tcp://localhost:1", ca_file="/nowhere")


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    bad = len(result.failures) + len(result.errors)
    print(f"CASES: client in Python: {result.testsRun - bad} passed, {bad} failed, 0 skipped")
    sys.exit(bad != 0)
