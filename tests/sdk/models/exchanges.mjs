// The npm libraries: one exchange through each, as python_clients.py has them. Checked by tsc against the libraries'
// types, therefore the comments with types and nothing of Node.js.
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

/** @typedef {import('openai/resources/chat/completions').ChatCompletionTool} ChatTool */
/** @typedef {import('openai/resources/chat/completions').ChatCompletionMessageParam} ChatMessage */
/** @typedef {import('openai/resources/chat/completions').ChatCompletionToolMessageParam} ChatResult */
/** @typedef {import('openai/resources/responses/responses').FunctionTool} ResponsesTool */
/** @typedef {import('openai/resources/responses/responses').ResponseInputItem} Item */
/** @typedef {import('@anthropic-ai/sdk/resources/messages').Tool} AnthropicTool */
/** @typedef {import('@anthropic-ai/sdk/resources/messages').MessageParam} AnthropicMessage */
/** @typedef {import('@anthropic-ai/sdk/resources/messages').ToolResultBlockParam} AnthropicResult */
/** @typedef {import('ollama').Tool} OllamaTool */
/** @typedef {import('ollama').Message} OllamaMessage */
/**
 * @template Result
 * @typedef {(calls: unknown[]) => Promise<Result[]>} Run
 */

/** @type {{role: 'user', content: string}} */
const user = { role: 'user', content: 'What is in the file?' };
const patience = { maxRetries: 0, timeout: 20000 };

/** @type {(url: string, tools: ChatTool[], run: Run<ChatResult>) => Promise<string | null>} */
async function chat(url, tools, run) {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, ...patience });
  /** @type {ChatMessage[]} */
  const messages = [user];
  const first = await client.chat.completions.create({ model: 'm', messages, tools });
  const message = first.choices[0].message;
  messages.push(message, ...(await run(message.tool_calls ?? [])));
  const second = await client.chat.completions.create({ model: 'm', messages, tools });
  return second.choices[0].message.content;
}

/** @type {(url: string, tools: ResponsesTool[], run: Run<Item>) => Promise<string>} */
async function responses(url, tools, run) {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, ...patience });
  /** @type {Item[]} */
  const input = [user];
  const first = await client.responses.create({ model: 'm', input, tools });
  const calls = first.output.filter((item) => item.type === 'function_call');
  input.push(...calls, ...(await run(calls)));
  const second = await client.responses.create({ model: 'm', input, tools });
  return second.output_text;
}

/** @type {(url: string, tools: AnthropicTool[], run: Run<AnthropicResult>) => Promise<string>} */
async function anthropic(url, tools, run) {
  const client = new Anthropic({ apiKey: 'none', baseURL: url, ...patience });
  /** @type {AnthropicMessage[]} */
  const messages = [user];
  const first = await client.messages.create({ model: 'm', max_tokens: 9, messages, tools });
  const results = await run(first.content.filter((block) => block.type === 'tool_use'));
  messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: results });
  const second = await client.messages.create({ model: 'm', max_tokens: 9, messages, tools });
  const block = second.content[0];
  return block.type === 'text' ? block.text : '';
}

/** @type {(url: string, tools: OllamaTool[], run: Run<OllamaMessage>) => Promise<string>} */
async function ollama(url, tools, run) {
  const client = new Ollama({ host: url });
  /** @type {OllamaMessage[]} */
  const messages = [user];
  const first = await client.chat({ model: 'm', messages, tools });
  messages.push(first.message, ...(await run(first.message.tool_calls ?? [])));
  const second = await client.chat({ model: 'm', messages, tools });
  return second.message.content;
}

export const exchanges = { 'openai chat': chat, 'openai responses': responses, anthropic, ollama };
