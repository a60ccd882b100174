# SPDX-License-Identifier: MIT
"""Against a live daemon: LMD_TEST_URL, with a model `full` whose greedy continuation of
LMD_TEST_PROMPT by LMD_TEST_N tokens stands in the file LMD_TEST_WANT."""
import asyncio
import os
import sys
import threading
import unittest

import llamad

URL = os.environ["LMD_TEST_URL"]
PROMPT = os.environ["LMD_TEST_PROMPT"]
N = int(os.environ["LMD_TEST_N"])
with open(os.environ["LMD_TEST_WANT"], "rb") as f:
    WANT = f.read().decode("utf-8", "replace")
ARGS = {"model": "full", "prompt": PROMPT, "n": N, "temp": 0}


def shown(text):
    return text if text.endswith("\n") else text + "\n"


class Sync(unittest.TestCase):
    def setUp(self):
        self.client = llamad.Client(URL)
        self.addCleanup(self.client.close)

    def test_generate(self):
        stream = self.client.generate(**ARGS)
        self.assertEqual(shown("".join(stream)), WANT)
        self.assertIn(stream.finish, ("length", "eog"))
        self.assertEqual(len(stream.tokens), stream.done.n_out)

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
        stream = self.client.generate(model="full", prompt=PROMPT, n=100000, ignore_eog=True,
                                      hold_ms=0)
        with self.assertRaises(llamad.Cancelled):
            for i, _ in enumerate(stream.items()):
                if i == 2:
                    stream.cancel()

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
        self.client._connection._sock.shutdown(2)  # as a broken network does
        self.assertEqual(self.tokens(self.client), before)

    def test_reconnects_within_a_stream(self):
        stream = self.client.generate(lease_ms=60000, hold_ms=0, **ARGS)
        items = stream.items()
        next(items)
        self.client._connection._sock.shutdown(2)
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
        with self.assertRaises(TypeError):
            self.client.generate(model="full", prompt="x", temperature=1)

    def test_text_and_tokens(self):
        ids = self.client.tokenize("full", PROMPT, add_special=False)
        self.assertEqual(self.client.detokenize("full", ids), PROMPT.encode())

    def test_lists(self):
        self.assertIn("full", [m.name for m in self.client.models()])
        self.assertEqual(self.client.ping().state, "ready")
        self.assertTrue(self.client.plugins())
        self.assertEqual(self.client.status().state, "ready")


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_generate(self):
        async with llamad.AsyncClient(URL) as c:
            pieces = [p async for p in c.generate(**ARGS)]
        self.assertEqual(shown("".join(pieces)), WANT)

    async def test_eight(self):
        async with llamad.AsyncClient(URL) as c:
            got = await asyncio.gather(*[c.generate(**ARGS).text() for _ in range(8)])
        self.assertEqual([shown(g) for g in got], [WANT] * 8)

    async def test_cancel(self):
        async with llamad.AsyncClient(URL) as c:
            stream = await c.generate(model="full", prompt=PROMPT, n=100000, ignore_eog=True,
                                      hold_ms=0)
            with self.assertRaises(llamad.Cancelled):
                async for item in stream.items():
                    if item.n == 3:
                        await stream.cancel()

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


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    bad = len(result.failures) + len(result.errors)
    print(f"CASES: client in Python: {result.testsRun - bad} passed, {bad} failed, 0 skipped")
    sys.exit(bad != 0)
