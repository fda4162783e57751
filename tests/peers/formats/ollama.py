"""Chat, by Ollama's SDK."""

from ollama import Client
from ollama._types import ChatRequest

import reading
import typed


def ask(place, streams, request):
    client = Client(host=place, headers={"authorization": "Bearer " + reading.KEY})
    answer = client.chat(**request, stream=streams)
    return list(answer) if streams else [answer]


def joined(answers):
    """What the SDK's streams leave to whoever reads them."""
    of = lambda key: "".join(answer.message.get(key) or "" for answer in answers)
    calls = [call for answer in answers for call in answer.message.tool_calls or []]
    return of("content"), of("thinking"), calls


def read(place, streams):
    answers = ask(place, streams, {"model": "m", "messages": []})
    text, thought, calls = joined(answers)
    last = answers[-1]
    return reading.made(
        text=text,
        thought=thought,
        calls=[(None, call.function.name, call.function.arguments) for call in calls],
        stop={"stop": "calls" if calls else "end", "length": "length"}[last.done_reason],
        usage=reading.usage(last.prompt_eval_count, last.eval_count),
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
            messages.append({"role": "tool", "tool_name": call.function.name, "content": outcome["text"]})
        if "user" in step:
            messages.append({"role": "user", "content": step["user"]})
        text, thought, calls = joined(ask(place, talk["streams"], request))
        said = {"role": "assistant", "content": text, "thinking": thought, "tool_calls": calls}
        messages.append({key: value for key, value in said.items() if value or key == "content"})


def reasons():
    """It takes any."""
    return []


def complaints(body):
    return typed.complaints(ChatRequest, body)
