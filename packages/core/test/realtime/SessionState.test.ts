// The pure parts of a voice session by property: whatever comes in whatever order, the state keeps its promises.
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  close,
  emptyConversation,
  hear,
  heardPart,
  markStored,
  ready,
  entryText
} from "../../src/realtime/Conversation.ts"
import { noUsage } from "../../src/primitives/Usage.ts"
import type { SessionSettings } from "../../src/realtime/Frames.ts"
import type { VendorEvent } from "../../src/realtime/RealtimeModel.ts"
import { defaultSessionLimits } from "../../src/realtime/SessionLimits.ts"
import { countAudio, decide, nextDue, takesAudio } from "../../src/realtime/SessionState.ts"
import { openingState } from "../../src/realtime/SessionSteps.ts"
import type { Action, Input, SessionState } from "../../src/realtime/SessionSteps.ts"
import {
  answerCalls,
  cancelCalls,
  completeCall,
  emptyLedger,
  openCall,
  openCalls,
  type ToolCallLedger
} from "../../src/realtime/ToolCallLedger.ts"

const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const
const terms = {
  limits: Object.assign({}, defaultSessionLimits, { inputBytes: 2000 }),
  hosted: new Set(["hosted"]),
  canCancel: true,
  settings: { systemPrompt: "Be brief." },
  setupWith: ({ systemPrompt = null, tools = null }: SessionSettings) =>
    systemPrompt === "x"
      ? Result.fail("Not this.")
      : Result.succeed({ instructions: systemPrompt, tools: tools ?? [] }),
  begin: {
    sessionId: "s",
    threadId: "t",
    assistantId: "a",
    inputFormat: format,
    outputFormat: format,
    provider: "p",
    model: "m"
  }
}

/** Everything that may happen, chosen by two small numbers. */
const chosenInput = (kind: number, pick: number): Input => {
  const id = `id${pick}`
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })
  const inputs: ReadonlyArray<Input> = [
    { _tag: "Frame", frame: { _tag: "Text", text: "x" }, bytes: 10 },
    { _tag: "Frame", frame: { _tag: "Commit" }, bytes: 10 },
    { _tag: "Frame", frame: { _tag: "Cancel" }, bytes: 10 },
    {
      _tag: "Frame",
      frame: {
        _tag: "ToolOutputs",
        outputs: [{ toolCallId: id, name: pick % 2 === 0 ? "client" : "hosted", output: 1 }]
      },
      bytes: 10
    },
    { _tag: "Frame", frame: { _tag: "Stop" }, bytes: 10 },
    { _tag: "Audio", bytes: 100 },
    { _tag: "Malformed", code: "invalid_frame", message: "?", bytes: 5 },
    { _tag: "ClientGone" },
    vendor({ _tag: "Ready" }),
    vendor({ _tag: "UserItem", itemId: id, before: null, transcribed: true }),
    vendor({ _tag: "TranscriptFinal", role: "user", itemId: id, text: "said" }),
    vendor({ _tag: "TranscriptDelta", role: "assistant", itemId: id, text: "answered" }),
    vendor({ _tag: "ToolCalled", call: { id, name: pick % 2 === 0 ? "client" : "hosted", arguments: "{}" } }),
    vendor({ _tag: "ToolsCancelled", toolCallIds: [id] }),
    vendor({ _tag: "ResponseStarted", responseId: id }),
    vendor({ _tag: "ResponseDone", responseId: id }),
    vendor({ _tag: "Interrupted", cut: null }),
    vendor({ _tag: "Used", usage: { ...noUsage, inputTokens: 1 } }),
    vendor({ _tag: "Closed", reason: "gone" }),
    { _tag: "HostedDone", toolCallId: id, output: "done" },
    { _tag: "Tick" },
    { _tag: "Ended", ending: { error: null, close: "shutdown" }, atOnce: pick === 0 }
  ]
  const input = inputs[kind % inputs.length]
  if (input === undefined) throw new Error("There is an input for every number.")
  return input
}

