/* SPDX-License-Identifier: MIT
 *
 * Opens malformed files.  A table of specs has the expected status and words of the error message;
 * then come sweeps: truncation at every byte, each byte changed, each allocation failing.  No case
 * may crash, leak, take long or take much memory. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/checkpoint/open.h"
#include "tests/gguf_spec.h"
#include "tests/hostile.h"

static char path[128];

static void make_dir(void)
{
	temp_dir_make();
	snprintf(path, sizeof(path), "%s", temp_path("m.gguf"));
}

struct row {
	const char *name;
	const char *spec;
	enum lmd_status want;
	const char *words; /* must occur in the message, separated by '|' */
};

#define HEAD SPEC_HEAD
#define ARCH SPEC_ARCH
#define T    SPEC_TENSOR
#define DATA SPEC_DATA
/* A file with one more key than the architecture, or with one tensor. */
#define KEY(words)    HEAD(0, 2) ARCH words
#define TENSOR(words) HEAD(1, 1) ARCH words
#define TOKENS(words) HEAD(0, 3) ARCH "s:tokenizer.ggml.tokens 4:9 4:8 8:3 s:a s:b s:c " words
#define BIG           "0x7fffffffffffffff"

static const struct row rows[] = {
	/* headers */
	{"empty", "", LMD_CORRUPT, "0 bytes|24"},
	{"magic alone", "m:GGUF", LMD_CORRUPT, "4 bytes|24"},
	{"four bytes of version", "m:GGUF 4:3", LMD_CORRUPT, "8 bytes|24"},
	{"36 bytes", HEAD(0, 1) "8:4 m:abcd", LMD_CORRUPT, "key count 1|at most 0"},
	{"49 bytes", HEAD(0, 1) "8:4 m:abcd 4:9 4:8 4:0 1:0", LMD_CORRUPT, "key abcd"},
	{"other magic", "m:GGML 4:3 8:0 8:0", LMD_UNSUPPORTED, "GGML|GGUF"},
	{"binary magic", "4:0x01ff00fe 4:3 8:0 8:0", LMD_UNSUPPORTED, "\\xfe\\x00\\xff\\x01"},
	{"version 0", "m:GGUF 4:0 8:0 8:0", LMD_UNSUPPORTED, "version 0"},
	{"version 4", "m:GGUF 4:4 8:0 8:0", LMD_UNSUPPORTED, "version 4"},
	{"version 2 swapped", "m:GGUF B4:2 8:0 8:0", LMD_UNSUPPORTED, "version 33554432"},
	{"version max", "m:GGUF 4:0xffffffff 8:0 8:0", LMD_UNSUPPORTED, "version 4294967295"},
	{"no keys", HEAD(0, 0), LMD_CORRUPT, "general.architecture"},
	{"tensors -1", HEAD(-1, 1) ARCH, LMD_INVALID, "tensor count -1|131072"},
	{"tensors 2^63", HEAD(0x8000000000000000, 1) ARCH, LMD_INVALID, "tensor count"},
	{"tensors over cap", HEAD(131073, 1) ARCH, LMD_INVALID, "tensor count 131073|131072"},
	{"tensors not there", HEAD(131072, 1) ARCH, LMD_CORRUPT, "tensor count 131072|at most"},
	{"one tensor too many", HEAD(2, 1) ARCH T(t, 0) DATA, LMD_INVALID, "tensor 1|name of 0"},
	{"keys -1", HEAD(0, -1) ARCH, LMD_INVALID, "key count -1"},
	{"keys 2^63-1", HEAD(0, 0x7fffffffffffffff) ARCH, LMD_INVALID, "key count"},
	{"keys over cap", HEAD(0, 1048577) ARCH, LMD_INVALID, "key count 1048577"},
	{"keys not there", HEAD(0, 1048576) ARCH, LMD_CORRUPT, "key count 1048576"},
	{"one key too many", HEAD(0, 2) ARCH, LMD_CORRUPT, "key 1"},
	{"one key too few", HEAD(1, 0) ARCH, LMD_INVALID, "8 dimensions"},
	/* keys */
	{"empty key", KEY("s: 4:0 1:0"), LMD_CORRUPT, "key 1|empty"},
	{"zero in key", KEY("s:a^b 4:0 1:0"), LMD_CORRUPT, "key 1|a\\x00b"},
	{"key length 2^64-1", KEY("8:-1 m:aaaaaaaaaaaaaaaa"), LMD_INVALID, "key 1|65535"},
	{"key length 2^63-1", KEY("8:" BIG " m:aaaaaaaaaaaaaaaa"), LMD_INVALID, "key 1"},
	{"key over cap", KEY("8:65536 c:65536,97 4:0 1:0"), LMD_INVALID, "65536 bytes|65535"},
	{"key longer than the file", KEY("8:1000 m:aaaaaaaaaaaaaaaa"), LMD_CORRUPT, "1000 bytes"},
	{"duplicate key", HEAD(0, 3) ARCH "s:a 4:0 1:0 s:a 4:0 1:0", LMD_CORRUPT, "key a|twice"},
	{"duplicate architecture", HEAD(0, 2) ARCH ARCH, LMD_CORRUPT, "architecture|twice"},
	{"value type 13", KEY("s:a 4:13 1:0 z:8"), LMD_UNSUPPORTED, "key a|type 13"},
	{"value type max", KEY("s:a 4:-1 1:0 z:8"), LMD_UNSUPPORTED, "key a|4294967295"},
	{"value cut", KEY("s:abcde 4:10 1:0"), LMD_CORRUPT, "key abcde|8 bytes"},
	{"boolean 2", KEY("s:a 4:7 1:2 z:9"), LMD_CORRUPT, "key a|boolean 2"},
	{"boolean 255 in array", KEY("s:a 4:9 4:7 8:2 1:1 1:255"), LMD_CORRUPT, "boolean 255"},
	{"string length 2^64-1", KEY("s:a 4:8 8:-1 z:9"), LMD_INVALID, "key a|16777216"},
	{"string length 2^64-8", KEY("s:a 4:8 8:-8 z:9"), LMD_INVALID, "key a"},
	{"string over cap", KEY("s:a 4:8 8:16777217 z:9"), LMD_INVALID, "16777217|16777216"},
	{"string longer than the file", KEY("s:a 4:8 8:100 z:9"), LMD_CORRUPT, "key a|100|9"},
	{"string one too long", KEY("s:a 4:8 8:10 z:9"), LMD_CORRUPT, "key a|10|9"},
	{"array of arrays", KEY("s:a 4:9 4:9 8:1 4:4 8:1 4:7"), LMD_UNSUPPORTED, "key a|arrays"},
	{"array of type 13", KEY("s:a 4:9 4:13 8:1 z:9"), LMD_UNSUPPORTED, "key a|type 13"},
	{"array of 2^64-1", KEY("s:a 4:9 4:0 8:-1 z:9"), LMD_CORRUPT, "key a|array"},
	{"array of 2^61 u64", KEY("s:a 4:9 4:10 8:0x2000000000000000 z:9"), LMD_CORRUPT, "key a"},
	{"array of 2^60 strings", KEY("s:a 4:9 4:8 8:0x1000000000000000 z:9"), LMD_CORRUPT, "a"},
	{"array one too long", KEY("s:a 4:9 4:4 8:3 z:11"), LMD_CORRUPT, "key a|3 elements"},
	{"string in array cut", KEY("s:a 4:9 4:8 8:2 s:x 8:9 z:3"), LMD_CORRUPT, "key a|9 bytes"},
	{"string in array 2^63", KEY("s:a 4:9 4:8 8:1 8:" BIG), LMD_INVALID, "key a"},
	/* known keys with a wrong type or value */
	{"architecture is a number", HEAD(0, 1) "s:general.architecture 4:4 4:1", LMD_INVALID,
	 "general.architecture|an integer|a string"},
	{"architecture is a path", HEAD(0, 1) "s:general.architecture 4:8 s:../x", LMD_INVALID,
	 "general.architecture|../x"},
	{"architecture is empty", HEAD(0, 1) "s:general.architecture 4:8 s: z:9", LMD_INVALID,
	 "general.architecture"},
	{"architecture too long", HEAD(0, 1) "s:general.architecture 4:8 8:49 c:49,97", LMD_INVALID,
	 "general.architecture|1..48"},
	{"architecture upper case", HEAD(0, 1) "s:general.architecture 4:8 s:Llama", LMD_INVALID,
	 "Llama"},
	{"architecture with zero", HEAD(0, 1) "s:general.architecture 4:8 s:lla^ma", LMD_INVALID,
	 "lla\\x00ma"},
	{"name is an array", KEY("s:general.name 4:9 4:8 8:1 s:x"), LMD_INVALID, "general.name"},
	{"alignment 0", KEY("s:general.alignment 4:4 4:0"), LMD_INVALID, "general.alignment|0|8.."},
	{"alignment 4", KEY("s:general.alignment 4:4 4:4"), LMD_INVALID, "general.alignment|4"},
	{"alignment 33", KEY("s:general.alignment 4:4 4:33"), LMD_INVALID, "33|power of two"},
	{"alignment 2^21", KEY("s:general.alignment 4:4 4:2097152"), LMD_INVALID,
	 "2097152|1048576"},
	{"alignment max", KEY("s:general.alignment 4:4 4:-1"), LMD_INVALID, "4294967295"},
	{"alignment 2^63", KEY("s:general.alignment 4:10 8:0x8000000000000000"), LMD_INVALID,
	 "9223372036854775808"},
	{"alignment negative", KEY("s:general.alignment 4:5 4:-32"), LMD_INVALID, "-32"},
	{"alignment is a string", KEY("s:general.alignment 4:8 s:32"), LMD_INVALID, "a string"},
	{"alignment is a float", KEY("s:general.alignment 4:6 f:32"), LMD_INVALID, "a float"},
	{"alignment is an array", KEY("s:general.alignment 4:9 4:4 8:1 4:32"), LMD_INVALID,
	 "array"},
	{"layers 1025", KEY("s:llama.block_count 4:4 4:1025"), LMD_INVALID,
	 "block_count|1025|1024"},
	{"layers -1", KEY("s:llama.block_count 4:5 4:-1"), LMD_INVALID, "llama.block_count|-1"},
	{"layers is a string", KEY("s:llama.block_count 4:8 s:4"), LMD_INVALID, "block_count"},
	{"layers is a float", KEY("s:llama.block_count 4:6 f:4"), LMD_INVALID, "block_count"},
	{"heads 2^32-1", KEY("s:llama.attention.head_count 4:4 4:-1"), LMD_INVALID, "head_count"},
	{"layers is a boolean", KEY("s:llama.block_count 4:7 1:1"), LMD_INVALID,
	 "block_count|boolean"},
	{"an array that is not per layer",
	 "m:GGUF 4:3 8:0 8:3 " SPEC_ARCH
	 "s:llama.block_count 4:4 4:3 s:llama.feed_forward_length 4:9 4:5 8:2 4:4 4:4",
	 LMD_INVALID, "feed_forward_length|2 elements|3 layers"},
	{"experts are used, but there are none",
	 "m:GGUF 4:3 8:0 8:3 " SPEC_ARCH
	 "s:llama.expert_count 4:4 4:0 s:llama.expert_used_count 4:4 4:2",
	 LMD_INVALID, "expert_used_count|2|0 experts"},
	{"a head count of -1", KEY("s:llama.attention.head_count_kv 4:9 4:5 8:2 4:4 4:-1"),
	 LMD_INVALID, "head_count_kv|element 1|-1"},
	{"experts 2^31", KEY("s:llama.expert_count 4:4 4:0x80000000"), LMD_INVALID, "expert_count"},
	{"split.count is a string", KEY("s:split.count 4:8 s:2"), LMD_INVALID, "split.count"},
	{"split.count 65535", KEY("s:split.count 4:2 2:65535"), LMD_INVALID, "split.count|1024"},
	{"split.count 2 without name", KEY("s:split.count 4:2 2:2"), LMD_INVALID,
	 "split.count|-00001-of-00002.gguf"},
	{"split.no 1", HEAD(0, 3) ARCH "s:split.count 4:2 2:2 s:split.no 4:2 2:1", LMD_INVALID,
	 "part 2 of 2|first part"},
	/* vocabulary */
	{"tokens are numbers", KEY("s:tokenizer.ggml.tokens 4:9 4:4 8:1 4:7"), LMD_INVALID,
	 "tokenizer.ggml.tokens|integers|strings"},
	{"tokens is a string", KEY("s:tokenizer.ggml.tokens 4:8 s:abc"), LMD_INVALID, "tokens"},
	{"no tokens", KEY("s:tokenizer.ggml.tokens 4:9 4:8 8:0"), LMD_INVALID, "0 tokens"},
	{"scores too short", TOKENS("s:tokenizer.ggml.scores 4:9 4:6 8:2 f:1 f:2"), LMD_CORRUPT,
	 "scores|2 elements|3 tokens"},
	{"scores too long", TOKENS("s:tokenizer.ggml.scores 4:9 4:6 8:4 z:16"), LMD_CORRUPT,
	 "scores|4 elements|3 tokens"},
	{"scores are strings", TOKENS("s:tokenizer.ggml.scores 4:9 4:8 8:3 s:a s:b s:c"),
	 LMD_INVALID, "scores|floats"},
	{"a score is NaN", TOKENS("s:tokenizer.ggml.scores 4:9 4:6 8:3 f:1 f:nan f:2"), LMD_INVALID,
	 "scores|element 1"},
	{"scores without tokens", KEY("s:tokenizer.ggml.scores 4:9 4:6 8:1 f:1"), LMD_CORRUPT,
	 "scores|1 elements|0 tokens"},
	{"types too short", TOKENS("s:tokenizer.ggml.token_type 4:9 4:5 8:2 4:1 4:1"), LMD_CORRUPT,
	 "token_type|2 elements"},
	{"types are floats", TOKENS("s:tokenizer.ggml.token_type 4:9 4:6 8:3 f:1 f:1 f:1"),
	 LMD_INVALID, "token_type|floats"},
	{"type 7", TOKENS("s:tokenizer.ggml.token_type 4:9 4:5 8:3 4:1 4:1 4:7"), LMD_INVALID,
	 "token_type|element 2|7"},
	{"type -1", TOKENS("s:tokenizer.ggml.token_type 4:9 4:5 8:3 4:-1 4:1 4:1"), LMD_INVALID,
	 "token_type|element 0|-1"},
	{"merges are numbers", TOKENS("s:tokenizer.ggml.merges 4:9 4:5 8:1 4:1"), LMD_INVALID,
	 "merges"},
	{"bos = number of tokens", TOKENS("s:tokenizer.ggml.bos_token_id 4:4 4:3"), LMD_INVALID,
	 "bos_token_id|3|0..2"},
	{"bos 2^32-1", TOKENS("s:tokenizer.ggml.bos_token_id 4:4 4:-1"), LMD_INVALID,
	 "bos_token_id|4294967295"},
	{"eos -1", TOKENS("s:tokenizer.ggml.eos_token_id 4:5 4:-1"), LMD_INVALID,
	 "eos_token_id|-1"},
	{"eos is a string", TOKENS("s:tokenizer.ggml.eos_token_id 4:8 s:c"), LMD_INVALID, "eos"},
	{"separator out of range", TOKENS("s:tokenizer.ggml.seperator_token_id 4:4 4:9"),
	 LMD_INVALID, "seperator_token_id|9"},
	{"old suffix id out of range", TOKENS("s:tokenizer.ggml.suffix_token_id 4:4 4:3"),
	 LMD_INVALID, "suffix_token_id|3"},
	{"id 2^31 without tokens", KEY("s:tokenizer.ggml.bos_token_id 4:4 4:0x80000000"),
	 LMD_INVALID, "bos_token_id"},
	{"add_bos is a string", TOKENS("s:tokenizer.ggml.add_bos_token 4:8 s:yes"), LMD_INVALID,
	 "add_bos_token"},
	{"add_bos 2", TOKENS("s:tokenizer.ggml.add_bos_token 4:4 4:2"), LMD_INVALID, "add_bos|2"},
	{"tokenizer kind with zero", KEY("s:tokenizer.ggml.model 4:8 s:gp^t"), LMD_INVALID,
	 "tokenizer.ggml.model"},
	{"tokenizer kind is a number", KEY("s:tokenizer.ggml.model 4:4 4:1"), LMD_INVALID,
	 "tokenizer.ggml.model"},
	{"charsmap of strings", TOKENS("s:tokenizer.ggml.precompiled_charsmap 4:9 4:8 8:1 s:x"),
	 LMD_INVALID, "precompiled_charsmap"},
	{"charsmap not of bytes", TOKENS("s:tokenizer.ggml.precompiled_charsmap 4:9 4:4 8:1 4:256"),
	 LMD_INVALID, "precompiled_charsmap|256"},
	{"template is a number", KEY("s:tokenizer.chat_template 4:4 4:1"), LMD_INVALID,
	 "tokenizer.chat_template"},
	/* tensors */
	{"empty name", TENSOR("s: 4:1 8:8 4:0 8:0 " DATA), LMD_INVALID, "tensor 0|0 bytes|1..63"},
	{"name of 64", TENSOR("8:64 c:64,97 4:1 8:8 4:0 8:0 " DATA), LMD_INVALID, "64 bytes|1..63"},
	{"name of 2^64-1", TENSOR("8:-1 m:abc 4:1 8:8 4:0 8:0 " DATA), LMD_INVALID, "tensor 0"},
	{"name with zero", TENSOR("s:a^b 4:1 8:8 4:0 8:0 " DATA), LMD_CORRUPT, "a\\x00b"},
	{"duplicate tensor", HEAD(2, 1) ARCH T(t, 0) T(t, 32) DATA "z:32", LMD_CORRUPT, "t|twice"},
	{"five dimensions", TENSOR("s:t 4:5 8:1 8:1 8:1 8:1 8:1 4:0 8:0 " DATA), LMD_INVALID,
	 "tensor t|5 dimensions|4"},
	{"2^32-1 dimensions", TENSOR("s:t 4:-1 8:8 4:0 8:0 " DATA), LMD_INVALID, "4294967295"},
	{"dimension 0", TENSOR("s:t 4:1 8:0 4:0 8:0 " DATA), LMD_INVALID,
	 "tensor t|dimension 0 is 0"},
	{"inner dimension 0", TENSOR("s:t 4:3 8:8 8:0 8:8 4:0 8:0 " DATA), LMD_INVALID,
	 "tensor t|dimension 1 is 0"},
	{"dimension -1", TENSOR("s:t 4:1 8:-1 4:0 8:0 " DATA), LMD_INVALID, "dimension 0 is -1"},
	{"dimension 2^63", TENSOR("s:t 4:1 8:0x8000000000000000 4:0 8:0 " DATA), LMD_INVALID, "t"},
	{"dimension 2^40+1", TENSOR("s:t 4:1 8:0x10000000001 4:0 8:0 " DATA), LMD_INVALID,
	 "1099511627776"},
	{"dimension 2^40", TENSOR("s:t 4:1 8:0x10000000000 4:0 8:0 " DATA), LMD_CORRUPT,
	 "tensor t|the file ends"},
	{"product 2^64", TENSOR("s:t 4:2 8:0x100000000 8:0x100000000 4:0 8:0 " DATA), LMD_CORRUPT,
	 "tensor t|exceeds"},
	{"product 2^160",
	 TENSOR("s:t 4:4 8:0x10000000000 8:0x10000000000 8:0x10000000000 "
		"8:0x10000000000 4:0 8:0 " DATA),
	 LMD_CORRUPT, "tensor t|exceeds"},
	{"product 2^62, bytes 2^64", TENSOR("s:t 4:2 8:0x80000000 8:0x80000000 4:0 8:0 " DATA),
	 LMD_CORRUPT, "tensor t|exceeds"},
	{"bytes 2^63", TENSOR("s:t 4:2 8:0x80000000 8:0x40000000 4:0 8:0 " DATA), LMD_CORRUPT,
	 "tensor t|exceeds"},
	{"bytes 2^62", TENSOR("s:t 4:2 8:0x40000000 8:0x40000000 4:0 8:0 " DATA), LMD_CORRUPT,
	 "tensor t|the file ends"},
	{"type 4", TENSOR("s:t 4:1 8:8 4:4 8:0 " DATA), LMD_UNSUPPORTED, "tensor t|q4_2|removed"},
	{"type 36", TENSOR("s:t 4:1 8:8 4:36 8:0 " DATA), LMD_UNSUPPORTED, "tensor t|removed"},
	{"type 43", TENSOR("s:t 4:1 8:8 4:43 8:0 " DATA), LMD_UNSUPPORTED,
	 "tensor t|43 is unknown"},
	{"type 64", TENSOR("s:t 4:1 8:8 4:64 8:0 " DATA), LMD_UNSUPPORTED,
	 "tensor t|64 (q4_0_rot) is for activations or KV caches"},
	{"row of 8 in iq4_k", TENSOR("s:t 4:1 8:8 4:139 8:0 " DATA), LMD_CORRUPT,
	 "tensor t|rows of 8|iq4_k|256"},
	{"type 339", TENSOR("s:t 4:1 8:256 4:339 8:0 " DATA), LMD_UNSUPPORTED,
	 "tensor t|iq4_k_r4|before it was repacked"},
	{"type -1", TENSOR("s:t 4:1 8:8 4:-1 8:0 " DATA), LMD_UNSUPPORTED, "4294967295"},
	{"type that exists only in memory", TENSOR("s:t 4:1 8:256 4:63 8:0 " DATA), LMD_UNSUPPORTED,
	 "type 63 is unknown"},
	{"activation type", TENSOR("s:t 4:1 8:256 4:15 8:0 " DATA), LMD_UNSUPPORTED,
	 "tensor t|15 (q8_k) is for activations"},
	{"row of 31 in q4_0", TENSOR("s:t 4:1 8:31 4:2 8:0 " DATA), LMD_CORRUPT, "t|31|q4_0|32"},
	{"row of 128 in q4_k", TENSOR("s:t 4:2 8:128 8:2 4:12 8:0 " DATA), LMD_CORRUPT, "q4_k|256"},
	{"offset 1", TENSOR(T(t, 1) DATA "z:32"), LMD_CORRUPT, "tensor t|offset 1|32"},
	{"offset 8 with alignment 32", TENSOR(T(t, 8) DATA "z:32"), LMD_CORRUPT, "offset 8"},
	{"offset 2^64-32", TENSOR(T(t, -32) DATA), LMD_CORRUPT, "tensor t|the file ends"},
	{"offset 2^63", TENSOR(T(t, 0x8000000000000000) DATA), LMD_CORRUPT, "tensor t"},
	{"offset = size of data", TENSOR(T(t, 32) DATA), LMD_CORRUPT, "tensor t|offset 32"},
	{"data one byte short", TENSOR(T(t, 0) "p:32 z:31"), LMD_CORRUPT, "tensor t|the file ends"},
	{"no data", TENSOR(T(t, 0)), LMD_CORRUPT, "tensor t|the file ends"},
	{"same offset", HEAD(2, 1) ARCH T(t, 0) T(u, 0) DATA, LMD_CORRUPT, "overlaps|t|u"},
	{"overlap of three",
	 HEAD(3, 1) ARCH T(t, 0) "s:u 4:1 8:16 4:0 8:32 s:v 4:1 8:8 4:0 8:64 " DATA "z:96",
	 LMD_CORRUPT, "tensor v|overlaps tensor u"},
	{"overlap out of order", HEAD(2, 1) ARCH T(t, 32) "s:u 4:1 8:16 4:0 8:0 " DATA "z:96",
	 LMD_CORRUPT, "overlaps"},
	{"table cut", TENSOR("s:t 4:2 8:8"), LMD_CORRUPT, "tensor"},
	{"big-endian data",
	 "m:GGUF B4:3 B8:1 B8:1 Z:general.architecture B4:8 Z:llama Z:t B4:1 "
	 "B8:256 B4:17 B8:0 p:32 z:74 ",
	 LMD_UNSUPPORTED, "tensor t|big-endian|iq2_xs"},
};

