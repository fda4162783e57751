"""Messages, by Anthropic's SDK."""

from typing import get_args

from anthropic import Anthropic
from anthropic.types import StopReason
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

import reading
import typed


def client(place):
    return Anthropic(base_url=place, api_key=reading.KEY, max_retries=0)


def ask(place, streams, request):
    messages = client(place).messages
    if not streams:
        return messages.create(**request)
    with messages.stream(**request) as stream:
        return stream.get_final_message()


def read(place, streams):
    message = ask(place, streams, {"model": "m", "max_tokens": 8192, "messages": []})
    of = lambda kind: [block for block in message.content if block.type == kind]
    usage = message.usage
    cached, kept = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    sealed = [
        block.signature if block.type == "thinking" else block.data
        for block in message.content
        if block.type in ("thinking", "redacted_thinking")
    ]
    return reading.made(
        text="".join(block.text for block in of("text")),
        thought="".join(block.thinking for block in of("thinking")),
        sealed=sealed,
        calls=[(block.id, block.name, block.input) for block in of("tool_use")],
        stop={"end_turn": "end", "tool_use": "calls", "max_tokens": "length", "refusal": "filtered"}[message.stop_reason],
        usage=reading.usage(
            usage.input_tokens + cached + kept,
            usage.output_tokens,
            cached=cached,
            kept=kept,
            reasoning=usage.output_tokens_details and usage.output_tokens_details.thinking_tokens,
        ),
    )


def play(places, talk):
    messages = []
    request = {"model": "m", "max_tokens": 8192, "system": talk["system"], "messages": messages}
    if talk["tools"]:
        request["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]}
            for tool in talk["tools"]
        ]
    calls = []
    for place, step in zip(places, talk["steps"]):
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": outcome["text"],
                **({} if outcome["ok"] else {"is_error": True}),
            }
            for outcome, call in zip(step.get("outcomes", []), calls)
        ]
        messages.append({"role": "user", "content": blocks or step["user"]})
        said = ask(place, talk["streams"], request).content
        messages.append({"role": "assistant", "content": said})
        calls = [block for block in said if block.type == "tool_use"]


def reasons():
    return list(get_args(StopReason))


def complaints(body):
    streams = body["stream"]
    return typed.complaints(MessageCreateParamsStreaming if streams else MessageCreateParamsNonStreaming, body)