const Steps = Schema.Array(
  Schema.Struct({
    kind: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    pick: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 90_000 }))
  })
)

interface Seen {
  readonly input: Input
  readonly before: SessionState
  readonly after: SessionState
  readonly actions: ReadonlyArray<Action>
}

const play = (steps: typeof Steps.Type): ReadonlyArray<Seen> => {
  let state = openingState(terms, 0)
  let now = 0
  return [{ kind: 8, pick: 0, wait: 0 }, ...steps].map(({ kind, pick, wait }) => {
    now += wait
    const input = chosenInput(kind, pick)
    const before = state
    const decided = decide(state, input, now)
    state = decided.state
    return { input, before, after: state, actions: decided.actions }
  })
}

const order = ["opening", "live", "stopping", "ended"]

describe("SessionState", () => {
  it.prop("goes from opening to ended and never back, and ends once", { steps: Steps }, ({ steps }) => {
    const seen = play(steps)
    for (const { after, before } of seen) {
      assert.isAtLeast(order.indexOf(after.phase), order.indexOf(before.phase))
    }
    const ends = seen.flatMap(({ actions }) => actions.filter(({ _tag }) => _tag === "End"))
    assert.isAtMost(ends.length, 1)
    assert.strictEqual(ends.length === 1, seen.at(-1)?.after.phase === "ended")
  })

  it.prop("says nothing and sends nothing once it has ended", { steps: Steps }, ({ steps }) => {
    for (const { actions, before } of play(steps)) {
      if (before.phase === "ended") assert.deepStrictEqual(actions, [])
    }
  })

  it.prop("sends the vendor nothing of the client before it is live or after stop", { steps: Steps }, ({ steps }) => {
    for (const { actions, before } of play(steps)) {
      if (before.phase === "live") continue
      assert.isFalse(actions.some(({ _tag }) => _tag === "Send" || _tag === "PassAudio"))
    }
  })

  it.prop("begins exactly once, before anything else goes up", { steps: Steps }, ({ steps }) => {
    const told = play(steps).flatMap(({ actions }) => actions)
    const begins = told.filter((action) => action._tag === "Tell" && action.event._tag === "SessionBegin")
    assert.lengthOf(begins, 1)
  })

  it.prop("never passes more than the limit of input", { steps: Steps }, ({ steps }) => {
    let passed = 0
    for (const { actions, input } of play(steps)) {
      if (actions.some(({ _tag }) => _tag === "PassAudio") && input._tag === "Audio") passed += input.bytes
    }
    assert.isAtMost(passed, terms.limits.inputBytes)
  })

  it.prop("counts audio that it takes as a decision about it would", { steps: Steps }, ({ steps }) => {
    for (const { before } of play(steps)) {
      for (const bytes of [0, 1, 500, 2000, 2001]) {
        const decided = decide(before, { _tag: "Audio", bytes }, 77)
        const passes = decided.actions.some(({ _tag }) => _tag === "PassAudio")
        assert.strictEqual(takesAudio(before, bytes), passes)
        if (passes) assert.deepStrictEqual(countAudio(before, bytes, 77), decided.state)
      }
    }
  })

  it.prop("gives every hosted call one result at most, and the client's none", { steps: Steps }, ({ steps }) => {
    const completed = play(steps).flatMap(({ actions }) =>
      actions.flatMap((action) =>
        action._tag === "Tell" && action.event._tag === "ToolCompleted" ? [action.event.toolCallId] : []
      )
    )
    assert.deepStrictEqual([...new Set(completed)], completed)
    for (const id of completed) assert.include(["id1", "id3"], id)
  })

  it.prop("ends by time alone, wherever it stands", { steps: Steps }, ({ steps }) => {
    let state = play(steps).at(-1)?.after ?? openingState(terms, 0)
    for (let round = 0; round < 20 && state.phase !== "ended"; round++) {
      const due = nextDue(state)
      assert.isBelow(due, Number.POSITIVE_INFINITY)
      state = decide(state, { _tag: "Tick" }, due).state
    }
    assert.strictEqual(state.phase, "ended")
    assert.strictEqual(nextDue(state), Number.POSITIVE_INFINITY)
  })
})

