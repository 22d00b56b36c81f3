"""How values stand in JSON: bytes in hexadecimal."""

from dataclasses import fields, is_dataclass

TEXTS = {"kind", "name", "refusal", "label", "parts", "account", "container", "environment", "owner", "zone", "root",
         "record", "type", "field", "valueType", "parent", "text", "guest", "participant", "user",
         "fragment"}


def plain(value):
    """A value as it stands in JSON: what has an encoding so encoded, other classes by their fields."""
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "encoded"):
        return value.encoded().hex()
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def given(value, key=None):
    """The inputs of a vector: what is no text is bytes."""
    if isinstance(value, dict):
        return {key: given(each, key) for key, each in value.items() if key != "result"}
    if key in TEXTS or not isinstance(value, (str, list)):
        return value
    return [given(each) for each in value] if isinstance(value, list) else bytes.fromhex(value)
