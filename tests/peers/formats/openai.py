"""Chat completions, by OpenAI's SDK."""

from typing import get_args

from openai import OpenAI
from openai.types.chat.chat_completion import Choice
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

import reading
import typed


def client(place):
    return OpenAI(base_url=place + "/v1", api_key=reading.KEY, max_retries=0)


def ask(place, streams, request):
    completions = client(place).chat.completions
    if not streams:
        return completions.create(**request)
    with completions.stream(**request, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


def read(place, streams):
    completion = ask(place, streams, {"model": "m", "messages": []})
    choice, usage = completion.choices[0], completion.usage
    said = choice.message
    thought = (said.model_extra or {}).get("reasoning_content") or (said.model_extra or {}).get("reasoning")
    read_details = usage.prompt_tokens_details
    written_details = usage.completion_tokens_details
    return reading.made(
        text=said.content,
        thought=thought,
        calls=[(call.id, call.function.name, call.function.arguments) for call in said.tool_calls or []],
        stop={"stop": "end", "tool_calls": "calls", "length": "length", "content_filter": "filtered"}[choice.finish_reason],
        usage=reading.usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            cached=read_details and read_details.cached_tokens,
            reasoning=written_details and written_details.reasoning_tokens,
        ),
    )


def play(places, talk):
    messages = [{"role": "system", "content": talk["system"]}]
    request = {"model": "m", "messages": messages}
    if talk["tools"]:
        request["tools"] = [
            {
                "type": "function",
                "function": {"name": tool["name"], "description": tool["description"], "parameters": tool["schema"]},
            }
            for tool in talk["tools"]
        ]
    calls = []
    for place, step in zip(places, talk["steps"]):
        for outcome, call in zip(step.get("outcomes", []), calls):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": outcome["text"]})
        if "user" in step:
            messages.append({"role": "user", "content": step["user"]})
        said = ask(place, talk["streams"], request).choices[0].message
        messages.append(said)
        calls = said.tool_calls or []


def reasons():
    return list(get_args(Choice.model_fields["finish_reason"].annotation))


def complaints(body):
    streams = body["stream"]
    return typed.complaints(CompletionCreateParamsStreaming if streams else CompletionCreateParamsNonStreaming, body)
