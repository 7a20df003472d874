/**
 * What the contract of parts says of a part with a single fault. Each line of the tables is a part that is sound otherwise, and the beginning of
 * the sentence that its author reads.
 */
import { type HostedTool, type LiveTurn, type TurnPart, TurnParts, TurnRefused } from "@colloquy/core"
import { ModelError, noUsage } from "@colloquy/core/adapters"
import { guard } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type PartChecks, partChecks } from "../src/contracts/PartChecks.ts"
import { checkPart, turnPartSuite, type TurnPartSuite } from "../src/contracts/TurnPartContract.ts"

type Part = TurnPart<Schema.Json>
type Steps = Partial<Part>

/** As an author without types could write it. */
const forged = <A>(value: unknown): A => value as A

const mine = (steps: Steps): Part => ({ name: "mine", plan: Schema.Json, decide: give({ plan: null }), ...steps })

/** A step that gives a value of any kind. */
const give =
  (value: unknown): (() => never) =>
  () =>
    forged(Effect.succeed(value))

const oops = (): never => {
  throw new Error("oops")
}
const dies = (): never => forged(Effect.die("oops"))
const never = (): never => forged(Effect.never)

/** A step whose value changes with each call. */
const changing = (value: (count: number) => unknown): (() => never) => {
  let count = 0
  return () => forged(value(count++))
}

const refusal = new TurnRefused({ part: "mine", reason: "invalid", problems: [{ path: [], message: "Not today." }] })

const partOf = (steps: Steps): TurnPartSuite => ({ part: TurnParts.part(mine(steps)), turns: [{ options: {} }] })

/** What the check says first; null: it finds nothing. A step that never ends gets little time. */
const saidBy = (check: keyof PartChecks, suite: TurnPartSuite) =>
  Effect.map(Effect.exit(checkPart(suite, check, 50)), (exit) => {
    if (Exit.isSuccess(exit)) return null
    const error = Cause.squash(exit.cause)
    return error instanceof Error ? error.message : String(error)
  })

type Fault = readonly [what: string, steps: Steps, says: string]

/** Parts with a fault in the step, which the check finds. */
const finds = (check: keyof PartChecks, step: keyof Part, faults: ReadonlyArray<Fault>) =>
  describe(`the check "${check}" tells of a step "${step}"`, () => {
    for (const [what, steps, says] of faults) {
      it.effect(what, () =>
        Effect.gen(function* () {
          const sentence = (yield* saidBy(check, partOf(steps))) ?? assert.fail("It found nothing.")
          const begins = `The step "${step}" of the part "mine" ${says}`
          assert.strictEqual(sentence.slice(0, begins.length), begins)
          assert.match(sentence, /It must .+\.$/u)
        })
      )
    }
  })

const tool = (name: string): HostedTool => ({
  definition: { name, description: null, parameters: null },
  run: () => Effect.succeed("done")
})
const material = { name: "notes", intro: "Notes:", items: [{ text: "Tea", rank: 0 }], place: "turn", weight: 1 }
const form = { name: "output", schema: { type: "object" } }
const order = { kind: "audit", key: "k", payload: {} }
const calling = (id: string) => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id, name: "look_up", arguments: "{}" }],
  providerData: null
})
const output = (toolCallId: string) => ({ role: "tool", toolCallId, toolName: "look_up", output: "Tea" })

const deciding = (decision: object): Steps => ({ decide: give({ plan: null, ...decision }) })
const answersBy = deciding({ answers: { provider: "house", model: "h" } })
const file = deciding({ supplement: { file: 1 }, tokens: 5 })
const content = (...parts: ReadonlyArray<unknown>) => give({ content: parts })
const picture = { type: "image", mediaType: "image/png", filename: null, source: {} }
const wanting = (check: unknown): Steps => ({ output: () => forged({ form, instruction: "As JSON.", check }) })
const judging = (judge: unknown): Steps => ({ review: () => forged({ by: "whole", judge }) })
const sharing = (share: object): Steps => ({ session: give({ tools: [], instructions: null, ...share }) })

