// What the generated file checks.ts is held against: every list and every result as the library's own type.
import type { Tool, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { Message as OllamaMessage, Tool as OllamaTool } from 'ollama';
import type { ChatCompletionTool, ChatCompletionToolMessageParam } from 'openai/resources/chat/completions';
import type { FunctionTool, ResponseInputItem } from 'openai/resources/responses/responses';

export interface Tools {
  'openai chat': ChatCompletionTool;
  'openai responses': FunctionTool;
  anthropic: Tool;
  ollama: OllamaTool;
}

export interface Results {
  'openai chat': ChatCompletionToolMessageParam;
  'openai responses': ResponseInputItem.FunctionCallOutput;
  anthropic: ToolResultBlockParam;
  ollama: OllamaMessage;
}
