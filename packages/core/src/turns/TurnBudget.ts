/**
 * The budget of a leg: the part of the owner's budget that its run has reserved, and the limit of the run. While the model speaks, the
 * tokens are estimated; a leg that needs more than it has reserved asks the store for more, and its model's stream waits meanwhile. When
 * the store refuses, the leg ends as FAILED `budget_exceeded` with what was said. Legs of owners without such limits have no budget.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import {
  type Amount,
  answerAmount,
  assumedFor,
  type BudgetRequest,
  budgetRequest,
  countedCost,
  type CountedPrices,
  countedPrices,
  hasDayBudget,
  moreForAnswer
} from "../metering/Budget.ts"
import { outOfBudget } from "../metering/DayBudget.ts"
import type { CreditNeed, InsufficientCredit } from "../metering/Metering.ts"
import { OverLimit, overLimit, type Quota, Quotas, type Refusal } from "../metering/Quota.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import { TokenCounter, type TokenCounterPort } from "../models/TokenCounter.ts"
import type { AssistantId, RunId } from "../primitives/Ids.ts"
import { totalTokens, type Usage } from "../primitives/Usage.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { BudgetAbove } from "../tools/LiveTurn.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

/** The budget does not permit the rest of the answer. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", { reason: OverLimit }) {
  override get message() {
    return `The answer was stopped. ${this.reason.message}`
  }
}

type Used = Pick<RecordedLeg, "charges" | "ownUsage" | "usage">

/** Text is counted when so many characters have come, because counting each delta would cost more. */
const countedAtOnce = 256

export class TurnBudget {
  private readonly quota: Quota
  /** Those of the model that answers at the moment. */
  private prices: CountedPrices
  private readonly assistantId: AssistantId
  private readonly counter: TokenCounterPort
  private readonly store: typeof RunStore.Service
  private readonly lease: Lease
  private reserved: Amount
  /** The usage of earlier legs of the run, which is in the ledger. */
  private readonly before: Amount
  private readonly above: (() => Amount) | null
  /** The usage of the runs of this leg's tools. It counts for the limit of the run, and is in the ledger under those runs. */
  private children: Amount = nothing
  /** The use of each run among them that has not ended. */
  private readonly running = new Map<RunId, () => Amount>()
  /** The usage of the finished steps of this leg, with what its tools and parts were charged. */
  private finished: Amount = nothing
  /** The US dollars that tools and parts were permitted to spend, by the purpose of the charge. */
  private readonly permitted = new Map<string, number>()
  /** The US dollars of the charges before this model call, by their purpose. */
  private readonly charged = new Map<string, number>()
  private promptTokens = 0
  private answerTokens = 0
  private uncounted = ""
  private exceeded: BudgetExceeded | null = null

  constructor(setup: {
    readonly quota: Quota
    readonly assistantId: AssistantId
    readonly counter: TokenCounterPort
    readonly store: typeof RunStore.Service
    readonly lease: Lease
    readonly reserved: Amount
    readonly before: Usage
    /** Null: no limits of runs above count. */
    readonly above: BudgetAbove | null
  }) {
    this.quota = setup.quota
    this.prices = setup.quota.assumedPrices
    this.assistantId = setup.assistantId
    this.counter = setup.counter
    this.store = setup.store
    this.lease = setup.lease
    this.reserved = setup.reserved
    this.before = this.amount(setup.before)
    const { above } = setup
    this.above = above === null ? null : () => above.above((usage) => this.amount(usage))
    above?.tell(() => this.held())
  }

  /** Called before a model call, with the usage of all earlier steps of the leg. */
  begin(
    promptTokens: number,
    { charges, ownUsage, usage }: Used,
    info: ModelInfo
  ): Effect.Effect<void, BudgetExceeded> {
    return Effect.suspend(() => {
      this.prices = countedPrices(info, this.quota.assumedPrices)
      const own = this.amount(ownUsage)
      const all = this.amount(usage)
      this.children = { tokens: all.tokens - own.tokens, usd: Math.max(all.usd - own.usd, 0) }
      this.finished = { tokens: own.tokens, usd: 0 }
      this.charged.clear()
      for (const charge of charges) {
        const usd = countedCost(charge.usage, assumedFor(charge.purpose, this.quota.assumedPrices))
        addTo(this.charged, charge.purpose, usd)
        this.finished = added(this.finished, { tokens: 0, usd })
      }
      this.promptTokens = promptTokens
      this.answerTokens = 0
      this.uncounted = ""
      return Effect.andThen(this.hold() ?? Effect.void, this.end)
    })
  }

