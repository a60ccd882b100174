/* SPDX-License-Identifier: MIT
 *
 * llamactl translate: the command line of another program as one of llamactl. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "llamad/attr.h"

enum kind {
	MODEL,	/* its value is the model */
	SOURCE, /* its value is a repository of Hugging Face */
	OPTION, /* `ours` with the same value, if it has one; a note if the command lacks it */
	MASK,	/* the same, a mask of processors without 0x */
	SWITCH, /* the same, 0 or 1 for off or on */
	NOTE,	/* left out; `ours` says why */
};

/* An option of another program. */
struct row {
	const char *theirs; /* all spellings, with a blank at both ends of each */
	bool has_value;
	enum kind kind;
	const char *ours;
};

static const struct row llamacpp[] = {
	{" -m --model ", true, MODEL, NULL},
	{" -hf -hfr --hf-repo ", true, SOURCE, NULL},
	{" -a --alias ", true, OPTION, "--name"},
	{" --host ", true, OPTION, "--host"},
	{" --port ", true, OPTION, "--port"},
	{" -np --parallel ", true, OPTION, "--parallel"},
	{" -c --ctx-size ", true, OPTION, "--ctx"},
	{" -t --threads ", true, OPTION, "--threads"},
	{" -ngl --gpu-layers --n-gpu-layers ", true, OPTION, "--n-gpu-layers"},
	{" -dev --device ", true, OPTION, "--device"},
	{" -p --prompt ", true, OPTION, "--prompt"},
	{" -sys --system-prompt ", true, OPTION, "--system"},
	{" -n --predict --n-predict ", true, OPTION, "--predict"},
	{" --temp --temperature ", true, OPTION, "--temp"},
	{" --top-k ", true, OPTION, "--top-k"},
	{" --top-p ", true, OPTION, "--top-p"},
	{" --min-p ", true, OPTION, "--min-p"},
	{" -s --seed ", true, OPTION, "--seed"},
	{" --repeat-penalty ", true, OPTION, "--repeat-penalty"},
	{" --presence-penalty ", true, OPTION, "--presence-penalty"},
	{" --frequency-penalty ", true, OPTION, "--frequency-penalty"},
	{" --context-shift ", false, OPTION, "--context-shift"},
	{" --keep ", true, OPTION, "--keep"},
	{" --ignore-eos ", false, OPTION, "--ignore-eos"},
	{" --grammar-file ", true, OPTION, "--grammar"},
	{" -j --json-schema ", true, OPTION, "--json-schema"},
	{" --chat-template ", true, OPTION, "--template"},
	{" --lora ", true, OPTION, "--lora"},
	{" -i --interactive -cnv --conversation ", false, OPTION, "--interactive"},
	{" -cb --cont-batching --cache-prompt ", false, NOTE, "always on"},
	{" --jinja --metrics --slots --props ", false, NOTE, "always on"},
	{" -fa --flash-attn ", true, NOTE, "chosen by the backend"},
	{" -b -ub --batch-size --ubatch-size ", true, NOTE, "chosen by the scheduler"},
	{" -tb --threads-batch ", true, OPTION, "--threads-batch"},
	{" -C --cpu-mask ", true, MASK, "--cpus"},
	{" -Cr --cpu-range ", true, OPTION, "--cpus"},
	{" --cpu-strict ", true, SWITCH, "--cpu-strict"},
	{" --numa ", true, OPTION, "--numa"},
	{" -Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch ", true, NOTE,
	 "--cpus and --cpu-strict are for prompts and answers"},
	{" --prio --prio-batch ", true, NOTE, "set Nice= or CPUWeight= in the unit of systemd, or use nice(1)"},
	{" --poll --poll-batch ", true, NOTE, "threads wait 0.2 ms for their next work, then they sleep"},
	{" -ot --override-tensor ", true, OPTION, "--override-tensor"},
	{" --reasoning-format --reasoning-budget ", true, NOTE, "found from the model's chat template"},
	{" --no-webui --no-warmup --swa-full --log-disable -v --verbose ", false, NOTE, "no counterpart"},
	{" --embeddings --embedding --reranking ", false, NOTE, "always on, pooled as the model specifies"},
	{" --api-key ", true, NOTE, "create a key with `llamactl key add LABEL`"},
	{" --mlock ", false, NOTE, "set `lock = yes` in [engine] of llamad.conf"},
	{" --no-mmap ", false, NOTE, "set `files = read` in [engine] of llamad.conf"},
	{" -ctk --cache-type-k ", true, OPTION, "--kv-type-k"},
	{" -ctv --cache-type-v ", true, OPTION, "--kv-type-v"},
	{" -md --model-draft ", true, OPTION, "--draft-model"},
	{" -ts --tensor-split ", true, OPTION, "--split"},
	{" -f --file ", true, OPTION, "--text"},
};

