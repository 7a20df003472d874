/**
 * Texts to vectors, with what the kernel promises for every embedding driver. Requests are split to the driver's limits, batches run in
 * parallel and in turns by owner, temporary failures are retried, and every vector is checked for its dimensions, because a wrong one would damage an index
 * permanently.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { genAi } from "../primitives/GenAi.ts"
import { inTime } from "../primitives/Deadlines.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { makeFairQueue } from "../access/FairQueue.ts"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { type BeginCharge, paid } from "../metering/PaidCall.ts"
import type { EmbeddingReply, EmbeddingDriver, EmbeddingRequest } from "./EmbeddingDriver.ts"
import { ModelError } from "./ModelError.ts"
import { metricAttributes, measured, type ModelOperation, recordTokens } from "./ModelMetrics.ts"
import { Providers } from "./Provider.ts"
import { pauseBeforeRetry } from "./RetryPause.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { addUsage, noUsage, Usage } from "../primitives/Usage.ts"

/** The model that embeds, and the length of its vectors; null: the model's own length. */
export interface EmbeddingTarget {
  readonly provider: string
  readonly model: string
  readonly dimensions: number | null
}

/** The provider's answer is not usable, and a retry would not help. */
export class EmbeddingFailed extends Schema.TaggedError<EmbeddingFailed>()("EmbeddingFailed", {
  provider: Schema.String,
  model: Schema.String,
  problem: Schema.Literals(["no_such_provider", "wrong_number_of_vectors", "wrong_dimensions", "not_a_number"]),
  expected: Schema.NullOr(Schema.Int),
  received: Schema.NullOr(Schema.Int),
  /** What the requests have used, if that is known. */
  usage: Schema.optionalKey(Usage)
}) {
  override get message() {
    const figures = this.expected === null ? "" : ` (expected ${this.expected}, received ${this.received})`
    return `${this.provider}/${this.model} gave no usable vectors: ${this.problem.replaceAll("_", " ")}${figures}.`
  }
}

export class EmbeddingModel extends Context.Service<
  EmbeddingModel,
  {
    /** One vector for each text, in order. Without texts, no request is made. A failure tells what its requests have used. */
    readonly embed: (
      target: EmbeddingTarget,
      texts: ReadonlyArray<string>,
      purpose: EmbeddingRequest["purpose"]
    ) => Effect.Effect<EmbeddingReply, EmbeddingFailed | ModelError | StoreUnavailable, Principal>
  }
>()("@colloquy/core/models/EmbeddingModel") {
  static readonly layer: Layer.Layer<EmbeddingModel, never, Providers> = Layer.effect(
    EmbeddingModel,
    Effect.gen(function* () {
      const providers = yield* Providers
      const keys = yield* ProviderKeys
      const { inTurn } = yield* makeFairQueue(documentCalls)
      const drivers = new Map(providers.all.map((provider) => [provider.id, provider.embedding]))

      return EmbeddingModel.of({
        embed: tracedFn("EmbeddingModel.embed")(function* (
          target: EmbeddingTarget,
          texts: ReadonlyArray<string>,
          purpose: EmbeddingRequest["purpose"]
        ) {
          const driver = drivers.get(target.provider)
          if (driver === undefined) return yield* unusable(target, "no_such_provider")
          const apiKey = yield* keys.find(target.provider)
          // A turn waits for the vector of a question. The vectors of documents are many, and owners take turns.
          const turn: Turn = purpose === "query" ? (call) => call : inTurn
          const used: Array<Usage> = []
          const answers = yield* Effect.forEach(
            toBatches(texts, driver),
            (batch) => embedOnce(driver, { ...target, texts: batch, purpose, apiKey }, turn, used),
            { concurrency: 4 }
          ).pipe(Effect.mapError((error) => (used.length === 0 ? error : withUsage(error, used))))
          return { vectors: answers.flatMap((answer) => answer.vectors), usage: used.reduce(addUsage, noUsage) }
        })
      })
    })
  )
}

/** One charge for all texts, noted before the first request. */
export const embedPaid = <E>(
  model: typeof EmbeddingModel.Service,
  begin: BeginCharge<E>,
  target: EmbeddingTarget,
  texts: ReadonlyArray<string>,
  purpose: EmbeddingRequest["purpose"]
): Effect.Effect<EmbeddingReply, EmbeddingFailed | ModelError | StoreUnavailable | E, Principal> => {
  const payee = { provider: target.provider, model: target.model, purpose: "embedding" }
  const call = model.embed(target, texts, purpose)
  return texts.length === 0 ? call : paid(begin, { payee, call, charges: ({ usage }) => [{ ...payee, usage }] })
}

