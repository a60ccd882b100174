// SPDX-License-Identifier: MIT
// Uses a running daemon through the client packages of JavaScript.
//
//     node clients.mjs URL MODEL KEY POOR     in a folder with node_modules; POOR is a key whose quota
//                                             is used up
//
// Each check prints a line "ok: PACKAGE WHAT" or "FAIL: PACKAGE WHAT: FOUND".
import { createRequire } from "node:module";
import { connect } from "node:net";
import { pathToFileURL } from "node:url";

const [url, model, key, poor] = process.argv.slice(2);
globalThis.AI_SDK_LOG_WARNINGS = false;
const require = createRequire(process.cwd() + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const hi = [{ role: "user", content: "Name a colour." }];
const schema = {
	type: "object",
	properties: { city: { type: "string", maxLength: 12 } },
	required: ["city"],
	additionalProperties: false,
};
const place = {
	type: "object",
	properties: { place: { type: "string", enum: ["Bern", "Ulm"] } },
	required: ["place"],
	additionalProperties: false,
};
const isPlace = (x) => x === "Bern" || x === "Ulm";
let failed = 0;

function check(name, ok, found) {
	failed += !ok;
	console.log((ok ? "ok: " : "FAIL: ") + name + (ok ? "" : ": " + JSON.stringify(found)));
}

async function fails(name, status, call) {
	try {
		await call();
		check(name, false, "no error");
	} catch (e) {
		check(name, (e.status ?? e.statusCode ?? e.status_code) === status, String(e));
	}
}

// As many connections as one address may have, so that the next one is answered with 503.
async function fill() {
	const { hostname, port } = new URL(url);
	const held = [];
	for (let full = false; !full; ) {
		const s = connect(Number(port), hostname);
		held.push(s);
		s.on("error", () => {});
		full = await new Promise((resolve) => {
			s.once("data", () => resolve(true));
			s.once("connect", () => setTimeout(() => resolve(false), 20));
		});
	}
	return held;
}

// Waits until the server has seen that the connections are closed.
async function empty(held) {
	for (const s of held) s.destroy();
	for (let i = 0; i < 1000; i++) {
		try {
			if ((await fetch(url + "/livez")).ok) return;
		} catch {
			// is refused
		}
		await new Promise((resolve) => setTimeout(resolve, 10)); // asks again
	}
}

// The errors that do not depend on the body: call(base, key, text) throws what has the status.  The last
// one needs a new connection, which another name of the host makes the client open.
async function statusErrors(name, call) {
	await fails(`${name} errors, 413`, 413, () => call(url, key, "colour ".repeat(1300000)));
	await fails(`${name} errors, 429`, 429, () => call(url, poor, "Hi."));
	const held = await fill();
	await fails(`${name} errors, 503`, 503,
		() => call(url.replace("127.0.0.1", "localhost"), key, "Hi."));
	await empty(held);
}

async function openai() {
	const { default: OpenAI } = await load("openai");
	const c = new OpenAI({ baseURL: url + "/v1", apiKey: key, maxRetries: 0 });
	const chat = c.chat.completions;
	const opts = { model, messages: hi, temperature: 0, max_tokens: 8, seed: 1 };
	const ids = [];
	for await (const m of c.models.list()) ids.push(m.id);
	check("openai.js models", ids.includes(model), ids);
	const whole = await chat.create(opts);
	const text = whole.choices[0].message.content;
	check("openai.js chat", text.length > 0 && whole.usage.completion_tokens <= 8, whole);
	let streamed = "";
	for await (const x of await chat.create({ ...opts, stream: true }))
		streamed += x.choices[0]?.delta.content ?? "";
	check("openai.js stream", streamed === text, streamed);
	const json = await chat.create({
		...opts,
		max_tokens: 64,
		response_format: { type: "json_schema", json_schema: { name: "a", schema, strict: true } },
	});
	const value = JSON.parse(json.choices[0].message.content);
	check("openai.js structured output", Object.keys(value).join() === "city", value);
	const tools = [{ type: "function", function: { name: "weather", parameters: place } }];
	const run = chat.stream({ ...opts, max_tokens: 64, tools, tool_choice: "required" });
	const call = (await run.finalMessage()).tool_calls[0];
	check("openai.js tools", isPlace(JSON.parse(call.function.arguments).place), call);
	const back = await chat.create({
		...opts,
		tools,
		messages: [
			...hi,
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: call.id, content: "rain" },
		],
	});
	check("openai.js tool round trip", back.choices[0].message.content !== undefined, back);
	const vectors = await c.embeddings.create({ model, input: ["a cat", "taxes"] });
	check("openai.js embeddings", vectors.data[1].embedding.length > 100, vectors.data.length);
	await fails("openai.js errors", 400, () => chat.create({ ...opts, temperature: 9 }));
	await fails("openai.js errors, no model", 404, () => c.models.retrieve("nosuch"));
	const wrong = new OpenAI({ baseURL: url + "/v1", apiKey: "wrong", maxRetries: 0 });
	await fails("openai.js errors, wrong key", 401, () => wrong.models.list());
	await statusErrors("openai.js", (base, apiKey, content) =>
		new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 }).chat.completions.create({
			...opts, messages: [{ role: "user", content }] }));
	const long = await chat.create({ ...opts, stream: true, max_tokens: 4000, ignore_eos: true });
	for await (const x of long) {
		long.controller.abort();
		check("openai.js cancellation", x.choices.length > 0);
		break;
	}
	const r = await c.responses.create({ model, input: "Name a colour.", max_output_tokens: 8 });
	check("openai.js responses", r.output_text.length > 0 && r.usage.output_tokens <= 8, r);
	const s = c.responses.stream({ model, input: "Name a colour.", max_output_tokens: 8,
		temperature: 0 });
	const done = await s.finalResponse();
	check("openai.js responses stream", done.output_text.length > 0, done);
	const many = await Promise.all(Array.from({ length: 32 }, () => chat.create(opts)));
	check("openai.js 32 at once", many.every((m) => m.choices[0].message.content === text));
}