/* Unusual files that must open. */
static const struct row good[] = {
	{"minimal", HEAD(0, 1) ARCH, LMD_OK, ""},
	{"version 2", "m:GGUF 4:2 8:0 8:1 " ARCH, LMD_OK, ""},
	{"version 1", "m:GGUF 4:1 4:0 4:1 S:general.architecture 4:8 S:llama", LMD_OK, ""},
	{"version 1 with tensor",
	 "m:GGUF 4:1 4:1 4:1 S:general.architecture 4:8 S:llama S:t 4:2 4:4 "
	 "4:2 4:0 8:0 " DATA,
	 LMD_OK, ""},
	{"big-endian",
	 "m:GGUF B4:3 B8:0 B8:2 Z:general.architecture B4:8 Z:llama "
	 "Z:llama.block_count B4:4 B4:7",
	 LMD_OK, ""},
	{"one tensor", TENSOR(T(t, 0) DATA), LMD_OK, ""},
	{"no dimension", TENSOR("s:t 4:0 4:0 8:0 p:32 z:4"), LMD_OK, ""},
	{"name of 63", TENSOR("8:63 c:63,97 4:1 8:8 4:0 8:0 " DATA), LMD_OK, ""},
	{"gap between tensors", HEAD(2, 1) ARCH T(t, 0) T(u, 64) DATA "z:64", LMD_OK, ""},
	{"data order differs from table", HEAD(2, 1) ARCH T(t, 32) T(u, 0) DATA "z:32", LMD_OK, ""},
	{"bytes after the data", TENSOR(T(t, 0) DATA "z:1000"), LMD_OK, ""},
	{"alignment 8", HEAD(1, 2) ARCH "s:general.alignment 4:4 4:8 " T(t, 0) "p:8 z:32", LMD_OK,
	 ""},
	{"alignment as u64", HEAD(1, 2) ARCH "s:general.alignment 4:10 8:64 " T(t, 0) "p:64 z:32",
	 LMD_OK, ""},
	{"empty arrays", HEAD(0, 3) ARCH "s:a 4:9 4:8 8:0 s:b 4:9 4:4 8:0", LMD_OK, ""},
	{"string with zero", KEY("s:a 4:8 s:x^y"), LMD_OK, ""},
	{"key that is not text", KEY("8:4 4:0xfffefdfc 4:0 1:0"), LMD_OK, ""},
	{"u64 beyond i64", KEY("s:a 4:10 8:-1"), LMD_OK, ""},
	{"name with control bytes", KEY("s:general.name 4:8 8:3 1:10 1:27 1:65"), LMD_OK, ""},
	{"importance matrix", HEAD(0, 1) "s:general.type 4:8 s:imatrix", LMD_OK, ""},
	{"type 0 of a token", TOKENS("s:tokenizer.ggml.token_type 4:9 4:5 8:3 4:0 4:1 4:6"), LMD_OK,
	 ""},
};