finds("plansInJson", "decide", [
  [
    "with a plan that its schema cannot write",
    { plan: forged(Schema.String) },
    "gave the plan null, which its schema cannot write ("
  ],
  [
    "with a plan that is read otherwise",
    { ...deciding({ plan: new Date(0) }), plan: forged(Schema.Unknown) },
    "gave a plan that is read otherwise than it was stored. It must give a plan in JSON"
  ]
])

finds("joins", "decide", [
  ["that never ends", { decide: never }, 'did not end within 0.05 seconds on the text "Hello" with the options {}'],
  ["that interrupts itself", { decide: () => Effect.interrupt }, "has a defect"],
  [
    "with a content beside a text",
    deciding({ content: "No" }),
    'gave the content "No" for a message with the text "Hello". It must give a content only'
  ],
  ["with a content that is no text", deciding({ content: 7 }), 'gave {"plan":null,"content":7} on'],
  ["with tokens that are no number", deciding({ tokens: "many" }), 'gave {"plan":null,"tokens":"many"} on'],
  ["with a supplement that is no JSON", deciding({ supplement: new Date(0) }), 'gave {"plan":null,"supplement":'],
  ["without a plan", { decide: give({ content: "" }) }, 'gave {"content":""} on']
])

for (const [check, step] of [
  ["takesOddOptions", "decide"],
  ["takesOddOptions", "refuse"],
  ["takesOddOptions", "listen"],
  ["rewrites", "rewrite"],
  ["joinsSessions", "session"]
] as const) {
  const fails = { [step]: () => forged(Effect.fail("No")) }
  finds(check, step, [["that fails with another error", fails, "failed "]])
}
finds("answers", "answer", [
  [
    "that fails with another error",
    { ...answersBy, answer: () => forged(Effect.fail("No")) },
    'failed on the text "Hello" with the options {} with an error that is no ModelError ("No")'
  ]
])

finds("takesOddTexts", "decide", [
  [
    "with a defect on a text",
    { decide: (turn) => (turn.content === "\0" ? oops() : Effect.succeed(null)) },
    'has a defect on the text "\\u0000" with the options {} (oops)'
  ]
])

finds("takesOddOptions", "decide", [
  [
    "with a defect on options",
    { decide: (turn) => (turn.options === 7 ? dies() : Effect.succeed(null)) },
    'has a defect on the text "Hello" with the options 7 ("oops")'
  ]
])

finds("decidesAgain", "decide", [
  [
    "that decides otherwise each time",
    { decide: changing((plan) => Effect.succeed({ plan })) },
    "decided otherwise when it was asked again"
  ]
])

finds("looks", "decide", [
  [
    "that joins what does not concern the part",
    { concerns: () => false },
    "joined a turn that does not concern the part"
  ],
  [
    "that refuses what does not concern the part",
    { concerns: () => false, decide: () => Effect.fail(refusal) },
    "refused a turn"
  ]
])

finds("answers", "decide", [
  ["that says that the part answers, which has no such step", answersBy, "says that the part answers"]
])

finds("renders", "decide", [
  [
    "without tokens for what is rendered",
    { ...deciding({ supplement: 1 }), render: content({ type: "text", text: "Tea" }) },
    "gave no `tokens` with the supplement 1, of which"
  ]
])

finds("looks", "concerns", [
  ["that throws", { concerns: oops }, 'has a defect on the text "Hello" with the options {} (oops)'],
  [
    "that says something else each time",
    { concerns: changing((count) => count % 2 === 0) },
    "gave true and then something else"
  ]
])

finds("isAskedAgain", "again", [
  ["that throws", { again: oops }, "has a defect on the options {} (oops)"],
  ["with options that are no JSON", { again: () => forged(7n) }, 'gave "7n" on the options {}'],
  ["with other options each time", { again: changing((count) => count) }, "gave other options when it was asked again"]
])