  /** Before a tool or a part spends: its price, if it is known, is reserved until the run ends. */
  spend({ amountUsd, purpose }: CreditNeed): Effect.Effect<void, InsufficientCredit> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const usd = amountUsd ?? 0
      const { usdPerRun } = this.quota
      const ofRun = this.ofRun().usd + this.permittedOnly()
      const fail = (refusal: Refusal) => Effect.fail(outOfBudget(overLimit(refusal, this.quota, now)))
      if (usdPerRun !== null && (ofRun >= usdPerRun || ofRun + usd > usdPerRun)) {
        return fail({ limit: "usdPerRun", left: Math.max(usdPerRun - ofRun, 0), waitMillis: null })
      }
      const needed = { tokens: 1, usd }
      // Before the store answers: another tool may ask at the same time.
      addTo(this.permitted, purpose, usd)
      return this.store.reserve(this.lease, this.request(needed, needed, now)).pipe(
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(Option.none())),
        Effect.provideService(Principal, { ownerId: this.lease.ownerId }),
        Effect.flatMap((answer) => {
          if (Option.isNone(answer)) return Effect.void
          const granted = answer.value
          if ("_tag" in granted) {
            addTo(this.permitted, purpose, -usd)
            return fail(granted.refusal)
          }
          this.reserved = added(this.reserved, granted)
          return Effect.void
        })
      )
    })
  }

  /** The budget above a run that a tool of this leg begins. It counts this run, and those beside it while they run. */
  below(run: RunId): BudgetAbove {
    return {
      above: () => added(this.held(run), this.above?.() ?? nothing),
      tell: (own) => this.running.set(run, own)
    }
  }

  /** From here on the usage counts that the run has ended with. */
  ended(run: RunId, usage: Usage): void {
    this.running.delete(run)
    this.children = added(this.children, this.amount(usage))
  }

  /** What the run has used up to now, with the runs of its tools, but for one. */
  private own(besides?: RunId): Amount {
    let sum = added(added(this.before, this.children), this.used())
    for (const [run, amount] of this.running) if (run !== besides) sum = added(sum, amount())
    return sum
  }

  /** What runs above, beside and below it leave to this one: with what its tools may spend at the moment. */
  private held(besides?: RunId): Amount {
    return added(this.own(besides), { tokens: 0, usd: this.permittedOnly() })
  }

  /** What counts for the limits of the run: with the runs above it and beside it. */
  private ofRun(): Amount {
    return added(this.own(), this.above?.() ?? nothing)
  }

  hear(text: string): void {
    this.uncounted += text
    if (this.uncounted.length < countedAtOnce) return
    this.answerTokens += this.counter.count(this.uncounted)
    this.uncounted = ""
  }

  /** Null: the leg may go on. Otherwise the stream waits for the answer: whether it may. */
  readonly hold = (): Effect.Effect<boolean> | null => {
    const missing = this.missing()
    return missing === null ? null : this.askForMore(missing)
  }

  /** Fails when the budget stopped the leg. */
  readonly end: Effect.Effect<void, BudgetExceeded> = Effect.suspend(() =>
    this.exceeded === null ? Effect.void : Effect.fail(this.exceeded)
  )

  private request(least: Amount, wanted: Amount, now: number): BudgetRequest {
    return budgetRequest(this.quota, this.assistantId, least, wanted, now)
  }

  private amount(usage: Usage): Amount {
    return { tokens: totalTokens(usage), usd: countedCost(usage, this.quota.assumedPrices) }
  }

  /** The part of `permitted` that no charge covers yet. */
  private permittedOnly(): number {
    let sum = 0
    for (const [purpose, usd] of this.permitted) sum += Math.max(usd - (this.charged.get(purpose) ?? 0), 0)
    return sum
  }

  private used(): Amount {
    const { tokens, usd } = answerAmount(this.answerTokens, this.prices)
    return { tokens: this.finished.tokens + this.promptTokens + tokens, usd: this.finished.usd + usd }
  }

  /** What the leg uses beyond what is reserved, or beyond the limit of the run; null: nothing. */
  private missing(): Amount | null {
    const { tokens, usd } = this.used()
    const { tokensPerDay, tokensPerDayOfAssistant, usdPerDay, usdPerDayOfAssistant } = this.quota
    const ofDay = {
      tokens: (tokensPerDay ?? tokensPerDayOfAssistant) === null ? 0 : Math.max(tokens - this.reserved.tokens, 0),
      usd:
        (usdPerDay ?? usdPerDayOfAssistant) === null ? 0 : Math.max(usd + this.permittedOnly() - this.reserved.usd, 0)
    }
    return ofDay.tokens > 0 || ofDay.usd > 0 || this.runRefusal() !== null ? ofDay : null
  }

  private askForMore(missing: Amount): Effect.Effect<boolean> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const overRun = this.runRefusal()
      if (overRun !== null) return this.stop(overLimit(overRun, this.quota, now))
      const more = answerAmount(moreForAnswer, this.prices)
      const wanted = { tokens: missing.tokens + more.tokens, usd: missing.usd + more.usd }
      return this.store.reserve(this.lease, this.request(missing, wanted, now)).pipe(
        Effect.flatMap((answer) => {
          // The lease is lost, and the leg is stopped for that reason.
          if (Option.isNone(answer)) return Effect.succeed(true)
          const granted = answer.value
          if ("_tag" in granted) {
            const { left, limit, waitMillis } = granted.refusal
            // What the leg has used is not in the ledger yet.
            const unsettled = limit.startsWith("usd") ? missing.usd : missing.tokens
            return this.stop(overLimit({ limit, left: Math.max(left - unsettled, 0), waitMillis }, this.quota, now))
          }
          this.reserved = added(this.reserved, granted)
          return Effect.succeed(true)
        }),
        Effect.provideService(Principal, { ownerId: this.lease.ownerId }),
        // An answer is not ended because the store does not answer at the moment; what it uses is in the ledger afterwards.
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(true))
      )
    })
  }

  private runRefusal(): Refusal | null {
    const { tokens, usd } = this.ofRun()
    const { tokensPerRun, usdPerRun } = this.quota
    const limit =
      tokensPerRun !== null && tokens > tokensPerRun
        ? "tokensPerRun"
        : usdPerRun !== null && usd > usdPerRun
          ? "usdPerRun"
          : null
    return limit && { limit, left: 0, waitMillis: null }
  }

  private stop(reason: OverLimit): Effect.Effect<boolean> {
    return Effect.sync(() => {
      this.exceeded = new BudgetExceeded({ reason })
      return false
    })
  }
}

