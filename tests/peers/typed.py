"""What the types of an SDK have against a value: what does not fit, and what they do not know."""

from pydantic import ConfigDict, TypeAdapter, ValidationError

# Of a choice between types, each one complains; more than these say nothing new.
SHOWN = 12


def complaints(kind, value):
    # Dictionaries of an SDK take any key unless told otherwise, which only what is around them can. Classes say for themselves.
    # It has to live as long as what it returns: `Iterable` is lazy.
    adapter = TypeAdapter(list[kind], config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))
    try:
        exhaust(adapter.validate_python([value]))
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()][:SHOWN]
    return []


def exhaust(value):
    """Looks at all that is in it."""
    if isinstance(value, dict):
        for one in value.values():
            exhaust(one)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for one in value:
            exhaust(one)
