/* SPDX-License-Identifier: MIT
 *
 * parse_cases.h - answers of every family and how they are parsed: content is written as it is,
 * reasoning as [R:...], calls as [F:name#id]{...} followed by [.], or by [!] if incomplete. */
#ifndef LLAMAD_CORE_TEXT_ANSWER_PARSE_CASES_H
#define LLAMAD_CORE_TEXT_ANSWER_PARSE_CASES_H

#define DS_BEGIN "<｜tool▁calls▁begin｜>"
#define DS_CALL  "<｜tool▁call▁begin｜>"
#define DS_SEP   "<｜tool▁sep｜>"
#define DS_END   "<｜tool▁call▁end｜>"
#define DS_LAST  "<｜tool▁calls▁end｜>"
#define DSML(tag) "<｜DSML｜" tag
#define M3	  "]<]minimax[>["

static const struct {
	const char *format, *text, *want;
} lmt_parse_cases[] = {
	{"none", "a <tool_call>{}</tool_call> b\n", "a <tool_call>{}</tool_call> b\n"},
	{"hermes", "hello \xc3\xa9\xf0\x9f\x98\x80 there\n",
	 "hello \xc3\xa9\xf0\x9f\x98\x80 there\n"},
	{"hermes",
	 "<think>\nhm, 1 < 2\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"w\", \"arguments\": "
	 "{\"c\": \"P\\\"}\", \"n\": {\"x\": [1, {}]}}}\n</tool_call>",
	 "[R:hm, 1 < 2]I look.[F:w]{\"c\": \"P\\\"}\", \"n\": {\"x\": [1, {}]}}[.]"},
	{"qwen3",
	 "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"name\": \"b\", "
	 "\"arguments\": {\"k\": 1}}\n</tool_call>\nDone.",
	 "[F:a]{}[.][F:b]{\"k\": 1}[.]Done."},
	{"hermes", "<tool_call>not json</tool_call> x", "<tool_call>not json</tool_call> x"},
	{"hermes", "<tool_call>{\"name\": 7, \"arguments\": {}}</tool_call>",
	 "<tool_call>{\"name\": 7, \"arguments\": {}}</tool_call>"},
	{"hermes",
	 "<tool_call>{\"arguments\": {\"k\": [1]}, \"id\": \"c1\", \"name\": \"f\"}</tool_call>!",
	 "[F:f#c1]{\"k\": [1]}[.]!"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"k\\\": 2}\"}</tool_call>",
	 "[F:f]{\"k\": 2}[.]"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": ]}}</tool_call>",
	 "[F:f]{\"k\": [!]]}}</tool_call>"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": x}}</tool_call>",
	 "[F:f]{\"k\": x}[!]"},
	{"hermes",
	 "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": 1}, \"more\": {\"z\": "
	 "\"}\"}}</tool_call>.",
	 "[F:f]{\"k\": 1}[.]."},
	{"hermes", "a < b <tool_ <think>x", "a < b <tool_[R:x]"},
	{"pangu",
	 "[unused16]hm[unused17]I look.[unused11][{\"name\": \"f\", \"arguments\": {\"a\": 1}}, "
	 "{\"name\": \"g\", \"arguments\": {}}][unused12] [unused1",
	 "[R:hm]I look.[F:f]{\"a\": 1}[.][F:g]{}[.][unused1"},
	{"hermes", "x </think> y", "xy"},
	{"llama3", "{\"name\": \"f\", \"parameters\": {\"q\": \"a\"}}", "[F:f]{\"q\": \"a\"}[.]"},
	{"llama3",
	 "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"q\": 1}}}",
	 "[F:f]{\"q\": 1}[.]"},
	{"llama3",
	 "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": "
	 "{}}",
	 "[F:f]{}[.][F:g]{}[.]"},
	{"llama3", "{\"answer\": 42} is it", "{\"answer\": 42} is it"},
	{"llama3", "I say {\"name\": \"f\", \"parameters\": {}}",
	 "I say {\"name\": \"f\", \"parameters\": {}}"},
	{"json", " {\"tool_call\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}",
	 "[F:f]{\"a\": 1}[.]"},
	{"json", "[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]",
	 "[F:f]{}[.][F:g]{}[.]"},
	{"mistral",
	 "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abc\"}, "
	 "{\"name\": \"g\", \"arguments\": {}}]",
	 "[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"mistral",
	 "[THINK]t[/THINK]ok[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]x9[ARGS]{}",
	 "[R:t]ok[F:f]{\"a\": 1}[.][F:g#x9]{}[.]"},
	{"mistral-v11", "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", "[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"mistral", "[TOOL_CALLS] none", "[TOOL_CALLS] none"},
	{"deepseek-v3",
	 "<think>r</think>" DS_BEGIN DS_CALL "function" DS_SEP "f\n```json\n{\"a\": 1}\n```" DS_END
	 "\n" DS_CALL "function" DS_SEP "g\n```json\n{}\n```" DS_END DS_LAST " bye",
	 "[R:r][F:f]{\"a\": 1}[.][F:g]{}[.]bye"},
	{"deepseek-v3.1",
	 "A" DS_BEGIN DS_CALL "f" DS_SEP "{\"a\": [\"\xe4\xb8\xad\"]}" DS_END DS_LAST,
	 "A[F:f]{\"a\": [\"\xe4\xb8\xad\"]}[.]"},
	{"gpt-oss",
	 "<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>commentary "
	 "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
	 "[R:think][F:f]{\"a\": 1}[.]"},
	{"gpt-oss",
	 "<|channel|>analysis<|message|>x<|end|><|start|>assistant to=functions.f<|channel|>"
	 "commentary json<|message|>{}<|call|>",
	 "[R:x][F:f]{}[.]"},
	{"harmony",
	 "<|channel|>analysis<|message|>a b<|end|><|start|>assistant<|channel|>final<|message|>Hi "
	 "there<|return|>",
	 "[R:a b]Hi there"},
	{"command-r",
	 "<|START_THINKING|>p<|END_THINKING|><|START_ACTION|>[\n {\"tool_call_id\": \"0\", "
	 "\"tool_name\": \"f\", \"parameters\": {\"a\": 1}},\n {\"tool_call_id\": \"1\", "
	 "\"tool_name\": \"g\", \"parameters\": {}}\n]<|END_ACTION|>",
	 "[R:p][F:f#0]{\"a\": 1}[.][F:g#1]{}[.]"},
	{"command-r", "<|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello."},
	{"functionary-v3.1", "hm <function=f>{\"a\": 1}</function><function=g>{}</function>",
	 "hm[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"functionary-v3.2", "all\nHello >>> you>>>f\n{\"a\": 1}>>>g\n{}",
	 "Hello >>> you[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"functionary-v3.2", "f\n{\"a\": 1}", "[F:f]{\"a\": 1}[.]"},
	{"functionary-v3.2", "just words", "just words"},
	{"granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
	 "[F:f]{\"a\": 1}[.]"},
	{"granite", "<think>x</think><response>y</response>", "[R:x]y"},
	{"glm",
	 "<think>z</think>\nok\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n"
	 "<arg_key>b</arg_key><arg_value>x "
	 "\"y\"\n</arg_value></tool_call>\n<tool_call>g</tool_call>",
	 "[R:z]ok[F:f]{\"a\": 1, \"b\": \"x \\\"y\\\"\\n\"}[.][F:g]{}[.]"},
	{"glm", "<tool_call>no call</tool_call>", "<tool_call>no call</tool_call>"},
	{"kimi-k2",
	 "S<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
	 "{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}"
	 "<|tool_call_end|><|tool_calls_section_end|>",
	 "S[F:f#functions.f:0]{\"a\": 1}[.][F:g#functions.g:1]{}[.]"},
	{"minimax",
	 "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter "
	 "name=\"a\">1</parameter>\n<parameter "
	 "name=\"b\">x</parameter>\n</invoke>\n<invoke "
	 "name=\"g\">\n</invoke>\n</minimax:tool_call>",
	 "[F:f]{\"a\": 1, \"b\": \"x\"}[.][F:g]{}[.]"},
	{"qwen3-coder",
	 "<tool_call>\n<function=f>\n<parameter=code>\nif a < b:\n  </p>\n</parameter>\n<parameter="
	 "n>\n{\"z\": [1]}\n</parameter>\n</function>\n</tool_call>",
	 "[F:f]{\"code\": \"if a < b:\\n  </p>\", \"n\": {\"z\": [1]}}[.]"},
	{"qwen3-coder",
	 "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\noops</function>",
	 "[F:f]{\"a\": 1[!]oops</function>"},
	{"seed-oss",
	 "<seed:think>q</seed:think><seed:tool_call>\n<function=f>\n<parameter=a>true</parameter>\n"
	 "</function>\n</seed:tool_call>",
	 "[R:q][F:f]{\"a\": true}[.]"},
	{"gemma", "```tool_call\n{\"name\": \"f\", \"arguments\": {}}\n```\nx", "[F:f]{}[.]x"},
	{"think", "<think>a\n\nb</think>c", "[R:a\n\nb]c"},
	{"llama4",
	 "[f(a=1, b=\"x\", c='it\\'s \\u00e9\\n'), g(), ns.h(l=[1, -2.5, 'z'], d={'k': True, "
	 "\"m\": None}, t=(1,), e=[])]",
	 "[F:f]{\"a\": 1, \"b\": \"x\", \"c\": \"it's \\u00e9\\n\"}[.][F:g]{}[.][F:ns.h]{\"l\": [1, "
	 "-2.5, \"z\"], \"d\": {\"k\": true, \"m\": null}, \"t\": [1], \"e\": []}[.]"},
	{"llama4",
	 "<|python_start|>[f(q='''a \"b\"\n''', n=1_000, x=.5, y=2.)]<|python_end|>ok",
	 "[F:f]{\"q\": \"a \\\"b\\\"\\n\", \"n\": 1000, \"x\": 0.5, \"y\": 2}[.]ok"},
	{"llama3.2", "[get_time(), get(city=\"\")]", "[F:get_time]{}[.][F:get]{\"city\": \"\"}[.]"},
	{"llama3", "<|python_tag|>brave_search.call(query=\"x y\")",
	 "[F:brave_search]{\"query\": \"x y\"}[.]"},
	{"llama3", "<|python_tag|>print('hi')", "<|python_tag|>print('hi')"},
	{"pythonic", "[note(s) and more]", "[note(s) and more]"},
	{"pythonic", "[f(1)]", "[f(1)]"},
	{"pythonic", "[1, 2]", "[1, 2]"},
	{"pythonic", "f(a=1)", "f(a=1)"},
	{"pythonic", "[f(a=1, b=y)] z", "[F:f]{\"a\": 1, \"b\": [!]y)] z"},
	{"pythonic", "[f(a=\"\\q\\x41\\U0001F600\\\nb\\u12\")]",
	 "[F:f]{\"a\": \"\\\\q\\u0041\\ud83d\\ude00b\\\\u12\"}[.]"},
	{"lfm2",
	 "Let me see.<|tool_call_start|>[f(a=\"x\", b=2), g()]<|tool_call_end|>Done\xc3\xa9",
	 "Let me see.[F:f]{\"a\": \"x\", \"b\": 2}[.][F:g]{}[.]Done\xc3\xa9"},
	{"lfm2",
	 "<|tool_call_start|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]<|tool_call_end|>",
	 "[F:f]{\"a\": 1}[.]"},
	{"lfm2", "<|tool_call_start|>none<|tool_call_end|>",
	 "<|tool_call_start|>none<|tool_call_end|>"},
	{"olmo3",
	 "<think>t</think>I'll do both.<function_calls>\nf(a='P\xc3\xa9')\ng(b=[2])\n"
	 "</function_calls>",
	 "[R:t]I'll do both.[F:f]{\"a\": \"P\xc3\xa9\"}[.][F:g]{\"b\": [2]}[.]"},
	{"gemma4",
	 "<|channel>thought\nhm\n<channel|>I look.<|tool_call>call:f{city:<|\"|>P \"x\", {y}<|\"|>,"
	 "n:-3,ok:true,l:[<|\"|>a<|\"|>,2.5],o:{k:null}}<tool_call|><|tool_call>call:g{}"
	 "<tool_call|><|tool_response>",
	 "[R:hm]I look.[F:f]{\"city\": \"P \\\"x\\\", {y}\", \"n\": -3, \"ok\": true, \"l\": "
	 "[\"a\", 2.5], \"o\": {\"k\": null}}[.][F:g]{}[.]"},
	{"gemma4", "<|tool_call>call:f{a:\"q\",b:word}<tool_call|>",
	 "[F:f]{\"a\": \"q\", \"b\": \"word\"}[.]"},
	{"gemma4", "<|tool_call>nothing<tool_call|>", "<|tool_call>nothing<tool_call|>"},
	{"functiongemma",
	 "<start_function_call>call:f{a:<escape>x y<escape>,n:3}<end_function_call>",
	 "[F:f]{\"a\": \"x y\", \"n\": 3}[.]"},
	{"deepseek-v3.2",
	 "<think>r</think>ok\n\n" DSML("function_calls>") "\n" DSML("invoke name=\"f\">") "\n" DSML(
		 "parameter name=\"a\" string=\"true\">") "17</｜DSML｜parameter>\n"
	 DSML("parameter name=\"b\" string=\"false\">") "[1, \"z\"]</｜DSML｜parameter>\n"
	 "</｜DSML｜invoke>\n" DSML("invoke name=\"g\">") "\n</｜DSML｜invoke>\n"
	 "</｜DSML｜function_calls>",
	 "[R:r]ok[F:f]{\"a\": \"17\", \"b\": [1, \"z\"]}[.][F:g]{}[.]"},
	{"deepseek-v4",
	 DSML("tool_calls>") "\n" DSML("invoke name=\"f\">") "\n" DSML(
		 "parameter name=\"a\" string=\"false\">") "true</｜DSML｜parameter>\n"
	 "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
	 "[F:f]{\"a\": true}[.]"},
	{"step3",
	 "Now.\n<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
	 "name=\"f\">\n<steptml:parameter name=\"a\">x</steptml:parameter>\n</steptml:invoke>"
	 "<｜tool_call_end｜>\n<｜tool_calls_end｜>\nBye",
	 "Now.[F:f]{\"a\": \"x\"}[.]Bye"},
	{"minicpm5",
	 "<function name=\"f\"><param name=\"a\">1</param><param name=\"b\"><![CDATA[if x</param> "
	 "]]&\n]]></param></function><function name=\"g\"></function>",
	 "[F:f]{\"a\": 1, \"b\": \"if x</param> ]]&\"}[.][F:g]{}[.]"},
	{"hunyuan-v3",
	 "<think:opensource>t</think:opensource><tool_calls:opensource>\n<tool_call:opensource>f"
	 "<tool_sep:opensource>\n<arg_key:opensource>a</arg_key:opensource>\n"
	 "<arg_value:opensource>x</arg_value:opensource>\n</tool_call:opensource>\n"
	 "</tool_calls:opensource>",
	 "[R:t][F:f]{\"a\": \"x\"}[.]"},
	{"longcat",
	 "Let me.\n<longcat_tool_call>f\n<longcat_arg_key>a</longcat_arg_key>\n"
	 "<longcat_arg_value>v</longcat_arg_value>\n</longcat_tool_call>",
	 "Let me.[F:f]{\"a\": \"v\"}[.]"},
	{"longcat-json",
	 "<longcat_tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</longcat_tool_call>",
	 "[F:f]{}[.]"},
	{"kimi-k3",
	 "<|open|>think<|sep|>t<|close|>think<|sep|><|open|>response<|sep|>hi<|close|>response"
	 "<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument "
	 "key=\"a\" type=\"string\"<|sep|>3<|close|>argument<|sep|><|open|>argument key=\"b\" "
	 "type=\"number\"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call "
	 "tool=\"g\" index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
	 "[R:t]hi[F:f#1]{\"a\": \"3\", \"b\": 3}[.][F:g#2]{}[.]"},
	{"solar-open",
	 "<|think|>t<|end|><|begin|>assistant<|content|>c<|end|><|begin|>assistant<|tool_calls|>"
	 "<|tool_call:begin|>a1b2<|tool_call:name|>f<|tool_call:args|>{\"a\": 1}<|tool_call:end|>"
	 "<|tool_call:begin|>c3<|tool_call:name|>g<|tool_call:args|>{}<|tool_call:end|><|calls|>",
	 "[R:t]c[F:f#a1b2]{\"a\": 1}[.][F:g#c3]{}[.]"},
	{"apertus",
	 "<|inner_prefix|>t<|inner_suffix|>x<|tools_prefix|>[{\"f\": {\"a\": 1}}, {\"g\": {}}]"
	 "<|tools_suffix|>",
	 "[R:t]x[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"nemotron-v2", "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]</TOOLCALL>",
	 "[F:f]{\"a\": 1}[.]"},
	{"firefunction",
	 "I import functools. functools[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
	 "I import functools.[F:f]{\"a\": 1}[.]"},
	{"internlm",
	 "So.<|action_start|><|plugin|>\n{\"name\": \"f\", \"parameters\": {\"a\": 8}}"
	 "<|action_end|>",
	 "So.[F:f]{\"a\": 8}[.]"},
	{"gigachat3",
	 "ok<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"f\", \"arguments\": {\"a\": "
	 "1}}<|message_sep|>\n\n",
	 "ok[F:f]{\"a\": 1}[.]"},
	{"apriel-1.6",
	 "Here are my reasoning steps:\nt\n[BEGIN FINAL RESPONSE]\nhi\n<tool_calls>[{\"name\": "
	 "\"f\", \"arguments\": {}, \"id\": \"0\"}]</tool_calls>\n[END FINAL RESPONSE]",
	 "[R:t]hi[F:f]{}[.]"},
	{"apriel",
	 "<thinking>t</thinking>\n<tool_calls>[{\"name\": \"f\", \"arguments\": {}}]</tool_calls>",
	 "[R:t][F:f]{}[.]"},
	{"minimax-m1",
	 "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": "
	 "{}}\n</tool_calls>",
	 "[F:f]{}[.][F:g]{}[.]"},
	{"minimax-m3",
	 "<mm:think>t</mm:think>" M3 "<tool_call>\n" M3 "<invoke name=\"f\">" M3 "<a>x < y" M3
	 "</a>" M3 "<l>" M3 "<item>1" M3 "</item>" M3 "<item>" M3 "<k>v" M3 "</k>" M3 "</item>" M3
	 "</l>" M3 "</invoke>\n" M3 "<invoke name=\"g\">" M3 "</invoke>\n" M3 "</tool_call>",
	 "[R:t][F:f]{\"a\": \"x < y\", \"l\": [1, {\"k\": \"v\"}]}[.][F:g]{}[.]"},
	{"minimax-m3",
	 M3 "<tool_call>" M3 "<invoke name=\"f\">" M3 "<a>x" M3 "</b>" M3 "</invoke>z",
	 "[F:f][!]" M3 "<a>x" M3 "</b>" M3 "</invoke>z"},
	{"granite-3.2", "Here is my thought process: t Here is my response: hi", "[R:t]hi"},
	{"command-r-plus",
	 "Action: ```json\n[\n {\n \"tool_name\": \"f\",\n \"parameters\": {\"a\": 1}\n }\n]```",
	 "[F:f]{\"a\": 1}[.]"},
	{"exaone-deep", "<thought>t</thought>x", "[R:t]x"},
	{"kimi-vl", "◁think▷t◁/think▷x", "[R:t]x"},
};

#endif /* LLAMAD_CORE_TEXT_ANSWER_PARSE_CASES_H */
