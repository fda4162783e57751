"""What an SDK made of an answer, in the words that the host's side compares."""

KEY = "peers-key"


def made(*, text, thought, calls, stop, usage, sealed=()):
    return {
        "text": text or "",
        "thought": thought or "",
        "sealed": [seal for seal in sealed if seal],
        "calls": [{"id": id or "", "name": name, "args": args} for id, name, args in calls],
        "stop": stop,
        "usage": usage,
    }


def usage(input, output, cached=0, kept=0, reasoning=0):
    return {
        "input_tokens": input or 0,
        "output_tokens": output or 0,
        "cached_tokens": cached or 0,
        "kept_tokens": kept or 0,
        "reasoning_tokens": reasoning or 0,
    }
