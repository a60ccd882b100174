# SPDX-License-Identifier: MIT
"""Against a live daemon: LMD_TEST_URL, which serves the models of the cases in the JSON file
LMD_TEST_CASE_FILE.  Each case has a request and the tokens and bytes (in hexadecimal) that are its
answer.  They are asked for one after the other, and by eight clients at once."""
from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
import unittest
from typing import Any

import llamad

URL = os.environ["LMD_TEST_URL"]
with open(os.environ["LMD_TEST_CASE_FILE"], encoding="ascii") as f:
    CASES: list[dict[str, Any]] = json.load(f)
AT_ONCE = 8


def request(case: dict[str, Any]) -> dict[str, Any]:
    said = {"messages": case["messages"]} if "messages" in case else {
        "prompt": case["prompt"], "raw": True, "add_special": case["add_special"],
        "parse_special": case["parse_special"]}
    return {"model": case["model"], "n": case["n"], "temp": 0, **said}


def raw(item: llamad.types.Item) -> bytes:
    text = getattr(item, "text", b"")
    return text.encode() if isinstance(text, str) else text


def wrong(case: dict[str, Any], text: bytes, stream: Any) -> list[str]:
    """The differences from the expected answer."""
    out = []
    if stream.tokens != case["tokens"]:
        same = len(os.path.commonprefix([stream.tokens, case["tokens"]]))
        out.append(f"{case['name']}: {stream.tokens[same:same + 4]} behind {same} tokens, "
                   f"not {case['tokens'][same:same + 4]}")
    if text != bytes.fromhex(case["hex"]):
        out.append(f"{case['name']}: {text!r}, not {bytes.fromhex(case['hex'])!r}")
    if stream.finish != case["finish"]:
        out.append(f"{case['name']}: ended by {stream.finish}, not {case['finish']}")
    return out


def ask(client: llamad.Client, case: dict[str, Any]) -> list[str]:
    stream = client.generate(**request(case))
    return wrong(case, b"".join(raw(item) for item in stream.items()), stream)


async def ask_async(client: llamad.AsyncClient, case: dict[str, Any]) -> list[str]:
    stream = client.generate(**request(case))
    text = b"".join([raw(item) async for item in stream.items()])
    return wrong(case, text, stream)


class Sync(unittest.TestCase):
    def test_alone(self) -> None:
        with llamad.Client(URL) as client:
            for case in CASES:
                with self.subTest(case["name"]):
                    self.assertEqual(ask(client, case), [])

    def test_at_once(self) -> None:
        todo: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        got: list[str] = []
        for case in CASES:
            todo.put(case)

        def work() -> None:
            with llamad.Client(URL) as client:
                while True:
                    try:
                        got.extend(ask(client, todo.get_nowait()))
                    except queue.Empty:
                        return
                    except llamad.LlamadError as e:
                        got.append(str(e))

        threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertTrue(todo.empty())
        self.assertEqual(got, [])


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_alone(self) -> None:
        async with llamad.AsyncClient(URL) as client:
            for case in CASES:
                with self.subTest(case["name"]):
                    self.assertEqual(await ask_async(client, case), [])

    async def test_at_once(self) -> None:
        todo = list(reversed(CASES))

        async def work() -> list[str]:
            got: list[str] = []
            async with llamad.AsyncClient(URL) as client:
                while todo:
                    got += await ask_async(client, todo.pop())
            return got

        got = await asyncio.gather(*[work() for _ in range(AT_ONCE)])
        self.assertEqual([line for lines in got for line in lines], [])


if __name__ == "__main__":
    unittest.main(verbosity=0)
