/* SPDX-License-Identifier: MIT
 *
 * All commands in groups, one line per group, in the order of --help and the manual. The commands
 * that a beginner needs come first. Commands that share their first word ("debug ...") are
 * adjacent. */
#include "client/llamactl/texts.h"
#include "llamad/attr.h"

#define RUN(X)                                                                                     \
	X(run) X(chat) X(serve) X(launch) X(generate) X(embed) X(rerank) X(batch) \
	X(pull) X(push) X(add) X(list) X(ps)
#define MODELS(X) X(load) X(unload) X(reload) X(create) X(bundle) X(show) X(alias) X(cp) X(rm) X(prune)
#define DAEMON(X)                                                                                  \
	X(ping) X(status) X(top) X(devices) X(stats) X(streams) X(events) X(cancel) X(pause) X(unpause) X(replay) \
	X(sessions_list) X(sessions_fork) X(sessions_rm) X(sessions_export) X(sessions_import)     \
	X(lora_list) X(lora_add) X(lora_rm) X(lora_set) X(usage) X(key_add) X(key_set)             \
	X(key_list) X(key_rm) X(registry_backup) X(registry_restore) \
	X(audit_verify) X(audit_export) X(audit_tail) X(shutdown)
#define FILES(X)                                                                                   \
	X(info) X(fit) X(explain) X(tokenize) X(detokenize) X(bench) X(bench_serve) X(perplexity)          \
	X(diff) X(hash) X(sign) X(verify) X(split) X(merge) X(export_lora) X(convert) X(quantize)          \
	X(imatrix)
#define PLUGINS(X) X(plugins) X(plugins_new) X(plugins_reload) X(plugins_test)
#define HELP(X) X(doctor) X(bug_report) X(help) X(translate) X(version)
#define DEBUG(X)                                                                                   \
	X(debug_logits) X(debug_plan) X(debug_observe) X(debug_diff)                               \
	X(debug_dequant) X(debug_quant) X(debug_grammar) X(debug_sampler)                          \
	X(debug_parse) X(debug_template) X(debug_echo_model) X(debug_simulate)

#define GROUPS(G)                                                                                  \
	G(RUN, "Run and chat")                                                                     \
	G(MODELS, "Models of the daemon")                                                          \
	G(DAEMON, "The daemon")                                                                    \
	G(FILES, "Files and quantisation")                                                         \
	G(PLUGINS, "Plugins")                                                                      \
	G(HELP, "Help and diagnosis")                                                                            \
	G(DEBUG, "Debugging")

#define DECLARE(name) extern const struct lmi_cli_cmd lmi_ctl_cmd_##name;
#define ROW(name)     &lmi_ctl_cmd_##name,
#define ONE(name)     +1

#define DECLARE_ALL(LIST, title) LIST(DECLARE)
#define ROWS(LIST, title)	 LIST(ROW)
#define GROUP(LIST, title)	 {title, 0 LIST(ONE)},

GROUPS(DECLARE_ALL)

static const struct lmi_cli_cmd *const cmds[] = {GROUPS(ROWS)};

const struct lmi_ctl_cmd_group lmi_ctl_llamactl_groups[] = {GROUPS(GROUP){NULL, 0}};