finds("rewrites", "rewrite", [
  ["to 7", { rewrite: give(7) }, 'gave 7 on the text "Hello." of the kind "message" (Expected string'],
  [
    "to nothing in outputs of tools",
    { rewrite: (text, { kind }) => Effect.succeed(kind === "message" ? text : forged(null)) },
    'gave null on the text "Hello." of the kind "tool_output"'
  ],
  ["without an effect", { rewrite: (text) => forged(text) }, 'has a defect on the text "Hello."'],
  [
    "that throws on one text",
    { rewrite: (text) => (text === "" ? oops() : Effect.succeed(text)) },
    'has a defect on the text "" of the kind "message" (oops)'
  ],
  ["that never ends", { rewrite: never }, "did not end within 0.05 seconds"]
])

finds("takesOddOptions", "rewriteOptions", [
  ["that throws", { rewriteOptions: oops }, "has a defect on the options null (oops)"],
  ["with what is no JSON", { rewriteOptions: give(forged(7n)) }, 'gave "7n" on the options null']
])

finds("takesOddOptions", "refuse", [
  ["that throws", { refuse: oops }, 'has a defect on the text "Hello" with the options null (oops)']
])

finds("takesOddOptions", "listen", [
  ["that throws", { listen: oops }, 'has a defect on the text "Hello" with the options null (oops)'],
  ["that hears what is no text", { listen: give({ content: null }) }, 'gave {"content":null} on'],
  [
    "that tells what is no JSON and catches what is thrown",
    {
      listen: (_, { tell }) =>
        Effect.ignore(Effect.try({ try: () => tell({ type: "x", data: forged(7n) }), catch: String })).pipe(
          Effect.as(null)
        )
    },
    'told or kept "7n", which is no JSON. It must tell and keep JSON alone.'
  ]
])

finds("offersTools", "tools", [
  ["that throws", { tools: oops }, "has a defect for the plan null (oops)"],
  ["with a name that vendors refuse", { tools: () => [tool("Grüße")] }, "gave"],
  ["with a tool that cannot run", { tools: () => [forged({ ...tool("a"), run: null })] }, "gave"],
  ["with a name twice", { tools: () => [tool("a"), tool("a")] }, 'gave the name "a" twice'],
  [
    "with other tools each time",
    { tools: changing((count) => [tool(`a${count}`)]) },
    "gave other names when it was asked again"
  ]
])

finds("replacesTools", "replaceTool", [
  ["that throws", { replaceTool: oops }, 'has a defect for the tool "tool_of_the_host" (oops)'],
  [
    "with another definition",
    { replaceTool: () => tool("other") },
    'gave another definition for the tool "tool_of_the_host"'
  ]
])

finds("handsOver", "handOver", [
  ["that throws", { handOver: oops }, "has a defect for the thread's own assistant (oops)"],
  [
    "with a plan that cannot be stored",
    { handOver: () => forged(7n) },
    'gave the plan "7n", which its schema cannot write'
  ],
  ["with another plan each time", { handOver: changing((count) => count) }, "gave another plan when it was asked again"]
])

finds("handsOver", "tools", [
  [
    "that throws for the plan of a hand-over",
    { handOver: () => 7, tools: (plan) => (plan === 7 ? oops() : []) },
    "has a defect for the plan 7 (oops)"
  ]
])

finds("renders", "render", [
  [
    "with a tool call without its output",
    { ...file, render: give({ before: [calling("c1")] }) },
    'shows the tool call "c1" without its output'
  ],
  [
    "with an output before its call",
    { ...file, render: give({ after: [output("c1"), calling("c1")] }) },
    'shows an output of the tool call "c1" without the call before it'
  ],
  [
    "with a text that is none",
    { ...file, render: content({ type: "text", text: 7 }) },
    'gave {"content":[{"type":"text","text":7}]}'
  ],
  ["with a picture that has no bytes", { ...file, render: content(picture) }, "gave"],
  ["with a message of nobody", { ...file, render: give({ before: [{ role: "system", content: "" }] }) }, "gave"],
  ["that dies", { ...file, render: dies }, 'has a defect for the supplement {"file":1} ("oops")'],
  [
    "with something else each time",
    { ...file, render: changing((count) => Effect.succeed({ content: [{ type: "text", text: `${count}` }] })) },
    "rendered otherwise when it was asked again"
  ]
])

