/** The checks of a realtime model, for its contract. Each opens a vendor and one session. */
import type { ToolCall } from "@colloquy/core"
import { type SessionSetup, type VendorCommand, VendorUnavailable } from "@colloquy/core/realtime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import {
  connectTo,
  fault,
  listen,
  type OpenSession,
  type OpenVendor,
  shown,
  type Told,
  until,
  type VoicePlay,
  within
} from "./RealtimeListening.ts"

/** The checks of one model. */
export type RealtimeChecks = {
  readonly [Check in keyof ReturnType<typeof realtimeChecks>]: Effect.Effect<void, never, Scope.Scope>
}

const setup: SessionSetup = {
  model: "voice-1",
  instructions: "Be brief.",
  tools: [
    {
      name: "get_time",
      description: "Tells the time",
      parameters: { type: "object", properties: { zone: { type: "string" } } }
    }
  ],
  options: {},
  history: [],
  apiKey: null
}

const sound = (length: number, step = 31): Uint8Array => {
  const period = Uint8Array.from({ length: 251 }, (_, index) => (index * step) % 251)
  return new Uint8Array(Buffer.alloc(length, period))
}

const call: ToolCall = { id: "call_1", name: "get_time", arguments: '{"zone":"UTC"}' }

type Answer = Extract<VoicePlay, { readonly says: string }>

const answer: Answer = { says: "It is ten.", audio: sound(4800), usage: { inputTokens: 12, outputTokens: 7 } }
const second: Answer = { says: "And now eleven.", audio: sound(9600, 17), usage: { inputTokens: 30, outputTokens: 5 } }

/** Longer than what a socket reads ahead. A model that is not paused reads it while the event loop turns. */
const longAudio = 1_500_000
const aTurn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
/** Some time, and turns beside it: on a busy machine that time may be few turns. */
const manyTurns = Effect.andThen(Effect.sleep("100 millis"), Effect.repeat(aTurn, { times: 200 }))

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

/** What was told between the start and the end of each answer. */
const answersIn = (told: ReadonlyArray<Told>): ReadonlyArray<ReadonlyArray<Told>> => {
  const starts = told.flatMap(({ _tag }, index) => (_tag === "ResponseStarted" ? [index] : []))
  return starts.map((start) => {
    const length = told.slice(start).findIndex(({ _tag }) => _tag === "ResponseDone")
    return told.slice(start + 1, start + length)
  })
}

const expectAnswer = ({ audio, says }: Answer, told: ReadonlyArray<Told>): string => {
  const finals = told.flatMap((each) =>
    each._tag === "TranscriptFinal" && each.role === "assistant" ? [each.text] : []
  )
  if (finals.length !== 1 || finals[0] !== says)
    fault(`told the words ${shown(finals)} of the answer ${shown(says)}`, "tell the words of an answer once as a whole")
  const pieces = told.flatMap((each) => (each._tag === "Audio" ? [each.bytes] : []))
  const heard = Buffer.concat(pieces)
  if (!isSame(heard, audio))
    fault(
      `told ${heard.length} bytes of audio, which are not the ${audio.length} bytes of the answer`,
      "tell every byte of the answer in its order"
    )
  const items = new Set(
    told.flatMap((each) =>
      each._tag === "Audio" || each._tag === "TranscriptDelta" || each._tag === "TranscriptFinal" ? [each.itemId] : []
    )
  )
  if (items.size !== 1)
    fault(
      `told the words and the audio of one answer for the items ${shown([...items])}`,
      "tell both with the id of one item"
    )
  return [...items].join("")
}

const tokensIn = (told: ReadonlyArray<Told>, kind: "inputTokens" | "outputTokens"): number =>
  told.reduce((sum, each) => sum + (each._tag === "Used" ? each.usage[kind] : 0), 0)