static unsigned run_rows(const struct row *r, size_t n, unsigned *failed)
{
	struct lmd_error err;

	for (size_t i = 0; i < n; i++) {
		struct spec_file f = spec_build(r[i].spec);
		enum lmd_status st;

		temp_write("m.gguf", f.p, f.n);
		free(f.p);
		st = try_open(path, 0, &err);
		if (st == r[i].want && (st == LMD_OK || (has_words(err.text, r[i].words) &&
							 strstr(err.text, "m.gguf"))))
			continue;
		printf("%s: %s \"%s\", expected %s and \"%s\"\n", r[i].name,
		       lmd_status_text((int)st), err.text, lmd_status_text((int)r[i].want),
		       r[i].words);
		(*failed)++;
	}
	return (unsigned)n;
}

START_TEST(table)
{
	unsigned failed = 0, n = run_rows(rows, LMD_LEN(rows), &failed);

	LMD_CASES("hostile files", n - failed, failed, 0);
	ck_assert_uint_eq(failed, 0);
	n = run_rows(good, LMD_LEN(good), &failed);
	LMD_CASES("unusual files", n - failed, failed, 0);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

/* A file with every kind of key and tensor. */
static struct spec_file rich_file(void)
{
	return spec_build(
		HEAD(2, 16) ARCH
		"s:general.name 4:8 s:A~name s:u8 4:0 1:200 s:i8 4:1 1:-3 s:u16 4:2 2:65535 "
		"s:i16 4:3 2:-2 s:f 4:6 f:1.5 s:d 4:12 d:-2.5 s:b 4:7 1:1 s:i64 4:11 8:-7 "
		"s:arr 4:9 4:5 8:3 4:1 4:-2 4:3 s:fl 4:9 4:6 8:2 f:0.5 f:1 s:bl 4:9 4:7 8:2 1:0 "
		"1:1 "
		"s:tokenizer.ggml.model 4:8 s:llama "
		"s:tokenizer.ggml.tokens 4:9 4:8 8:3 s:<s> s:a s:b "
		"s:tokenizer.ggml.bos_token_id 4:4 4:0 "
		"s:t 4:2 8:8 8:2 4:0 8:0 s:q 4:2 8:32 8:1 4:2 8:64 p:32 z:64 z:18");
}

START_TEST(cut_at_every_byte)
{
	struct spec_file f = rich_file();
	struct lmd_error err;

	temp_write("m.gguf", f.p, f.n);
	ck_assert_msg(try_open(path, 0, &err) == LMD_OK, "%s", err.text);
	for (size_t n = 0; n < f.n; n++) {
		enum lmd_status st;

		ck_assert_int_eq(truncate(path, (off_t)(f.n - 1 - n)), 0);
		st = try_open(path, 0, &err);
		ck_assert_msg(st == LMD_CORRUPT || st == LMD_INVALID, "%zu bytes: %s %s",
			      f.n - 1 - n, lmd_status_text((int)st), err.text);
		ck_assert_ptr_nonnull(strstr(err.text, "m.gguf"));
	}
	free(f.p);
}
END_TEST

START_TEST(change_every_byte)
{
	static const uint8_t to[] = {0x00, 0xFF, 0x80, 0x7F, 0x01};
	struct spec_file f = rich_file();
	unsigned rejected = 0, accepted = 0;
	struct lmd_error err;

	for (size_t i = 0; i < f.n - 82; i++) { /* the data may be anything */
		uint8_t old = f.p[i];

		for (size_t k = 0; k <= LMD_LEN(to); k++) {
			f.p[i] = k < LMD_LEN(to) ? to[k] : old ^ 0x10;
			temp_write("m.gguf", f.p, f.n);
			if (try_open(path, 0, &err) == LMD_OK)
				accepted++;
			else
				rejected++;
		}
		f.p[i] = old;
	}
	printf("%u changed files rejected, %u accepted\n", rejected, accepted);
	ck_assert_uint_gt(rejected, accepted);
	free(f.p);
}
END_TEST

/* Several random changes at once, including extreme 8-byte values. */
START_TEST(change_at_random)
{
	static const uint64_t extreme[] = {
		0,          1,          UINT64_MAX, INT64_MAX,
		1ull << 63, 1ull << 32, UINT32_MAX, 0x8000000000000010ull};
	uint64_t seed = lmd_seed("change_at_random", 7);
	struct spec_file f = rich_file();
	uint8_t *copy = malloc(f.n);
	struct lmd_error err;

	ck_assert_ptr_nonnull(copy);
	for (int round = 0; round < 4000; round++) {
		memcpy(copy, f.p, f.n);
		for (uint64_t n = 1 + lmd_rand(&seed) % 4; n; n--) {
			size_t at = lmd_rand(&seed) % (f.n - 8);
			uint64_t v = extreme[lmd_rand(&seed) % LMD_LEN(extreme)];

			memcpy(copy + at, &v, lmd_rand(&seed) % 2 ? 8 : 4);
		}
		temp_write("m.gguf", copy, f.n);
		(void)try_open(path, round % 2 ? LMI_OPEN_NO_MMAP : 0, &err); /* either result is
									       * fine */
	}
	free(copy);
	free(f.p);
}
END_TEST

START_TEST(no_memory)
{
	struct spec_file f = rich_file();

	temp_write("m.gguf", f.p, f.n);
	free(f.p);
	open_without_memory(path, 0, 5);
}
END_TEST

static void check_error(const char *name, enum lmd_status want, const char *words)
{
	check_open(name, name, want, words);
}

START_TEST(not_a_file)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *other;
	struct lmd_error err;
	struct spec_file f = rich_file();
	int fd;

	check_error("/dev/zero", LMD_INVALID, "/dev/zero|device");
	check_error("/dev/null", LMD_INVALID, "/dev/null|device");
	check_error(dir, LMD_NOTFOUND, "config.json"); /* a folder may be a model */
	check_error("", LMD_NOTFOUND, "");
	other = temp_path("missing.gguf");
	check_error(other, LMD_NOTFOUND, "missing.gguf");
	other = temp_path("fifo.gguf");
	ck_assert_int_eq(mkfifo(other, 0600), 0);
	check_error(other, LMD_INVALID, "fifo.gguf|FIFO");
	other = temp_path("loop.gguf");
	ck_assert_int_eq(symlink("loop.gguf", other), 0);
	check_error(other, LMD_IO, "loop.gguf");
	other = temp_path("nowhere.gguf");
	ck_assert_int_eq(symlink("missing.gguf", other), 0);
	check_error(other, LMD_NOTFOUND, "nowhere.gguf");
	other = temp_path("fifo2.gguf");
	ck_assert_int_eq(symlink("fifo.gguf", other), 0);
	check_error(other, LMD_INVALID, "FIFO");
	other = temp_path("m.gguf/x");
	temp_write("m.gguf", f.p, f.n);
	free(f.p);
	check_error(other, LMD_IO, "m.gguf/x");
	other = temp_path("link.gguf");
	ck_assert_int_eq(symlink("m.gguf", other), 0);
	ck_assert_msg(try_open(other, 0, &err) == LMD_OK, "%s", err.text);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock.gguf", dir);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	check_error(addr.sun_path, LMD_INVALID, "sock.gguf|not a regular file");
	close(fd);
	if (geteuid() != 0) {
		ck_assert_int_eq(chmod(path, 0), 0);
		check_error(path, LMD_IO, "m.gguf");
		ck_assert_int_eq(chmod(path, 0600), 0);
	} else {
		LMD_SKIP("unreadable file", "root reads everything");
	}
}
END_TEST