const recalling = (text: string): Steps => ({
  recall: (_, turn) => Effect.sync(() => (turn.keep([{ text }]), forged([{ ...material, items: [{ text, rank: 0 }] }])))
})
const rewritingLate: Steps = {
  recall: (_, turn) =>
    Effect.as(
      Effect.andThen(
        Effect.sync(() => turn.tell({ type: "t", data: ["Tea at noon"] })),
        rewriteBy(turn)
      ),
      []
    )
}
const rewriteBy = ({ rewriting }: LiveTurn) =>
  rewriting === null ? Effect.void : rewriting.rewrite("Note: Tea at noon.")

finds("rewritesFound", "recall", [
  [
    "that keeps a text which it did not rewrite",
    recalling("Tea at noon"),
    'kept or told "Tea at noon", which it has found and not rewritten. It must give what it has found to'
  ],
  ["that tells what it rewrites later", rewritingLate, 'kept or told "Tea at noon", which it has found']
])

finds("recalls", "recall", [
  ["that throws", { recall: oops }, "has a defect for the plan null (oops)"],
  [
    "with the weight 0",
    { recall: give([{ ...material, weight: 0 }]) },
    'gave the prompt part "notes" the weight 0. It must give a list of `PromptPart`'
  ],
  ["with a name twice", { recall: give([material, material]) }, 'gave the name "notes" twice'],
  ["with what is no list", { recall: give({ text: "Tea" }) }, 'gave {"text":"Tea"} for the plan null'],
  [
    "that keeps what is no JSON and fails for it",
    { recall: (_, turn) => Effect.try({ try: () => (turn.keep(forged(7n)), []), catch: String }) },
    'told or kept "7n", which is no JSON'
  ]
])

finds("receives", "receive", [
  ["that throws", { receive: oops }, "has a defect with 0 media and 1 sources (oops)"],
  ["that does not say whether it kept media", { receive: give("yes") }, 'gave "yes" with 0 media and 1 sources']
])

finds("wantsOutput", "output", [
  ["that throws", { output: oops }, "has a defect for the plan null (oops)"],
  [
    "without a form",
    { output: () => forged({ instruction: "As JSON.", check: oops }) },
    'gave {"instruction":"As JSON."}'
  ],
  ["whose check throws", wanting(oops), 'has a defect on the answer "{}" (oops)'],
  ["whose check has no verdict", wanting(() => true), 'gave true on the answer "{}"'],
  [
    "whose check has another verdict each time",
    wanting(changing((keep) => ({ _tag: "Fits", keep }))),
    "gave another verdict when it was asked again"
  ],
  [
    "that wants a second repair",
    wanting(() => ({ _tag: "Repair", words: "Again." })),
    'gave the verdict `Repair` on the answer "{}" to its words of repair. It must call'
  ]
])

finds("answers", "answer", [
  ["that throws", { ...answersBy, answer: oops }, 'has a defect on the text "Hello" with the options {} (oops)'],
  ["without words", { ...answersBy, answer: give({ content: "" }) }, 'gave {"content":""} on'],
  [
    "with a usage that is none",
    { ...answersBy, answer: give({ content: "Hi.", usage: { ...noUsage, costUsd: "1" } }) },
    "gave"
  ]
])

finds("reviews", "review", [
  ["that throws", { review: oops }, 'has a defect on the text "Hello" with the options {} (oops)'],
  ["that gives no review", { review: () => forged(undefined) }, "gave undefined on"],
  ["by words", { review: () => forged({ by: "word", judge: give({ _tag: "Pass" }) }) }, 'gave {"by":"word"} on'],
  ["with an unknown verdict", judging(give({ _tag: "Maybe" })), 'gave {"_tag":"Maybe"} on the text "Hello."'],
  ["with a verdict of another kind", judging(give(true)), 'gave true on the text "Hello."'],
  [
    "with a change to what is no text",
    judging(give({ _tag: "Change", text: 7 })),
    'gave {"_tag":"Change","text":7} on the text "Hello."'
  ],
  ["with a stop without a reason", judging(give({ _tag: "Stop" })), 'gave {"_tag":"Stop"} on the text "Hello."'],
  [
    "that throws on arguments",
    judging((piece: { tool: unknown }) => (piece.tool === null ? Effect.succeed({ _tag: "Pass" }) : oops())),
    'has a defect on the text "{\\"text\\":\\"Hello.\\"}", which are arguments of a tool (oops)'
  ],
  ["that never ends", judging(never), 'did not end within 0.05 seconds on the text "Hello."'],
  [
    "that fails on every text",
    judging(() => Effect.fail("No connection")),
    'failed on every text, also on the text "Hello." ("No connection")'
  ]
])