describe("before session.begin", () => {
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })

  it("provider setup or history events may arrive, and are told", () => {
    const event: VendorEvent = { _tag: "Native", json: '{"type":"session.created"}' }
    const { actions } = decide(openingState(terms, 0), vendor(event), 0)
    assert.deepStrictEqual(actions, [{ _tag: "Tell", event: { _tag: "ProviderEvent", json: event.json } }])
  })

  it("invalid provider settings: the provider's error is reported, and the session does not begin", () => {
    const { actions, state } = decide(openingState(terms, 0), vendor({ _tag: "Failed", reason: "No such voice" }), 0)
    assert.strictEqual(state.phase, "ended")
    const error = { code: "provider_error", message: "No such voice" } as const
    assert.deepStrictEqual(actions.at(-1), { _tag: "End", ending: { error, close: "fault" } })
  })
})

describe("a change of the client's settings", () => {
  const live = decide(openingState(terms, 0), { _tag: "Vendor", event: { _tag: "Ready" } }, 0).state
  const change = (settings: SessionSettings): Input => ({
    _tag: "Frame",
    frame: { _tag: "Change", settings },
    bytes: 1
  })

  it("goes to the vendor with what the client has set before, and holds when the vendor has taken it", () => {
    const { actions, state } = decide(live, change({ tools: [] }), 0)
    const settings = { systemPrompt: "Be brief.", tools: [] }
    assert.deepStrictEqual(actions, [{ _tag: "Change", setup: { instructions: "Be brief.", tools: [] }, settings }])
    assert.deepStrictEqual(state.settings, terms.settings)
    const changed = decide(state, { _tag: "Changed", settings }, 0)
    assert.deepStrictEqual(changed.actions, [{ _tag: "KeepSettings", settings }])
    assert.deepStrictEqual(changed.state.settings, settings)
    const kept = decide(changed.state, { _tag: "ChangeKept" }, 0)
    assert.deepStrictEqual(kept.actions, [{ _tag: "Tell", event: { _tag: "SessionChanged" } }])
  })

  it("is refused by the rules of the first frame, and before the session has begun", () => {
    const refused = decide(live, change({ systemPrompt: "x" }), 0)
    const error = { _tag: "Error", code: "invalid_frame", message: "Not this." } as const
    assert.deepStrictEqual(refused.actions, [{ _tag: "Tell", event: error }])
    const early = decide(openingState(terms, 0), change({ tools: [] }), 0)
    assert.deepInclude(early.actions[0], { _tag: "Tell" })
  })
})

describe("the usage of an answer", () => {
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })
  const used = (fields: object, isHearing = false): Input =>
    vendor({ _tag: "Used", usage: { ...noUsage, ...fields }, isHearing })
  const told = (inputs: ReadonlyArray<Input>) => {
    let state = openingState(terms, 0)
    return [vendor({ _tag: "Ready" }), ...inputs].flatMap((input) => {
      const decided = decide(state, input, 0)
      state = decided.state
      return decided.actions.flatMap((action) =>
        action._tag === "Tell" && action.event._tag === "ResponseDone" ? [action.event.usage] : []
      )
    })
  }
  const begun = vendor({ _tag: "ResponseStarted", responseId: "r" })
  const done = vendor({ _tag: "ResponseDone", responseId: "r" })

  it("is told with its end, without that of a transcript or of the answer before", () => {
    const answer = [begun, used({ inputTokens: 5 }, true), used({ inputTokens: 10 }), used({ outputTokens: 3 }), done]
    assert.deepStrictEqual(told([...answer, begun, done]), [
      { ...noUsage, inputTokens: 10, outputTokens: 3 },
      undefined
    ])
  })

  it("is not told where nobody has counted", () => {
    assert.deepStrictEqual(told([begun, used({ estimated: true }), done]), [undefined])
  })
})

