"""The wire formats as a caller sees them: how a call is written, and where an answer has what."""

from values import ABSENT, dump, parse


def given(**fields):
    """Only what is not absent."""
    return {key: value for key, value in fields.items() if value is not ABSENT}


def as_text(arguments):
    """OpenAI's arguments: JSON text inside a string."""
    return arguments if isinstance(arguments, str) or arguments is ABSENT else dump(arguments)


def as_value(arguments):
    """Arguments out of a call that was written either way."""
    if arguments in (None, ""):
        return {}
    return parse(arguments) if isinstance(arguments, str) else arguments


class Wire:
    """`text`: the dialect's answers are strings."""

    def __init__(self, text):
        self.text = text


class ToolCall(Wire):
    """`call` prints the answer alone: it is put into the envelope it would have had."""

    bare_id = "1"

    def bare(self, line):
        # A string is printed as it is, with a newline where it has none of its own.
        return dump({"id": self.bare_id, "result": line.decode() if self.text else parse(line.decode())}).encode()

    def request(self, ident, name, arguments):
        return {"id": ident, "tool_call": given(name=name, arguments=arguments)}

    def call(self, request):
        call = request["tool_call"]
        return (call, {}) if isinstance(call, str) else (call["name"], call.get("arguments") or {})

    def answer(self, ident, _name, inner, _ok):
        return {"id": ident, "result": inner}

    def unwrap(self, answer):
        return answer["result"]

    def rewrap(self, answer, inner):
        return {**answer, "result": inner}


class Enveloped(Wire):
    """The answer is a string inside a message of the API, also in what `call` prints, which knows no id."""

    bare_id = None

    def bare(self, line):
        return line

    def key(self, _answer):
        return "content"

    def unwrap(self, answer):
        text = answer[self.key(answer)]
        return text if self.text else parse(text)

    def rewrap(self, answer, inner):
        return {**answer, self.key(answer): inner if self.text else dump(inner)}

    def inside(self, inner):
        return inner if self.text else {"$json": inner}


class OpenAI(Enveloped):
    def key(self, answer):
        return "output" if answer.get("type") == "function_call_output" else "content"

    def request(self, ident, name, arguments):
        text = as_text({} if arguments is ABSENT else arguments)
        return {"id": ident, "type": "function", "function": {"name": name, "arguments": text}}

    def call(self, request):
        function = request if request.get("type") == "function_call" else request["function"]
        return function["name"], as_value(function.get("arguments"))

    def answer(self, ident, _name, inner, _ok):
        return {"role": "tool", "tool_call_id": ident, "content": self.inside(inner)}


class Responses(OpenAI):
    def request(self, ident, name, arguments):
        return given(type="function_call", call_id=ident, name=name, arguments=as_text(arguments))

    def answer(self, ident, _name, inner, _ok):
        return {"type": "function_call_output", "call_id": ident, "output": self.inside(inner)}


class Anthropic(Enveloped):
    def request(self, ident, name, arguments):
        return given(type="tool_use", id=ident, name=name, input=arguments)

    def call(self, request):
        return request["name"], as_value(request.get("input"))

    def answer(self, ident, _name, inner, ok):
        return {"type": "tool_result", "tool_use_id": ident, "content": self.inside(inner), "is_error": not ok}


class Ollama(Enveloped):
    """An id is newer than the format: whoever sends none gets none."""

    def request(self, ident, name, arguments):
        function = given(name=name, arguments=arguments)
        return given(id=ABSENT if ident is None else ident, function=function)

    def call(self, request):
        return request["function"]["name"], as_value(request["function"].get("arguments"))

    def answer(self, ident, name, inner, _ok):
        given_id = ABSENT if ident is None else ident
        return given(role="tool", tool_name=name, tool_call_id=given_id, content=self.inside(inner))


FORMATS = {
    "tool_call": ToolCall,
    "openai": OpenAI,
    "openai-responses": Responses,
    "anthropic": Anthropic,
    "ollama": Ollama,
}


def wire_of(case):
    return FORMATS[case.get("format", "tool_call")](case.get("dialect") == "runner")


def call_in(wire, line):
    """Tool and arguments of a request that is well-formed, else None."""
    try:
        return wire.call(parse(line) if isinstance(line, str) else line)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