finds("speaks", "speak", [
  [
    "that never ends",
    { speak: never },
    "did not end within 0.05 seconds where there are no words. It must end when the words end, also where there are none, and have no defect."
  ],
  ["that never ends and cannot be stopped", { speak: () => Effect.uninterruptible(Effect.never) }, "did not end"],
  [
    "that goes on after the words",
    { speak: (_, __, words) => Effect.andThen(Stream.runDrain(words), Effect.never) },
    "did not end"
  ],
  ["that dies", { speak: dies }, 'has a defect where there are no words ("oops")']
])

finds("ordersFollowUps", "followUps", [
  [
    "that throws where an answer failed",
    { followUps: (_, { status }) => (status === "FAILED" ? oops() : []) },
    "has a defect at the status FAILED (oops)"
  ],
  [
    "that cannot read what the part kept",
    {
      recall: (_, turn) => Effect.sync(() => (turn.keep(1), [])),
      followUps: (_, ended) => ("kept" in ended && ended.kept === 1 ? oops() : [])
    },
    "has a defect at the status COMPLETED, with what it kept (oops)"
  ],
  ["with what is no JSON", { followUps: () => [{ ...order, payload: forged(7n) }] }, "gave"],
  [
    "with a key that is no text",
    { followUps: () => [forged({ ...order, key: 7 })] },
    'gave [{"kind":"audit","key":7,"payload":{}}] at the status SAVED'
  ],
  [
    "with other follow-ups each time",
    { followUps: changing((count) => [{ ...order, key: `${count}` }]) },
    "gave other follow-ups when it was asked again"
  ]
])

finds("joinsSessions", "session", [
  ["that throws", { session: oops }, "has a defect for the plan null (oops)"],
  ["without tools", { session: give({ instructions: null }) }, 'gave {"instructions":null} for the plan null'],
  [
    "with follow-ups that throw",
    sharing({ followUps: oops }),
    "has a defect after an exchange for the plan null (oops)"
  ]
])

finds("joinsSessions", "decide", [
  [
    "that throws in a session",
    { ...sharing({}), decide: ({ options }) => (options === undefined ? oops() : Effect.succeed(null)) },
    'has a defect on the text "" (oops)'
  ]
])