/* Counts that the file can hold, but that would take too much memory or time. */
START_TEST(large)
{
	enum { N = 200000, LONGEST = 16 << 20 };
	struct spec_file f;
	struct lmd_error err;
	int fd;

	/* 4 GiB of bytes would become 32 GiB of integers */
	f = spec_build(KEY("s:a 4:9 4:0 8:0xffff0000"));
	temp_write("m.gguf", f.p, f.n);
	free(f.p);
	ck_assert_int_eq(truncate(path, (off_t)1 << 32), 0);
	check_error(path, LMD_INVALID, "keys, vocabulary and tensor table|125829120");
	/* 64 strings of the maximum length */
	f = spec_build(KEY("s:a 4:9 4:8 8:64"));
	temp_write("m.gguf", f.p, f.n);
	ck_assert_int_eq(truncate(path, (off_t)(64 * (8 + LONGEST) + f.n)), 0);
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	for (uint64_t i = 0; i < 64; i++)
		ck_assert_int_eq(pwrite(fd, "\0\0\0\1\0\0\0", 8, (off_t)(f.n + i * (8 + LONGEST))),
				 8);
	close(fd);
	free(f.p);
	check_error(path, LMD_INVALID, "keys, vocabulary and tensor table");
	/* many different keys, then with the last one duplicated */
	for (int twice = 0; twice < 2; twice++) {
		char name[32];

		f = (struct spec_file){0};
		spec_text(&f, "GGUF", 4);
		spec_number(&f, 3, 4, 0);
		spec_number(&f, 0, 8, 0);
		spec_number(&f, N + 1, 8, 0);
		for (int i = 0; i < N; i++) {
			int n = snprintf(name, sizeof(name), "k%d",
					 i && i + twice == N ? i - 1 : i);

			spec_number(&f, (uint64_t)n, 8, 0);
			spec_text(&f, name, (size_t)n);
			spec_number(&f, 0, 4, 0);
			spec_number(&f, 1, 1, 0);
		}
		spec_word(&f, "s:general.architecture", 22);
		spec_word(&f, "4:8", 3);
		spec_word(&f, "s:llama", 7);
		temp_write("m.gguf", f.p, f.n);
		free(f.p);
		if (twice)
			check_error(path, LMD_CORRUPT, "twice");
		else
			ck_assert_msg(try_open(path, 0, &err) == LMD_OK, "%s", err.text);
	}
}
END_TEST

START_TEST(flags)
{
	struct spec_file f = rich_file();
	struct lmi_model *m = NULL;
	struct lmd_error err;

	temp_write("m.gguf", f.p, f.n);
	free(f.p);
	ck_assert_int_eq(try_open(path, 0x80, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_model_open(&m, path, 0x80, NULL), LMD_INVALID);
	ck_assert_int_eq(lmi_model_open(&m, dir, 0, NULL), LMD_NOTFOUND);
	temp_write("m.gguf", "GGUF", 4);
	ck_assert_int_eq(lmi_model_open(&m, path, 0, NULL), LMD_CORRUPT);
	ck_assert_ptr_null(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gguf_hostile");
	TCase *tc = tcase_create("files");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_dir, temp_dir_remove);
	tcase_add_test(tc, table);
	tcase_add_test(tc, cut_at_every_byte);
	tcase_add_test(tc, change_every_byte);
	tcase_add_test(tc, change_at_random);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, not_a_file);
	tcase_add_test(tc, large);
	tcase_add_test(tc, flags);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
