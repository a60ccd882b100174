# SPDX-License-Identifier: MIT
"""The driver of tests/client_conformance for both clients: conformance.py sync|async"""
import asyncio
import json
import sys

import llamad


def shown(answer, stream):
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments, "complete": c.complete}
             for c in answer.tool_calls]
    return {"text": answer.text, "reasoning": answer.reasoning, "tool_calls": calls,
            "tokens": stream.tokens, "finish": stream.finish}


def options(call):
    out = {"key": call.get("key"), "connect_timeout": 5}
    if "timeout_ms" in call:
        out["timeout"] = call["timeout_ms"] / 1000
    return out


def do_sync(call):
    with llamad.Client(call["url"], **options(call)) as client:
        if call["do"] == "ping":
            return {"state": client.ping().state}
        if call["do"] == "resume":
            stream = client.resume(call["id"], call["after"])
        else:
            stream = client.generate(**call["request"])
        answer = llamad.Answer()
        for delta in stream.deltas():
            answer.add(delta)
            if len(stream.tokens) == call.get("stop_after"):
                if call.get("detach"):
                    stream.detach()
                break
        return shown(answer, stream)


async def do_async(call):
    async with llamad.AsyncClient(call["url"], **options(call)) as client:
        if call["do"] == "ping":
            return {"state": (await client.ping()).state}
        if call["do"] == "resume":
            stream = client.resume(call["id"], call["after"])
        else:
            stream = await client.generate(**call["request"])
        answer = llamad.Answer()
        deltas = stream.deltas()
        async for delta in deltas:
            answer.add(delta)
            if len(stream.tokens) == call.get("stop_after"):
                if call.get("detach"):
                    stream.detach()
                break
        await deltas.aclose()
        return shown(answer, stream)


def main():
    call = json.load(sys.stdin)
    try:
        out = asyncio.run(do_async(call)) if sys.argv[1] == "async" else do_sync(call)
    except llamad.LlamadError as e:
        out = {"error": {"code": e.code, "text": str(e)}}
        if e.retry_ms is not None:
            out["error"]["retry_ms"] = e.retry_ms
    json.dump(out, sys.stdout)


main()
