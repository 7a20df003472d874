/**
 * What the contract of realtime models says of a model with a single fault. Each line of the tables is a model that is sound otherwise, and the
 * beginning of the sentence that its author reads.
 */
import { SetupRefused, VendorUnavailable } from "@colloquy/core/realtime"
import { noUsage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { checkRealtime, type RealtimeChecks } from "../src/contracts/RealtimeChecks.ts"
import { type OpenVendor, realtimeModelSuite } from "../src/contracts/RealtimeModelContract.ts"
import {
  again,
  type Change,
  connecting,
  each,
  later,
  linking,
  listening,
  preparing,
  settingUp,
  soundVoice,
  swallowing,
  telling,
  twice
} from "./SoundVoice.ts"

realtimeModelSuite("a sound model", soundVoice)

type Fault = readonly [what: string, change: Change, says: string]

/** Long enough for a busy machine; a model that does nothing is found after this time. */
const patience = 1000

/** Models with a fault that the check finds. */
const finds = (check: keyof RealtimeChecks, faults: ReadonlyArray<Fault>) =>
  describe.concurrent(`the check "${check}" tells of a model`, () => {
    for (const [what, change, says] of faults) {
      it.live(what, () =>
        Effect.gen(function* () {
          const open: OpenVendor = (plays) =>
            Effect.map(soundVoice(plays), (vendor) => ({ ...vendor, model: change(vendor.model) }))
          const exit = yield* Effect.exit(checkRealtime(open, check, patience))
          if (Exit.isSuccess(exit)) return assert.fail("It found nothing.")
          const error = Cause.squash(exit.cause)
          const sentence = error instanceof Error ? error.message : String(error)
          const begins = `The model ${says}`
          assert.strictEqual(sentence.slice(0, begins.length), begins)
          assert.match(sentence, /It must .+\.$/u)
        })
      )
    }
  })

finds("readiness", [
  ["that is ready twice", twice("Ready"), "told Ready twice"],
  ["that is ready again later", again("Ready"), "told Ready twice"],
  [
    "that is ready late",
    listening(({ event: tell }) => {
      const held: Array<() => void> = []
      return {
        event: (event) => {
          if (event._tag === "Ready") return void held.push(() => tell(event))
          tell(event)
          for (const put of held.splice(0)) put()
        }
      }
    }),
    "told ResponseStarted before Ready"
  ],
  ["that is never ready", each("Ready", () => {}), "told ResponseStarted before Ready"],
  [
    "that tells its events later than its audio",
    telling((event, tell) => later(() => tell(event), 20)),
    "told Audio before Ready"
  ],
  [
    "that tells its audio later than its events",
    listening(({ audio, event: tell }) => {
      const held: Array<() => void> = []
      return {
        audio: (itemId, base64) => void held.push(() => audio(itemId, base64)),
        event: (event) => {
          tell(event)
          if (event._tag === "ResponseDone") for (const put of held.splice(0)) put()
        }
      }
    }),
    "told Audio while no answer was open"
  ],
  ["that ends an answer twice", twice("ResponseDone"), 'ended the answer "r0" while none was open'],
  [
    "that ends another answer",
    each("ResponseDone", (event, tell) => tell({ ...event, responseId: "other" })),
    'ended the answer "other" while "r0" was open'
  ],
  ["that ends no answer", each("ResponseDone", () => {}), "told ResponseDone 0 times of 1, in all Ready, Resp"],
  ["that starts an answer twice", twice("ResponseStarted"), 'started an answer while the answer "r0" was open'],
  [
    "whose pieces are other words",
    each("TranscriptDelta", (event, tell) => tell({ ...event, text: "rubbish" })),
    'told the words "rubbishrubbish" in pieces and "It is ten." as a whole'
  ],
  [
    "that refuses the setup",
    (model) => ({
      ...model,
      prepare: () => Result.fail(new SetupRefused({ code: "model_mismatch", reason: "Not this one." }))
    }),
    "refused the setup {"
  ]
])

finds("answers", [
  [
    "that names another rate than that of its audio",
    preparing((prepared) => ({ ...prepared, outputFormat: { ...prepared.outputFormat, sampleRate: 16_000 } })),
    'has the `outputFormat` {"encoding":"pcm_s16le","sampleRate":16000,"channels":1}'
  ],
  [
    "whose usage is always 0",
    each("Used", (_, tell) => tell({ _tag: "Used", usage: noUsage })),
    "told 0 inputTokens where the vendor used 42"
  ],
  ["that tells usage twice", twice("Used"), "told 84 inputTokens where the vendor used 42"],
  ["that tells usage again later", again("Used"), "told 84 inputTokens where the vendor used 42"],
  ["that tells no usage", each("Used", () => {}), "told 0 inputTokens where the vendor used 42"],
  [
    "whose words belong to another item",
    each("TranscriptFinal", (event, tell) => tell({ ...event, itemId: "other" })),
    'told the words and the audio of one answer for the items ["i0","other"]'
  ],
  [
    "whose audio belongs to another item",
    listening(({ audio }) => ({ audio: (_, base64) => audio("other", base64) })),
    'told the words and the audio of one answer for the items ["i0","other"]'
  ],
  [
    "that loses audio",
    listening(() => ({ audio: () => {} })),
    "told 0 bytes of audio, which are not the 4800 bytes of the answer"
  ],
  ["that tells the words twice", twice("TranscriptFinal"), 'told the words ["It is ten.","It is ten."] of the answer'],
  [
    "with one id for all answers",
    telling((event, tell) => tell("responseId" in event ? { ...event, responseId: "r" } : event)),
    'gave the id "r" to two answers'
  ]
])

finds("calls", [
  ["that tells a call twice", twice("ToolCalled"), 'told the call "call_1" twice'],
  ["that tells a call again later", again("ToolCalled"), 'told the call "call_1" twice'],
  [
    "that loses arguments",
    each("ToolCalled", (event, tell) => tell({ ...event, call: { ...event.call, arguments: "{}" } })),
    "told the call"
  ]
])

finds("outputs", [
  [
    "that sends no outputs",
    swallowing("ToolOutputs"),
    'did not send the output of a tool ("Ten in UTC.") to the vendor'
  ],
  [
    "that refuses outputs",
    linking(() => ({ send: () => ({ code: "unsupported_frame", reason: "No." }) })),
    'refused the command {"_tag":"ToolOutputs"'
  ]
])

finds("setsUp", [
  ["that sends no instructions", settingUp({ instructions: null }), 'did not send the instructions ("Be brief.")'],
  ["that sends no tools", settingUp({ tools: [] }), 'did not send the name of a tool ("get_time")'],
  ["that sends no history", settingUp({ history: [] }), 'did not send a message of the history ("My name is Ada.")'],
  [
    "that turns the history round",
    (model) => ({ ...model, prepare: (setup) => model.prepare({ ...setup, history: setup.history.toReversed() }) }),
    "sent the history in another order"
  ],
  ["that sends no text", swallowing("Text"), 'did not send the text of the client ("What time is it?")'],
  ["that is never ready", each("Ready", () => {}), "told Ready 0 times of 1, in all nothing, within 1 seconds"]
])

finds("changes", [
  ["that sends no other setup", swallowing("Setup"), 'did not send the other instructions ("Be very polite.")'],
  [
    "that refuses without a reason",
    linking(() => ({ send: () => ({ code: "invalid_frame", reason: "" }) })),
    'refused the command {"_tag":"Setup"'
  ]
])

finds("sendsAudio", [
  [
    "that swaps audio",
    linking(({ sendAudio }) => {
      const pieces: Array<Uint8Array> = []
      return {
        sendAudio: (audio) => {
          pieces.unshift(audio)
          if (pieces.length === 2) for (const piece of pieces) sendAudio(piece)
        }
      }
    }),
    "sent the audio of the client in another order or form"
  ]
])

finds("tellsWhatIsSent", [
  [
    "that never says that audio was sent",
    linking(({ sendAudio }) => ({ sendAudio: (audio) => sendAudio(audio) })),
    "did not call `sent` for each piece of audio"
  ],
  [
    "that says it twice",
    linking(({ sendAudio }) => ({ sendAudio: (audio, sent) => (sendAudio(audio, sent), sent?.()) })),
    "called `sent` twice for a piece of audio"
  ],
  [
    "that does not know how many bytes wait",
    linking(() => ({ buffered: () => Number.NaN })),
    "said that NaN bytes wait to be sent, and not 0, within"
  ]
])

finds("commits", [
  ["that sends no commit", swallowing("Commit"), "took the command Commit, and sent nothing to the vendor"]
])

finds("cancels", [
  ["that sends no cancellation", swallowing("Cancel"), "took the command Cancel, and sent nothing to the vendor"],
  [
    "that takes what it cannot do",
    preparing((prepared) => ({ ...prepared, canCancel: false })),
    "took the command Cancel, and has `canCancel` false"
  ],
  [
    "that refuses what it can do",
    linking(() => ({ send: () => ({ code: "unsupported_frame", reason: "No." }) })),
    "refused the command Cancel, and has `canCancel` true"
  ]
])

finds("pauses", [
  ["that reads on", linking(() => ({ pause: () => {} })), "told a long answer to its end while it was paused"],
  ["that does not go on", linking(() => ({ resume: () => {} })), "told ResponseDone 0 times of 1"],
  [
    "that loses what comes meanwhile",
    listening(({ audio }) => ({ audio: (itemId, base64) => audio(itemId, base64.subarray(0, 400)) })),
    "told 300 bytes of audio, which are not the 1500000 bytes"
  ]
])

finds("closes", [
  ["that is closed twice", twice("Closed"), "told Closed after Closed"],
  ["that is closed again later", again("Closed"), "told Closed after Closed"],
  [
    "that tells something after the end",
    each("Closed", (event, tell) => {
      tell(event)
      later(() => tell({ _tag: "Failed", reason: "Late." }), 5)
    }),
    "told Failed after Closed"
  ],
  ["that does not tell the end", each("Closed", () => {}), "told Closed 0 times of 1"],
  ["without a reason", each("Closed", (event, tell) => tell({ ...event, reason: "" })), "told Closed without a reason"]
])

finds("endsWithScope", [
  [
    "that tells of its own end",
    connecting(
      (connect) => (listener) =>
        Effect.tap(connect(listener), () =>
          Effect.addFinalizer(() =>
            Effect.sync(() => later(() => listener.event({ _tag: "Closed", reason: "Left." }), 5))
          )
        )
    ),
    "told Closed after its scope had closed"
  ],
  [
    "that stays connected",
    connecting(
      (connect) => (listener) =>
        Effect.flatMap(Scope.make(), (scope) => Effect.provideService(connect(listener), Scope.Scope, scope))
    ),
    "did not close the connection when its scope closed within 1 seconds"
  ],
  [
    "that never ends",
    connecting((connect) => (listener) => Effect.tap(connect(listener), () => Effect.addFinalizer(() => Effect.never))),
    "did not end its work when its scope closed within 1 seconds"
  ],
  [
    "that cannot connect",
    connecting(() => () => Effect.fail(new VendorUnavailable({ code: "provider_error", reason: "No." }))),
    "could not connect (No.)"
  ],
  ["that never connects", connecting(() => () => Effect.never), "did not connect within 1 seconds"]
])

finds("endsInTheMiddle", [
  [
    "that tells all later",
    listening(({ audio, event: tell }) => ({
      event: (event) => later(() => tell(event), 20),
      audio: (itemId, base64) => later(() => audio(itemId, base64), 20)
    })),
    "told TranscriptDelta"
  ]
])

finds("refuses", [
  [
    "whose error has the key",
    connecting(
      (connect) => (listener) =>
        Effect.mapError(connect(listener), ({ code }) => new VendorUnavailable({ code, reason: "sk-of-the-host" }))
    ),
    "failed with an error that contains the key"
  ],
  [
    "that dies",
    connecting((connect) => (listener) => Effect.orDie(connect(listener))),
    "had a defect when the vendor refused it"
  ]
])

finds("asksWithKey", [
  ["that takes the host's key", settingUp({ apiKey: null }), "did not ask with the key of the customer alone"]
])
