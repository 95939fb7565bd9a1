"""The Python libraries: one exchange through each, and the types they have for tools and results.

An exchange asks with the tools, has the calls run (`run` gets them as the library's own objects dump themselves),
appends the results as they are and asks again. It returns the text of the second answer.
"""

import anthropic
import ollama
import openai
from anthropic.types import ToolParam, ToolResultBlockParam
from openai.types.chat import ChatCompletionToolMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

USER = {"role": "user", "content": "What is in the file?"}
PATIENCE = 20


def dumps(calls):
    return [call.model_dump(mode="json") for call in calls]


def chat(url, tools, run):
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, timeout=PATIENCE)
    messages = [USER]
    message = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    messages += [message, *run(dumps(message.tool_calls))]
    return client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message.content


def responses(url, tools, run):
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, timeout=PATIENCE)
    items = [USER]
    output = client.responses.create(model="m", input=items, tools=tools).output
    items += [*output, *run(dumps(item for item in output if item.type == "function_call"))]
    return client.responses.create(model="m", input=items, tools=tools).output_text


def messages_api(url, tools, run):
    client = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0, timeout=PATIENCE)
    messages = [USER]
    content = client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools).content
    results = run(dumps(block for block in content if block.type == "tool_use"))
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    return client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools).content[0].text


def ollama_chat(url, tools, run):
    client = ollama.Client(host=url, timeout=PATIENCE)
    messages = [USER]
    message = client.chat(model="m", messages=messages, tools=tools).message
    messages += [message, *run(dumps(message.tool_calls))]
    return client.chat(model="m", messages=messages, tools=tools).message.content


EXCHANGES = {"openai chat": chat, "openai responses": responses, "anthropic": messages_api, "ollama": ollama_chat}

TOOL_TYPES = {
    "openai chat": TypeAdapter(ChatCompletionToolParam),
    "openai responses": TypeAdapter(FunctionToolParam),
    "anthropic": TypeAdapter(ToolParam),
    "ollama": TypeAdapter(ollama.Tool),
}

RESULT_TYPES = {
    "openai chat": TypeAdapter(ChatCompletionToolMessageParam),
    "openai responses": TypeAdapter(FunctionCallOutput),
    "anthropic": TypeAdapter(ToolResultBlockParam),
    "ollama": TypeAdapter(ollama.Message),
}

VERSIONS = f"openai {openai.__version__}, anthropic {anthropic.__version__}"
