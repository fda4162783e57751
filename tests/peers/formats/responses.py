"""Responses, by OpenAI's SDK."""

from typing import get_args

from openai import OpenAI
from openai.types.responses.response import IncompleteDetails
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

import reading
import typed


def client(place):
    return OpenAI(base_url=place + "/v1", api_key=reading.KEY, max_retries=0)


def ask(place, streams, request):
    responses = client(place).responses
    if not streams:
        return responses.create(**request)
    with responses.stream(**request) as stream:
        for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                return event.response
    raise ValueError("the stream has no end")


def read(place, streams):
    response = ask(place, streams, {"model": "m", "input": []})
    thoughts = [item for item in response.output if item.type == "reasoning"]
    calls = [item for item in response.output if item.type == "function_call"]
    reason = response.incomplete_details and response.incomplete_details.reason
    stop = {None: "calls" if calls else "end", "max_output_tokens": "length", "content_filter": "filtered"}[reason]
    usage = response.usage
    return reading.made(
        text=response.output_text,
        thought="".join(part.text for item in thoughts for part in item.summary),
        sealed=[item.encrypted_content for item in thoughts],
        calls=[(item.call_id, item.name, item.arguments) for item in calls],
        stop=stop,
        usage=reading.usage(
            usage.input_tokens,
            usage.output_tokens,
            cached=usage.input_tokens_details.cached_tokens,
            kept=usage.input_tokens_details.cache_write_tokens,
            reasoning=usage.output_tokens_details.reasoning_tokens,
        ),
    )


def play(places, talk):
    items = []
    request = {"model": "m", "instructions": talk["system"], "input": items, "store": False}
    if talk["tools"]:
        request["tools"] = [
            {
                "type": "function",
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["schema"],
                "strict": False,
            }
            for tool in talk["tools"]
        ]
    calls = []
    for place, step in zip(places, talk["steps"]):
        for outcome, call in zip(step.get("outcomes", []), calls):
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": outcome["text"]})
        if "user" in step:
            items.append({"role": "user", "content": step["user"]})
        said = ask(place, talk["streams"], request).output
        items.extend(said)
        calls = [item for item in said if item.type == "function_call"]


def reasons():
    choices = get_args(IncompleteDetails.model_fields["reason"].annotation)
    return [reason for choice in choices for reason in get_args(choice)]


def complaints(body):
    streams = body["stream"]
    return typed.complaints(ResponseCreateParamsStreaming if streams else ResponseCreateParamsNonStreaming, body)