static const struct lmi_opt common_opts[] = {
	{.name = "socket",
	 .type = LMI_OPT_STR,
	 .value = "URL",
	 .def_text = "the environment variable LLAMAD_SOCKET, or else the system's daemon, or else the "
		     "user's own",
	 .doc = "Address of the daemon: ipc://PATH, tls+tcp://HOST:PORT for another machine "
		"(HOST must be a name or an IP address in its certificate), or tcp://HOST:PORT without "
		"encryption. The last two need a key."},
	{.name = "ca",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "the system's",
	 .doc = "For tls+tcp: file with the trusted certificate authorities in PEM."},
	{.name = "key-file",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "the environment variable LLAMAD_KEY",
	 .doc = "For tcp and tls+tcp: file whose first line is the secret of a key, as printed "
		"by `llamactl key add`; only its owner may have access."},
	{.name = "plugin-dir",
	 .type = LMI_OPT_LIST,
	 .value = "DIR",
	 .doc = "Look for plugins in DIR before the default folders; may be repeated."},
	{.name = "no-default-plugins",
	 .type = LMI_OPT_FLAG,
	 .doc = "Look for plugins only in the folders of --plugin-dir."},
	{.name = "plugin-trust",
	 .type = LMI_OPT_CHOICE,
	 .value = "owner|system",
	 .def = "owner",
	 .doc = "Plugins to trust: owner accepts files of the running user or root, system only "
		"files of root that the running user cannot write."},
	{.name = "signatures",
	 .type = LMI_OPT_CHOICE,
	 .value = "off|warn|require",
	 .def_text = "the environment variable LLAMAD_SIGNATURES, or else off",
	 .doc = "For models that this program opens itself: off = manifests are not looked for; "
		"warn = say what is missing or wrong; require = refuse models without a manifest "
		"signed with a trusted key. The daemon has a setting of its own."},
	{.name = "trusted-key",
	 .type = LMI_OPT_LIST,
	 .value = "FILE",
	 .def_text = "the environment variable LLAMAD_TRUSTED_KEYS, a file or folder",
	 .doc = "Public key whose signatures count, or a folder of files NAME.pub; may be repeated."},
	{.name = "log",
	 .type = LMI_OPT_CHOICE,
	 .value = "error|warn|info|debug|trace",
	 .def = "warn",
	 .doc = "Log level of the messages on standard error."},
	{.name = "help", .letter = 'h', .type = LMI_OPT_FLAG, .doc = "Print this help and exit."},
	{.name = "version", .type = LMI_OPT_FLAG, .doc = "Print the version and exit."},
	{.name = "emit-man", .type = LMI_OPT_FLAG},
	{.name = "emit-completion", .type = LMI_OPT_CHOICE, .value = "bash|zsh|fish"},
	{.name = "emit-words", .type = LMI_OPT_STR, .value = "KIND"},
};

/* Words of ollama, llama.cpp, vLLM and docker. */
static const struct lmi_cli_hint hints[] = {
	{"stop", "unload NAME"},
	{"ls", "list"},
	{"models", "list"},
	{"remove", "rm NAME"},
	{"delete", "rm NAME"},
	{"download", "pull SOURCE"},
	{"inspect", "info FILE or FOLDER; show NAME for a model of the daemon"},
	{"import", "add NAME FILE, or add --from ollama"},
	{"signin", "--help; there is no account to sign in to"},
	{"server", "serve MODEL"},
	{"start", "serve MODEL"},
	{"complete", "generate NAME -p TEXT --raw"},
	{"completion", "--emit-completion bash"},
	{"ask", "run MODEL TEXT"},
	{"benchmark", "bench FILE, or bench serve MODEL"},
	{"embedding", "embed MODEL TEXT"},
	{"embeddings", "embed MODEL TEXT"},
	{"logs", "status; llamad writes its log to standard error or the journal"},
	{"quit", "shutdown"},
};

/* Of ollama, llama.cpp, vLLM and others. */
static const struct lmi_cli_spelling spellings[] = {
	{"temperature", "temp"},     {"n-predict", "predict"},   {"num-predict", "predict"},
	{"max-tokens", "predict"},   {"typical-p", "typical"},	 {"repetition-penalty", "repeat-penalty"},
	{"system-prompt", "system"},
};

const struct lmi_cli_program lmi_ctl_program = {
	.name = "llamactl",
	.cmds = cmds,
	.n_cmds = LMD_LEN(cmds),
	.opts = common_opts,
	.n_opts = LMD_LEN(common_opts),
	.hints = hints,
	.n_hints = LMD_LEN(hints),
	.spellings = spellings,
	.n_spellings = LMD_LEN(spellings),
};
