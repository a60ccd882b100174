/* SPDX-License-Identifier: MIT
 *
 * builtin_cases.gen.h - how the published templates of models render the conversations of
 * builtin_test.c, as computed by jinja2 with the settings of the model hubs, without the
 * vocabulary's BOS token.  NULL: the published template raises an error, adds a system prompt of
 * its own, or deliberately differs from ours. */
#ifndef LLAMAD_CORE_TEXT_CHAT_BUILTIN_CASES_GEN_H
#define LLAMAD_CORE_TEXT_CHAT_BUILTIN_CASES_GEN_H

/* clang-format off */
static const struct {
	const char *name, *model;
	const char *want[5]; /* one for each conversation */
} lmt_builtin_cases[] = {
	{"bailing", "Ling-lite", {
		"<role>HUMAN</role>Hello<role>ASSISTANT</role>",
		"<role>HUMAN</role>Hello<role>ASSISTANT</role>Hi there<role>HUMAN</role>Who are"
		" you?<role>ASSISTANT</role>",
		"<role>SYSTEM</role>Be brief.<role>HUMAN</role>Hello<role>ASSISTANT</role>Hi th"
		"ere<role>HUMAN</role>Who are you?<role>ASSISTANT</role>",
		"<role>SYSTEM</role> Be brief. <role>HUMAN</role>  Hello  <role>ASSISTANT</role"
		">  Hi there  <role>HUMAN</role> Who\n are you? <role>ASSISTANT</role>",
		"<role>SYSTEM</role>Be brief.<role>HUMAN</role>Hello<role>ASSISTANT</role>Hi th"
		"ere",
	}},
	{"bailing2", "Ling 2.0", {
		"<role>SYSTEM</role>detailed thinking off<|role_end|><role>HUMAN</role>Hello<|r"
		"ole_end|><role>ASSISTANT</role>",
		"<role>SYSTEM</role>detailed thinking off<|role_end|><role>HUMAN</role>Hello<|r"
		"ole_end|><role>ASSISTANT</role>Hi there<|role_end|><role>HUMAN</role>Who are y"
		"ou?<|role_end|><role>ASSISTANT</role>",
		"<role>SYSTEM</role>Be brief.\ndetailed thinking off<|role_end|><role>HUMAN</ro"
		"le>Hello<|role_end|><role>ASSISTANT</role>Hi there<|role_end|><role>HUMAN</rol"
		"e>Who are you?<|role_end|><role>ASSISTANT</role>",
		"<role>SYSTEM</role> Be brief. \ndetailed thinking off<|role_end|><role>HUMAN</"
		"role>  Hello  <|role_end|><role>ASSISTANT</role>  Hi there  <|role_end|><role>"
		"HUMAN</role> Who\n are you? <|role_end|><role>ASSISTANT</role>",
		"<role>SYSTEM</role>Be brief.\ndetailed thinking off<|role_end|><role>HUMAN</ro"
		"le>Hello<|role_end|><role>ASSISTANT</role>Hi there<|role_end|>",
	}},
	{"chatglm3", "ChatGLM3", {
		"[gMASK]sop<|user|>\n Hello<|assistant|>",
		"[gMASK]sop<|user|>\n Hello<|assistant|>\n Hi there<|user|>\n Who are you?<|ass"
		"istant|>",
		"[gMASK]sop<|system|>\n Be brief.<|user|>\n Hello<|assistant|>\n Hi there<|user"
		"|>\n Who are you?<|assistant|>",
		"[gMASK]sop<|system|>\n  Be brief. <|user|>\n   Hello  <|assistant|>\n   Hi the"
		"re  <|user|>\n  Who\n are you? <|assistant|>",
		"[gMASK]sop<|system|>\n Be brief.<|user|>\n Hello<|assistant|>\n Hi there",
	}},
	{"chatglm4", "GLM-4", {
		"[gMASK]<sop><|user|>\nHello<|assistant|>\n",
		"[gMASK]<sop><|user|>\nHello<|assistant|>\nHi there<|user|>\nWho are you?<|assi"
		"stant|>\n",
		"[gMASK]<sop><|system|>\nBe brief.<|user|>\nHello<|assistant|>\nHi there<|user|"
		">\nWho are you?<|assistant|>\n",
		"[gMASK]<sop><|system|>\n Be brief. <|user|>\n  Hello  <|assistant|>\n  Hi ther"
		"e  <|user|>\n Who\n are you? <|assistant|>\n",
		"[gMASK]<sop><|system|>\nBe brief.<|user|>\nHello<|assistant|>\nHi there",
	}},
	{"chatml", "OpenHermes 2.5", {
		"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
		"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi there<|im_end|>\n"
		"<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n",
		"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|"
		"im_start|>assistant\nHi there<|im_end|>\n<|im_start|>user\nWho are you?<|im_en"
		"d|>\n<|im_start|>assistant\n",
		"<|im_start|>system\n Be brief. <|im_end|>\n<|im_start|>user\n  Hello  <|im_end"
		"|>\n<|im_start|>assistant\n  Hi there  <|im_end|>\n<|im_start|>user\n Who\n ar"
		"e you? <|im_end|>\n<|im_start|>assistant\n",
		"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|"
		"im_start|>assistant\nHi there<|im_end|>\n",
	}},
	{"command-r", "Command R+", {
		"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Hello<|END_OF_TURN_TOKEN|><|START_OF_TURN"
		"_TOKEN|><|CHATBOT_TOKEN|>",
		"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Hello<|END_OF_TURN_TOKEN|><|START_OF_TURN"
		"_TOKEN|><|CHATBOT_TOKEN|>Hi there<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><"
		"|USER_TOKEN|>Who are you?<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT"
		"_TOKEN|>",
		"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN_TOKEN|><|START_O"
		"F_TURN_TOKEN|><|USER_TOKEN|>Hello<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><"
		"|CHATBOT_TOKEN|>Hi there<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOK"
		"EN|>Who are you?<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
		"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|> Be brief. <|END_OF_TURN_TOKEN|><|START"
		"_OF_TURN_TOKEN|><|USER_TOKEN|>Hello<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|"
		"><|CHATBOT_TOKEN|>Hi there<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_T"
		"OKEN|>Who\n are you?<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKE"
		"N|>",
		"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN_TOKEN|><|START_O"
		"F_TURN_TOKEN|><|USER_TOKEN|>Hello<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><"
		"|CHATBOT_TOKEN|>Hi there<|END_OF_TURN_TOKEN|>",
	}},
	{"deepseek", "DeepSeek Coder", {
		NULL,
		NULL,
		"Be brief.### Instruction:\nHello\n### Response:\nHi there\n<|EOT|>\n### Instru"
		"ction:\nWho are you?\n### Response:\n",
		" Be brief. ### Instruction:\n  Hello  \n### Response:\n  Hi there  \n<|EOT|>\n"
		"### Instruction:\n Who\n are you? \n### Response:\n",
		"Be brief.### Instruction:\nHello\n### Response:\nHi there\n<|EOT|>\n",
	}},
	{"deepseek2", "DeepSeek-V2", {
		"User: Hello\n\nAssistant:",
		"User: Hello\n\nAssistant: Hi there<｜end▁of▁sentence｜>User: Who are you"
		"?\n\nAssistant:",
		"Be brief.\n\nUser: Hello\n\nAssistant: Hi there<｜end▁of▁sentence｜>User"
		": Who are you?\n\nAssistant:",
		" Be brief. \n\nUser:   Hello  \n\nAssistant:   Hi there  <｜end▁of▁senten"
		"ce｜>User:  Who\n are you? \n\nAssistant:",
		"Be brief.\n\nUser: Hello\n\nAssistant: Hi there<｜end▁of▁sentence｜>",
	}},
	{"deepseek3", "DeepSeek-V3", {
		"<｜User｜>Hello<｜Assistant｜>",
		"<｜User｜>Hello<｜Assistant｜>Hi there<｜end▁of▁sentence｜><｜User"
		"｜>Who are you?<｜Assistant｜>",
		"Be brief.<｜User｜>Hello<｜Assistant｜>Hi there<｜end▁of▁sentence｜>"
		"<｜User｜>Who are you?<｜Assistant｜>",
		" Be brief. <｜User｜>  Hello  <｜Assistant｜>  Hi there  <｜end▁of▁se"
		"ntence｜><｜User｜> Who\n are you? <｜Assistant｜>",
		"Be brief.<｜User｜>Hello<｜Assistant｜>Hi there<｜end▁of▁sentence｜>",
	}},
	{"exaone3", "EXAONE 3.5", {
		"[|system|][|endofturn|]\n[|user|]Hello\n[|assistant|]",
		"[|system|][|endofturn|]\n[|user|]Hello\n[|assistant|]Hi there[|endofturn|]\n[|"
		"user|]Who are you?\n[|assistant|]",
		"[|system|]Be brief.[|endofturn|]\n[|user|]Hello\n[|assistant|]Hi there[|endoft"
		"urn|]\n[|user|]Who are you?\n[|assistant|]",
		"[|system|] Be brief. [|endofturn|]\n[|user|]  Hello  \n[|assistant|]  Hi there"
		"  [|endofturn|]\n[|user|] Who\n are you? \n[|assistant|]",
		"[|system|]Be brief.[|endofturn|]\n[|user|]Hello\n[|assistant|]Hi there[|endoft"
		"urn|]\n",
	}},
	{"exaone4", "EXAONE 4.0", {
		"[|user|]\nHello[|endofturn|]\n[|assistant|]\n<think>\n\n</think>\n\n",
		"[|user|]\nHello[|endofturn|]\n[|assistant|]\n<think>\n\n</think>\n\nHi there[|"
		"endofturn|]\n[|user|]\nWho are you?[|endofturn|]\n[|assistant|]\n<think>\n\n</"
		"think>\n\n",
		"[|system|]\nBe brief.[|endofturn|]\n[|user|]\nHello[|endofturn|]\n[|assistant|"
		"]\n<think>\n\n</think>\n\nHi there[|endofturn|]\n[|user|]\nWho are you?[|endof"
		"turn|]\n[|assistant|]\n<think>\n\n</think>\n\n",
		"[|system|]\n Be brief. [|endofturn|]\n[|user|]\n  Hello  [|endofturn|]\n[|assi"
		"stant|]\n<think>\n\n</think>\n\n  Hi there  [|endofturn|]\n[|user|]\n Who\n ar"
		"e you? [|endofturn|]\n[|assistant|]\n<think>\n\n</think>\n\n",
		"[|system|]\nBe brief.[|endofturn|]\n[|user|]\nHello[|endofturn|]\n[|assistant|"
		"]\n<think>\n\n</think>\n\nHi there[|endofturn|]\n",
	}},
	{"gemma", "Gemma", {
		"<start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\n",
		"<start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\nHi there<end_of"
		"_turn>\n<start_of_turn>user\nWho are you?<end_of_turn>\n<start_of_turn>model\n",
		NULL,
		NULL,
		NULL,
	}},
	{"gigachat", "GigaChat-20B", {
		"<s>user<|role_sep|>Hello<|message_sep|>available functions<|role_sep|>[]<|mess"
		"age_sep|>assistant<|role_sep|>",
		"<s>user<|role_sep|>Hello<|message_sep|>available functions<|role_sep|>[]<|mess"
		"age_sep|>assistant<|role_sep|>Hi there<|message_sep|>user<|role_sep|>Who are y"
		"ou?<|message_sep|>available functions<|role_sep|>[]<|message_sep|>assistant<|r"
		"ole_sep|>",
		"<s>Be brief.<|message_sep|>user<|role_sep|>Hello<|message_sep|>available funct"
		"ions<|role_sep|>[]<|message_sep|>assistant<|role_sep|>Hi there<|message_sep|>u"
		"ser<|role_sep|>Who are you?<|message_sep|>available functions<|role_sep|>[]<|m"
		"essage_sep|>assistant<|role_sep|>",
		"<s> Be brief. <|message_sep|>user<|role_sep|>  Hello  <|message_sep|>available"
		" functions<|role_sep|>[]<|message_sep|>assistant<|role_sep|>  Hi there  <|mess"
		"age_sep|>user<|role_sep|> Who\n are you? <|message_sep|>available functions<|r"
		"ole_sep|>[]<|message_sep|>assistant<|role_sep|>",
		"<s>Be brief.<|message_sep|>user<|role_sep|>Hello<|message_sep|>available funct"
		"ions<|role_sep|>[]<|message_sep|>assistant<|role_sep|>Hi there<|message_sep|>",
	}},
	{"glmedge", "GLM-Edge", {
		"<|user|>\nHello<|assistant|>",
		"<|user|>\nHello<|assistant|>\nHi there<|user|>\nWho are you?<|assistant|>",
		"<|system|>\nBe brief.<|user|>\nHello<|assistant|>\nHi there<|user|>\nWho are y"
		"ou?<|assistant|>",
		"<|system|>\n Be brief. <|user|>\n  Hello  <|assistant|>\n  Hi there  <|user|>"
		"\n Who\n are you? <|assistant|>",
		NULL,
	}},
	{"gpt-oss", "gpt-oss", {
		"<|start|>user<|message|>Hello<|end|><|start|>assistant",
		"<|start|>user<|message|>Hello<|end|><|start|>assistant<|channel|>final<|messag"
		"e|>Hi there<|end|><|start|>user<|message|>Who are you?<|end|><|start|>assistan"
		"t",
		NULL,
		NULL,
		NULL,
	}},
	{"granite", "Granite 3.0", {
		"<|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>ass"
		"istant<|end_of_role|>",
		"<|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>ass"
		"istant<|end_of_role|>Hi there<|end_of_text|>\n<|start_of_role|>user<|end_of_ro"
		"le|>Who are you?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Who are yo"
		"u?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|> Be brief. <|end_of_text|>\n<|start_of_r"
		"ole|>user<|end_of_role|>  Hello  <|end_of_text|>\n<|start_of_role|>assistant<|"
		"end_of_role|>  Hi there  <|end_of_text|>\n<|start_of_role|>user<|end_of_role|>"
		" Who\n are you? <|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n",
	}},
	{"granite-4.0", "Granite 4.0", {
		NULL,
		NULL,
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Who are yo"
		"u?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|> Be brief. <|end_of_text|>\n<|start_of_r"
		"ole|>user<|end_of_role|>  Hello  <|end_of_text|>\n<|start_of_role|>assistant<|"
		"end_of_role|>  Hi there  <|end_of_text|>\n<|start_of_role|>user<|end_of_role|>"
		" Who\n are you? <|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n",
	}},
	{"granite-4.1", "Granite 4.1", {
		"<|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>ass"
		"istant<|end_of_role|>",
		"<|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>ass"
		"istant<|end_of_role|>Hi there<|end_of_text|>\n<|start_of_role|>user<|end_of_ro"
		"le|>Who are you?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Who are yo"
		"u?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|> Be brief. <|end_of_text|>\n<|start_of_r"
		"ole|>user<|end_of_role|>  Hello  <|end_of_text|>\n<|start_of_role|>assistant<|"
		"end_of_role|>  Hi there  <|end_of_text|>\n<|start_of_role|>user<|end_of_role|>"
		" Who\n are you? <|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_rol"
		"e|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of"
		"_role|>Hi there<|end_of_text|>\n",
	}},
	{"grok-2", "Grok 2", {
		"Human: Hello<|separator|>\n\nAssistant:",
		"Human: Hello<|separator|>\n\nAssistant: Hi there<|separator|>\n\nHuman: Who ar"
		"e you?<|separator|>\n\nAssistant:",
		"System: Be brief.<|separator|>\n\nHuman: Hello<|separator|>\n\nAssistant: Hi t"
		"here<|separator|>\n\nHuman: Who are you?<|separator|>\n\nAssistant:",
		"System: Be brief.<|separator|>\n\nHuman: Hello<|separator|>\n\nAssistant:   Hi"
		" there  <|separator|>\n\nHuman: Who\n are you?<|separator|>\n\nAssistant:",
		"System: Be brief.<|separator|>\n\nHuman: Hello<|separator|>\n\nAssistant: Hi t"
		"here<|separator|>\n\n",
	}},
	{"kimi-k2", "Kimi K2", {
		NULL,
		NULL,
		"<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|"
		">Hello<|im_end|><|im_assistant|>assistant<|im_middle|>Hi there<|im_end|><|im_u"
		"ser|>user<|im_middle|>Who are you?<|im_end|><|im_assistant|>assistant<|im_midd"
		"le|>",
		"<|im_system|>system<|im_middle|> Be brief. <|im_end|><|im_user|>user<|im_middl"
		"e|>  Hello  <|im_end|><|im_assistant|>assistant<|im_middle|>  Hi there  <|im_e"
		"nd|><|im_user|>user<|im_middle|> Who\n are you? <|im_end|><|im_assistant|>assi"
		"stant<|im_middle|>",
		"<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|"
		">Hello<|im_end|><|im_assistant|>assistant<|im_middle|>Hi there<|im_end|>",
	}},
	{"llama2", "Mistral 7B v0.2", {
		"[INST] Hello [/INST]",
		"[INST] Hello [/INST]Hi there</s>[INST] Who are you? [/INST]",
		NULL,
		NULL,
		NULL,
	}},
	{"llama2-sys", "FusionNet, without its begin tokens", {
		NULL,
		NULL,
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s>[INST] Who a"
		"re you? [/INST]",
		"[INST] <<SYS>>\n Be brief. \n<</SYS>>\n\n  Hello   [/INST]   Hi there   </s>[I"
		"NST]  Who\n are you?  [/INST]",
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s>",
	}},
	{"llama2-sys-bos", "Llama 2", {
		"[INST] Hello [/INST]",
		"[INST] Hello [/INST] Hi there </s><s>[INST] Who are you? [/INST]",
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s><s>[INST] Wh"
		"o are you? [/INST]",
		NULL,
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s>",
	}},
	{"llama2-sys-strip", "Vigogne 2", {
		NULL,
		NULL,
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s>[INST] Who a"
		"re you? [/INST]",
		NULL,
		"[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi there </s>",
	}},
	{"llama3", "Llama 3", {
		"<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>"
		"assistant<|end_header_id|>\n\n",
		"<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>"
		"assistant<|end_header_id|>\n\nHi there<|eot_id|><|start_header_id|>user<|end_h"
		"eader_id|>\n\nWho are you?<|eot_id|><|start_header_id|>assistant<|end_header_i"
		"d|>\n\n",
		"<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_heade"
		"r_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|en"
		"d_header_id|>\n\nHi there<|eot_id|><|start_header_id|>user<|end_header_id|>\n"
		"\nWho are you?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
		"<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_heade"
		"r_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|en"
		"d_header_id|>\n\nHi there<|eot_id|><|start_header_id|>user<|end_header_id|>\n"
		"\nWho\n are you?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
		NULL,
	}},
	{"llama4", "Llama 4", {
		"<|header_start|>user<|header_end|>\n\nHello<|eot|><|header_start|>assistant<|h"
		"eader_end|>\n\n",
		"<|header_start|>user<|header_end|>\n\nHello<|eot|><|header_start|>assistant<|h"
		"eader_end|>\n\nHi there<|eot|><|header_start|>user<|header_end|>\n\nWho are yo"
		"u?<|eot|><|header_start|>assistant<|header_end|>\n\n",
		"<|header_start|>system<|header_end|>\n\nBe brief.<|eot|><|header_start|>user<|"
		"header_end|>\n\nHello<|eot|><|header_start|>assistant<|header_end|>\n\nHi ther"
		"e<|eot|><|header_start|>user<|header_end|>\n\nWho are you?<|eot|><|header_star"
		"t|>assistant<|header_end|>\n\n",
		"<|header_start|>system<|header_end|>\n\nBe brief.<|eot|><|header_start|>user<|"
		"header_end|>\n\n  Hello  <|eot|><|header_start|>assistant<|header_end|>\n\n  H"
		"i there  <|eot|><|header_start|>user<|header_end|>\n\n Who\n are you? <|eot|><"
		"|header_start|>assistant<|header_end|>\n\n",
		"<|header_start|>system<|header_end|>\n\nBe brief.<|eot|><|header_start|>user<|"
		"header_end|>\n\nHello<|eot|><|header_start|>assistant<|header_end|>\n\nHi ther"
		"e<|eot|>",
	}},
	{"megrez", "Megrez 3B", {
		NULL,
		NULL,
		"<|role_start|>system<|role_end|>Be brief.<|turn_end|><|role_start|>user<|role_"
		"end|>Hello<|turn_end|><|role_start|>assistant<|role_end|>Hi there<|turn_end|><"
		"|role_start|>user<|role_end|>Who are you?<|turn_end|><|role_start|>assistant<|"
		"role_end|>",
		"<|role_start|>system<|role_end|> Be brief. <|turn_end|><|role_start|>user<|rol"
		"e_end|>  Hello  <|turn_end|><|role_start|>assistant<|role_end|>  Hi there  <|t"
		"urn_end|><|role_start|>user<|role_end|> Who\n are you? <|turn_end|><|role_star"
		"t|>assistant<|role_end|>",
		"<|role_start|>system<|role_end|>Be brief.<|turn_end|><|role_start|>user<|role_"
		"end|>Hello<|turn_end|><|role_start|>assistant<|role_end|>Hi there<|turn_end|>",
	}},
	{"minicpm", "MiniCPM-3B", {
		"<用户>Hello<AI>",
		"<用户>Hello<AI>Hi there<用户>Who are you?<AI>",
		"Be brief.<用户>Hello<AI>Hi there<用户>Who are you?<AI>",
		"Be brief.<用户>Hello<AI>Hi there<用户>Who\n are you?<AI>",
		"Be brief.<用户>Hello<AI>Hi there",
	}},
	{"mistral-v1", "Mistral v1", {
		" [INST] Hello [/INST]",
		" [INST] Hello [/INST] Hi there</s> [INST] Who are you? [/INST]",
		" [INST] Be brief.\n\nHello [/INST] Hi there</s> [INST] Who are you? [/INST]",
		" [INST]  Be brief. \n\n  Hello   [/INST]   Hi there  </s> [INST]  Who\n are yo"
		"u?  [/INST]",
		" [INST] Be brief.\n\nHello [/INST] Hi there</s>",
	}},
	{"mistral-v3", "Mistral v3", {
		"[INST] Hello[/INST]",
		"[INST] Hello[/INST] Hi there</s>[INST] Who are you?[/INST]",
		NULL,
		NULL,
		NULL,
	}},
	{"mistral-v3-tekken", "Mistral Nemo", {
		"[INST]Hello[/INST]",
		"[INST]Hello[/INST]Hi there</s>[INST]Who are you?[/INST]",
		NULL,
		NULL,
		NULL,
	}},
	{"mistral-v7", "Mistral Large 2411", {
		"[INST] Hello[/INST]",
		"[INST] Hello[/INST] Hi there</s>[INST] Who are you?[/INST]",
		"[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hello[/INST] Hi there</s>[INST"
		"] Who are you?[/INST]",
		"[SYSTEM_PROMPT]  Be brief. [/SYSTEM_PROMPT][INST]   Hello  [/INST]   Hi there "
		" </s>[INST]  Who\n are you? [/INST]",
		"[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hello[/INST] Hi there</s>",
	}},
	{"mistral-v7-tekken", "Mistral Small 2501", {
		"[INST]Hello[/INST]",
		"[INST]Hello[/INST]Hi there</s>[INST]Who are you?[/INST]",
		"[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hello[/INST]Hi there</s>[INST]Wh"
		"o are you?[/INST]",
		"[SYSTEM_PROMPT] Be brief. [/SYSTEM_PROMPT][INST]  Hello  [/INST]  Hi there  </"
		"s>[INST] Who\n are you? [/INST]",
		"[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hello[/INST]Hi there</s>",
	}},
	{"monarch", "AlphaMonarch", {
		"user\nHello</s>\n<s>assistant\n",
		"user\nHello</s>\n<s>assistant\nHi there</s>\n<s>user\nWho are you?</s>\n<s>ass"
		"istant\n",
		"system\nBe brief.</s>\n<s>user\nHello</s>\n<s>assistant\nHi there</s>\n<s>user"
		"\nWho are you?</s>\n<s>assistant\n",
		"system\n Be brief. </s>\n<s>user\n  Hello  </s>\n<s>assistant\n  Hi there  </s"
		">\n<s>user\n Who\n are you? </s>\n<s>assistant\n",
		"system\nBe brief.</s>\n<s>user\nHello</s>\n<s>assistant\nHi there</s>\n",
	}},
	{"openchat", "OpenChat 3.5", {
		"GPT4 Correct User: Hello<|end_of_turn|>GPT4 Correct Assistant:",
		"GPT4 Correct User: Hello<|end_of_turn|>GPT4 Correct Assistant: Hi there<|end_o"
		"f_turn|>GPT4 Correct User: Who are you?<|end_of_turn|>GPT4 Correct Assistant:",
		"GPT4 Correct System: Be brief.<|end_of_turn|>GPT4 Correct User: Hello<|end_of_"
		"turn|>GPT4 Correct Assistant: Hi there<|end_of_turn|>GPT4 Correct User: Who ar"
		"e you?<|end_of_turn|>GPT4 Correct Assistant:",
		"GPT4 Correct System:  Be brief. <|end_of_turn|>GPT4 Correct User:   Hello  <|e"
		"nd_of_turn|>GPT4 Correct Assistant:   Hi there  <|end_of_turn|>GPT4 Correct Us"
		"er:  Who\n are you? <|end_of_turn|>GPT4 Correct Assistant:",
		"GPT4 Correct System: Be brief.<|end_of_turn|>GPT4 Correct User: Hello<|end_of_"
		"turn|>GPT4 Correct Assistant: Hi there<|end_of_turn|>",
	}},
	{"orion", "Orion-14B", {
		"Human: Hello\n\nAssistant: </s>",
		"Human: Hello\n\nAssistant: </s>Hi there</s>Human: Who are you?\n\nAssistant: <"
		"/s>",
		NULL,
		NULL,
		NULL,
	}},
	{"pangu-embedded", "openPangu-Embedded", {
		"[unused9]系统：[unused10][unused9]用户：Hello[unused10][unused9]助手"
		"：",
		"[unused9]系统：[unused10][unused9]用户：Hello[unused10][unused9]助手"
		"：Hi there[unused10][unused9]用户：Who are you?[unused10][unused9]助手"
		"：",
		"[unused9]系统：Be brief.[unused10][unused9]用户：Hello[unused10][unused9"
		"]助手：Hi there[unused10][unused9]用户：Who are you?[unused10][unused9]"
		"助手：",
		"[unused9]系统： Be brief. [unused10][unused9]用户：  Hello  [unused10][u"
		"nused9]助手：  Hi there  [unused10][unused9]用户： Who\n are you? [unuse"
		"d10][unused9]助手：",
		"[unused9]系统：Be brief.[unused10][unused9]用户：Hello[unused10][unused9"
		"]助手：Hi there[unused10]",
	}},
	{"phi3", "Phi-3.5", {
		"<|user|>\nHello<|end|>\n<|assistant|>\n",
		"<|user|>\nHello<|end|>\n<|assistant|>\nHi there<|end|>\n<|user|>\nWho are you?"
		"<|end|>\n<|assistant|>\n",
		"<|system|>\nBe brief.<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\nHi there<"
		"|end|>\n<|user|>\nWho are you?<|end|>\n<|assistant|>\n",
		"<|system|>\n Be brief. <|end|>\n<|user|>\n  Hello  <|end|>\n<|assistant|>\n  H"
		"i there  <|end|>\n<|user|>\n Who\n are you? <|end|>\n<|assistant|>\n",
		NULL,
	}},
	{"phi4", "Phi-4", {
		"<|im_start|>user<|im_sep|>Hello<|im_end|><|im_start|>assistant<|im_sep|>",
		"<|im_start|>user<|im_sep|>Hello<|im_end|><|im_start|>assistant<|im_sep|>Hi the"
		"re<|im_end|><|im_start|>user<|im_sep|>Who are you?<|im_end|><|im_start|>assist"
		"ant<|im_sep|>",
		"<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Hello"
		"<|im_end|><|im_start|>assistant<|im_sep|>Hi there<|im_end|><|im_start|>user<|i"
		"m_sep|>Who are you?<|im_end|><|im_start|>assistant<|im_sep|>",
		"<|im_start|>system<|im_sep|> Be brief. <|im_end|><|im_start|>user<|im_sep|>  H"
		"ello  <|im_end|><|im_start|>assistant<|im_sep|>  Hi there  <|im_end|><|im_star"
		"t|>user<|im_sep|> Who\n are you? <|im_end|><|im_start|>assistant<|im_sep|>",
		"<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Hello"
		"<|im_end|><|im_start|>assistant<|im_sep|>Hi there<|im_end|>",
	}},
	{"rwkv-world", "RWKV World", {
		"User: Hello\n\nAssistant:",
		"User: Hello\n\nAssistant: Hi there\n\nUser: Who are you?\n\nAssistant:",
		"System: Be brief.\n\nUser: Hello\n\nAssistant: Hi there\n\nUser: Who are you?"
		"\n\nAssistant:",
		"System:  Be brief. \n\nUser: Hello\n\nAssistant: Hi there\n\nUser: Who\n are y"
		"ou?\n\nAssistant:",
		"System: Be brief.\n\nUser: Hello\n\nAssistant: Hi there\n\n",
	}},
	{"seed_oss", "Seed-OSS", {
		"<seed:bos>user\nHello<seed:eos><seed:bos>assistant\n",
		"<seed:bos>user\nHello<seed:eos><seed:bos>assistant\nHi there<seed:eos><seed:bo"
		"s>user\nWho are you?<seed:eos><seed:bos>assistant\n",
		"<seed:bos>system\nBe brief.<seed:eos><seed:bos>user\nHello<seed:eos><seed:bos>"
		"assistant\nHi there<seed:eos><seed:bos>user\nWho are you?<seed:eos><seed:bos>a"
		"ssistant\n",
		"<seed:bos>system\n Be brief. <seed:eos><seed:bos>user\n  Hello  <seed:eos><see"
		"d:bos>assistant\nHi there<seed:eos><seed:bos>user\n Who\n are you? <seed:eos><"
		"seed:bos>assistant\n",
		"<seed:bos>system\nBe brief.<seed:eos><seed:bos>user\nHello<seed:eos><seed:bos>"
		"assistant\nHi there<seed:eos>",
	}},
	{"smolvlm", "SmolVLM, content as text", {
		"<|im_start|>User: Hello<end_of_utterance>\nAssistant:",
		"<|im_start|>User: Hello<end_of_utterance>\nAssistant: Hi there<end_of_utteranc"
		"e>\nUser: Who are you?<end_of_utterance>\nAssistant:",
		"<|im_start|>System: Be brief.<end_of_utterance>\nUser: Hello<end_of_utterance>"
		"\nAssistant: Hi there<end_of_utterance>\nUser: Who are you?<end_of_utterance>"
		"\nAssistant:",
		"<|im_start|>System:  Be brief. <end_of_utterance>\nUser:   Hello  <end_of_utte"
		"rance>\nAssistant:   Hi there  <end_of_utterance>\nUser:  Who\n are you? <end_"
		"of_utterance>\nAssistant:",
		"<|im_start|>System: Be brief.<end_of_utterance>\nUser: Hello<end_of_utterance>"
		"\nAssistant: Hi there<end_of_utterance>\n",
	}},
	{"vicuna", "Vicuna 1.1", {
		"USER: Hello\nASSISTANT:",
		"USER: Hello\nASSISTANT: Hi there</s>\nUSER: Who are you?\nASSISTANT:",
		"Be brief.\n\nUSER: Hello\nASSISTANT: Hi there</s>\nUSER: Who are you?\nASSISTA"
		"NT:",
		" Be brief. \n\nUSER:   Hello  \nASSISTANT:   Hi there  </s>\nUSER:  Who\n are "
		"you? \nASSISTANT:",
		"Be brief.\n\nUSER: Hello\nASSISTANT: Hi there</s>\n",
	}},
	{"vicuna-orca", "Orca Vicuna", {
		"USER: Hello\nASSISTANT:",
		"USER: Hello\nASSISTANT: Hi there</s>\nUSER: Who are you?\nASSISTANT:",
		"SYSTEM: Be brief.\nUSER: Hello\nASSISTANT: Hi there</s>\nUSER: Who are you?\nA"
		"SSISTANT:",
		"SYSTEM:  Be brief. \nUSER:   Hello  \nASSISTANT:   Hi there  </s>\nUSER:  Who"
		"\n are you? \nASSISTANT:",
		"SYSTEM: Be brief.\nUSER: Hello\nASSISTANT: Hi there</s>\n",
	}},
	{"yandex", "YandexGPT 5", {
		"<s> Пользователь: Hello\n\n Ассистент:[SEP]",
		"<s> Пользователь: Hello\n\n Ассистент: Hi there\n\n По"
		"льзователь: Who are you?\n\n Ассистент:[SEP]",
		"<s> Пользователь: Hello\n\n Ассистент: Hi there\n\n По"
		"льзователь: Who are you?\n\n Ассистент:[SEP]",
		"<s> Пользователь:   Hello  \n\n Ассистент:   Hi there  \n"
		"\n Пользователь:  Who\n are you? \n\n Ассистент:[SEP]",
		NULL,
	}},
	{"zephyr", "Zephyr, with the end of StableLM", {
		"<|user|>\nHello<|endoftext|>\n<|assistant|>\n",
		"<|user|>\nHello<|endoftext|>\n<|assistant|>\nHi there<|endoftext|>\n<|user|>\n"
		"Who are you?<|endoftext|>\n<|assistant|>\n",
		"<|system|>\nBe brief.<|endoftext|>\n<|user|>\nHello<|endoftext|>\n<|assistant|"
		">\nHi there<|endoftext|>\n<|user|>\nWho are you?<|endoftext|>\n<|assistant|>\n",
		"<|system|>\n Be brief. <|endoftext|>\n<|user|>\n  Hello  <|endoftext|>\n<|assi"
		"stant|>\n  Hi there  <|endoftext|>\n<|user|>\n Who\n are you? <|endoftext|>\n<"
		"|assistant|>\n",
		"<|system|>\nBe brief.<|endoftext|>\n<|user|>\nHello<|endoftext|>\n<|assistant|"
		">\nHi there<|endoftext|>\n",
	}},
};
/* clang-format on */

#endif /* LLAMAD_CORE_TEXT_CHAT_BUILTIN_CASES_GEN_H */
