/**
 * The worker that updates the summary of a thread: it reads the messages that the summary does not cover yet, asks a model for a summary
 * with them, charges the cost, and stores the text. The follow-ups of a thread run one after the other. A late result is not stored over a
 * newer summary.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { paid } from "../metering/PaidCall.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { complete } from "../models/Completion.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker, withoutCredit } from "../runs/FollowUpWorker.ts"
import type { Message } from "../threads/Message.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import { cut, nextMessages, summaryPrompt, summarySystem } from "./SummaryPrompt.ts"
import { SummarySettings } from "./SummarySettings.ts"

export const summarizeKind = "summarize"

const Order = Schema.Struct({
  threadId: ThreadId,
  runId: RunId,
  provider: Schema.String,
  model: Schema.String,
  throughSequence: Schema.Int
})
type Order = typeof Order.Type

export const layerSummarizer: Layer.Layer<
  never,
  never,
  AssistantStore | FollowUps | Providers | QuotaStore | ThreadStore | UsageLedger
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const run = yield* makeSummarizer
    // No record waits: the follow-up is stored in one transaction with the answer.
    yield* (yield* FollowUps).register(typedWorker({ kind: summarizeKind, payload: Order, run }))
  })
)

const makeSummarizer = Effect.gen(function* () {
  const assistants = yield* AssistantStore
  const counter = yield* TokenCounter
  const keys = yield* ProviderKeys
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }
  const { hold } = yield* makeDayBudget
  const providers = yield* Providers
  const settings = yield* SummarySettings
  const threads = yield* ThreadStore

  const ask = Effect.fnUntraced(function* (
    order: Order,
    assistantId: AssistantId,
    before: ThreadSummary | null,
    messages: ReadonlyArray<Message>
  ): Effect.fn.Return<string, FollowUpFailed | StoreUnavailable, Principal> {
    const need = { purpose: "summary", amountUsd: null }
    yield* Effect.catchTag(account.metering.ensureCredit(need), "InsufficientCredit", withoutCredit("for a summary"))
    const { model, provider } = settings.writer ?? order
    const { chat, info } = yield* Effect.catch(providers.resolve(provider, model), ({ message }) => giveUp(message))
    const target = { provider, model, info, apiKey: yield* keys.find(provider), conversationId: order.threadId }
    const prompt = summaryPrompt(before, messages, settings.messageTokens, counter)
    const payee = { provider, model, purpose: "summary" }
    const system = summarySystem(settings.summaryTokens)
    const promptTokens = counter.count(system) + counter.count(prompt)
    const answer = yield* paid(beginOutside(account, { runId: order.runId, assistantId }), {
      payee,
      call: complete(chat, target, { system, prompt, jsonOutput: false }, settings),
      charges: (made) => [{ ...payee, model: made.model ?? model, usage: made.usage }]
    }).pipe(
      hold({ need, assistantId, promptTokens, model: info }),
      Effect.catchTags({
        InsufficientCredit: withoutCredit("for a summary"),
        ModelError: ({ isRetryable, message, retryAfterMillis: pauseMillis }) =>
          Effect.fail(
            new FollowUpFailed({ message, isRetryable, ...(pauseMillis === undefined ? {} : { pauseMillis }) })
          )
      })
    )
    return answer.text.trim()
  })

  return tracedFn("Summaries.write")(function* (
    order: Order
  ): Effect.fn.Return<void, FollowUpFailed | StoreUnavailable, Principal> {
    const found = Option.getOrNull(yield* assistants.ofThread(order.threadId))
    let summary = found?.summary ?? null
    const from = summary?.throughSequence ?? 0
    if (found === null || from >= order.throughSequence) return
    let missing = (yield* threads.messages([order.threadId])).filter(
      ({ sequence }) => sequence > from && sequence <= order.throughSequence
    )
    while (missing.length > 0) {
      const messages = nextMessages(missing, settings.messageTokens)
      const last = messages.at(-1)
      if (last === undefined) return
      const written = yield* ask(order, found.assistant.id, summary, messages)
      if (written === "") return yield* giveUp("The model wrote no summary.")
      const text = cut(written, settings.summaryTokens, counter)
      summary = { text, throughSequence: last.sequence, throughId: last.id, tokens: counter.count(text) }
      // The thread was deleted, or another process was faster.
      if (!(yield* threads.setSummary(order.threadId, summary))) return
      missing = missing.slice(messages.length)
    }
  })
})

const giveUp = (message: string) => Effect.fail(new FollowUpFailed({ message, isRetryable: false }))
