#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guesses.py [--base] BUILD MODEL.gguf [ROUNDS [PROMPTS]]: what guesses by look-up are worth, and whether answers stay the
same.

A private daemon with one thread generates greedy answers with guesses and without, in turns: edits of pieces of code,
JSON by a schema, and prose. The prompts of edits are those to which a model as small as SmolLM2-135M answers with the
code, more or less edited; it answers the request "in prose" without any code. With --base, for a model that was not trained
to follow requests, prompts are continued without a template, and an edit comes after an example of one. Prints the tokens and the steps that
computed them, which are exact, and the processor time per token of the daemon, so that other load of the machine matters
little: the medians of ROUNDS rounds, and their ratio. Then PROMPTS different prompts are answered both ways. Exits with 1
if any two answers differ."""
import json
import os
import statistics
import sys

from private_daemon import PrivateDaemon, processor_time

base = "--base" in sys.argv
words_given = [w for w in sys.argv[1:] if w != "--base"]
build, model = words_given[:2]
rounds, prompts = (int(v) for v in (words_given[2:] + ["5", "200"][len(words_given) - 2:]))
daemon = PrivateDaemon(build, conf="[engine]\nthreads = 1\nctx = 2048\n")

CODE = """def average(values):
    count = 0
    result = 0.0
    for value in values:
        if value is None:
            continue
        count = count + 1
        result = result + value
    if count == 0:
        return None
    return result / count


def largest(values):
    result = None
    for value in values:
        if value is None:
            continue
        if result is None or value > result:
            result = value
    return result
"""
LIST = """struct list {
	struct item *head;
	int size;
};

int list_add(struct list *list, int value)
{
	struct item *item = malloc(sizeof(*item));

	if (!item)
		return -1;
	item->value = value;
	item->next = list->head;
	list->head = item;
	list->size++;
	return 0;
}

int list_sum(const struct list *list)
{
	int sum = 0;

	for (struct item *i = list->head; i; i = i->next)
		sum += i->value;
	return sum;
}
"""
SHAPES = """function area(shape) {
  if (shape.kind === "circle") {
    return Math.PI * shape.radius * shape.radius;
  }
  if (shape.kind === "square") {
    return shape.side * shape.side;
  }
  return 0;
}

function total(shapes) {
  let sum = 0;
  for (const shape of shapes) {
    sum += area(shape);
  }
  return sum;
}
"""


def edit(request, code, shown="{}"):
    return ["-p", request + "\n\n" + shown.format(code), "--prediction", code, "-n", "260"]


EXAMPLE = """def total(values):
    sum = 0
    for v in values:
        sum = sum + v
    return sum