describe("the contract of parts", () => {
  const says = (what: string, check: keyof PartChecks, suite: TurnPartSuite, sentence: string) =>
    it.effect(what, () => Effect.map(saidBy(check, suite), (said) => assert.strictEqual(said, sentence)))

  says(
    "tells an author whose turns the part does not join",
    "joins",
    partOf({ decide: give(null) }),
    'The part "mine" joins none of the turns that the suite is given (it does not join). Give turns of which it joins at least one.'
  )
  says(
    "tells why the part refuses the turns",
    "joins",
    partOf({ refuse: () => Effect.fail(refusal) }),
    'The part "mine" joins none of the turns that the suite is given (it refuses: Not today.). Give turns of which it joins at least one.'
  )
  says(
    "tells an author whose layer registers nothing",
    "joins",
    { part: Layer.empty, turns: [{}] },
    "The layer registers no part. Give one that does, for example `TurnParts.part(…)`."
  )

  it.effect("names a guard of plain code, and what it returned", () =>
    Effect.gen(function* () {
      const said = yield* saidBy("rewrites", { part: guard({ name: "house", before: () => forged(7) }), turns: [{}] })
      assert.include(said, 'The step "rewrite" of the part "house" has a defect on the text "Hello."')
      assert.include(said, 'The guard "house" returned 7 from "before".')
    })
  )

  it.effect("takes a step that waits by design", () => {
    const steps = { decide: () => Effect.delay(Effect.succeed({ plan: null }), 15) }
    return Effect.map(saidBy("joins", partOf(steps)), (said) => assert.isNull(said))
  })

  it.effect("calls every step of the port", () =>
    Effect.gen(function* () {
      const called = new Set<string>()
      const steps = Object.entries(whole).filter(([name]) => !["limits", "name", "plan"].includes(name))
      const noted = steps.map(([step, run]): [string, unknown] => [
        step,
        (...given: ReadonlyArray<never>) => {
          called.add(step)
          return forged<(...given: ReadonlyArray<never>) => unknown>(run)(...given)
        }
      ])
      const part = forged<Part>({ ...whole, ...Object.fromEntries(noted) })
      for (const check of forged<ReadonlyArray<keyof PartChecks>>(Object.keys(partChecks(part, [], 50))))
        assert.isNull(yield* saidBy(check, partOf(part)), check)
      assert.sameMembers(
        [...called],
        steps.map(([step]) => step)
      )
    })
  )
})

/** Has every step, and does what the port allows at its edges. A step that the port gets is missing here, which the compiler tells. */
const whole: Required<Part> = {
  name: "whole",
  plan: Schema.Json,
  limits: { decide: "1 minute" },
  concerns: () => true,
  again: (options) => (options === 7 ? undefined : options),
  rewrite: (text) => (text === "" ? Effect.fail(refusal) : Effect.succeed(text.trim())),
  rewriteOptions: (options, rewrite) => (typeof options === "string" ? rewrite(options) : Effect.succeed(options)),
  refuse: () => Effect.void,
  listen: () => Effect.succeed({ content: "Heard.", supplement: { heard: true } }),
  decide: ({ content: text }) =>
    Effect.succeed({
      plan: { text },
      supplement: { file: 1 },
      tokens: 0.5,
      answers: { provider: "house", model: "h" },
      ignored: [{ option: "json_output", because: "it answers in words" }],
      ...(text === "" ? { content: "Nothing was said.", allowsEmptyContent: true } : {})
    }),
  recall: (_, turn) => Effect.sync(() => (turn.keep({ kept: true }), [])),
  render: () =>
    forged(Effect.succeed({ before: [calling("c1"), output("c1")], content: [{ type: "text", text: "" }] })),
  tools: () => [tool("mine"), "web_search"],
  replaceTool: (_, { definition, run }) => ({ definition, run }),
  receive: ({ media }) => Effect.succeed(media.length === 0 ? undefined : false),
  handOver: ({ id }, isOwn) => ({ id, isOwn }),
  output: () => ({
    form,
    instruction: "As JSON.",
    check: (text, { isRepair }) => (isRepair ? { _tag: "Fits", keep: text } : { _tag: "Repair", words: "Again." })
  }),
  answer: (_, { model, provider }) => Effect.fail(new ModelError({ reason: "timeout", provider, model })),
  review: () => ({
    by: "sentence",
    // A review may fail, which ends a run, and end the answer itself.
    judge: ({ text, tool: name }) => {
      if (name !== null) return Effect.fail("too long")
      return Effect.succeed(text === "" ? { _tag: "Stop", reason: "It is empty." } : { _tag: "Pass" })
    }
  }),
  speak: (_, __, words) => Stream.runDrain(words),
  followUps: (_, { runId, status }) => (status === "CANCELLED" ? [] : [{ ...order, key: runId, delayMillis: 5 }]),
  session: () =>
    Effect.succeed({ tools: [tool("mine")], instructions: "Be kind.", followUps: ({ id }) => [{ ...order, key: id }] })
}

turnPartSuite("a part with every step", { part: TurnParts.part(whole), turns: [{ options: {} }] })
turnPartSuite("a part with no step but one", { part: TurnParts.part(mine({})), turns: [{}] })
