// SPDX-License-Identifier: MIT
// Against a live daemon: LMD_TEST_URL serves the model "full"; LMD_TEST_WANT is a file with the answer to
// LMD_TEST_PROMPT of LMD_TEST_N tokens.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Client, ConnectionLost } from "../lib/index.js";

const { LMD_TEST_URL: url, LMD_TEST_PROMPT: prompt, LMD_TEST_N: n, LMD_TEST_WANT: want } = process.env;
const client = new Client({ url });
const request = { model: "full", prompt, n: Number(n), temp: 0 };
const text = fs.readFileSync(want, "utf8").replace(/\n$/, "");

/** Asks until the daemon reports so many running generations. */
async function active(count) {
  for (;;) {
    const running = (await client.ps()).reduce((sum, m) => sum + m.active + m.waiting, 0);
    if (running === count) return;
  }
}

const stream = await client.generate(request);
assert.equal(await stream.text(), text);
assert.equal(stream.finish, "length");
assert.equal(stream.tokens.length, Number(n));
assert.equal((await client.ping()).state, "ready");
assert.ok((await client.models()).some((m) => m.name === "full"));

// several at once, on one connection
const all = await Promise.all(Array.from({ length: 8 }, async () => (await client.generate(request)).answer()));
for (const answer of all) assert.equal(answer.text, text);

// tokens and vectors
const tokens = await client.tokenize("full", "Hello");
assert.equal(await client.detokenize("full", tokens), "Hello");
const [vector] = await client.embed("full", "Hello");
assert.ok(vector.length > 1 && vector.every((x) => Number.isFinite(Number(x))));

// leaving a loop cancels, detach does not
const long = { ...request, n: 20000, ignore_eog: true };
const left = await client.generate(long);
for await (const piece of left) {
  assert.ok(piece.length > 0);
  break;
}
await active(0);
const detached = await client.generate({ ...request, ignore_eog: true });
const { id, after } = detached.detach();
assert.equal((await client.resume(id, after).answer()).text.length > 0, true);
const paused = await client.generate(long);
assert.ok((await paused.pause()) > 0);
assert.equal(await paused.unpause(), true);
assert.equal(await paused.unpause(), false);
for await (const piece of paused) {
  assert.ok(piece.length > 0);
  break;
}
const cancelled = await client.generate(long);
await cancelled.cancel();
await assert.rejects(cancelled.text(), { code: "cancelled" });

// errors
await assert.rejects(client.generate({ ...request, model: "nobody" }), { code: "notfound" });
await assert.rejects(client.generate({ ...request, temp: 99 }), { code: "invalid" });
await assert.rejects(client.call("no_such_op"), { code: "invalid" });
assert.throws(() => new Client({ url: "http://localhost" }), { code: "invalid" });
assert.throws(() => client.resume("x"), { code: "invalid" });
client.close();
await assert.rejects(client.ping(), ConnectionLost);
await assert.rejects(new Client({ url: "ipc:///nowhere/sock", connectTimeoutMs: 100 }).ping(), /is llamad running/);
