# SPDX-License-Identifier: MIT
"""Against a live daemon that listens on LMD_TEST_TCP and LMD_TEST_TLS, whose certificate for
localhost stands in LMD_TEST_CA: LMD_TEST_KEY is the secret of a user, and the model `full`
continues LMD_TEST_PROMPT by LMD_TEST_N tokens with the text in the file LMD_TEST_WANT."""
import asyncio
import os
import threading
import unittest

import llamad

TCP, TLS = os.environ["LMD_TEST_TCP"], os.environ["LMD_TEST_TLS"]
KEY, CA = os.environ["LMD_TEST_KEY"], os.environ["LMD_TEST_CA"]
with open(os.environ["LMD_TEST_WANT"], "rb") as f:
    WANT = f.read().decode("utf-8", "replace").removesuffix("\n")
ARGS = {"model": "full", "prompt": os.environ["LMD_TEST_PROMPT"], "n": int(os.environ["LMD_TEST_N"]),
        "temp": 0}
WAYS = ({"url": TCP}, {"url": TLS, "ca_file": CA})


class Sync(unittest.TestCase):
    def each(self):
        for way in WAYS:
            with self.subTest(way["url"]), llamad.Client(key=KEY, **way) as client:
                self.assertEqual(client.server.role, "user")
                yield client

    def test_generate(self):
        for client in self.each():
            self.assertEqual(client.generate(**ARGS).text().removesuffix("\n"), WANT)

    def test_long_messages(self):
        for client in self.each():
            text = "the cat sat on the mat. " * 40000
            tokens = client.tokenize("full", text, add_special=False)
            self.assertEqual(client.detokenize("full", tokens), text.encode())

    def test_eight_threads(self):
        for client in self.each():
            got = []
            threads = [threading.Thread(target=lambda: got.append(
                client.generate(hold_ms=0, **ARGS).text().removesuffix("\n"))) for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(got, [WANT] * 8)

    def test_hello_again(self):
        for client in self.each():
            tokens = client.generate(**ARGS)
            tokens.wait()
            stream = client.generate(lease_ms=60000, hold_ms=0, **ARGS)
            items = stream.items()
            next(items)
            client._connection._transport._sock.shutdown(2)  # like a network failure
            for _ in items:
                pass
            self.assertEqual(stream.tokens, tokens.tokens)

    def test_role(self):
        for client in self.each():
            with self.assertRaisesRegex(llamad.Denied, "admin"):
                client.load("full")

    def test_no_key(self):
        for way in WAYS:
            with self.subTest(way["url"]):
                with self.assertRaisesRegex(llamad.Denied, "key is missing"):
                    llamad.Client(**way)
                with self.assertRaisesRegex(llamad.Denied, "key is unknown"):
                    llamad.Client(key="wrong", **way)

    def test_key_of_the_environment(self):
        os.environ["LLAMAD_KEY"] = KEY
        self.addCleanup(os.environ.pop, "LLAMAD_KEY")
        with llamad.Client(TCP) as client:
            self.assertEqual([m.name for m in client.models()], ["full"])

    def test_certificates(self):
        for url, ca in ((TLS, None), (TLS.replace("localhost", "127.0.0.1"), CA)):
            with self.assertRaisesRegex(llamad.ConnectionLost, "certificate is not trusted"):
                llamad.Client(url, key=KEY, ca_file=ca)
        with self.assertRaises(llamad.ConnectionLost):
            llamad.Client(TLS.removeprefix("tls+"), key=KEY, connect_timeout=0.5)
        with self.assertRaises(llamad.ConnectionLost):
            llamad.Client("tls+" + TCP, key=KEY, ca_file=CA, connect_timeout=0.5)


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_generate_and_hello_again(self):
        for way in WAYS:
            with self.subTest(way["url"]):
                async with llamad.AsyncClient(key=KEY, **way) as client:
                    got = await asyncio.gather(
                        *[client.generate(**ARGS).text() for _ in range(8)])
                    self.assertEqual([g.removesuffix("\n") for g in got], [WANT] * 8)
                    stream = await client.generate(lease_ms=60000, hold_ms=0, **ARGS)
                    items = stream.items()
                    await items.__anext__()
                    client._connection._writer.transport.abort()
                    async for _ in items:
                        pass
                    again = client.generate(**ARGS)
                    await again.wait()
                    self.assertEqual(stream.tokens, again.tokens)

    async def test_strangers(self):
        with self.assertRaises(llamad.Denied):
            async with llamad.AsyncClient(TCP, key="wrong"):
                pass
        with self.assertRaisesRegex(llamad.ConnectionLost, "certificate is not trusted"):
            async with llamad.AsyncClient(TLS, key=KEY):
                pass


if __name__ == "__main__":
    unittest.main(verbosity=0)