static const struct row vllm[] = {
	{" --model ", true, MODEL, NULL},
	{" --served-model-name ", true, OPTION, "--name"},
	{" --host ", true, OPTION, "--host"},
	{" --port ", true, OPTION, "--port"},
	{" --max-model-len ", true, OPTION, "--ctx"},
	{" --max-num-seqs ", true, OPTION, "--parallel"},
	{" --enable-prefix-caching --enable-chunked-prefill --enable-auto-tool-choice ", false, NOTE,
	 "always on"},
	{" --tool-call-parser --reasoning-parser ", true, NOTE, "found from the model's chat template"},
	{" --gpu-memory-utilization ", true, NOTE, "set `memory` in [engine] of llamad.conf"},
	{" --tensor-parallel-size -tp ", true, NOTE, "set `split = tensor` in [engine] of llamad.conf"},
	{" --dtype --quantization -q ", true, NOTE, "as the model file says"},
	{" --max-num-batched-tokens ", true, NOTE, "chosen by the scheduler"},
	{" --api-key ", true, NOTE, "create a key with `llamactl key add LABEL`"},
	{" --trust-remote-code ", false, NOTE, "code of a repository is never run"},
};

static const struct row ollama[] = {
	{" --format ", true, OPTION, "--json-schema"},
	{" --verbose ", false, OPTION, "--verbose"},
	{" --hidethinking ", false, OPTION, "--hide-reasoning"},
	{" --keepalive ", true, NOTE, "use `llamactl load --keep-alive`"},
	{" --nowordwrap --insecure ", false, NOTE, "no counterpart"},
	{" -f --file ", true, OPTION, "--file"},
	{" -q --quantize ", true, NOTE, "use `llamactl quantize` before"},
	{" --modelfile ", false, OPTION, "--modelfile"},
};

static const struct program {
	const char *name, *verb, *ours;
	const struct row *rows;
	size_t n;
	bool is_source; /* the model without an option is a repository of Hugging Face */
} programs[] = {
	{"llama-server", NULL, "serve", llamacpp, LMD_LEN(llamacpp), false},
	{"llama-cli", NULL, "run", llamacpp, LMD_LEN(llamacpp), false},
	{"llama-run", NULL, "run", llamacpp, LMD_LEN(llamacpp), false},
	{"llama-bench", NULL, "bench", llamacpp, LMD_LEN(llamacpp), false},
	{"llama-quantize", NULL, "quantize", NULL, 0, false},
	{"llama-perplexity", NULL, "perplexity", llamacpp, LMD_LEN(llamacpp), false},
	{"vllm", "serve", "serve", vllm, LMD_LEN(vllm), true},
	{"vllm", "chat", "chat", vllm, LMD_LEN(vllm), true},
	{"ollama", "serve", "serve --port 11434", NULL, 0, false},
	{"ollama", "run", "run", ollama, LMD_LEN(ollama), false},
	{"ollama", "pull", "pull", ollama, LMD_LEN(ollama), false},
	{"ollama", "list", "list", NULL, 0, false},
	{"ollama", "ls", "list", NULL, 0, false},
	{"ollama", "ps", "ps", NULL, 0, false},
	{"ollama", "show", "show", ollama, LMD_LEN(ollama), false},
	{"ollama", "create", "create", ollama, LMD_LEN(ollama), false},
	{"ollama", "push", "push", ollama, LMD_LEN(ollama), false},
	{"ollama", "launch", "launch", NULL, 0, false},
	{"ollama", "stop", "unload", NULL, 0, false},
	{"ollama", "rm", "rm", NULL, 0, false},
	{"ollama", "cp", "cp", NULL, 0, false},
};

/* ---- the command of llamactl ---- */

static bool has_option(const struct lmi_cli_program *prog, const struct program *p, const char *option)
{
	char name[32];
	const struct lmi_cli_cmd *cmd;

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->ours, " "), p->ours);
	cmd = lmi_cli_cmd_find(prog, name);
	for (uint32_t i = 0; cmd && i < cmd->n_opts; i++)
		if (cmd->opts[i].name && !strcmp(cmd->opts[i].name, option + 2))
			return true;
	return false;
}

/* Returns whether the word after an option that is not known is its value: where the model is an option as
 * well, or if another word is left for the model. */
static bool is_value(const struct program *p, const struct lmi_args *a, uint32_t i, bool has_model)
{
	if (i + 1 >= a->n_pos || a->pos[i + 1][0] == '-')
		return false;
	return has_model || (p->rows == llamacpp && strcmp(p->name, "llama-run") != 0) ||
	       (i + 2 < a->n_pos && a->pos[i + 2][0] != '-');
}

/* ---- output ---- */

/* Prints a word as a shell reads it. */
static void print_word(const char *word)
{
	bool plain = *word != 0;

	for (const char *p = word; *p; p++)
		plain = plain && (isalnum((unsigned char)*p) || strchr("-_./:=,@%+", *p));
	if (plain) {
		printf(" %s", word);
		return;
	}
	fputs(" '", stdout);
	for (const char *p = word; *p; p++)
		printf(*p == '\'' ? "'\\''" : "%c", *p);
	putchar('\'');
}

