/* SPDX-License-Identifier: MIT
 *
 * The table of configuration keys, in the order of the manual, and the options of llamad.  The
 * limits of the service come from the table in service/limits.c. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/cli/texts.h"
#include "core/engine/engine.h"
#include "daemon/config.h"
#include "llamad/attr.h"

/* The value of a macro as a string literal. */
#define TEXT_OF_TOKENS(x) #x
#define TEXT_OF(macro) TEXT_OF_TOKENS(macro)

#define AT(member) (uint32_t) offsetof(struct lmi_config, member)

static const struct lmi_config_row before[] = {
	{.section = "daemon",
	 .opt = {.name = "socket",
		 .type = LMI_OPT_STR,
		 .value = "URL",
		 .doc = "Unix socket for clients: ipc:// and an absolute path of at most 107 "
			"bytes. The file has mode 0660: root and the daemon's own user are "
			"admins, members of its group may use models."},
	 .at = AT(socket),
	 .option = true,
	 .path = true,
	 .unset = "$RUNTIME_DIRECTORY/llamad.sock under systemd, /run/llamad/llamad.sock for "
		  "root, otherwise $XDG_RUNTIME_DIR/llamad/llamad.sock or, if that variable is not "
		  "set, /tmp/llamad-UID/llamad.sock"},
	{.section = "daemon",
	 .opt = {.name = "listen",
		 .type = LMI_OPT_LIST,
		 .value = "URL",
		 .doc = "Also listen for clients on other machines: tls+tcp://ADDR:PORT, or "
			"tcp://ADDR:PORT without encryption. ADDR is a numeric address such as "
			"192.0.2.7 or [2001:db8::7]; 0.0.0.0 and [::] stand for all addresses of "
			"this machine. These clients need an API key, so at least one must exist: "
			"`llamactl key add`."},
	 .at = AT(listen),
	 .option = true},
	{.section = "daemon",
	 .opt = {.name = "tls-cert",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "PEM file with the certificate for tls+tcp and tls:, followed by the intermediate "
			"certificates. Read again on reload."},
	 .at = AT(tls_cert),
	 .option = true,
	 .path = true,
	 .unset = "none; required for tls+tcp and tls:"},
	{.section = "daemon",
	 .opt = {.name = "tls-key",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "PEM file with the private key of the certificate. It must not be "
			"accessible by other users. Read again on reload."},
	 .at = AT(tls_key),
	 .option = true,
	 .path = true,
	 .unset = "none; required for tls+tcp and tls:"},
	{.section = "daemon",
	 .opt = {.name = "plain-tcp",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "no",
		 .doc = "Allow tcp:// and unencrypted HTTP on addresses other than loopback. Keys, "
			"prompts and answers are then sent over the network without encryption."},
	 .at = AT(plain_tcp)},
	{.section = "daemon",
	 .opt = {.name = "http",
		 .type = LMI_OPT_LIST,
		 .value = "ADDR",
		 .doc = "Serve the HTTP APIs at ADDR:PORT or [ADDR]:PORT with a numeric address, "
			"with TLS at tls:ADDR:PORT, or at unix:/PATH. A unix socket has mode 0660 "
			"and the same rules as `socket`. If no unix socket is given, there is one beside "
			"`socket`; off = no addresses and no such socket. "
			"On 127.0.0.1 and [::1] every user of this machine may use models until the "
			"first API key is created; from then on, and on other addresses always, "
			"clients need a key: `llamactl key add`. Addresses other than loopback "
			"need TLS or plain_tcp = yes."},
	 .at = AT(http),
	 .option = true,
	 .unset = "a unix socket beside `socket`, llamad-http.sock beside llamad.sock"},
	{.section = "daemon",
	 .opt = {.name = "http-origin",
		 .type = LMI_OPT_LIST,
		 .value = "ORIGIN",
		 .doc = "Allow web pages of this origin, such as https://chat.example.org, to use "
			"the HTTP APIs; * = all pages. By default the requests of web pages are "
			"refused."},
	 .at = AT(http_origins),
	 .option = true},
	{.section = "daemon",
	 .opt = {.name = "http-model",
		 .type = LMI_OPT_STR,
		 .value = "NAME",
		 .doc = "Model for HTTP requests that name none, or one that does not exist."},
	 .at = AT(http_model),
	 .option = true,
	 .unset = "the only model in memory or, if none is, the only one in the registry"},
	{.section = "daemon",
	 .opt = {.name = "http-unknown-model",
		 .type = LMI_OPT_CHOICE,
		 .value = "default|refuse",
		 .def = "default",
		 .doc = "What becomes of an HTTP request whose model does not exist: default = it gets the "
			"model of requests that name none, since many programs send a name of their own; "
			"refuse = it is answered with 404."},
	 .at = AT(http_unknown_model)},
	{.section = "daemon",
	 .opt = {.name = "state-dir",
		 .type = LMI_OPT_STR,
		 .value = "DIR",
		 .doc = "Folder for persistent state: the registry of models and keys. Created "
			"with mode 0700 if missing; only one daemon at a time can use it."},
	 .at = AT(state_dir),
	 .option = true,
	 .path = true,
	 .unset = "$STATE_DIRECTORY under systemd, /var/lib/llamad for root, otherwise "
		  "$XDG_STATE_HOME/llamad or ~/.local/state/llamad"},
	{.section = "daemon",
	 .opt = {.name = "audit-key",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "File outside the state folder with a key for the audit log, made with mode 0600 "
			"if it does not exist. Records then have an HMAC-SHA256 with this key, so that "
			"nobody without the key can change the log unnoticed: `llamactl audit verify "
			"--key FILE`. A log that has a key is continued with that key only."},
	 .at = AT(audit_key),
	 .path = true,
	 .unset = "none; records have SHA-256 hashes, which everybody can compute"},
	{.section = "daemon",
	 .opt = {.name = "log",
		 .type = LMI_OPT_CHOICE,
		 .value = "error|warn|info|debug|trace",
		 .def = "info",
		 .doc = "Log level: messages of this level and above are written to standard "
			"error."},
	 .at = AT(log),
	 .option = true,
	 .live = true},
	{.section = "daemon",
	 .opt = {.name = "traces-url",
		 .type = LMI_OPT_STR,
		 .value = "URL",
		 .doc = "Send a span for each answer over HTTP to this collector of OpenTelemetry, such as "
			"http://127.0.0.1:4318 (OTLP/HTTP with JSON). A request with the header traceparent "
			"gets a span in that trace, unless its flags say that it is not sampled."},
	 .at = AT(traces_url),
	 .unset = "none; nothing is sent"},
	{.section = "daemon",
	 .opt = {.name = "drain",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "20s",
		 .min = 0,
		 .max = 3600000,
		 .doc = "How long running generations may continue after SIGTERM or SIGINT before "
			"they are ended. A second signal ends them at once."},
	 .at = AT(drain_ms),
	 .live = true},
	{.section = "plugins",
	 .opt = {.name = "plugin-dir",
		 .type = LMI_OPT_LIST,
		 .value = "DIR",
		 .doc = "Search DIR for plugins before the default folders."},
	 .at = AT(plugin_dirs),
	 .option = true,
	 .path = true},
	{.section = "plugins",
	 .opt = {.name = "default-plugins",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "yes",
		 .doc = "Also search the default folders for plugins."},
	 .at = AT(default_plugins)},
	{.section = "plugins",
	 .opt = {.name = "plugin-trust",
		 .type = LMI_OPT_CHOICE,
		 .value = "owner|system",
		 .def = "owner",
		 .doc = "Which plugin files are loaded: owner = those owned by the daemon's user "
			"or root; system = only those owned by root and not writable by the "
			"daemon."},
	 .at = AT(plugin_trust),
	 .option = true},
	{.section = "models",
	 .opt = {.name = "model-dir",
		 .type = LMI_OPT_LIST,
		 .value = "DIR",
		 .doc = "Allow admins to add and load models below DIR. If no folder is given, "
			"any path is allowed."},
	 .at = AT(model_dirs),
	 .option = true,
	 .path = true},
	{.section = "models",
	 .opt = {.name = "signatures",
		 .type = LMI_OPT_CHOICE,
		 .value = "off|warn|require",
		 .def = "off",
		 .doc = "Whether models, adapters and draft models need a manifest signed with one "
			"of the trusted keys (`llamactl sign`): off = manifests are not looked for; "
			"warn = the log says what is missing or wrong, and the model is loaded; "
			"require = it is refused before anything of it is interpreted."},
	 .at = AT(signatures),
	 .live = true},
	{.section = "models",
	 .opt = {.name = "trusted-keys",
		 .type = LMI_OPT_LIST,
		 .value = "FILE",
		 .doc = "Public keys whose signatures count, in PEM; of a folder its files NAME.pub. "
			"Read again on reload."},
	 .at = AT(trusted_keys),
	 .path = true,
	 .live = true,
	 .unset = "none; required unless signatures = off"},
	{.section = "models",
	 .opt = {.name = "pull",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "yes",
		 .doc = "Allow admins to download models: `llamactl pull`."},
	 .at = AT(pull)},
	{.section = "models",
	 .opt = {.name = "catalogue",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "File with short names for models and their sources, a name and a source "
			"in each line."},
	 .at = AT(catalogue),
	 .path = true,
	 .unset = "models.catalogue in the data folder of the installation"},
	{.section = "models",
	 .opt = {.name = "hf-url",
		 .type = LMI_OPT_STR,
		 .value = "URL",
		 .doc = "Server for sources hf:USER/REPO, such as a mirror of Hugging Face."},
	 .at = AT(hf_url),
	 .unset = "https://huggingface.co"},
	{.section = "models",
	 .opt = {.name = "hf-token",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "File with an access token for hf-url, for models that need one. It must "
			"not be accessible by other users."},
	 .at = AT(hf_token),
	 .path = true,
	 .unset = "none"},
	{.section = "models",
	 .opt = {.name = "ollama-url",
		 .type = LMI_OPT_STR,
		 .value = "URL",
		 .doc = "Registry for sources ollama:NAME."},
	 .at = AT(ollama_url),
	 .unset = "https://registry.ollama.ai"},
	{.section = "models",
	 .opt = {.name = "pull-rate",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .min = 1024,
		 .max = 1099511627776.0,
		 .doc = "Bytes per second of one download, at most."},
	 .at = AT(pull_rate),
	 .unset = "no limit"},
	{.section = "engine",
	 .opt = {.name = "backend",
		 .type = LMI_OPT_STR,
		 .value = "NAME",
		 .def = "auto",
		 .doc = "Backend that runs the models; auto = the best one available."},
	 .at = AT(backend),
	 .live = true,
	 .option = true},
	{.section = "engine",
	 .opt = {.name = "device",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "0",
		 .min = 0,
		 .max = 1023,
		 .doc = "Index of the device within the backend."},
	 .at = AT(device),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "devices",
		 .type = LMI_OPT_STR,
		 .value = "LIST",
		 .doc = "Devices that share the layers of a model in this order, such as "
			"cuda0,cuda1; instead of backend and device."},
	 .at = AT(devices),
	 .live = true,
	 .unset = "backend and device"},
	{.section = "engine",
	 .opt = {.name = "gpu-layers",
		 .type = LMI_OPT_STR,
		 .value = "N|auto|all",
		 .def = "all",
		 .doc = "How many of the last layers of a model run on the devices; the others run "
			"on the cpu. auto = as many as fit into their memory."},
	 .at = AT(gpu_layers),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "split",
		 .type = LMI_OPT_STR,
		 .value = "X,Y,...|tensor[:N]",
		 .doc = "Shares of the layers for each device, such as 3,1. tensor = every device has "
			"a part of every layer, in as many parts as devices, or in N parts: then the "
			"results do not depend on the number of devices."},
	 .at = AT(split),
	 .live = true,
	 .unset = "by free memory"},
	{.section = "engine",
	 .opt = {.name = "override-tensor",
		 .type = LMI_OPT_STR,
		 .value = "REGEX=DEVICE,...",
		 .doc = "Run the operations whose weights match an extended regular expression on "
			"that device."},
	 .at = AT(override_tensor),
	 .live = true,
	 .unset = "none"},
	{.section = "engine",
	 .opt = {.name = "device-sampling",
		 .type = LMI_OPT_CHOICE,
		 .value = "auto|off",
		 .def = "auto",
		 .doc = "Where tokens are chosen. auto = on the device if it can do that and has the "
			"samplers of a request (temperature, top_k, top_p, min_p, seed), so that it "
			"need not wait for the host; otherwise, and with off, on the host."},
	 .at = AT(device_sampling),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "isolation",
		 .type = LMI_OPT_CHOICE,
		 .value = "auto|off|process",
		 .def = "auto",
		 .doc = "process: the backend of each model runs in a process of its own, so that a crash "
			"of its plugin ends the requests of this model and nothing else. auto: for "
			"backends of files in the folders of plugin_dir that root does not own."},
	 .at = AT(isolation),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "isolation-timeout",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "5m",
		 .min = 0,
		 .max = 24 * 3600 * 1000,
		 .doc = "End the process of a model's backend when it makes no progress for this long: in a "
			"step, or with one weight or plan while the model is loaded. 0 = never."},
	 .at = AT(isolation_timeout_ms),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "threads",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .min = 1,
		 .max = 1024,
		 .doc = "Number of threads that run a model."},
	 .at = AT(threads),
	 .live = true,
	 .option = true,
	 .unset = "the number of processors that they may use"},
	{.section = "engine",
	 .opt = {.name = "threads-batch",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .min = 1,
		 .max = 1024,
		 .doc = "Number of threads for steps of more than 16 tokens, such as prompts; smaller "
			"steps use the number in threads. Answers do not depend on it."},
	 .at = AT(threads_batch),
	 .live = true,
	 .option = true,
	 .unset = "as threads"},
	{.section = "engine",
	 .opt = {.name = "cpus",
		 .type = LMI_OPT_STR,
		 .value = "LIST|MASK",
		 .doc = "Processors that the threads of a model run on: numbers and ranges such as "
			"0-7,16, or a mask such as 0xff."},
	 .at = AT(cpus),
	 .live = true,
	 .option = true,
	 .unset = "all that the process may use"},
	{.section = "engine",
	 .opt = {.name = "cpu-strict",
		 .type = LMI_OPT_CHOICE,
		 .value = "off|on",
		 .def = "off",
		 .doc = "on: each thread of a model stays on one of these processors. That is for "
			"machines that do nothing else."},
	 .at = AT(cpu_strict),
	 .live = true,
	 .option = true},
	{.section = "engine",
	 .opt = {.name = "numa",
		 .type = LMI_OPT_CHOICE,
		 .value = "off|distribute|isolate",
		 .def = "off",
		 .doc = "On a machine with several NUMA nodes: distribute = the threads of a model are "
			"on all nodes in turn; isolate = all of them are on the node on which the "
			"model is loaded."},
	 .at = AT(numa),
	 .live = true,
	 .option = true},
	{.section = "engine",
	 .opt = {.name = "ctx",
		 .type = LMI_OPT_SIZE,
		 .value = "N",
		 .min = 1,
		 .max = 1 << 30,
		 .doc = "Context size of one sequence in tokens."},
	 .at = AT(ctx),
	 .live = true,
	 .option = true,
	 .unset = "the context size of the model, or what fits into memory"},
	{.section = "engine",
	 .opt = {.name = "batch",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .min = 1,
		 .max = 65536,
		 .doc = "Maximum number of tokens that are computed in one step; at least max_running. The "
			"memory for a step grows with it."},
	 .at = AT(batch),
	 .live = true,
	 .unset = "512"},
	{.section = "engine",
	 .opt = {.name = "kv-tokens",
		 .type = LMI_OPT_SIZE,
		 .value = "N",
		 .min = 1,
		 .max = 1099511627776.0,
		 .doc = "Size of a model's KV cache in tokens, shared by all its sequences (paged "
			"KV cache, prefix caching)."},
	 .at = AT(kv_tokens),
	 .live = true,
	 .unset = "max_running times ctx, or what fits into memory"},
	{.section = "engine",
	 .opt = {.name = "kv-type",
		 .type = LMI_OPT_STR,
		 .value = "TYPE",
		 .doc = "Data type of the KV cache, such as f32, f16 or q8_0."},
	 .at = AT(kv_type),
	 .live = true,
	 .option = true,
	 .unset = "the backend's preference"},
	{.section = "engine",
	 .opt = {.name = "kv-type-k",
		 .type = LMI_OPT_STR,
		 .value = "TYPE",
		 .doc = "Data type of the keys in the KV cache."},
	 .at = AT(kv_type_k),
	 .live = true,
	 .option = true,
	 .unset = "kv_type"},
	{.section = "engine",
	 .opt = {.name = "kv-type-v",
		 .type = LMI_OPT_STR,
		 .value = "TYPE",
		 .doc = "Data type of the values in the KV cache."},
	 .at = AT(kv_type_v),
	 .live = true,
	 .option = true,
	 .unset = "kv_type"},
	{.section = "engine",
	 .opt = {.name = "draft-max",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .min = 0,
		 .max = LMI_ENGINE_DRAFT_MAX,
		 .def = TEXT_OF(LMI_ENGINE_DRAFT_MAX),
		 .doc = "Speculative decoding: maximum number of tokens that are guessed at a time, "
			"from the prompt and the answer so far, and verified in one step; 0 = off. "
			"Answers stay the same. Less is guessed, or nothing, if that is faster."},
	 .at = AT(draft_max),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "prefix-cache",
		 .type = LMI_OPT_CHOICE,
		 .value = "user|shared|off",
		 .def = "user",
		 .doc = "What a prompt may reuse of earlier ones that began with the same tokens: "
			"those of the same user, those of all users (who can then tell from the "
			"time of an answer what others have asked), or nothing."},
	 .at = AT(prefix_cache),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "activations",
		 .type = LMI_OPT_CHOICE,
		 .value = "default|f32|int8|int16",
		 .def = "default",
		 .doc = "Data type of the activations that are multiplied with quantised weights: "
			"f32, int8 or int16 (rounded to 8 or 16 bits), or the backend's default."},
	 .at = AT(activations),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "attention",
		 .type = LMI_OPT_CHOICE,
		 .value = "default|half",
		 .def = "default",
		 .doc = "Arithmetic of attention: the backend's default, or half precision for "
			"all sums."},
	 .at = AT(attention),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "deterministic",
		 .type = LMI_OPT_CHOICE,
		 .value = "off|exact|batch",
		 .def = "off",
		 .doc = "exact: the same bits on every device of backends cpu, cuda and hip, with "
			"one arithmetic for all of them, which is slower. Models with tensors or "
			"operations that it does not have are refused. batch: on one device, what "
			"else is computed in a step and how a prompt is divided into steps change no "
			"bit of a request's logits; backends cpu and ref compute so in any case, cuda "
			"and hip take longer for prompts."},
	 .at = AT(deterministic),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "memory",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .min = 1048576,
		 .max = 1099511627776.0 * 1024,
		 .doc = "Maximum memory of one model."},
	 .at = AT(memory),
	 .live = true,
	 .unset = "the available memory of the machine"},
	{.section = "engine",
	 .opt = {.name = "files",
		 .type = LMI_OPT_CHOICE,
		 .value = "mapped|read|direct",
		 .def = "mapped",
		 .doc = "How model files are loaded: mapped = mmap; read = copied into the "
			"daemon's memory; direct = copied, bypassing the page cache."},
	 .at = AT(files),
	 .live = true},
	{.section = "engine",
	 .opt = {.name = "lock",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "no",
		 .doc = "Lock the files of loaded models in memory. If the system does not allow "
			"it, loading continues without the lock (see LimitMEMLOCK in "
			"systemd.exec(5))."},
	 .at = AT(lock),
	 .live = true},
};

