/**
 * The names of OpenTelemetry's conventions for generative AI, in the first release of their own repository:
 * `open-telemetry/semantic-conventions-genai` v0.1.0. All of them are in development there, so they stand in this file alone. Names that begin with
 * `colloquy.` are ours, for what the conventions have no word for.
 */
export const genAi = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  errorType: "error.type",
  outputType: "gen_ai.output.type",
  requestModel: "gen_ai.request.model",
  maxTokens: "gen_ai.request.max_tokens",
  seed: "gen_ai.request.seed",
  stopSequences: "gen_ai.request.stop_sequences",
  stream: "gen_ai.request.stream",
  temperature: "gen_ai.request.temperature",
  topP: "gen_ai.request.top_p",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  inputTokens: "gen_ai.usage.input_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCallId: "gen_ai.tool.call.id",
  topK: "gen_ai.retrieval.top_k",
  // Content, where a host asks for it.
  system: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  query: "gen_ai.retrieval.query.text",
  documents: "gen_ai.retrieval.documents",
  // Metrics.
  duration: "gen_ai.client.operation.duration",
  firstChunk: "gen_ai.client.operation.time_to_first_chunk",
  tokenUsage: "gen_ai.client.token.usage",
  tokenType: "gen_ai.token.type",
  // Ours.
  run: "colloquy.run.id",
  assistant: "colloquy.assistant.id",
  hits: "colloquy.retrieval.hits",
  followUp: "colloquy.follow_up.kind",
  attempt: "colloquy.follow_up.attempt"
} as const
