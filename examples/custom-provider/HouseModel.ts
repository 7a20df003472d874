// A provider written by hand: a company's own server accepts the conversation as JSON and streams its answer as plain text.
import { type Provider } from "@colloquy/core"
import { type ChatEvent, ModelError, type ModelErrorReason } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const say = (text: string): ChatEvent => ({ _tag: "TextDelta", text })
const end: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

export const houseModel = (url: string): Provider => ({
  id: "house",
  chat: ({ provider, model, system, messages }) => {
    const fail = (reason: ModelErrorReason) => new ModelError({ reason, provider, model })
    const open = Effect.tryPromise({
      try: (signal) => fetch(url, { method: "POST", body: JSON.stringify({ system, messages }), signal }),
      catch: () => fail("connection")
    })
    const read = ({ ok, body }: Response) =>
      ok && body !== null
        ? Stream.fromReadableStream({ evaluate: () => body, onError: () => fail("cut_off") })
        : Stream.fail(fail("overloaded"))
    const texts = Stream.unwrap(Effect.map(open, read)).pipe(Stream.decodeText)
    return Stream.concat(Stream.map(texts, say), Stream.make(end))
  }
})