export const realtimeChecks = (open: OpenVendor, patience: number) => {
  interface Opening {
    readonly plays?: ReadonlyArray<VoicePlay>
    readonly fields?: Partial<SessionSetup>
    readonly on?: Parameters<typeof listen>[1]["on"]
  }
  const begin = Effect.fnUntraced(function* ({ fields = {}, on, plays = [] }: Opening) {
    const vendor = yield* open(plays)
    return yield* listen(vendor, { patience, setup: { ...setup, ...fields }, ...(on === undefined ? {} : { on }) })
  })
  const beginReady = (opening: Opening = {}) => Effect.tap(begin(opening), ({ waitFor }) => waitFor("Ready"))

  /** Sends a command that may be refused. Returns whether it was accepted. */
  const offer = ({ link }: OpenSession, command: VendorCommand): boolean => {
    const refusal = link.send(command)
    if (refusal?.reason === "")
      fault(`refused the command ${shown(command)} without a reason`, "say in words why it takes no such command")
    return refusal === null
  }

  const receivesMore = ({ vendor }: OpenSession, before: number, command: VendorCommand) =>
    until(
      () => vendor.received().length > before,
      patience,
      () => `took the command ${command._tag}, and sent nothing to the vendor`,
      "send it to the vendor, or refuse it"
    )

  /** A session in which nothing is asked of the model. */
  const playing = (plays: ReadonlyArray<VoicePlay>, last: Told["_tag"]) =>
    Effect.flatMap(begin({ plays }), ({ finish, waitFor }) => Effect.andThen(waitFor(last), finish))

  const wholeAnswer = playing([answer], "ResponseDone")

  return {
    readiness: wholeAnswer,

    answers: Effect.gen(function* () {
      const session = yield* begin({ plays: [answer, second] })
      yield* session.waitFor("ResponseDone", 2)
      yield* session.finish
      const { channels, encoding, sampleRate } = session.outputFormat
      if (encoding !== "pcm_s16le" || sampleRate !== 24_000 || channels !== 1)
        fault(
          `has the \`outputFormat\` ${shown(session.outputFormat)}, and told audio of 24 kHz`,
          "name the format of what it tells: the vendor of this suite speaks PCM16, mono, 24 kHz"
        )
      const [first = [], next = []] = answersIn(session.told)
      const items = [expectAnswer(answer, first), expectAnswer(second, next)]
      if (items[0] === items[1])
        fault(`gave the id "${items[0]}" to items of two answers`, "give each item an id of its own")
      for (const kind of ["inputTokens", "outputTokens"] as const) {
        const used = answer.usage[kind] + second.usage[kind]
        const told = tokensIn(session.told, kind)
        if (told !== used)
          fault(`told ${told} ${kind} where the vendor used ${used}`, "tell the tokens of each answer once")
      }
    }),

    calls: Effect.gen(function* () {
      const session = yield* begin({ plays: [{ calls: call }] })
      yield* session.waitFor("ToolCalled")
      yield* session.finish
      const calls = session.told.flatMap((each) => (each._tag === "ToolCalled" ? [each.call] : []))
      const isIt = ({ arguments: args, id, name }: ToolCall) =>
        args === call.arguments && id === call.id && name === call.name
      if (calls.length > 1 || !calls.every(isIt))
        fault(`told the call ${shown(call)} as ${shown(calls)}`, "tell a call once and whole, as the vendor made it")
    }),

    outputs: Effect.gen(function* () {
      const session = yield* begin({ plays: [{ calls: call }] })
      yield* session.waitFor("ToolCalled")
      const from = session.vendor.received().length
      const output = "Ten in UTC."
      session.send({ _tag: "ToolOutputs", outputs: [{ toolCallId: call.id, name: call.name, output }] })
      yield* session.sees(output, "the output of a tool", from)
      yield* session.sees(call.id, "the id of the answered call", from)
      yield* session.finish
    }),

    setsUp: Effect.gen(function* () {
      const history = [
        { role: "user", text: "My name is Ada." },
        { role: "assistant", text: "Hello Ada." }
      ] as const
      const session = yield* beginReady({ fields: { history } })
      const text = "What time is it?"
      session.send({ _tag: "Text", text })
      yield* session.sees(text, "the text of the client")
      yield* session.sees("Be brief.", "the instructions")
      yield* session.sees("get_time", "the name of a tool")
      yield* session.sees("Tells the time", "the description of a tool")
      yield* session.sees("zone", "the parameters of a tool")
      for (const said of history) yield* session.sees(said.text, "a message of the history")
      const all = session.vendor.received().join("\n")
      const positions = [...history.map((said) => said.text), text].map((said) => all.indexOf(said))
      if (positions.some((position, index) => position < (positions[index - 1] ?? 0)))
        fault(
          "sent the history in another order",
          "send the messages of the history in their order, and before any text"
        )
      yield* session.finish
    }),

    changes: Effect.gen(function* () {
      const session = yield* beginReady()
      const tools = [{ name: "get_date", description: "Tells the date", parameters: null }]
      const instructions = "Be very polite."
      if (offer(session, { _tag: "Setup", instructions, tools })) {
        session.send({ _tag: "Text", text: "And which day?" })
        yield* session.sees(instructions, "the other instructions")
        yield* session.sees("get_date", "the other tool")
      }
      yield* session.finish
    }),

    sendsAudio: Effect.gen(function* () {
      const session = yield* beginReady()
      const whole = sound(3200)
      session.link.sendAudio(whole.slice(0, 1600))
      session.link.sendAudio(whole.slice(1600))
      session.link.send({ _tag: "Commit" })
      const heard = yield* within(
        session.vendor.heard(whole.length),
        patience,
        `did not send ${whole.length} bytes of audio`,
        "send the audio of the client whole"
      )
      if (!isSame(heard, whole))
        fault("sent the audio of the client in another order or form", "send it in the order of the calls")
      yield* session.finish
    }),

    tellsWhatIsSent: Effect.gen(function* () {
      const session = yield* beginReady()
      const sent = [0, 0]
      sent.forEach((_, piece) => {
        session.link.sendAudio(sound(1600), () => {
          sent[piece] = (sent[piece] ?? 0) + 1
        })
      })
      yield* until(
        () => sent.every((times) => times > 0),
        patience,
        () => "did not call `sent` for each piece of audio",
        "call it once when the piece was sent"
      )
      yield* until(
        () => session.link.buffered() === 0,
        patience,
        () => `said that ${String(session.link.buffered())} bytes wait to be sent, and not 0,`,
        "give the number of bytes that wait, which is 0 when all was sent"
      )
      yield* session.finish
      if (sent.some((times) => times > 1)) fault("called `sent` twice for a piece of audio", "call it once")
    }),

    commits: Effect.gen(function* () {
      const session = yield* beginReady()
      session.link.sendAudio(sound(3200))
      const before = session.vendor.received().length
      if (offer(session, { _tag: "Commit" })) yield* receivesMore(session, before, { _tag: "Commit" })
      yield* session.finish
    }),

    cancels: Effect.gen(function* () {
      let before = 0
      let refusal: ReturnType<OpenSession["link"]["send"]> | undefined
      const session = yield* begin({
        plays: [answer],
        on: (told, link, vendor) => {
          if (told._tag !== "Audio" || link === null || refusal !== undefined) return
          before = vendor.received().length
          refusal = null
          refusal = link.send({ _tag: "Cancel" })
        }
      })
      yield* session.waitFor("Audio")
      if (session.canCancel !== ((refusal ?? null) === null))
        fault(
          `${refusal === null ? "took" : "refused"} the command Cancel, and has \`canCancel\` ${session.canCancel}`,
          "take the command if it can cancel, and refuse it otherwise"
        )
      if (session.canCancel) yield* receivesMore(session, before, { _tag: "Cancel" })
      yield* session.finish
    }),

    pauses: Effect.gen(function* () {
      const long: Answer = { ...answer, audio: sound(longAudio) }
      const session = yield* begin({
        plays: [long],
        on: (told, link) => {
          if (told._tag === "Ready") link?.pause()
        }
      })
      // Ready was told while the model connected, so there was no link to pause.
      if (session.told.some(({ _tag }) => _tag === "Ready")) session.link.pause()
      yield* session.waitFor("Ready")
      yield* manyTurns
      if (session.told.some(({ _tag }) => _tag === "ResponseDone"))
        fault("told a long answer to its end while it was paused", "stop reading from the vendor when it is paused")
      session.link.resume()
      yield* session.waitFor("ResponseDone")
      yield* session.finish
      expectAnswer(long, answersIn(session.told)[0] ?? [])
    }),

    closes: playing([answer, { closes: "The session is over." }], "Closed"),

    endsWithScope: wholeAnswer,

    endsInTheMiddle: Effect.gen(function* () {
      const session = yield* begin({
        plays: [{ ...answer, audio: sound(longAudio) }],
        on: (told, _, __, close) => {
          if (told._tag === "ResponseStarted") close()
        }
      })
      yield* session.waitFor("ResponseStarted")
      yield* session.finish
    }),

    refuses: Effect.gen(function* () {
      const vendor = yield* open("refused")
      const { connected } = connectTo(vendor, setup, () => {})
      const exit = yield* Effect.exit(Effect.scoped(connected))
      if (Exit.isSuccess(exit)) return fault("connected to a vendor that refused it", "fail with `VendorUnavailable`")
      const found = Cause.findError(exit.cause)
      if (Result.isFailure(found) || !(found.success instanceof VendorUnavailable))
        return fault(
          `had a defect when the vendor refused it (${String(Cause.squash(exit.cause))})`,
          "fail with `VendorUnavailable`"
        )
      const { code, message, reason } = found.success
      if ([code, message, reason, String(found.success)].some((text) => text.includes("sk-of-the-host")))
        fault("failed with an error that contains the key", "leave the key out of its errors")
    }),

    asksWithKey: Effect.gen(function* () {
      const session = yield* begin({ fields: { apiKey: Redacted.make("sk-of-the-customer") } })
      const { key } = session.vendor
      if (key === undefined) return
      const used = yield* within(key, patience, "sent no key", "send the key of the customer")
      if (!used.includes("sk-of-the-customer") || used.includes("sk-of-the-host"))
        fault("did not ask with the key of the customer alone", "use the key of the customer if there is one")
    })
  }
}

/** Runs one check of a model, as the suite does. */
export const checkRealtime = (open: OpenVendor, check: keyof RealtimeChecks, patience: number) =>
  Effect.scoped(realtimeChecks(open, patience)[check])
