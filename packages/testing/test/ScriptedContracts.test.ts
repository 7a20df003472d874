// The scripted models keep the contracts that the drivers of vendors keep, so that a test of a conversation is a test of what vendors do.
import { assert } from "@effect/vitest"
import {
  callTool,
  cut,
  fail,
  finish,
  hang,
  gate,
  say,
  make,
  type ScriptStep,
  think,
  uses,
  ScriptedRealtime
} from "@colloquy/testing"
import {
  type ChatAnswer,
  chatDriverSuite,
  type ChatVendor,
  type OpenVendor,
  realtimeModelSuite,
  type Said,
  type VoicePlay
} from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"

const answerStep = (answer: ChatAnswer): ScriptStep => {
  if ("refusesWith" in answer) return fail(answer.refusesWith, { retryAfterMillis: 7000 })
  const { breaksAfter, says } = answer
  const beats = says.slice(0, breaksAfter).map((said) => saidBeats(said, says))
  return [...beats, cut]
}

const saidBeats = (said: Said, says: ReadonlyArray<Said>) => {
  if ("text" in said) return [say(said.text)]
  if ("reasoning" in said) return [think(said.reasoning)]
  if ("refusal" in said) return [say(said.refusal)]
  if ("error" in said) return [fail(said.error)]
  if ("arguments" in said) return []
  if ("finish" in said) return [...(said.usage === null ? [] : [uses(said.usage)]), finish(said.finish, "model-1-2026")]
  const { id, name, slot } = said.call
  const pieces = says.flatMap((each) =>
    "arguments" in each && each.arguments.slot === slot ? [each.arguments.text] : []
  )
  return [callTool(name, pieces.join(""), id)]
}

const scripted = Effect.map(make([]), (model): ChatVendor => ({
  driver: model.provider.chat ?? assert.fail("no chat"),
  model: "scripted-model",
  answers: (answer) => model.append(answerStep(answer)),
  hangs: (says) => {
    model.append([gate(), ...says.map((said) => saidBeats(said, says)), hang])
    Effect.runSync(model.release())
    return {
      asked: model.reached(),
      // A script has no connection; it counts interruptions, and a reader that stops is none.
      left: Effect.sync(() => assert.strictEqual(model.interrupted(), says.length === 0 ? 1 : 0))
    }
  },
  requests: () => model.requests.length,
  seen: () => model.requests
}))

chatDriverSuite("a script", scripted, {
  cannot: { "text without the reasoning that the request excludes": "a script says what it says, whatever is asked" }
})

const speaking: OpenVendor = (plays) => {
  const beats =
    plays === "refused"
      ? [ScriptedRealtime.refuse("Not now.")]
      : [...plays.map(voiceBeat), ...(isClosed(plays) ? [] : [ScriptedRealtime.hang])]
  return Effect.map(ScriptedRealtime.make([beats]), ({ commands, heard, model, setups }) => ({
    model,
    left: Effect.void,
    heard: () => Effect.sync(heard),
    received: () => [...setups, ...commands].map((each) => JSON.stringify(each))
  }))
}

const voiceBeat = (play: VoicePlay) => {
  if ("says" in play) return ScriptedRealtime.say(play.says, { audio: play.audio, usage: play.usage })
  if ("closes" in play) return ScriptedRealtime.close(play.closes)
  const { arguments: args, id, name } = play.calls
  return ScriptedRealtime.callTool(name, JSON.parse(args), id)
}

const isClosed = (plays: ReadonlyArray<VoicePlay>) => plays.some((play) => "closes" in play)

realtimeModelSuite("a script", speaking, {
  cannot: { pauses: "a script plays on, and notes that it was paused" }
})
