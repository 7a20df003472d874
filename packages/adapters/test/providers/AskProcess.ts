/**
 * Asks the server in the first argument once, in a process with an environment of its own, and writes what it heard: the text, the reason
 * of a failure, and how often `fetch` was called for it.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import { request } from "./Scenarios.ts"

let fetched = 0
const { fetch } = globalThis
globalThis.fetch = async (...asked) => {
  fetched++
  return fetch(...asked)
}

const { chat } = OpenAiCompatible.provider({ id: "local", baseUrl: `${process.argv[2]}/v1` })
if (chat === undefined) throw new Error("no driver")
const heard = await Effect.runPromise(Effect.result(Stream.runCollect(chat(request("local")))))
const text = Result.isSuccess(heard)
  ? heard.success.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")
  : null
console.log(JSON.stringify({ text, reason: Result.isFailure(heard) ? heard.failure.reason : null, fetched }))
