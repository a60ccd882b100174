/* SPDX-License-Identifier: MIT
 *
 * All pre-tokenizer names and their families.
 *
 * \p{L} and the like are general categories; \s is the property White_Space. Where the model's own
 * expression distinguishes upper from lower case, files in this format have always been read with
 * ASCII case only ([\p{L}&&[^a-z]]), and models were converted on that assumption. */
#include <string.h>

#include "tokenizer/bpe/pretok.h"

/* English contractions in either case, and in lower case only. */
#define SHORT_ANY "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define SHORT_LOW "'s|'t|'re|'ve|'m|'ll|'d"
/* Letters after an optional sign or blank; signs followed by line ends; white space. */
#define WORD      "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS     " ?[^\\s\\p{L}\\p{N}]+"
#define SPACES    "\\s+(?!\\S)|\\s+"
#define LINES     "\\s*[\\r\\n]+"
/* Variants of WORD and SIGNS for expressions that distinguish punctuation and symbols. */
#define ASCII_SIGN "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
#define MARKED     "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
#define PUNCT      " ?[\\p{P}\\p{S}]+"

#define GPT2_STEP  SHORT_LOW "| ?\\p{L}+| ?\\p{N}+|" SIGNS "|" SPACES
#define QWEN2_STEP SHORT_ANY "|" WORD "|\\p{N}|" SIGNS "[\\r\\n]*|" LINES "|" SPACES
#define CASED(up, low, tail)                                                                       \
	"[^\\r\\n\\p{L}\\p{N}]?" up "*" low "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" up "+" low "*" tail
#define UPPER  "[\\p{L}&&[^a-z]]"
#define LOWER  "[\\p{L}&&[^A-Z]]"
#define UPPERM "[[\\p{L}\\p{M}]&&[^a-z]]"
#define LOWERM "[[\\p{L}\\p{M}]&&[^A-Z]]"
#define CASED_REST                                                                                 \
	"|\\p{N}{1,3}|" SIGNS "[\\r\\n/]*|" LINES "|" SPACES
#define CJK_KANA  "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define CJK_WIDE                                                                                   \
	"[[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]&&\\S]+"
#define HAN                                                                                        \
	"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}"        \
	"\\x{2B740}-\\x{2B81F}\\x{2B820}-\\x{2CEAF}\\x{2CEB0}-\\x{2EBEF}\\x{F900}-\\x{FAFF}"       \
	"\\x{2F800}-\\x{2FA1F}]"
#define NOT_HAN "[\\p{L}&&[^" HAN "]]"
/* Latin, Greek, Cyrillic and other cased letters of one expression. */
#define CASED_LETTERS                                                                              \
	"[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"            \
	"\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}"     \
	"\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}"              \
	"\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"                   \
	"\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}"             \
	"\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}"             \
	"\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}"             \
	"\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}"     \
	"\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}"                       \
	"\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}"    \
	"\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}"      \
	"\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}"                       \
	"\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"     \
	"\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}"              \
	"\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}"             \
	"\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}"             \
	"\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}"     \
	"\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]"

