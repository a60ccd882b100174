// SPDX-License-Identifier: MIT
// Prints text as it is generated: node stream.js MODEL [PROMPT [N [URL]]]
import { Client } from "../lib/index.js";

const [model, prompt = "Why is the sky blue?", n = "40", url] = process.argv.slice(2);
const client = new Client({ url });
try {
  const stream = await client.generate({ model, prompt, n: Number(n), temp: 0 });
  for await (const text of stream) process.stdout.write(text);
} finally {
  client.close();
}
