// SPDX-License-Identifier: MIT
// The driver of tests/client_conformance.
import { Answer, Client, LlamadError } from "../lib/index.js";

async function run(call) {
  const client = new Client({ url: call.url, key: call.key, timeoutMs: call.timeout_ms, connectTimeoutMs: 5000 });
  try {
    if (call.do === "ping") return { state: (await client.ping()).state };
    const stream =
      call.do === "resume" ? client.resume(call.id, call.after) : await client.generate(call.request);
    const answer = new Answer();
    for await (const delta of stream.deltas()) {
      answer.add(delta);
      if (stream.tokens.length === call.stop_after) {
        if (call.detach) stream.detach();
        break;
      }
    }
    const { text, reasoning, toolCalls } = answer;
    return { text, reasoning, tool_calls: toolCalls, tokens: stream.tokens, finish: stream.finish };
  } catch (e) {
    if (!(e instanceof LlamadError)) throw e;
    return { error: { code: e.code, text: e.message, retry_ms: e.retryMs } };
  } finally {
    client.close();
  }
}

let input = "";
for await (const piece of process.stdin) input += piece;
process.stdout.write(JSON.stringify(await run(JSON.parse(input))));
