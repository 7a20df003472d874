/** A host's own part of turns, with a field of messages and of replies, an event and an endpoint over HTTP, all described. */
import { readSupplement, ThreadId, Threads, TurnParts } from "@colloquy/core"
import { messageFields, served, toWireError, type Wing, wingApi, WireErrors } from "@colloquy/http"
import * as Effect from "effect/Effect"
import { HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import * as Schema from "effect/Schema"

const Mood = Schema.Struct({ mood: Schema.Literals(["kind", "strict"]) })
const isMood = Schema.is(Mood)
export const moodPart = TurnParts.part<typeof Mood.Type>({
  name: "mood",
  plan: Mood,
  decide: ({ options }) => Effect.succeed(isMood(options) ? { plan: options, supplement: options } : null),
  recall: (plan, turn) => {
    turn.tell({ type: "mood_set", data: plan })
    const items = [{ text: plan.mood, rank: 0 }]
    return Effect.succeed([{ name: "mood", intro: "Answer in this mood:", items, place: "turn", weight: 1 }])
  }
})

const error = [WireErrors.NotFound, WireErrors.ServiceUnavailable]
const shape = { params: { thread_id: Schema.String }, success: Schema.Array(Schema.Json), error }
const api = wingApi(HttpApiGroup.make("moods").add(HttpApiEndpoint.get("read", "/threads/:thread_id/moods", shape)))
const handlers = HttpApiBuilder.group(api, "moods", (group) =>
  Effect.map(Threads, (threads) =>
    group.handle("read", ({ params }) =>
      Effect.mapBoth(threads.get(ThreadId.make(params.thread_id)), {
        onFailure: toWireError,
        onSuccess: ({ messages }) => messages.flatMap((message) => readSupplement(message, "mood")?.value ?? [])
      })
    )
  )
)
export const moodWing: Wing = {
  part: "mood",
  message: messageFields("A mood", Mood.fields),
  fields: ({ userMessage }) => ({ added: isMood(userMessage) ? { mood: userMessage.mood } : {} }),
  schemas: { fields: Mood.fields, events: { mood_set: Mood.fields } },
  endpoints: served(api, handlers)
}