static const struct pretok_family
	f_default = {"default", {"[\\p{P}$+<=>^~|]+", GPT2_STEP, "\\p{N}+", "[0-9][0-9][0-9]"}},
	f_gpt2 = {"gpt2", {GPT2_STEP}}, f_starcoder = {"starcoder", {"\\p{N}", GPT2_STEP}},
	f_llama3 = {"llama3",
		    {SHORT_ANY "|" WORD "|\\p{N}{1,3}|" SIGNS "[\\r\\n]*|" LINES "|" SPACES}},
	f_minicpm5 = {"minicpm5",
		      {"\\p{N}{1,3}",
		       SHORT_ANY "|" WORD "|\\p{N}+|" SIGNS "[\\r\\n]*|" LINES "|" SPACES}},
	f_jais2 = {"jais2",
		   {SHORT_ANY "|" WORD "|\\p{N}{1,3}|" SIGNS "[\\r\\n]*|" LINES
			      "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)"
			      "|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)"
			      "|\\s{1,2}(?!\\S)|\\s"}},
	f_qwen2 = {"qwen2", {QWEN2_STEP}},
	f_qwen35 = {"qwen35",
		    {SHORT_ANY "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
			       "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES "|" SPACES}},
	f_ufakzeka = {"ufakzeka", {WORD "|\\p{N}|" SIGNS "[\\r\\n]*|" LINES "|" SPACES}},
	f_laguna = {"laguna", {"[^\\n]+|\\n+", QWEN2_STEP}},
	f_bailing = {"bailing",
		     {SHORT_ANY "|" WORD "|\\p{N}|" SIGNS "[\\r\\n]*|\\s*[\\r\\n]|" SPACES}},
	f_seed = {"seed",
		  {SHORT_ANY "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" LINES "|" SPACES}},
	f_exaone_moe = {"exaone-moe",
			{SHORT_ANY
			 "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}(?:\\p{M}| ?\\p{L})*+|\\p{N}|" SIGNS
			 "[\\r\\n/]?|\\s*[\\r\\n]|" SPACES}},
	f_deepseek_llm = {"deepseek-llm",
			  {"[\\r\\n]", "\\s?" CASED_LETTERS "+",
			   "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}"
			   "\\x{2018}-\\x{201F}\\x{3001}\\x{3002}]+",
			   PRETOK_END_SPACE, CJK_WIDE, "\\p{N}+"}},
	f_deepseek_coder = {"deepseek-coder",
			    {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_WIDE, "\\p{N}"}},
	f_deepseek3 = {"deepseek3",
		       {"\\p{N}{1,3}", CJK_KANA,
			ASCII_SIGN "[A-Za-z]+|" MARKED "|" PUNCT "[\\r\\n]*|" LINES "|" SPACES}},
	f_spark = {"spark",
		   {"\\p{N}{1,3}", CJK_KANA,
		    ASCII_SIGN "[A-Za-z]+|" MARKED "|" PUNCT "|[\\r\\n]|" SPACES, "\\p{N}"}},
	f_afmoe = {"afmoe",
		   {PRETOK_NUMBERS,
		    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{8C48}-\\x{FAFF}\\x{3040}-\\x{309F}"
		    "\\x{30A0}-\\x{30FF}\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}"
		    "\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}"
		    "\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+",
		    ASCII_SIGN "[A-Za-z]+|" MARKED "|" PUNCT "[\\r\\n]*|" LINES "|" SPACES}},
	f_youtu = {"youtu",
		   {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+"
		    "|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}"
		    "\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+"
		    "|[\\x{3105}-\\x{312F}]+|" CJK_KANA,
		    "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+" SHORT_ANY "?|\\p{N}|" SIGNS
		    "[\\r\\n/]*|" LINES "|" SPACES}},
	f_falcon = {"falcon", {"[\\p{P}$+<=>^~|`]+", GPT2_STEP, "[0-9][0-9][0-9]"}},
	f_poro = {"poro",
		  {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"}},
	f_viking = {"viking",
		    {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+",
		     "\\p{N}"}},
	f_gpt4o = {"gpt4o", {CASED(UPPER, LOWER, SHORT_ANY "?") CASED_REST}},
	f_granite_emb = {"granite-emb", {CASED(UPPERM, LOWERM, SHORT_ANY "?") CASED_REST}},
	f_tiny_aya = {"tiny-aya",
		      {PRETOK_NUMBERS,
		       "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+" SHORT_ANY "?" CASED_REST}},
	f_tekken = {"tekken",
		    {CASED(UPPER, LOWER, "") "|\\p{N}|" SIGNS "[\\r\\n/]*|" LINES "|" SPACES}},
	f_chameleon = {"chameleon",
		       {"<sentinel:[0-9]++>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
			"[\\p{P}!-/:-@\\[-`{-~]", GPT2_STEP}},
	f_superbpe = {"superbpe", {"\\p{N}+", PRETOK_DIGITS}},
	f_kimi = {"kimi",
		  {HAN "+|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN "+" SHORT_ANY "?|\\p{N}{1,3}|" SIGNS
		       "[\\r\\n]*|" LINES "|" SPACES}},
	f_lines = {"lines", {"[^\\n]+|\\n+"}}, f_whitespace = {"whitespace", {"\\S+"}};

#define KEEP PRETOK_KEEP_SPACES
#define IM   PRETOK_IGNORE_MERGES
#define BOS  PRETOK_ADD_BOS
#define SEP  PRETOK_ADD_SEP
#define MASK PRETOK_MASK_LSTRIP
#define GEMMA4 (PRETOK_PLAIN | PRETOK_ESCAPE_SPACE | PRETOK_FORCE_BOS | PRETOK_KEEP_LINE_FEEDS)

static const struct pretok_name names[] = {
	{"default", &f_default, 0},
	{"llama3", &f_llama3, IM | BOS},
	{"llama-v3", &f_llama3, IM | BOS},
	{"llama-bpe", &f_llama3, IM | BOS},
	{"falcon3", &f_llama3, IM | BOS},
	{"falcon-h1", &f_llama3, IM | BOS},
	{"pixtral", &f_llama3, IM | BOS},
	{"midm-2.0", &f_llama3, IM | BOS},
	{"lfm2", &f_llama3, IM | BOS},
	{"jina-v5-nano", &f_llama3, IM | BOS},
	{"minicpm5", &f_minicpm5, IM},
	{"jais-2", &f_jais2, 0},
	{"dbrx", &f_llama3, 0},
	{"smaug-bpe", &f_llama3, 0},
	{"glm4", &f_llama3, PRETOK_NO_BOS},
	{"chatglm-bpe", &f_llama3, PRETOK_NO_BOS},
	{"deepseek-llm", &f_deepseek_llm, KEEP},
	{"deepseek-coder", &f_deepseek_coder, KEEP},
	{"deepseek-v3", &f_deepseek3, KEEP},
	{"hunyuan-dense", &f_deepseek3, KEEP},
	{"hy_v4", &f_deepseek3, KEEP},
	{"joyai-llm", &f_deepseek3, KEEP},
	{"spark2_5", &f_spark, KEEP},
	{"youtu", &f_youtu, KEEP | IM},
	{"falcon", &f_falcon, 0},
	{"mpt", &f_gpt2, 0},
	{"gpt-2", &f_gpt2, 0},
	{"phi-2", &f_gpt2, 0},
	{"jina-es", &f_gpt2, 0},
	{"jina-de", &f_gpt2, 0},
	{"gigachat", &f_gpt2, 0},
	{"jina-v2-es", &f_gpt2, MASK},
	{"jina-v2-de", &f_gpt2, MASK},
	{"a.x-4.0", &f_gpt2, 0},
	{"mellum", &f_gpt2, 0},
	{"modern-bert", &f_gpt2, 0},
	{"olmo", &f_gpt2, 0},
	{"jais", &f_gpt2, 0},
	{"exaone4", &f_gpt2, 0},
	{"trillion", &f_gpt2, KEEP},
	{"granite-docling", &f_gpt2, KEEP},
	{"jina-v1-en", &f_gpt2, SEP},
	{"jina-v2-code", &f_gpt2, SEP | MASK},
	{"roberta-bpe", &f_gpt2, SEP},
	{"starcoder", &f_starcoder, 0},
	{"refact", &f_starcoder, 0},
	{"codeshell", &f_starcoder, 0},
	{"exaone", &f_starcoder, 0},
	{"minerva-7b", &f_starcoder, 0},
	{"mellum2", &f_starcoder, 0},
	{"command-r", &f_starcoder, KEEP},
	{"smollm", &f_starcoder, KEEP},
	{"qwen2", &f_qwen2, KEEP},
	{"deepseek-r1-qwen", &f_qwen2, KEEP},
	{"kormo", &f_qwen2, KEEP},
	{"f2llmv2", &f_qwen2, KEEP},
	{"hunyuan", &f_qwen2, KEEP},
	{"grok-2", &f_qwen2, KEEP},
	{"solar-open", &f_qwen2, KEEP},
	{"stablelm2", &f_qwen2, 0},
	{"megrez", &f_qwen2, 0},
	{"qwen35", &f_qwen35, KEEP},
	{"openpangu", &f_qwen2, KEEP},
	{"ufakzeka", &f_ufakzeka, KEEP},
	{"laguna", &f_laguna, KEEP},
	{"bailingmoe", &f_bailing, KEEP},
	{"bailingmoe2", &f_bailing, KEEP},
	{"llada-moe", &f_bailing, KEEP},
	{"seed-coder", &f_seed, KEEP},
	{"exaone-moe", &f_exaone_moe, 0},
	{"poro-chat", &f_poro, KEEP},
	{"bloom", &f_poro, 0},
	{"gpt3-finnish", &f_poro, 0},
	{"viking", &f_viking, KEEP},
	{"gpt-4o", &f_gpt4o, KEEP},
	{"llama4", &f_gpt4o, KEEP},
	{"kanana2", &f_gpt4o, KEEP},
	{"talkie", &f_gpt4o, KEEP},
	{"minimax-m2", &f_gpt4o, KEEP},
	{"granite-embed-multi-97m", &f_granite_emb, KEEP | IM},
	{"tiny_aya", &f_tiny_aya, KEEP},
	{"cohere2moe", &f_tiny_aya, KEEP},
	{"cohere2_moe", &f_tiny_aya, KEEP},
	{"tekken", &f_tekken, KEEP | IM | BOS},
	{"chameleon", &f_chameleon, KEEP | BOS},
	{"superbpe", &f_superbpe, KEEP},
	{"afmoe", &f_afmoe, KEEP},
	{"kimi-k2", &f_kimi, KEEP | PRETOK_NO_MERGES},
	{"gemma4", &f_lines, GEMMA4},
	{"granite-embed-multi-311m", &f_lines, GEMMA4},
	{"sarvam-moe", &f_lines, PRETOK_PLAIN | PRETOK_ESCAPE_SPACE | KEEP},
	{"whitespace", &f_whitespace, PRETOK_PLAIN},
};

const struct pretok_name *pretok_find(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (!strcmp(names[i].name, name))
			return &names[i];
	return NULL;
}

const struct pretok_name *pretok_row(size_t i)
{
	return i < LMD_LEN(names) ? &names[i] : NULL;
}
