import type { BaseMessage } from "@langchain/core/messages"
import { AIMessageChunk } from "@langchain/core/messages"
import { SimpleChatModel } from "@langchain/core/language_models/chat_models"
import { ChatGenerationChunk } from "@langchain/core/outputs"

class Gateway extends SimpleChatModel {
  override _llmType() {
    return "house"
  }
  override async _call(messages: Array<BaseMessage>, options: this["ParsedCallOptions"]) {
    let text = ""
    for await (const piece of this._streamResponseChunks(messages, options)) text += piece.text
    return text
  }
  override async *_streamResponseChunks(messages: Array<BaseMessage>, { signal }: this["ParsedCallOptions"]) {
    const response = await fetch(process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8080", {
      method: "POST",
      body: JSON.stringify({ messages: messages.map(({ text, type }) => ({ type, text })) }),
      signal: signal ?? null
    })
    if (!response.ok || response.body === null) {
      throw Object.assign(new Error("The gateway refused"), { status: response.status })
    }
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) })
    }
  }
}
try {
  for await (const chunk of await new Gateway({}).stream("Hello")) process.stdout.write(chunk.text)
} catch (error) {
  process.stdout.write(String(error))
}