describe("the end of an answer that was broken off", () => {
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })
  const decideAll = (inputs: ReadonlyArray<Input>) => {
    let state = openingState(terms, 0)
    const actions = inputs.flatMap((input) => {
      const decided = decide(state, input, 0)
      state = decided.state
      return decided.actions
    })
    return { state, actions }
  }
  const answering = [
    vendor({ _tag: "Ready" }),
    vendor({ _tag: "ResponseStarted", responseId: "r" }),
    vendor({ _tag: "TranscriptDelta", role: "assistant", itemId: "i", text: "one two three four" })
  ]

  it("words that were not heard are not told, and not kept, whenever the vendor brings them", () => {
    const cut = { itemId: "i", heardMillis: 500, generatedMillis: 1000 }
    const { actions, state } = decideAll([
      ...answering,
      vendor({ _tag: "Interrupted", cut }),
      vendor({ _tag: "TranscriptDelta", role: "assistant", itemId: "i", text: " five" }),
      vendor({ _tag: "TranscriptFinal", role: "assistant", itemId: "i", text: "one two three four five" }),
      vendor({ _tag: "ResponseDone", responseId: "r" })
    ])
    const told = actions.flatMap((action) =>
      action._tag === "Tell" && action.event._tag === "TranscriptFinal" ? [action.event.text] : []
    )
    assert.deepStrictEqual(told, ["one two"])
    assert.deepStrictEqual(ready(state.conversation).map(entryText), ["one two"])
  })

  it("an answer whose end nobody has heard is charged as unknown", () => {
    const gone: Input = { _tag: "ClientGone" }
    const broken = decideAll([
      ...answering,
      gone,
      { _tag: "Ended", ending: { error: null, close: "ended" }, atOnce: true }
    ])
    assert.isTrue(broken.state.usage.estimated)
    assert.isTrue(broken.actions.some((action) => action._tag === "Charge" && action.usage.estimated))
    const whole = decideAll([...answering, vendor({ _tag: "ResponseDone", responseId: "r" }), gone])
    assert.isFalse(whole.state.usage.estimated)
  })
})

describe("words of the user", () => {
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })
  const live = decide(openingState(terms, 0), vendor({ _tag: "Ready" }), 0).state

  it("of a turn that is still being spoken are not late, and are so in their time after its end", () => {
    const item = { _tag: "UserItem", itemId: "u", before: null, transcribed: true, isOpen: true } as const
    const open = decide(live, vendor(item), 1000).state
    assert.isAbove(nextDue(open), 100_000)
    const ended = decide(open, vendor({ _tag: "SpeechEnded", itemId: "u" }), 50_000).state
    assert.strictEqual(nextDue(ended), 60_000)
  })

  it("of a turn in which nothing was said are taken back, and of one without words nothing is told", () => {
    const item = { _tag: "UserItem", itemId: "u", before: null, transcribed: true, isOpen: true } as const
    const open = decide(live, vendor(item), 0).state
    const nothing = vendor({ _tag: "NothingSaid", itemId: "u" })
    assert.deepStrictEqual(decide(open, nothing, 0).actions, [])
    const delta = { _tag: "TranscriptDelta", role: "user", itemId: "u", text: "Hm" } as const
    assert.deepStrictEqual(decide(decide(open, vendor(delta), 0).state, nothing, 0).actions, [
      { _tag: "Tell", event: { _tag: "TranscriptFinal", role: "user", itemId: "u", text: "" } }
    ])
  })
})

describe("a client that is gone", () => {
  const vendor = (event: VendorEvent): Input => ({ _tag: "Vendor", event })
  const live = decide(openingState(terms, 0), vendor({ _tag: "Ready" }), 0).state

  it("is waited for no longer than its transcripts and the usage of its answer", () => {
    const asked = decide(live, vendor({ _tag: "UserItem", itemId: "u", before: null, transcribed: true }), 0).state
    const gone = decide(asked, { _tag: "ClientGone" }, 100)
    assert.strictEqual(gone.state.phase, "stopping")
    assert.deepInclude(gone.actions, { _tag: "FinishVendor" })
    const said = vendor({ _tag: "TranscriptFinal", role: "user", itemId: "u", text: "Two and two?" })
    const over = decide(gone.state, said, 200)
    assert.strictEqual(over.state.phase, "ended")
    assert.deepStrictEqual(ready(over.state.conversation).map(entryText), ["Two and two?"])
    assert.strictEqual(decide(live, { _tag: "ClientGone" }, 100).state.phase, "ended")
  })
})