static const struct lmi_config_row limits[] = {
	{.section = "limits",
	 .opt = {.name = "connections",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "256",
		 .min = 1,
		 .max = 65536,
		 .doc = "Maximum number of connections. Eight more are reserved for root and the "
			"daemon's own user."},
	 .at = AT(connections),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "connections-per-user",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "32",
		 .min = 1,
		 .max = 65536,
		 .doc = "Maximum number of connections of one user or one network address. It does not "
			"hold for root and the user of the daemon."},
	 .at = AT(connections_per_user),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "message-bytes",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .def = "16M",
		 .min = 65536,
		 .max = 1073741824.0,
		 .doc = "Maximum length of a client's message."},
	 .at = AT(message_bytes)},
	{.section = "limits",
	 .opt = {.name = "http-body",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .def = "8M",
		 .min = 1024,
		 .max = 1073741824.0,
		 .doc = "Maximum length of the body of an HTTP request."},
	 .at = AT(http_body)},
	{.section = "limits",
	 .opt = {.name = "http-store",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .def = "0",
		 .min = 0,
		 .max = 1099511627776.0,
		 .doc = "Let clients of the HTTP APIs store up to this many bytes per key or user in the "
			"state folder: responses that later requests continue, with the prompts "
			"and answers of the conversation. The oldest make way for new ones. "
			"0 = nothing is stored."},
	 .at = AT(http_store)},
	{.section = "limits",
	 .opt = {.name = "http-store-number",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "1000",
		 .min = 1,
		 .max = 1000000,
		 .doc = "Maximum number of stored objects per key or user."},
	 .at = AT(http_store_number)},
	{.section = "limits",
	 .opt = {.name = "http-store-time",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "720h",
		 .min = 60000,
		 .max = 315360000000.0,
		 .doc = "Remove stored objects that were not changed for this long."},
	 .at = AT(http_store_ms)},
	{.section = "limits",
	 .opt = {.name = "http-resume",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .def = "1M",
		 .min = 0,
		 .max = 1073741824.0,
		 .doc = "Keep this many of the latest bytes of each HTTP stream whose request has the "
			"header X-Conversation-Id or X-Event-Ids in memory, so that its client can "
			"resume it after its connection was lost. 0 = streams cannot be resumed."},
	 .at = AT(http_resume)},
	{.section = "limits",
	 .opt = {.name = "http-resume-number",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "16",
		 .min = 1,
		 .max = 1024,
		 .doc = "Maximum number of streams per key or user that can be resumed. Those that "
			"have ended make way for new ones."},
	 .at = AT(http_resume_number)},
	{.section = "limits",
	 .opt = {.name = "http-resume-time",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "1m",
		 .min = 100,
		 .max = 86400000.0,
		 .doc = "Cancel and forget a stream that can be resumed when no client has read it "
			"for this long."},
	 .at = AT(http_resume_ms)},
	{.section = "limits",
	 .opt = {.name = "message-time",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "10s",
		 .min = 100,
		 .max = 3600000,
		 .doc = "Time that a client may take for its first bytes and for each 10 KiB of a "
			"message, or for the header and each 10 KiB of the body of an HTTP request. A "
			"slower client is disconnected."},
	 .at = AT(message_ms),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "idle",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "60s",
		 .min = 0,
		 .max = 86400000,
		 .doc = "Close a connection that has had no pending request and no running stream "
			"for this long; 0 = never. Clients reconnect when they need to."},
	 .at = AT(idle_ms),
	 .live = true},
};