"""
EDITED = EXAMPLE.replace(" v ", " number ").replace("+ v", "+ number")


def completed(what, code):
    ask = "# {}\n\nBefore:\n```\n{}```\n\nAfter:\n```\n"
    return ["--raw", "-p", ask.format("Rename v to number.", EXAMPLE) + EDITED + "```\n\n" + ask.format(what, code),
            "--prediction", code, "-n", "260", "--stop", "```"]


SCHEMA = {"type": "array", "minItems": 6, "maxItems": 6, "items": {
    "type": "object", "additionalProperties": False,
    "required": ["name", "country", "population", "is_capital"],
    "properties": {"name": {"type": "string", "maxLength": 20}, "country": {"type": "string", "maxLength": 20},
                   "population": {"type": "integer", "minimum": 0, "maximum": 99999999},
                   "is_capital": {"type": "boolean"}}}}
TASKS = {
    "edit: docstrings": edit("Add a docstring to each function of this code and change nothing else.", CODE),
    "edit: a name in C": edit("Repeat this code with the name value changed to number.", LIST),
    "edit: quotes in JavaScript": edit("Repeat this code, but use double quotes as single quotes.", SHAPES),
    "edit: a name in JavaScript": edit("Repeat this code and rename sum to result.", SHAPES),
    "edit: the same, in a block": edit("Repeat this code and rename sum to result.", SHAPES, "```\n{}```"),
    "edit in prose": edit("Repeat this code and change nothing but the name count, which becomes total.", CODE),
    "code, without a prediction": ["-p", "Repeat this code without any change.\n\n" + CODE, "-n", "220"],
    "JSON by a schema": ["-p", "List six large cities of Europe.", "-n", "300", "-j", json.dumps(SCHEMA)],
    "prose": ["-p", "Tell me how rivers shape the land.", "-n", "220"],
}
if base:
    TASKS = {
        "edit: docstrings": completed("Add a docstring to each function.", CODE),
        "edit: a name in C": completed("Rename value to number.", LIST),
        "edit: quotes in JavaScript": completed("Use single quotes in place of double quotes.", SHAPES),
        "edit: a name in JavaScript": completed("Rename sum to result.", SHAPES),
        "edit: a name in Python": completed("Rename count to total.", CODE),
        "code, without a prediction": ["--raw", "-p", CODE + "\n\n# The same code again:\n\ndef average", "-n", "220"],
        "JSON by a schema": ["--raw", *TASKS["JSON by a schema"]],
        "prose": ["--raw", "-p", "Rivers shape the land in many ways. In the mountains, ", "-n", "220"],
    }
SUBJECTS = ["a river", "a clock", "the moon", "bread", "an old ship", "the wind", "a bridge", "a library", "salt",
            "a garden"]
FORMS = ["Describe {} in one sentence.", "Write a short poem about {}.", "List three facts about {}.",
         "Explain {} to a child.", "What is {} used for?", "Write a Python function about {}.",
         "Compare {} with a mountain.", "Tell a joke about {}.", "Where can I find {}?", "Why do people like {}?",
         "Write the word for {} five times.", "Give {} a name.", "Draw {} in ASCII.", "Sell {} in two sentences.",
         "Who invented {}?", "Write a JSON object about {}.", "Count from one to {}.", "Ask a question about {}.",
         "Complete: once upon a time there was {}.", "Summarise the history of {}."]


def answer(words, guesses):
    """The tokens, the steps that computed them, the guesses, those that were right, and the processor time.
    Tokens that a grammar forces take no step."""
    before = processor_time(daemon.pid)
    out = json.loads(daemon.ctl("generate", "m", "--temp", "0", "--json", *words,
                                *([] if guesses else ["--draft-max", "0"])).stdout)
    steps = out["n_out"] - out["n_forced"] - out["n_accepted"]
    return out["tokens"], steps, out["n_drafted"], out["n_accepted"], processor_time(daemon.pid) - before


def measure(name, words):
    times = {False: [], True: []}
    counts = {}
    answers = set()
    for i in range(rounds):
        with daemon:  # that has answered nothing: guesses come from earlier answers too
            daemon.ctl("add", "m", model, check=False)  # the store may have it
            answer(words, False)  # computes the prompt, and leaves nothing to guess from
            for guesses in (False, True) if i % 2 else (True, False):
                tokens, *count, time_s = answer(words, guesses)
                answers.add(tuple(tokens))
                counts.setdefault(guesses, count)
                times[guesses].append(time_s / len(tokens) * 1e6)
    plain, guessed = statistics.median(times[False]), statistics.median(times[True])
    without, (steps, drafted, accepted) = counts[False][0], counts[True]
    print(f"| {name} | {len(tokens)} | {without} | {steps} | {without / steps:.2f} | {accepted} of {drafted} | "
          f"{plain:.0f} | {guessed:.0f} | {plain / guessed:.2f} |", flush=True)
    return len(answers) == 1


def compare():
    """Answers all prompts both ways; returns how many differ."""
    differ = 0
    for i in range(prompts):
        prompt = FORMS[i // len(SUBJECTS) % len(FORMS)].format(SUBJECTS[i % len(SUBJECTS)])
        words = [*(["--raw"] if base else []), "-p", prompt, "-n", "40"]
        a, b = answer(words, True), answer(words, False)
        if a[0] != b[0]:
            differ += 1
            print(f"guesses: another answer to {prompt!r}:\n  {a[0]!r}\n  {b[0]!r}", file=sys.stderr)
    return differ


print(f"{os.path.basename(model)}, one thread, {rounds} rounds; microseconds of processor time per token\n")
print("| task | tokens | steps without | with guesses | ratio | right guesses | time without | with guesses | ratio |")
print("|---|---|---|---|---|---|---|---|---|", flush=True)
same = True
for task, task_words in TASKS.items():
    same &= measure(task, task_words)
with daemon:
    different = compare()
print(f"\n{prompts - different} of {prompts} prompts have the same answer with guesses and without")
if not same or different:
    sys.exit("guesses: answers differ")
