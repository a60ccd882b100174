#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses a running daemon through Python packages that are built on the clients of the APIs.

    frameworks.py URL MODEL KEY

Each check prints a line "ok: PACKAGE WHAT" or "FAIL: PACKAGE WHAT: FOUND"."""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

URL, MODEL, KEY = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3]
HI = [{"role": "user", "content": "Name a colour."}]
PARAMETERS = {"type": "object",
              "properties": {"place": {"type": "string", "enum": ["Bern", "Ulm"]}},
              "required": ["place"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.",
                                           "parameters": PARAMETERS}}]
SCHEMA = {"title": "Answer", "description": "An answer.", "type": "object",
          "properties": {"city": {"type": "string", "maxLength": 12}},
          "required": ["city"], "additionalProperties": False}
failed = 0


def check(name, ok, found=None):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'FAIL'}: {name}" + ("" if ok else f": {found!r}"), flush=True)


def fails(name, error, call):
    try:
        call()
        check(name, False, "no error")
    except error as e:
        check(name, True, e)


def langchain_checks():
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    opts = {"model": MODEL, "base_url": URL + "/v1", "api_key": KEY, "temperature": 0,
            "max_retries": 0}
    chat = ChatOpenAI(max_tokens=8, **opts)
    text = chat.invoke("Name a colour.").content
    check("langchain-openai chat", bool(text), text)
    got = "".join(c.content for c in chat.stream("Name a colour."))
    check("langchain-openai stream", got == text, got)
    longer = ChatOpenAI(max_tokens=64, **opts)
    from langchain_core.messages import HumanMessage, ToolMessage
    bound = longer.bind_tools(TOOLS, tool_choice="required")
    said = bound.invoke("Name a colour.")
    check("langchain-openai tools", said.tool_calls[0]["args"]["place"] in ("Bern", "Ulm"), said)
    back = chat.bind_tools(TOOLS).invoke([
        HumanMessage("Name a colour."), said,
        ToolMessage("rain", tool_call_id=said.tool_calls[0]["id"])])
    check("langchain-openai tool round trip", back.usage_metadata["input_tokens"] > 0, back)
    r = longer.with_structured_output(SCHEMA, method="json_schema").invoke("Where?")
    check("langchain-openai structured output", "city" in r, r)
    r = OpenAIEmbeddings(model=MODEL, base_url=URL + "/v1", api_key=KEY,
                         check_embedding_ctx_length=False).embed_documents(["a cat", "taxes"])
    check("langchain-openai embeddings", len(r) == 2 and len(r[0]) > 100, len(r))
    responses = ChatOpenAI(max_tokens=16, use_responses_api=True, **opts).invoke("Name a colour.")
    check("langchain-openai responses", bool(responses.text), responses)
    import openai
    fails("langchain-openai errors", openai.BadRequestError,
          lambda: ChatOpenAI(**{**opts, "temperature": 9}).invoke("a"))
    fails("langchain-openai errors, wrong key", openai.AuthenticationError,
          lambda: ChatOpenAI(**{**opts, "api_key": "wrong"}).invoke("a"))
    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(lambda _: chat.invoke("Name a colour.").content, range(32)))
    check("langchain-openai 32 at once", set(got) == {text}, got)
    endless = ChatOpenAI(max_tokens=4000, extra_body={"ignore_eos": True}, **opts)
    cancellation("langchain-openai", lambda: endless.stream("Name a colour."))


def llama_index_checks():
    import openai
    import pydantic
    from typing import Literal
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    class Answer(pydantic.BaseModel):
        """An answer."""
        city: Literal["Bern", "Ulm"]

    def weather(place: Literal["Bern", "Ulm"]) -> str:
        """The weather."""
        return "rain in " + place

    name = "llama-index-llms-openai-like"
    opts = {"model": MODEL, "api_base": URL + "/v1", "api_key": KEY, "is_chat_model": True,
            "context_window": 2048, "max_tokens": 8, "temperature": 0, "max_retries": 0}
    chat, hi = OpenAILike(**opts), [ChatMessage(role="user", content="Name a colour.")]
    longer = OpenAILike(is_function_calling_model=True, **{**opts, "max_tokens": 64})
    text = chat.chat(hi).message.content
    check(f"{name} chat", bool(text), text)
    got = "".join(c.delta or "" for c in chat.stream_chat(hi))
    check(f"{name} stream", got == text, got)
    tool = FunctionTool.from_defaults(weather)
    said = longer.chat_with_tools([tool], chat_history=hi, tool_required=True)
    call = longer.get_tool_calls_from_response(said)[0]
    check(f"{name} tools", call.tool_name == "weather" and call.tool_kwargs["place"]
          in ("Bern", "Ulm"), said)
    back = longer.chat_with_tools([tool], chat_history=hi + [said.message, ChatMessage(
        role="tool", content=tool(**call.tool_kwargs).content,
        additional_kwargs={"tool_call_id": call.tool_id})])
    check(f"{name} tool round trip", back.raw.usage.completion_tokens > 0, back)
    form = OpenAILike(should_use_structured_outputs=True, **{**opts, "max_tokens": 64})
    r = form.as_structured_llm(Answer).chat(hi).raw
    check(f"{name} structured output", r.city in ("Bern", "Ulm"), r)
    fails(f"{name} errors", openai.BadRequestError,
          lambda: OpenAILike(additional_kwargs={"top_p": 9}, **opts).chat(hi))
    fails(f"{name} errors, wrong key", openai.AuthenticationError,
          lambda: OpenAILike(**{**opts, "api_key": "wrong"}).chat(hi))
    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(lambda _: chat.chat(hi).message.content, range(32)))
    check(f"{name} 32 at once", set(got) == {text}, got)
    endless = OpenAILike(**{**opts, "max_tokens": 4000},
                         additional_kwargs={"extra_body": {"ignore_eos": True}})
    cancellation(name, lambda: endless.stream_chat(hi))


def instructor_checks():
    import instructor
    import openai
    import pydantic
    from instructor.core import InstructorRetryException
    from typing import Literal

    class Weather(pydantic.BaseModel):
        place: Literal["Bern", "Ulm"]

    plain = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    opts = {"model": MODEL, "messages": HI, "response_model": Weather, "temperature": 0,
            "max_tokens": 64, "max_retries": 0}
    for mode, name in ((instructor.Mode.TOOLS, "tools"),
                       (instructor.Mode.JSON_SCHEMA, "structured output")):
        c = instructor.from_openai(plain, mode=mode)
        r = c.chat.completions.create(**opts)
        check(f"instructor {name}", r.place in ("Bern", "Ulm"), r)
    got = list(c.chat.completions.create_partial(**opts))
    check("instructor stream", len(got) > 1 and got[-1].place == r.place, got)
    failed_ones = (openai.APIStatusError, InstructorRetryException)
    fails("instructor errors", failed_ones,
          lambda: c.chat.completions.create(**{**opts, "temperature": 9}))
    wrong = instructor.from_openai(openai.OpenAI(base_url=URL + "/v1", api_key="wrong",
                                                 max_retries=0), mode=mode)
    fails("instructor errors, wrong key", failed_ones, lambda: wrong.chat.completions.create(**opts))
    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(lambda _: c.chat.completions.create(**opts).place, range(32)))
    check("instructor 32 at once", set(got) == {r.place}, got)


def running():
    """Returns the number of generations that the daemon has at work or in its queue."""
    import urllib.request
    req = urllib.request.Request(URL + "/load", headers={"x-api-key": KEY})
    with urllib.request.urlopen(req) as r:
        return json.load(r)["server_load"]


def litellm_checks():
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the list of models in the package
    import litellm
    litellm.suppress_debug_info = True
    opts = {"model": "openai/" + MODEL, "api_base": URL + "/v1", "api_key": KEY, "temperature": 0,
            "max_tokens": 8, "max_retries": 0}
    longer = {**opts, "max_tokens": 64}

    def ask(messages=None, **more):
        return litellm.completion(messages=messages or HI, **{**opts, **more})

    names = litellm.get_valid_models(check_provider_endpoint=True, custom_llm_provider="openai",
                                     api_base=URL, api_key=KEY)
    check("litellm models", any(n.endswith(MODEL) for n in names), names)
    text = ask().choices[0].message.content
    check("litellm chat", bool(text), text)
    got = "".join(c.choices[0].delta.content or "" for c in ask(stream=True))
    check("litellm stream", got == text, got)
    parts = list(ask(tools=TOOLS, tool_choice="required", stream=True, **{"max_tokens": 64}))
    said = litellm.stream_chunk_builder(parts).choices[0].message
    call = said.tool_calls[0]
    check("litellm tools", call.function.name == "weather"
          and json.loads(call.function.arguments)["place"] in ("Bern", "Ulm"), said)
    whole = litellm.completion(messages=HI, tools=TOOLS, tool_choice="required", **longer)
    check("litellm tool call stream", whole.choices[0].message.tool_calls[0].function.arguments
          == call.function.arguments, whole)
    back = ask(HI + [said.model_dump(), {"role": "tool", "tool_call_id": call.id,
                                         "content": "rain"}], tools=TOOLS)
    check("litellm tool round trip", back.usage.completion_tokens > 0, back)
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    r = litellm.completion(messages=HI, response_format=form, **longer)
    check("litellm structured output", "city" in json.loads(r.choices[0].message.content), r)
    r = litellm.embedding(model="openai/" + MODEL, input=["a cat", "taxes"], api_base=URL + "/v1",
                          api_key=KEY)
    check("litellm embeddings", [len(x["embedding"]) > 100 for x in r.data] == [True] * 2, r)
    responses = litellm.responses(model="openai/" + MODEL, input="Name a colour.", temperature=0,
                                  max_output_tokens=16, api_base=URL + "/v1", api_key=KEY)
    check("litellm responses", bool(responses.output), responses)
    fails("litellm errors", litellm.BadRequestError, lambda: ask(temperature=9))
    fails("litellm errors, wrong key", litellm.AuthenticationError, lambda: ask(api_key="wrong"))
    fails("litellm context", litellm.ContextWindowExceededError, lambda: ask(
        [{"role": "user", "content": "colour " * 9000}]))
    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(lambda _: ask().choices[0].message.content, range(32)))
    check("litellm 32 at once", set(got) == {text}, got)
    # the other APIs, through the package's own translations
    other = {**opts, "api_base": URL}
    for provider in ("anthropic", "ollama_chat"):
        more = {**other, "model": f"{provider}/{MODEL}"}
        r = litellm.completion(messages=HI, **more).choices[0].message.content
        check(f"litellm {provider} chat", r.strip() == text.strip(), r)
        r = "".join(c.choices[0].delta.content or ""
                    for c in litellm.completion(messages=HI, stream=True, **more))
        check(f"litellm {provider} stream", r.strip() == text.strip(), r)
    cancellation("litellm", lambda: ask(stream=True, max_tokens=4000,
                                        extra_body={"ignore_eos": True}))


def cancellation(name, start):
    """Reads one chunk of an endless stream, leaves it, and waits until the daemon has stopped."""
    import gc
    import time
    s = start()
    next(iter(s))
    before = running()
    getattr(s, "completion_stream", s).close()
    del s
    gc.collect()
    end = time.monotonic() + 60
    while (left := running()) and time.monotonic() < end:
        time.sleep(0.05)  # asks again; nothing depends on its length
    check(f"{name} cancellation", before > 0 and not left, (before, left))


def prometheus_checks():
    import urllib.request
    from prometheus_client.parser import text_string_to_metric_families
    req = urllib.request.Request(URL + "/metrics", headers={"x-api-key": KEY})
    with urllib.request.urlopen(req) as r:
        names = {f.name: f.type for f in text_string_to_metric_families(r.read().decode())}
    check("prometheus-client metrics", names.get("llamad_time_to_first_token_seconds")
          == "histogram" and names.get("llamad_requests") == "counter", names)


def main():
    for run in (langchain_checks, llama_index_checks, instructor_checks,
                litellm_checks, prometheus_checks):
        try:
            run()
        except Exception as e:  # pylint: disable=broad-except
            check(run.__name__.removesuffix("_checks") + " runs", False, e)
    sys.exit(failed > 0)


main()