const Moves = Schema.Array(
  Schema.Struct({
    move: Schema.Literals(["open", "hosted", "answer", "complete", "cancel"]),
    id: Schema.Literals(["a", "b", "c"])
  })
)

const step = (ledger: ToolCallLedger, { id, move }: (typeof Moves.Type)[number]): ToolCallLedger => {
  switch (move) {
    case "open":
      return openCall(ledger, { id, name: "look", arguments: "{}" }, false)
    case "hosted":
      return openCall(ledger, { id, name: "look", arguments: "{}" }, true)
    case "answer":
      return Result.getOrElse(answerCalls(ledger, [{ toolCallId: id, name: "look", output: "" }]), () => ledger)
    case "complete":
      return completeCall(ledger, id) ?? ledger
    case "cancel":
      return cancelCalls(ledger, [id]).ledger
  }
}

describe("ToolCallLedger", () => {
  it.prop("a call is opened once, and answered or cancelled for good", { moves: Moves }, ({ moves }) => {
    let ledger = emptyLedger
    for (const each of moves) {
      const before = ledger.get(each.id)
      ledger = step(ledger, each)
      const after = ledger.get(each.id)
      if (before === undefined) continue
      assert.strictEqual(after?.hosted, before.hosted)
      if (before.state === "answered" || before.state === "cancelled") assert.strictEqual(after?.state, before.state)
      if (before.state === "running") assert.notStrictEqual(each.move === "answer" ? after?.state : null, "answered")
      if (before.state === "pending") assert.notStrictEqual(each.move === "complete" ? after?.state : null, "answered")
    }
    for (const id of openCalls(ledger)) assert.include(["pending", "running"], ledger.get(id)?.state)
  })

  it("takes up to 32 outputs a frame", () => {
    const ids = Array.from({ length: 33 }, (_, index) => `call_${index}`)
    const open = ids.reduce((known, id) => openCall(known, { id, name: "look", arguments: "{}" }, false), emptyLedger)
    const outputs = ids.map((toolCallId) => ({ toolCallId, name: "look", output: "" }))
    assert.isTrue(Result.isSuccess(answerCalls(open, outputs.slice(1))))
    assert.isFalse(Result.isSuccess(answerCalls(open, outputs)))
  })

  it.prop("what refuses one output of a frame takes none of it", { moves: Moves }, ({ moves }) => {
    const ledger = moves.reduce(step, emptyLedger)
    const outputs = ["a", "b", "c"].map((toolCallId) => ({ toolCallId, name: "look", output: "" }))
    const answered = answerCalls(ledger, outputs)
    const wanted = outputs.every(({ toolCallId }) => ledger.get(toolCallId)?.state === "pending")
    assert.strictEqual(Result.isSuccess(answered), wanted)
  })
})

const Spoken = Schema.Array(
  Schema.Struct({
    kind: Schema.Literals(["user", "late", "answer", "done", "call"]),
    id: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
  })
)

const vendorEvent = ({ id, kind }: (typeof Spoken.Type)[number]): VendorEvent => {
  switch (kind) {
    case "user":
      return { _tag: "UserItem", itemId: `u${id}`, before: null, transcribed: true }
    case "late":
      return { _tag: "TranscriptFinal", role: "user", itemId: `u${id}`, text: `user ${id}` }
    case "answer":
      return { _tag: "ResponseStarted", responseId: `r${id}` }
    case "done":
      return { _tag: "ResponseDone", responseId: `r${id}` }
    case "call":
      return { _tag: "TranscriptDelta", role: "assistant", itemId: `i${id}`, text: `answer ${id}` }
  }
}