const nothing: Amount = { tokens: 0, usd: 0 }

const addTo = (sums: Map<string, number>, name: string, more: number) => sums.set(name, (sums.get(name) ?? 0) + more)

const added = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd })

/** `reserved` null: nothing. */
type BudgetSetup = Omit<ConstructorParameters<typeof TurnBudget>[0], "counter" | "quota" | "reserved" | "store"> & {
  readonly reserved: Amount | null
}

export class TurnBudgets extends Context.Service<
  TurnBudgets,
  {
    /** The budget of a leg. Null: the owner has no limit that a leg could exceed. */
    readonly begin: (setup: BudgetSetup) => TurnBudget | null
  }
>()("@colloquy/core/turns/TurnBudgets") {
  static readonly layer: Layer.Layer<TurnBudgets, never, RunStore> = Layer.effect(
    TurnBudgets,
    Effect.gen(function* () {
      const store = yield* RunStore
      const counter = yield* TokenCounter
      const findQuota = yield* Quotas
      return TurnBudgets.of({
        begin: (setup) => {
          const quota = findQuota(setup.lease.ownerId, setup.assistantId)
          if ((quota.tokensPerRun ?? quota.usdPerRun) === null && !hasDayBudget(quota)) return null
          return new TurnBudget({ ...setup, counter, store, quota, reserved: setup.reserved ?? nothing })
        }
      })
    })
  )
}
