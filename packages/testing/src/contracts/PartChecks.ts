/** The checks of one part of turns, for its contract: each step that the part has is called as turns call it, over stores in memory. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import type { HostedTool, Message, Principal, TurnPart } from "@colloquy/core"
import type { FollowUpOrder, Review, ReviewedPiece, Rewrite, TextSource, TurnCase } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  legEnds,
  makeListener,
  makeRewriting,
  oddOptions,
  oddTexts,
  openCase,
  type OpenLeg,
  openLeg,
  ordinaryTexts,
  modelOutputs,
  type SampleTurn,
  sampleTool,
  textsIn,
  writtenJson
} from "./PartScenes.ts"
import * as Shapes from "./PartShapes.ts"
import { said, shown, type Step, partSteps } from "./PartSteps.ts"

type PartAnswerer = Pick<TurnCase, "provider"> & { readonly model: string }
type WantedOutput = ReturnType<NonNullable<TurnPart<null>["output"]>>

type Checked = Effect.Effect<void, unknown, InMemory.Stores | Principal>

/** The checks of one part, whose plan has a type that only the part knows. */
export type PartChecks = { readonly [Check in keyof ReturnType<typeof partChecks>]: Checked }

const inJson = "give a plan that its schema writes as JSON and reads again as it was"
const onJsonAlone = "tell and keep JSON alone"
const onTurn = ({ content, options }: Pick<TurnCase, "content" | "options">): string =>
  `on the text ${shown(content)}${options === undefined ? "" : ` with the options ${shown(options)}`}`

