"""Lines of `sandgate stdio`: how calls are written and answers are read."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union, cast

from .errors import ToolError

Id = Union[str, int]
PathArgument = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
"""A path as Python has it. One that is not UTF-8 is sent as base64."""

OnOutput = Callable[[str, str], None]
"""Takes what a command prints, as it comes: `stdout` or `stderr`, and the text."""

# A cancel line must be shorter than 4,096 bytes, and each byte of an id may be written as six.
ID_BYTES = 256


def encode(value: Any) -> bytes:
    """One line. Refuses what has no meaning in JSON or UTF-8."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("the request is nested too deeply, or contains itself") from None
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the request holds a lone surrogate, U+{ord(text[error.start]):04X}: it cannot be written as UTF-8"
        ) from None


def mend(value: Any) -> Any:
    """The same value with every lone surrogate replaced by U+FFFD. What a model wrote should not stop its host."""
    whole: Any = value  # a second name, of which isinstance() tells nothing
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {mend(key): mend(item) for key, item in whole.items()}
    if isinstance(value, (list, tuple)):
        return [mend(item) for item in whole]
    return whole


def encode_mended(value: Any) -> bytes:
    try:
        return encode(value)
    except ValueError:
        try:
            return encode(mend(value))
        except RecursionError:
            raise ValueError("the request is nested too deeply, or contains itself") from None


def plain_call(call: Any) -> Dict[str, Any]:
    """A copy of a tool call, given as a dict or as a pydantic object of an SDK."""
    if hasattr(call, "model_dump"):
        call = call.model_dump(mode="json", exclude_none=True)
    if not isinstance(call, Mapping):
        raise TypeError(f"a tool call is a dict or has model_dump(), not {type(call).__name__}")
    return dict(cast(Mapping[str, Any], call))


def id_key(call: Mapping[str, Any]) -> str:
    # An item of the Responses API has an id of its own beside the call's.
    return "call_id" if call.get("type") == "function_call" else "id"


def usable_id(value: Any) -> Optional[Id]:
    """The id, if it can be sent and cancelled as it is."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else None
    if isinstance(value, str) and 0 < len(value.encode("utf-8", "surrogatepass")) <= ID_BYTES and value == mend(value):
        return value
    return None


def answer_id(answer: Mapping[str, Any]) -> Tuple[str, Any]:
    """Where an answer says whose it is, and what it says."""
    for key in ("id", "tool_call_id", "call_id", "tool_use_id"):
        if key in answer:
            return key, answer[key]
    return "", None


def printed(event: Mapping[str, Any]) -> Optional[Tuple[str, str]]:
    """Stream and text of an event that is about output."""
    stream, text, skipped = event.get("stream"), event.get("data"), event.get("skipped", 0)
    if event["event"] != "output" or not isinstance(stream, str) or not isinstance(text, str):
        return None
    # As the answer has it where something is left out.
    return stream, f"\n[... {skipped} bytes left out ...]\n{text}" if skipped else text


def path_argument(name: str, path: Optional[PathArgument]) -> Dict[str, str]:
    """The path under `name`, or its bytes under `name_b64` when they are not UTF-8."""
    if path is None:
        return {}
    raw = os.fsencode(path)
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {name + "_b64": base64.b64encode(raw).decode()}


def outcome(result: Any) -> Any:
    """What a successful call returned. Raises ToolError for a failed one, in any dialect's words."""
    if isinstance(result, str) and result.startswith("Error: "):
        raise ToolError("ERROR", result[len("Error: ") :])
    if not isinstance(result, dict):
        return result
    answer = cast(Dict[str, Any], result)
    if answer.get("ok", answer.get("success")) is False:
        error: Any = answer.get("error")
        raise tool_error(cast(Dict[str, Any], error) if isinstance(error, dict) else {"message": str(error)})
    for key in ("result", "output"):
        if isinstance(answer.get(key), dict):
            return answer[key]
    return answer


def tool_error(error: Dict[str, Any]) -> ToolError:
    return ToolError(
        str(error.get("code", "ERROR")),
        str(error.get("message", "")),
        error.get("details"),
        bool(error.get("retryable", False)),
        error.get("retry_after_ms"),
    )
