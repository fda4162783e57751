"""Generated content, by Google's SDK."""

from base64 import b64encode

from google import genai
from google.genai import types

import reading
import typed


def client(place):
    return genai.Client(api_key=reading.KEY, http_options=types.HttpOptions(base_url=place, api_version="v1beta"))


def ask(place, streams, contents, config):
    # It closes when nobody holds it.
    asked = client(place)
    request = {"model": "m", "contents": contents, "config": config}
    return list(asked.models.generate_content_stream(**request)) if streams else [asked.models.generate_content(**request)]


def parts(answers):
    candidates = [candidate for answer in answers for candidate in (answer.candidates or [])[:1]]
    return [part for candidate in candidates if candidate.content for part in candidate.content.parts or []]


def stop(answers, calls):
    for answer in answers:
        if answer.prompt_feedback and answer.prompt_feedback.block_reason:
            return "filtered"
        for candidate in (answer.candidates or [])[:1]:
            if candidate.finish_reason:
                return {"STOP": "calls" if calls else "end", "MAX_TOKENS": "length", "SAFETY": "filtered"}[
                    candidate.finish_reason.value
                ]
    return None


def read(place, streams):
    answers = ask(place, streams, [types.UserContent("?")], None)
    said = parts(answers)
    calls = [part.function_call for part in said if part.function_call]
    usage = answers[-1].usage_metadata
    thought = usage.thoughts_token_count or 0
    return reading.made(
        text="".join(part.text for part in said if part.text and not part.thought),
        thought="".join(part.text for part in said if part.text and part.thought),
        sealed=[b64encode(part.thought_signature).decode() for part in said if part.thought_signature],
        calls=[(call.id, call.name, call.args) for call in calls],
        stop=stop(answers, calls),
        usage=reading.usage(
            usage.prompt_token_count,
            (usage.candidates_token_count or 0) + thought,
            cached=usage.cached_content_token_count,
            reasoning=thought,
        ),
    )


def declared(tool):
    schema = types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(tool["schema"]))
    return types.FunctionDeclaration(name=tool["name"], description=tool["description"], parameters=schema)


def play(places, talk):
    contents = []
    config = types.GenerateContentConfig(
        system_instruction=talk["system"],
        tools=[types.Tool(function_declarations=[declared(tool) for tool in talk["tools"]])] if talk["tools"] else None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    calls = []
    for place, step in zip(places, talk["steps"]):
        outcomes = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output" if outcome["ok"] else "error": outcome["text"]}
                )
            )
            for outcome, call in zip(step.get("outcomes", []), calls)
        ]
        contents.append(types.UserContent(outcomes or step["user"]))
        said = parts(ask(place, talk["streams"], contents, config))
        contents.append(types.ModelContent(said))
        calls = [part.function_call for part in said if part.function_call]


def reasons():
    return [reason.value for reason in types.FinishReason]


def complaints(body):
    known = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "generationConfig": types.GenerationConfig,
    }
    found = [f"{key}: the SDK knows no such key" for key in body if key not in known]
    for key, kind in known.items():
        if key in body:
            found += typed.complaints(kind, body[key])
    return found
