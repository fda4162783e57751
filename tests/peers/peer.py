"""The providers' own SDKs, asked line by line: `make peers` (tests/src/bin/peers) asks.

A line is a question: {"format", "do": "read" | "play" | "complaints", …}. Each is answered with a line: {"is": …}, or
{"failed": …} where the SDK raised.
"""

import importlib
import json
import sys


def answer(question):
    module = importlib.import_module("formats." + question["format"])
    match question["do"]:
        case "read":
            return module.read(question["place"], question["streams"])
        case "play":
            return module.play(question["places"], question["talk"])
        case "reasons":
            return module.reasons()
        case "complaints":
            return module.complaints(question["body"])


def main():
    for line in sys.stdin:
        try:
            said = {"is": answer(json.loads(line))}
        except Exception as error:
            said = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


main()