describe("Conversation", () => {
  it.prop(
    "stores every spoken entry once, in the order of places, whenever the transcripts come",
    { events: Spoken },
    ({ events }) => {
      let conversation = emptyConversation
      const stored: Array<string> = []
      const keep = () => {
        const entries = ready(conversation)
        for (const { key } of entries) if (!stored.includes(key)) stored.push(key)
        conversation = markStored(conversation, entries)
      }
      for (const event of events) {
        conversation = hear(conversation, vendorEvent(event), 0)
        keep()
      }
      conversation = close(conversation)
      keep()
      const spoken = conversation.entries.filter((entry) => entryText(entry) !== "").map(({ key }) => key)
      assert.deepStrictEqual(stored, spoken)
      assert.deepStrictEqual(ready(conversation), [])
    }
  )

  it("gives a response that ended without a word and begins again the place of its words", () => {
    const events: ReadonlyArray<VendorEvent> = [
      { _tag: "ResponseStarted", responseId: "r" },
      { _tag: "ResponseDone", responseId: "r" },
      { _tag: "TranscriptFinal", role: "assistant", itemId: "i", text: "First." },
      { _tag: "ResponseStarted", responseId: "r" },
      { _tag: "TranscriptFinal", role: "assistant", itemId: "j", text: "Second." },
      { _tag: "ResponseDone", responseId: "r" }
    ]
    const whole = events.reduce((known, event) => hear(known, event, 0), emptyConversation)
    assert.deepStrictEqual(whole.entries.map(entryText), ["First.", "Second."])
  })

  it("puts a transcript that comes late before the answer to it", () => {
    const events: ReadonlyArray<VendorEvent> = [
      { _tag: "UserItem", itemId: "u", before: null, transcribed: true },
      { _tag: "ResponseStarted", responseId: "r" },
      { _tag: "TranscriptFinal", role: "assistant", itemId: "i", text: "Four." },
      { _tag: "ResponseDone", responseId: "r" }
    ]
    const early = events.reduce((known, event) => hear(known, event, 0), emptyConversation)
    assert.deepStrictEqual(ready(early), [])
    const whole = hear(early, { _tag: "TranscriptFinal", role: "user", itemId: "u", text: "Two and two?" }, 0)
    assert.deepStrictEqual(ready(whole).map(entryText), ["Two and two?", "Four."])
  })

  it("places a user's item before the answer that has begun already", () => {
    const events: ReadonlyArray<VendorEvent> = [
      { _tag: "ResponseStarted", responseId: "r" },
      { _tag: "TranscriptDelta", role: "assistant", itemId: "i", text: "Four." },
      { _tag: "UserItem", itemId: "u", before: "r", transcribed: true },
      { _tag: "TranscriptFinal", role: "user", itemId: "u", text: "Two and two?" },
      { _tag: "ResponseDone", responseId: "r" }
    ]
    const conversation = events.reduce((known, event) => hear(known, event, 0), emptyConversation)
    assert.deepStrictEqual(ready(conversation).map(entryText), ["Two and two?", "Four."])
  })

  it("keeps of a text the words that were heard", () => {
    assert.strictEqual(heardPart("one two three", 500, 1000), "one")
    assert.strictEqual(heardPart("one two three", 0, 1000), "")
    assert.strictEqual(heardPart("one two three", 1000, 1000), "one two three")
    assert.strictEqual(heardPart("one two three", 10, 0), "one two three")
    assert.strictEqual(heardPart("well-known facts", 600, 1000), "")
    assert.strictEqual(heardPart("今天天气很好，我们去公园。明天下雨。", 600, 1000), "今天天气很好，我们去")
    assert.strictEqual(heardPart("สวัสดีครับ ผมชื่อสมชาย", 700, 1000), "สวัสดีครับ ผม")
    assert.strictEqual(heardPart("Say 今天天气很好 aloud", 600, 1000), "Say 今天天气")
  })
})