async function anthropic() {
	const { default: Anthropic } = await load("@anthropic-ai/sdk");
	const c = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
	const opts = { model, messages: hi, max_tokens: 8, system: "Be brief." };
	const ids = [];
	for await (const m of c.models.list()) ids.push(m.id);
	check("@anthropic-ai/sdk models", ids.includes(model), ids);
	const whole = await c.messages.create(opts);
	check("@anthropic-ai/sdk chat", whole.content[0].text.length > 0, whole);
	const final = await c.messages.stream(opts).finalMessage();
	check("@anthropic-ai/sdk stream", final.content[0].text.length > 0, final);
	const tools = [{ name: "weather", input_schema: place }];
	const call = await c.messages
		.stream({ ...opts, max_tokens: 64, tools,
			tool_choice: { type: "any", disable_parallel_tool_use: true } })
		.finalMessage();
	const use = call.content.at(-1);
	check("@anthropic-ai/sdk tools", use.type === "tool_use" && isPlace(use.input.place), call);
	const back = await c.messages.create({
		...opts,
		tools,
		messages: [
			...hi,
			{ role: "assistant", content: call.content },
			{
				role: "user",
				content: [{ type: "tool_result", tool_use_id: use.id, content: "rain" }],
			},
		],
	});
	check("@anthropic-ai/sdk tool round trip", back.usage.input_tokens > 0, back);
	const { jsonSchemaOutputFormat } = await load("@anthropic-ai/sdk/helpers/json-schema");
	const json = await c.messages.parse({ ...opts, max_tokens: 64,
		output_config: { format: jsonSchemaOutputFormat(place) } });
	check("@anthropic-ai/sdk structured output", isPlace(json.parsed_output?.place), json);
	const n = await c.messages.countTokens({ model, messages: hi, system: "Be brief." });
	const u = whole.usage;
	check("@anthropic-ai/sdk count_tokens",
		n.input_tokens === u.input_tokens + (u.cache_read_input_tokens ?? 0), n);
	await fails("@anthropic-ai/sdk errors", 400, () => c.messages.create({ ...opts, max_tokens: -1 }));
	const wrong = new Anthropic({ baseURL: url, apiKey: "wrong", maxRetries: 0 });
	await fails("@anthropic-ai/sdk errors, wrong key", 401, () => wrong.messages.create(opts));
	await statusErrors("@anthropic-ai/sdk", (base, apiKey, content) =>
		new Anthropic({ baseURL: base, apiKey, maxRetries: 0 }).messages.create({
			...opts, messages: [{ role: "user", content }] }));
	const long = await c.messages.create({ ...opts, stream: true, max_tokens: 4000 });
	for await (const x of long) {
		long.controller.abort();
		check("@anthropic-ai/sdk cancellation", x.type === "message_start", x);
		break;
	}
	const many = await Promise.all(Array.from({ length: 32 }, () => c.messages.create(opts)));
	check("@anthropic-ai/sdk 32 at once", many.every((m) => m.content.length > 0));
}

