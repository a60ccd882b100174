// SPDX-License-Identifier: MIT
// Records the bodies that the client packages of JavaScript send.
//
//     node record.mjs FOLDER     in a folder with node_modules; writes FOLDER/NAME.json for each call
//
// A server on the loopback keeps what it gets and answers 400, so the calls fail; that is ignored.  The
// expected requests are added by LMD_HTTP_UPDATE=1 tests/http/apis_test.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
globalThis.AI_SDK_LOG_WARNINGS = false;
const require = createRequire(process.cwd() + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const version = (name) =>
	JSON.parse(readFileSync(`${process.cwd()}/node_modules/${name}/package.json`, "utf8")).version;
let seen = [];
const server = createServer(async (request, response) => {
	let text = "";
	for await (const part of request) text += part;
	seen.push({ path: request.url, body: JSON.parse(text) });
	response.writeHead(400, { "Content-Type": "application/json" });
	response.end("{}");
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}`;

const model = "smollm2";
const hi = [{ role: "user", content: "Say hi." }];
const schema = {
	type: "object",
	properties: { city: { type: "string" } },
	required: ["city"],
	additionalProperties: false,
};
const place = {
	type: "object",
	properties: { place: { type: "string" } },
	required: ["place"],
	additionalProperties: false,
};

async function record(pack, name, call) {
	seen = [];
	try {
		await call();
	} catch (e) {
		if (!seen.length) throw e;
	}
	const doc = { package: `npm ${pack} ${version(pack)}`, ...seen[0] };
	writeFileSync(`${folder}/npm-${name}.json`, JSON.stringify(doc, null, 2) + "\n");
}

async function openai() {
	const { default: OpenAI } = await load("openai");
	const c = new OpenAI({ baseURL: url + "/v1", apiKey: "k", maxRetries: 0 });
	const tools = [{ type: "function", function: { name: "weather", parameters: place } }];
	await record("openai", "openai-chat-stream", () => c.chat.completions.stream({
		model, messages: hi, tools, tool_choice: "required", max_completion_tokens: 64,
		stream_options: { include_usage: true } }).finalMessage());
	await record("openai", "openai-chat-parse", () => c.chat.completions.parse({ model, messages: hi,
		response_format: { type: "json_schema", json_schema: { name: "a", schema, strict: true } } }));
	await record("openai", "openai-responses-stream", () => c.responses.stream({
		model, input: "Say hi.", max_output_tokens: 8, reasoning: { effort: "low" } }).finalResponse());
}

async function anthropic() {
	const { default: Anthropic } = await load("@anthropic-ai/sdk");
	const c = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
	const tools = [{ name: "weather", input_schema: place }];
	await record("@anthropic-ai/sdk", "anthropic-messages-stream", () => c.messages.stream({
		model, messages: hi, max_tokens: 64, system: "Be brief.", tools,
		tool_choice: { type: "any", disable_parallel_tool_use: true } }).finalMessage());
}

async function ollama() {
	const { Ollama } = await load("ollama");
	const c = new Ollama({ host: url });
	const options = { temperature: 0, num_predict: 8, seed: 1 };
	await record("ollama", "ollama-chat-stream", () =>
		c.chat({ model, messages: hi, options, stream: true, think: false, keep_alive: "5m" }));
	await record("ollama", "ollama-generate-format", () =>
		c.generate({ model, prompt: "Where?", format: schema, options }));
}

async function aisdk() {
	const { generateText, streamText, Output, tool, jsonSchema } = await load("ai");
	const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
	const provider = createOpenAICompatible({ name: "llamad", baseURL: url + "/v1", apiKey: "k",
		supportsStructuredOutputs: true, includeUsage: true });
	const opts = { model: provider(model), system: "Be brief.", prompt: "Say hi.", maxRetries: 0,
		maxOutputTokens: 64 };
	const tools = { weather: tool({ description: "The weather at a place.",
		inputSchema: jsonSchema(place), execute: async () => "rain" }) };
	const pack = "@ai-sdk/openai-compatible";
	await record(pack, "ai-stream", async () => {
		const run = streamText({ ...opts, tools, toolChoice: "required", temperature: 0, seed: 1,
			onError: () => {} });
		await run.consumeStream();
	});
	await record(pack, "ai-object", () => generateText({ ...opts, topP: 0.9, stopSequences: ["END"],
		output: Output.object({ schema: jsonSchema(schema) }) }));
	await record(pack, "ai-round-trip", () => generateText({ model: opts.model, maxRetries: 0, tools,
		messages: [
			...hi,
			{ role: "assistant", content: [{ type: "tool-call", toolCallId: "call_1",
				toolName: "weather", input: { place: "Bern" } }] },
			{ role: "tool", content: [{ type: "tool-result", toolCallId: "call_1",
				toolName: "weather", output: { type: "text", value: "rain" } }] },
		] }));
}

for (const run of [openai, anthropic, ollama, aisdk]) await run();
server.close();
process.exit(0);
