"""`lazaret serve` as OpenAI's own SDK meets it, and its document as a validator of OpenAPI reads it.

The first argument is the program. Prints one line for each thing that was the same, and fails at the first that is not.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import openai
from openapi_spec_validator import OpenAPIV31SpecValidator

CONFIG = """
ask = ["clock.now"]
[agents.counter]
instructions = "work"
tools = ["text.count"]
models = ["m"]
[agents.asker]
instructions = "work"
tools = ["clock.now"]
models = ["asks"]
[models.m]
provider = "scripted"
script = "script.jsonl"
[models.asks]
provider = "scripted"
script = "asks.jsonl"
"""


class Scene:
    """A server of its own, in a folder of its own."""

    def __init__(self, program: str, folder: str) -> None:
        self.program = os.path.abspath(program)
        self.work = Path(folder, "work")
        self.work.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder, "LAZARET_SYSTEM_CONFIG": f"{folder}/none"}
        count = {"calls": [{"tool": "text.count", "args": {"text": "a b"}}]}
        asks = {"calls": [{"tool": "clock.now", "args": {}}]}
        self.write("script.jsonl", json.dumps(count), json.dumps({"text": "Two words."}))
        self.write("asks.jsonl", json.dumps(asks), json.dumps({"text": "Done."}))
        self.write("lazaret.toml", CONFIG)
        self.run("policy", "trust")
        self.token = self.run("serve", "--show-token").strip()
        self.server = subprocess.Popen(
            [self.program, "serve", "--listen", "127.0.0.1:0", "--json"],
            cwd=self.work, env=self.environment, stdout=subprocess.PIPE, text=True,
        )
        self.address = json.loads(self.server.stdout.readline())["address"]

    def write(self, name: str, *lines: str) -> None:
        (self.work / name).write_text("\n".join(lines))

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            [self.program, *arguments], cwd=self.work, env=self.environment, check=True, capture_output=True, text=True,
        ).stdout

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"http://{self.address}/v1", api_key=self.token, max_retries=0)


def same(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        sys.exit(f"serve: {what}: {got!r}, and not {wanted!r}")
    print(f"serve      {what}")


def check(scene: Scene) -> None:
    with urllib.request.urlopen(f"http://{scene.address}/openapi.json") as answer:
        document = json.load(answer)
    errors = [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]
    same("the document is OpenAPI 3.1", errors, [])
    client = scene.client()
    same("agents are models", sorted(model.id for model in client.models.list()), ["asker", "counter"])
    same("one of them", client.models.retrieve("counter").id, "counter")
    said = [{"role": "user", "content": "Count."}]
    told = client.chat.completions.create(model="counter", messages=said)
    same("an answer", (told.choices[0].message.content, told.choices[0].finish_reason), ("Two words.", "stop"))
    same("its usage", told.usage.total_tokens, 0)
    stream = client.chat.completions.create(
        model="counter", messages=said, stream=True, stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    same("a stream", "".join(pieces), "Two words.")
    same("the usage of a stream", chunks[-1].usage.total_tokens, 0)
    waits = client.chat.completions.create(model="asker", messages=said)
    same("a run that waits", (waits.choices[0].finish_reason, waits.lazaret["state"]), ("stop", "waiting"))
    try:
        client.chat.completions.create(model="nobody", messages=said)
    except openai.NotFoundError as error:
        same("an agent that is not there", error.type, "invalid_request_error")
    try:
        openai.OpenAI(base_url=f"http://{scene.address}/v1", api_key="laz_guess", max_retries=0).models.list()
    except openai.AuthenticationError as error:
        same("a wrong token", (error.type, error.code), ("authentication_error", "unauthenticated"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(sys.argv[1], folder)
        try:
            check(scene)
        finally:
            scene.server.kill()
            scene.server.wait()


main()