/* Options that are not configuration keys. */
static const struct lmi_opt own[] = {
	{.name = "config",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Read the configuration from FILE (default " LMI_CONFIG_FILE ", if it exists)."},
	{.name = "check-config",
	 .type = LMI_OPT_FLAG,
	 .doc = "Check the configuration, print the resulting settings, and exit with status 0 "
		"if it is valid, otherwise 1."},
	{.name = "help", .letter = 'h', .type = LMI_OPT_FLAG, .doc = "Print this help and exit."},
	{.name = "version", .type = LMI_OPT_FLAG, .doc = "Print the version and exit."},
	{.name = "emit-completion", .type = LMI_OPT_CHOICE, .value = "bash|zsh|fish"},
	{.name = "emit-man", .type = LMI_OPT_FLAG},
	{.name = "emit-config-man", .type = LMI_OPT_FLAG},
	{.name = "emit-config", .type = LMI_OPT_FLAG},
};

/* Adds a limit of the service as a row: "lease_ms", 10000 becomes lease = 10s. */
static void add_limit(struct lmi_config_table *t, const struct lmi_svc_limit *l)
{
	bool ms = !strcmp(l->unit, "ms"), bytes = !strcmp(l->unit, "bytes");
	char *name = t->name[t->n], *def = t->def[t->n];
	size_t n = strlen(l->name);

	if (ms && n > 3 && !strcmp(l->name + n - 3, "_ms"))
		n -= 3;
	snprintf(name, sizeof(t->name[0]), "%.*s", (int)n, l->name);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	t->row[t->n] = (struct lmi_config_row){
		.section = "limits",
		.opt = {.name = name,
			.type = ms      ? LMI_OPT_TIME
				: bytes ? LMI_OPT_SIZE
					: LMI_OPT_INT,
			.value = ms      ? "TIME"
				 : bytes ? "BYTES"
					 : "N",
			.def = def,
			.min = (double)l->min,
			.max = (double)l->max,
			.doc = l->doc},
		.old_key = l->old_name,
		.at = AT(service) + (uint32_t)l->offset,
		.live = true,
	};
	lmi_opt_number(&t->row[t->n].opt, (double)l->def, def, sizeof(t->def[0]));
	t->n++;
}

void lmi_config_table_init(struct lmi_config_table *t)
{
	t->n = 0;
	assert(LMD_LEN(before) + LMD_LEN(limits) + lmi_svc_n_limits <= LMI_CONFIG_ROWS_MAX);
	for (uint32_t i = 0; i < LMD_LEN(before); i++)
		t->row[t->n++] = before[i];
	for (uint32_t i = 0; i < LMD_LEN(limits); i++)
		t->row[t->n++] = limits[i];
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++)
		add_limit(t, &lmi_svc_limits[i]);
}

void lmi_daemon_options_init(struct lmi_daemon_options *o)
{
	uint32_t n = 0;

	assert(LMD_LEN(before) + LMD_LEN(own) <= LMI_DAEMON_OPTIONS_MAX);
	*o = (struct lmi_daemon_options){.prog = {.name = "llamad", .opts = o->opt}};
	for (uint32_t i = 0; i < 2; i++)
		o->opt[n++] = own[i];
	for (uint32_t i = 0; i < LMD_LEN(before); i++)
		if (before[i].option)
			o->opt[n++] = before[i].opt;
	for (uint32_t i = 2; i < LMD_LEN(own); i++)
		o->opt[n++] = own[i];
	o->prog.n_opts = n;
}

const char *lmi_config_key(const struct lmi_config_row *row, char *buf, size_t n)
{
	snprintf(buf, n, "%s", row->opt.name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = '_';
	return buf;
}