async function ollama() {
	const { Ollama } = await load("ollama");
	const c = new Ollama({ host: url, headers: { Authorization: `Bearer ${key}` } });
	const options = { temperature: 0, num_predict: 8, seed: 1 };
	const list = await c.list();
	check("ollama.js models", list.models.some((m) => m.name === model), list);
	const whole = await c.chat({ model, messages: hi, options });
	check("ollama.js chat", whole.message.content.length > 0 && whole.done, whole);
	let text = "";
	for await (const x of await c.chat({ model, messages: hi, options, stream: true }))
		text += x.message.content;
	check("ollama.js stream", text === whole.message.content, text);
	const json = await c.generate({ model, prompt: "Where?", format: schema,
		options: { ...options, num_predict: 64 } });
	check("ollama.js structured output", typeof JSON.parse(json.response).city === "string", json);
	const vectors = await c.embed({ model, input: ["a cat", "taxes"] });
	check("ollama.js embeddings", vectors.embeddings.length === 2, vectors.embeddings.length);
	await fails("ollama.js errors, no model", 404, () => c.show({ model: "nosuch" }));
	await statusErrors("ollama.js", (base, k, content) =>
		new Ollama({ host: base, headers: { Authorization: `Bearer ${k}` } }).chat({
			model, messages: [{ role: "user", content }] }));
	const tools = [{ type: "function", function: { name: "weather", parameters: place } }];
	let call;
	for await (const x of await c.chat({ model: "scripted", messages: hi, tools, stream: true }))
		if (x.message.tool_calls) call = x.message;
	check("ollama.js tools", call?.tool_calls[0].function.arguments.place === "Bern", call);
	const back = await c.chat({ model: "scripted", tools, messages: [...hi, call,
		{ role: "tool", tool_name: "weather", content: "rain" }] });
	check("ollama.js tool round trip", back.message.content === "It rains.", back);
	const long = await c.chat({ model, messages: hi, stream: true,
		options: { ...options, num_predict: 2000 } });
	for await (const x of long) {
		check("ollama.js cancellation", !x.done, x);
		break; // ends the request
	}
	const many = await Promise.all(
		Array.from({ length: 32 }, () => c.chat({ model, messages: hi, options })));
	check("ollama.js 32 at once", many.every((m) => m.message.content === text));
}

async function aisdk() {
	const { generateText, streamText, Output, embedMany, tool, jsonSchema } = await load("ai");
	const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
	const provider = createOpenAICompatible({ name: "llamad", baseURL: url + "/v1", apiKey: key,
		supportsStructuredOutputs: true, includeUsage: true });
	const opts = { model: provider(model), prompt: "Name a colour.", temperature: 0,
		maxOutputTokens: 8, maxRetries: 0 };
	const whole = await generateText(opts);
	check("ai chat", whole.text.length > 0 && whole.usage.outputTokens > 0, whole.usage);
	const stream = streamText(opts);
	let text = "";
	for await (const x of stream.textStream) text += x;
	check("ai stream", text === whole.text, text);
	const object = await generateText({ ...opts, maxOutputTokens: 64,
		experimental_output: Output.object({ schema: jsonSchema(schema) }),
		output: Output.object({ schema: jsonSchema(schema) }) });
	const city = (object.output ?? object.experimental_output).city;
	check("ai structured output", typeof city === "string", city);
	const tools = {
		weather: tool({ inputSchema: jsonSchema(place), execute: async () => "rain" }),
	};
	const called = streamText({ ...opts, maxOutputTokens: 64, tools, toolChoice: "required" });
	const calls = await called.toolCalls;
	check("ai tools", isPlace(calls[0].input.place), calls);
	const messages = [{ role: "user", content: "Name a colour." },
		...(await called.response).messages];
	const { prompt, ...rest } = opts;
	const back = await generateText({ ...rest, tools, messages });
	check("ai tool round trip", prompt.length > 0 && back.usage.inputTokens > 0, back.usage);
	const vectors = await embedMany({ model: provider.embeddingModel
		? provider.embeddingModel(model) : provider.textEmbeddingModel(model),
		values: ["a cat", "taxes"], maxRetries: 0 });
	check("ai embeddings", vectors.embeddings.length === 2, vectors.embeddings.length);
	const stop = new AbortController();
	const { prompt: _, ...some } = opts;
	const long = streamText({ ...some, prompt: "Count.", maxOutputTokens: 2000,
		abortSignal: stop.signal });
	for await (const x of long.textStream) {
		check("ai cancellation", x.length > 0, x);
		stop.abort();
		break;
	}
	const many = await Promise.all(Array.from({ length: 32 }, () => generateText(opts)));
	check("ai 32 at once", many.every((m) => m.text === whole.text));
	await fails("ai errors", 400, () => generateText({ ...opts, temperature: 9 }));
}

for (const run of [openai, anthropic, ollama, aisdk]) {
	try {
		await run();
	} catch (e) {
		check(`${run.name} runs`, false, String(e.stack ?? e));
	}
}
process.exit(failed ? 1 : 0);