export const partChecks = <Plan>(part: TurnPart<Plan>, turns: ReadonlyArray<SampleTurn>, patience: number) => {
  const { ask, call, expectSame, fault, read, stored } = partSteps(part.name, patience)

  const expectJson = (step: Step, noJson: ReadonlyArray<unknown>): void => {
    if (noJson.length > 0) fault(step, `told or kept ${shown(noJson[0])}, which is no JSON`, onJsonAlone)
  }

  /** A step of a leg, which may tell and keep something. */
  const askIn = <A, E, R>({ noJson }: OpenLeg, step: Step, on: string, run: () => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Effect.exit(ask(step, on, run)), (exit) => {
      expectJson(step, noJson)
      return exit
    })

  // ------ steps 2 and 3, as `PartDecisions` calls them

  const isConcerned = (turn: TurnCase): boolean => {
    const concerns = () => call("concerns", onTurn(turn), () => part.concerns?.(turn) ?? true)
    const first = concerns()
    expectSame("concerns", `gave ${shown(first)} and then something else ${onTurn(turn)}`, concerns(), first)
    return first
  }

  const rewrite = (text: string, source: TextSource) => {
    const on = `on the text ${shown(text)} of the kind "${source.kind}"`
    const rewritten = ask("rewrite", on, () => part.rewrite?.(text, source) ?? Effect.succeed(text))
    return Effect.map(rewritten, (found) => read("rewrite", on, Schema.String, found))
  }

  const rewriteOptions = (options: Schema.Json, by: Rewrite) => {
    const on = `on the options ${shown(options)}`
    const rewritten = ask("rewriteOptions", on, () => part.rewriteOptions?.(options, by) ?? Effect.succeed(options))
    return Effect.map(rewritten, (found) => read("rewriteOptions", on, Schema.Json, found))
  }

  const decideOn = Effect.fnUntraced(function* (turn: TurnCase) {
    const decision = (yield* ask("decide", onTurn(turn), () => part.decide(turn))) ?? null
    if (decision === null) return null
    read("decide", onTurn(turn), Shapes.Decision, decision)
    const { content, supplement } = decision
    if (supplement !== undefined) stored("decide", "supplement", supplement)
    if (content !== undefined && turn.content.trim() !== "")
      fault(
        "decide",
        `gave the content ${shown(content)} for a message with the text ${shown(turn.content)}`,
        "give a content only for a message without a text, because turns refuse another; a text is changed by the step `rewrite`"
      )
    return decision
  })

  /** Fails where the part refuses. */
  const consult = Effect.fnUntraced(function* (sample: SampleTurn, others: Rewrite | null = null) {
    const written = yield* openCase(part.name, sample)
    if (!isConcerned(written)) return { turn: written, heard: null, decision: null }
    const { assistant, options, request, thread } = written
    const source = { kind: "message", threadId: thread.id, assistantId: assistant.id } as const
    const own: Rewrite = (text) => rewrite(text, source)
    const content = yield* own(written.content)
    const used = part.rewrite === undefined ? others : own
    const given = used === null || options === undefined ? options : yield* rewriteOptions(options, used)
    const asked = given === undefined ? {} : { options: Object.assign({}, request.options, { [part.name]: given }) }
    const turn: TurnCase = {
      ...written,
      content,
      options: given,
      request: { ...request, content, ...asked },
      rewrite: used
    }
    yield* ask("refuse", onTurn(turn), () => part.refuse?.(turn) ?? Effect.void)
    const heard = options === undefined ? null : yield* listenTo(turn)
    const words = heard === null ? [] : [yield* own(heard.content)]
    const all = [content, ...words].filter((text) => text.trim() !== "").join("\n\n")
    const heardTurn = { ...turn, content: all }
    return { turn: heardTurn, heard, decision: yield* decideOn(heardTurn) }
  })

  const listenTo = Effect.fnUntraced(function* (turn: TurnCase) {
    const { noJson, ...listening } = makeListener()
    const heard = yield* ask("listen", onTurn(turn), () => part.listen?.(turn, listening) ?? Effect.succeed(null))
    expectJson("listen", noJson)
    return heard === null || heard === undefined ? null : read("listen", onTurn(turn), Shapes.Heard, heard)
  })

  const consultations = Effect.forEach(turns, (sample) => Effect.result(consult(sample)))
  const decisions = Effect.map(consultations, (all) =>
    all.flatMap((each) => (Result.isSuccess(each) ? [each.success] : []))
  )

  // ------ the plan, as it is read from the store

  const planRead = (step: Step, plan: Plan): Plan => {
    const readBy = <A, E extends { readonly message: string }>(did: string, result: Result.Result<A, E>): A =>
      Result.getOrElse(result, ({ message }) =>
        fault(step, `gave the plan ${shown(plan)}, which its schema cannot ${did} (${message})`, inJson)
      )
    const json = stored(step, "plan", readBy("write", Schema.encodeResult(part.plan)(plan)))
    const again = readBy("read again", Schema.decodeUnknownResult(part.plan)(json))
    expectSame(step, "gave a plan that is read otherwise than it was stored", again, plan, inJson)
    return again
  }

  /** The turns that the part joins, with its plan. */
  const joined = Effect.map(decisions, (all) =>
    all.flatMap(({ decision, turn }) =>
      decision === null ? [] : [{ decision, turn, plan: planRead("decide", decision.plan) }]
    )
  )

  // ------ steps with a plan

  const beginLeg = (turn: TurnCase, by: PartAnswerer = { provider: turn.provider, model: turn.model ?? "" }) =>
    openLeg(turn, by)

  const expectOnce = (step: Step, what: string, names: ReadonlyArray<string>): void => {
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) fault(step, `gave the ${what} ${shown(twice)} twice`)
  }

  const toolsFor = (plan: Plan): ReadonlyArray<HostedTool | string> => {
    const on = `for the plan ${shown(plan)}`
    const offer = () => call("tools", on, () => part.tools?.(plan) ?? [])
    const offered = offer()
    read("tools", on, Shapes.Tools, offered)
    const names = offered.map(toolName)
    expectSame("tools", `gave other names when it was asked again ${on}`, offer().map(toolName), names)
    expectOnce("tools", "name", names)
    return offered
  }

  const recallIn = (leg: OpenLeg, plan: Plan) =>
    askIn(
      leg,
      "recall",
      `for the plan ${shown(plan)}`,
      () => part.recall?.(plan, leg.live, leg.history) ?? Effect.succeed([])
    )

  const expectOrders = (step: Step, on: string, order: () => ReadonlyArray<FollowUpOrder>): void => {
    const orders = call(step, on, order)
    read(step, on, Shapes.Orders, orders)
    stored(step, "list of follow-ups", orders)
    expectSame(step, `gave other follow-ups when it was asked again ${on}`, call(step, on, order), orders)
  }

  const judgeAll = Effect.fnUntraced(function* (review: () => Review) {
    let [leg, before, passed] = [review(), "", 0]
    const failures: Array<string> = []
    for (const text of [...ordinaryTexts, ...oddTexts]) {
      for (const piece of [
        { text, tool: null },
        { text: JSON.stringify({ text }), tool: "some_tool" }
      ]) {
        const on = `on the text ${shown(piece.text)}${piece.tool === null ? "" : ", which are arguments of a tool"}`
        const judged = yield* Effect.result(judge(leg, { ...piece, before }, on))
        if (Result.isFailure(judged)) {
          failures.push(`${on} (${said(judged.failure)})`)
          continue
        }
        passed++
        const verdict = judged.success
        if (verdict._tag === "Stop" || verdict._tag === "Replace") [leg, before] = [review(), ""]
        else if (piece.tool === null) before += verdict._tag === "Change" ? verdict.text : text
      }
    }
    if (passed === 0) fault("review", `failed on every text, also ${failures[0]}`)
  })

  const judge = Effect.fnUntraced(function* (review: Review, piece: ReviewedPiece, on: string) {
    return read("review", on, Shapes.VerdictShape, yield* ask("review", on, () => review.judge(piece)))
  })

  /** The verdicts on what a model wrote, by how it was asked. */
  const checkOutput = ({ check }: WantedOutput): void => {
    for (const text of [...writtenJson, ...ordinaryTexts, ...oddTexts]) {
      for (const [isNative, isRepair] of [
        [false, false],
        [true, false],
        [false, true],
        [true, true]
      ] as const) {
        const on = `on the answer ${shown(text)}${isRepair ? " to its words of repair" : ""}`
        const verdict = () => call("output", on, () => check(text, { isNative, isRepair }))
        const first = verdict()
        read("output", on, Shapes.Checked, first)
        expectSame("output", `gave another verdict when it was asked again ${on}`, verdict(), first)
        if (isRepair && first._tag === "Repair")
          fault(
            "output",
            `gave the verdict \`Repair\` ${on}`,
            "call an answer `Fits` or `Unusable` that was repaired once"
          )
      }
    }
  }

  return {
    joins: Effect.map(consultations, (all) => {
      if (all.some((each) => Result.isSuccess(each) && each.success.decision !== null)) return
      const each = all.map((one) => (Result.isSuccess(one) ? "it does not join" : `it refuses: ${said(one.failure)}`))
      assert.fail(
        `The part "${part.name}" joins none of the turns that the suite is given (${each.join("; ")}). Give turns of which it joins at least one.`
      )
    }),

    looks: Effect.gen(function* () {
      for (const sample of [...turns, {}]) {
        const turn = yield* openCase(part.name, sample)
        if (isConcerned(turn)) continue
        const decided = yield* Effect.result(decideOn(turn))
        if (Result.isSuccess(decided) && decided.success === null) continue
        const did = Result.isSuccess(decided) ? "joined" : "refused"
        fault(
          "decide",
          `${did} a turn that does not concern the part ${onTurn(turn)}`,
          "give null where `concerns` is false"
        )
      }
    }),

    decidesAgain: Effect.gen(function* () {
      for (const { decision, turn } of yield* decisions) {
        const again = yield* Effect.result(decideOn(turn))
        const other = Result.isSuccess(again) ? again.success : again.failure
        expectSame("decide", `decided otherwise when it was asked again ${onTurn(turn)}`, other, decision)
      }
    }),

    plansInJson: Effect.asVoid(joined),

    takesOddOptions: Effect.gen(function* () {
      for (const options of oddOptions) {
        yield* Effect.result(consult({ options }))
        yield* Effect.result(consult({ options }, Effect.succeed))
      }
    }),

    takesOddTexts: Effect.gen(function* () {
      for (const content of oddTexts) {
        for (const sample of turns) yield* Effect.result(consult({ ...sample, content }, Effect.succeed))
      }
    }),

    rewrites: Effect.gen(function* () {
      const { assistant, thread } = yield* openCase(part.name, {})
      for (const kind of ["message", "tool_output", "recalled"] as const) {
        const source: TextSource = { kind, threadId: thread.id, assistantId: assistant.id }
        for (const text of [...ordinaryTexts, ...writtenJson, ...oddTexts]) yield* Effect.result(rewrite(text, source))
      }
    }),

    isAskedAgain: Effect.gen(function* () {
      if (part.again === undefined) return
      for (const sample of [...turns, ...oddOptions.map((options) => ({ options }))]) {
        const { options } = sample
        if (options === undefined || Result.isFailure(yield* Effect.result(consult(sample)))) continue
        const on = `on the options ${shown(options)}`
        const again = () => call("again", on, () => part.again?.(options))
        const next = again()
        read("again", on, Shapes.Options, next)
        expectSame("again", `gave other options when it was asked again ${on}`, again(), next)
        yield* Effect.result(consult({ ...sample, options: next }))
      }
    }),

    offersTools: Effect.gen(function* () {
      for (const { plan } of yield* joined) toolsFor(plan)
    }),

    replacesTools: Effect.gen(function* () {
      for (const { plan } of yield* joined) {
        const own = toolsFor(plan).filter((tool) => typeof tool !== "string")
        for (const tool of [sampleTool, ...own]) {
          const { definition } = tool
          const on = `for the tool ${shown(definition.name)}`
          const next = call("replaceTool", on, () => part.replaceTool?.(plan, tool) ?? tool)
          read("replaceTool", on, Shapes.Hosted, next)
          expectSame("replaceTool", `gave another definition ${on}`, next.definition, definition)
        }
      }
    }),

    handsOver: Effect.gen(function* () {
      const { assistant } = yield* openCase(part.name, {})
      const handOver = part.handOver?.bind(part)
      if (handOver === undefined) return
      for (const isOwn of [true, false]) {
        const on = `for ${isOwn ? "the thread's own" : "another"} assistant`
        const plan = call("handOver", on, () => handOver(assistant, isOwn))
        const again = call("handOver", on, () => handOver(assistant, isOwn))
        expectSame("handOver", `gave another plan when it was asked again ${on}`, again, plan)
        toolsFor(planRead("handOver", plan))
      }
    }),

    renders: Effect.gen(function* () {
      for (const { decision, heard, turn } of yield* decisions) {
        const { info } = turn
        const supplement = decision?.supplement ?? heard?.supplement
        if (supplement === undefined || part.render === undefined || info === null) continue
        const { message } = yield* beginLeg(turn)
        const sent: Message = { ...message, supplements: { [part.name]: { value: supplement } } }
        const on = `for the supplement ${shown(supplement)}`
        for (const room of [1_000_000, 0]) {
          const render = () =>
            ask("render", on, () => part.render?.(supplement, sent, { info, room }) ?? Effect.succeed({}))
          const rendered = yield* render()
          const { after = [], before = [], content = [] } = read("render", on, Shapes.Rendered, rendered)
          expectSame("render", `rendered otherwise when it was asked again ${on}`, yield* render(), rendered)
          for (const list of [before, after]) {
            const did = Shapes.callFault(list)
            if (did !== null) fault("render", `${did} ${on}`)
          }
          const isEmpty = before.length + after.length + content.length === 0
          if (!isEmpty && decision?.supplement !== undefined && (decision.tokens ?? 0) === 0)
            fault(
              "decide",
              `gave no \`tokens\` with the supplement ${shown(supplement)}, of which the model reads something`,
              "give as `tokens` the size of what `render` makes of it"
            )
        }
      }
    }),

    recalls: Effect.gen(function* () {
      for (const { plan, turn } of yield* joined) {
        const recalled = yield* Effect.result(recallIn(yield* beginLeg(turn), plan))
        if (Result.isFailure(recalled)) continue
        const parts = read("recall", `for the plan ${shown(plan)}`, Shapes.PromptParts, recalled.success)
        for (const { name, weight } of parts) {
          if (weight <= 0) fault("recall", `gave the prompt part ${shown(name)} the weight ${weight}`)
        }
        expectOnce(
          "recall",
          "name",
          parts.map(({ name }) => name)
        )
      }
    }),

    rewritesFound: Effect.gen(function* () {
      for (const { plan, turn } of yield* joined) {
        const { given, isDone, rewriting } = makeRewriting()
        const leg = yield* openLeg(turn, { provider: turn.provider, model: turn.model ?? "" }, rewriting)
        const recalled = yield* Effect.result(recallIn(leg, plan))
        const items = Result.isSuccess(recalled) ? recalled.success.flatMap((each) => each.items) : []
        const found = [...given, ...items.flatMap(({ text }) => (isDone(text) ? [] : [text]))]
        const known = [turn.content, ...items.flatMap(({ source }) => source ?? [])]
        for (const text of leg.shown().flatMap(textsIn)) {
          if (text.length < shortestFound || known.some((each) => each.includes(text))) continue
          if (!found.some((each) => each.includes(text) || (each.length >= shortestFound && text.includes(each))))
            continue
          fault(
            "recall",
            `kept or told ${shown(text)}, which it has found and not rewritten`,
            "give what it has found to `rewriting.rewrite` of its turn, where that is not null, before it keeps or tells any of it"
          )
        }
      }
    }),

    receives: Effect.gen(function* () {
      const leg = yield* beginLeg(yield* openCase(part.name, {}))
      for (const output of modelOutputs) {
        const on = `with ${output.media.length} media and ${output.sources.length} sources`
        const isKept = yield* askIn(
          leg,
          "receive",
          on,
          () => part.receive?.(output, leg.live) ?? Effect.succeed(undefined)
        )
        read("receive", on, Shapes.IsKept, isKept)
      }
    }),

    wantsOutput: Effect.gen(function* () {
      for (const { plan } of yield* joined) {
        const on = `for the plan ${shown(plan)}`
        const want = () => call("output", on, () => part.output?.(plan))
        const wanted = want()
        if (wanted === undefined || wanted === null) continue
        const { form, instruction } = read("output", on, Shapes.Wanted, wanted)
        const again = want()
        const other = { form: again?.form, instruction: again?.instruction }
        expectSame("output", `wanted another form when it was asked again ${on}`, other, { form, instruction })
        checkOutput(wanted)
      }
    }),

    answers: Effect.gen(function* () {
      for (const { decision, plan, turn } of yield* joined) {
        const { answers } = decision
        if (answers === undefined) continue
        const answer =
          part.answer?.bind(part) ??
          fault("decide", "says that the part answers, which has no step `answer`", "leave out `answers` then")
        const leg = yield* beginLeg(turn, answers)
        const on = onTurn(turn)
        const answered = yield* Effect.result(askIn(leg, "answer", on, () => answer(plan, leg.live, leg.history)))
        if (Result.isSuccess(answered)) read("answer", on, Shapes.Answer, answered.success)
      }
    }),

    reviews: Effect.gen(function* () {
      if (part.review === undefined) return
      for (const { plan, turn } of yield* joined) {
        const { live } = yield* beginLeg(turn)
        yield* judgeAll(() => {
          const review = call("review", onTurn(turn), () => part.review?.(plan, live))
          read("review", onTurn(turn), Shapes.ReviewShape, review)
          return review ?? fault("review", "gave no review")
        })
      }
    }),

    speaks: Effect.gen(function* () {
      for (const { plan, turn } of yield* joined) {
        for (const words of [[], ["Hello ", "there. ", "Again"], [""], ["\ud800"]]) {
          const leg = yield* beginLeg(turn)
          const on = words.length === 0 ? "where there are no words" : `on the words ${shown(words)}`
          yield* askIn(leg, "speak", on, () => part.speak?.(plan, leg.live, Stream.fromIterable(words)) ?? Effect.void)
        }
      }
    }),

    ordersFollowUps: Effect.gen(function* () {
      for (const { plan, turn } of yield* joined) {
        const leg = yield* beginLeg(turn)
        yield* Effect.result(recallIn(leg, plan))
        for (const end of legEnds(part.name, leg)) {
          const on = `at the status ${end.status}${end.status === "SAVED" || end.kept === null ? "" : ", with what it kept"}`
          expectOrders("followUps", on, () => part.followUps?.(plan, end) ?? [])
        }
      }
    }),

    joinsSessions: Effect.gen(function* () {
      if (part.session === undefined) return
      for (const sample of [...turns, {}]) {
        const turn = yield* openCase(part.name, { ...sample, content: "" })
        const decided = yield* Effect.result(decideOn(turn))
        if (Result.isFailure(decided) || decided.success === null) continue
        const plan = planRead("decide", decided.success.plan)
        const on = `for the plan ${shown(plan)}`
        const { live, message } = yield* beginLeg(turn)
        const { assistantId, runId: id, threadId } = live
        const joining = yield* Effect.result(
          ask("session", on, () => part.session?.(plan, assistantId) ?? Effect.succeed(nothingShared))
        )
        if (Result.isFailure(joining)) continue
        const share = joining.success
        read("session", on, Shapes.Share, share)
        expectOnce("session", "name", share.tools.map(toolName))
        const exchange = { threadId, assistantId, id, messageIds: [message.id] }
        expectOrders("session", `after an exchange ${on}`, () => share.followUps?.(exchange) ?? [])
      }
    })
  }
}

/** Characters. A shorter text may stand in another by chance. */
const shortestFound = 8

const toolName = (tool: HostedTool | string): string => (typeof tool === "string" ? tool : tool.definition.name)

const nothingShared = { tools: [], instructions: null }