const withUsage = (error: EmbeddingFailed | ModelError, used: ReadonlyArray<Usage>): EmbeddingFailed | ModelError => {
  const usage = used.reduce(addUsage, noUsage)
  return error._tag === "ModelError"
    ? new ModelError(Object.assign({}, error, { usage }))
    : new EmbeddingFailed(Object.assign({}, error, { usage }))
}

/** Makes as few requests as the driver's limits permit. A text that exceeds the limit by itself is sent alone, and the provider decides. */
const toBatches = (
  texts: ReadonlyArray<string>,
  limits: Pick<EmbeddingDriver, "maxTexts" | "maxCharacters">
): ReadonlyArray<ReadonlyArray<string>> => {
  const batches: Array<Array<string>> = []
  let room = 0
  for (const text of texts) {
    const last = batches.at(-1)
    if (last === undefined || last.length >= limits.maxTexts || text.length > room) {
      batches.push([text])
      room = limits.maxCharacters - text.length
    } else {
      last.push(text)
      room -= text.length
    }
  }
  return batches
}

/** How many calls for documents are open at once, and how many of one owner. */
const documentCalls = { atOnce: 16, share: 8 }

type Turn = <A, E>(call: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** One call of the model, with its span and its metrics, retries included. What its attempts used is added to `used`. */
const embedOnce = (
  driver: EmbeddingDriver,
  request: EmbeddingRequest,
  turn: Turn,
  used: Array<Usage>
): Effect.Effect<EmbeddingReply, EmbeddingFailed | ModelError> => {
  const operation: ModelOperation = { operation: "embeddings", provider: request.provider, model: request.model }
  return embedBatch(driver, request, turn, used).pipe(
    Effect.tap((answer) => {
      used.push(answer.usage)
      return check(request, answer)
    }),
    Effect.tap(({ usage }) =>
      Effect.contextWith((context: Context.Context<never>) => {
        recordTokens(operation, usage, context)
        return Effect.annotateCurrentSpan(genAi.inputTokens, usage.inputTokens)
      })
    ),
    measured(operation),
    Effect.tapError((error) =>
      Effect.annotateCurrentSpan(genAi.errorType, "reason" in error ? error.reason : error.problem)
    ),
    traced(`embeddings ${request.model}`, { kind: "client", attributes: metricAttributes(operation) })
  )
}

const retryPolicy = { retries: 3, longestRetryPause: "60 seconds" } as const

const embedBatch = (
  driver: EmbeddingDriver,
  request: EmbeddingRequest,
  turn: Turn,
  used: Array<Usage>,
  failures = 0
): Effect.Effect<EmbeddingReply, ModelError> =>
  driver.embed(request).pipe(
    inTime("1 minute", () =>
      Effect.fail(new ModelError({ reason: "timeout", provider: request.provider, model: request.model }))
    ),
    // The pause before a retry takes no slot.
    turn,
    Effect.catch((error) => {
      if (error.usage !== undefined) used.push(error.usage)
      return Effect.flatMap(pauseBeforeRetry(error, retryPolicy, failures), (pause) =>
        pause === null
          ? Effect.fail(error)
          : Effect.andThen(Effect.sleep(pause), embedBatch(driver, request, turn, used, failures + 1))
      )
    })
  )

const check = (request: EmbeddingRequest, answer: EmbeddingReply): Effect.Effect<void, EmbeddingFailed> => {
  const { texts, dimensions } = request
  if (answer.vectors.length !== texts.length) {
    return unusable(request, "wrong_number_of_vectors", texts.length, answer.vectors.length)
  }
  const length = dimensions ?? answer.vectors[0]?.length ?? 0
  const odd = answer.vectors.find((vector) => vector.length !== length)
  if (odd !== undefined) return unusable(request, "wrong_dimensions", length, odd.length)
  const isSound = answer.vectors.every((vector) => vector.every(Number.isFinite))
  return isSound ? Effect.void : unusable(request, "not_a_number")
}

const unusable = (
  { provider, model }: Pick<EmbeddingTarget, "provider" | "model">,
  problem: EmbeddingFailed["problem"],
  expected: number | null = null,
  received: number | null = null
) => Effect.fail(new EmbeddingFailed({ provider, model, problem, expected, received }))