static bool has_spelling(const struct row *r, const char *word, size_t n)
{
	const char *p = r->theirs;

	while ((p = strstr(p + 1, word)))
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

static const struct row *find_row(const struct program *p, const char *word, size_t n)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(n < 79 ? n : 79), word);
	for (size_t i = 0; i < p->n; i++)
		if (has_spelling(&p->rows[i], name, strlen(name)))
			return &p->rows[i];
	return NULL;
}

static void print_model(const char *value, bool is_source)
{
	char text[1100];

	if (is_source && *value != '/' && *value != '.' && strncmp(value, "hf:", 3) != 0) {
		(void)snprintf(text, sizeof(text), "hf:%s", value);
		value = text;
	}
	print_word(value);
}

/* Prints a value in our spelling. */
static void print_value(const struct row *r, const char *value)
{
	char mask[300];

	if (!strcmp(r->ours, "--json-schema") && !strcmp(value, "json"))
		value = "{}"; /* Ollama's word for any JSON */
	if (!strcmp(r->ours, "--numa") && !strcmp(value, "numactl"))
		value = "off"; /* what numactl chose is kept */
	if (r->kind == SWITCH)
		value = !strcmp(value, "0") ? "off" : "on";
	if (r->kind == MASK && value[0] && value[1] != 'x' && value[1] != 'X') {
		(void)snprintf(mask, sizeof(mask), "0x%.290s", value);
		value = mask;
	}
	print_word(value);
}

/* Prints an option of llamactl, or keeps a note that its command has none. */
static void print_option(const struct program *p, const struct lmi_args *a, const struct row *r, const char *word,
			 const char *value, char *notes, size_t size)
{
	if (!has_option(a->prog, p, r->ours)) {
		(void)snprintf(notes, size,
			       "# %.80s: not with `llamactl %.*s`; set it in [model NAME] of llamad.conf or in requests\n",
			       word, (int)strcspn(p->ours, " "), p->ours);
		return;
	}
	print_word(r->ours);
	if (r->has_value)
		print_value(r, value);
}

/* Prints what an option or argument becomes; returns how many words it took. Notes are kept. */
static uint32_t translate_word(const struct program *p, const struct lmi_args *a, uint32_t i, bool *has_model,
			       char *notes, size_t size)
{
	const char *word = a->pos[i], *eq = strchr(word, '='), *value;
	size_t n = strlen(notes);
	const struct row *r;
	uint32_t used = 1;

	if (*word != '-' || !word[1]) {
		print_model(word, p->is_source && !*has_model);
		*has_model = true;
		return 1;
	}
	r = find_row(p, word, eq ? (size_t)(eq - word) : strlen(word));
	if (!r) {
		bool two = !eq && is_value(p, a, i, *has_model);

		(void)snprintf(notes + n, size - n, "# %.80s%s%.80s: not known here\n", word, two ? " " : "",
			       two ? a->pos[i + 1] : "");
		return 1 + two;
	}
	value = eq ? eq + 1 : i + 1 < a->n_pos ? a->pos[i + 1] : "";
	used += r->has_value && !eq && i + 1 < a->n_pos;
	if (r->kind == NOTE) {
		(void)snprintf(notes + n, size - n, "# %.80s: %s\n", word, r->ours);
	} else if (r->kind == OPTION || r->kind == MASK || r->kind == SWITCH) {
		print_option(p, a, r, word, value, notes + n, size - n);
	} else {
		print_model(value, r->kind == SOURCE);
		*has_model = true;
	}
	return used;
}

/* ---- the command ---- */

static const struct program *find_program(const struct lmi_args *a, uint32_t *n_used)
{
	const char *slash = strrchr(a->pos[0], '/'), *name = slash ? slash + 1 : a->pos[0];

	for (size_t i = 0; i < LMD_LEN(programs); i++) {
		const struct program *p = &programs[i];

		if (strcmp(p->name, name) != 0 ||
		    (p->verb && (a->n_pos < 2 || strcmp(p->verb, a->pos[1]) != 0)))
			continue;
		*n_used = p->verb ? 2 : 1;
		return p;
	}
	return NULL;
}

static enum lmd_status translate(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	char notes[4000] = "";
	bool has_model = false;
	uint32_t i;
	const struct program *p = find_program(a, &i);

	if (!p)
		return lmd_fail(err, LMD_INVALID,
				"'%.60s%s%.60s' is not known; known are llama-server, llama-cli, "
				"llama-run, llama-bench, llama-quantize, llama-perplexity, vllm serve, "
				"vllm chat and the commands of ollama",
				a->pos[0], a->n_pos > 1 ? " " : "", a->n_pos > 1 ? a->pos[1] : "");
	printf("llamactl %s", p->ours);
	while (i < a->n_pos)
		i += translate_word(p, a, i, &has_model, notes, sizeof(notes));
	printf("\n%s", notes);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_translate = {
	.name = "translate",
	.args = "PROGRAM [WORD]...",
	.brief = "Translate a command of llama.cpp, Ollama or vLLM",
	.doc = "Prints the command of llamactl that does what the given one does: `llamactl translate "
	       "llama-server -m model.gguf -ngl 99`. Options that have no counterpart follow as "
	       "comments that say why. Nothing is run. docs/coming-from.md has the tables.",
	.run = translate,
};
