/** An experiment: cases × variants × repeats, each an attempt, which is answered and scored. */
import * as Schema from "effect/Schema"
import { ExcerptOptions } from "../documents/ExcerptOptions.ts"
import { ModelOptions } from "../models/ModelOptions.ts"
import { AssistantId, CaseId, ExperimentId } from "../primitives/Ids.ts"
import { CaseResult } from "./CaseResult.ts"
import { Expectations } from "./Expectation.ts"

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(200))

/** One way to answer the cases. What is absent is as the assistant has it. */
export const ExperimentVariant = Schema.Struct({
  name: Name,
  /** Absent: the assistant of each case. */
  assistantId: Schema.optionalKey(AssistantId),
  assistantVersion: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  provider: Schema.optionalKey(Schema.String),
  model: Schema.optionalKey(Schema.String),
  modelOptions: Schema.optionalKey(ModelOptions),
  /** The system prompt. */
  instructions: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200_000))),
  /** How excerpts of documents are found. */
  retrieval: Schema.optionalKey(ExcerptOptions)
})
export type ExperimentVariant = typeof ExperimentVariant.Type

const Variants = Schema.Array(ExperimentVariant).check(Schema.isMinLength(1), Schema.isMaxLength(10))

/** `recorded`: tools answer what their case has of them. `live`: tools that run in the server run; the client's are answered from the case. */
const ToolsOfExperiment = Schema.Literals(["recorded", "live"])

/** `stopped`: its budget was spent. */
export const ExperimentStatus = Schema.Literals(["running", "completed", "stopped", "cancelled"])
export type ExperimentStatus = typeof ExperimentStatus.Type

export const Experiment = Schema.Struct({
  id: ExperimentId,
  name: Schema.NullOr(Schema.String),
  /** As they were chosen at the beginning. A case is read when it is tried. */
  caseIds: Schema.Array(CaseId),
  variants: Schema.Array(ExperimentVariant),
  repeats: Schema.Int,
  tools: ToolsOfExperiment,
  /** How many attempts are made at once. */
  concurrency: Schema.Int,
  /** No attempt begins when this much is spent. */
  budgetUsd: Schema.NullOr(Schema.Finite),
  /** Of every case, beside its own. */
  expectations: Expectations,
  createdAt: Schema.Date
})
export type Experiment = typeof Experiment.Type

/** An experiment with how far it is and what it has cost. */
export interface ExperimentState {
  readonly experiment: Experiment
  readonly status: ExperimentStatus
  /** Why it was stopped. */
  readonly reason: string | null
  /** How many attempts have a result. */
  readonly done: number
  /** What the attempts cost, as far as it is known, with their judges and with tries that gave no result. */
  readonly costUsd: number
  readonly endedAt: Date | null
}

/** The result of an attempt. `number` is its position in the experiment, from 0. */
export const ExperimentResult = Schema.Struct({
  ...CaseResult.fields,
  number: Schema.Int,
  toolCalls: Schema.Array(
    Schema.Struct({ name: Schema.String, arguments: Schema.String, result: Schema.NullOr(Schema.String) })
  ),
  /** What the judges cost; null: not known. */
  judgesCostUsd: Schema.NullOr(Schema.Finite),
  endedAt: Schema.Date
})
export type ExperimentResult = typeof ExperimentResult.Type

/** How many answers an experiment asks for: cases × variants × repeats. */
export const attemptsIn = ({
  caseIds,
  repeats,
  variants
}: Pick<Experiment, "caseIds" | "repeats" | "variants">): number => caseIds.length * variants.length * repeats

/** All variants answer a case before the next case has its turn, so that an experiment that is stopped early can be compared. */
export const attemptAt = ({ caseIds, repeats, variants }: Experiment, number: number) => {
  const variant = variants[number % variants.length]
  const caseId = caseIds[Math.floor(number / (variants.length * repeats))]
  const repeat = Math.floor(number / variants.length) % repeats
  return variant === undefined || caseId === undefined ? null : { variant, caseId, repeat }
}

/** What a caller wants. The cases: those with these ids, those that have all of these tags, or all. */
export const NewExperiment = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(Name)),
  caseIds: Schema.optionalKey(Schema.Array(CaseId).check(Schema.isUnique())),
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  variants: Variants,
  /** Default: 1. */
  repeats: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
  /** Default: `recorded`. */
  tools: Schema.optionalKey(ToolsOfExperiment),
  /** Default: 3. */
  concurrency: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16 }))),
  budgetUsd: Schema.optionalKey(Schema.NullOr(Schema.Finite.check(Schema.isGreaterThan(0)))),
  expectations: Schema.optionalKey(Expectations)
})
export type NewExperiment = typeof NewExperiment.Type

/** The owner has no experiment with this id. */
export class ExperimentNotFound extends Schema.TaggedError<ExperimentNotFound>()("ExperimentNotFound", {
  experimentId: ExperimentId
}) {
  override get message() {
    return `There is no experiment ${this.experimentId}.`
  }
}

/** The experiment has no variant with this name. */
export class VariantNotFound extends Schema.TaggedError<VariantNotFound>()("VariantNotFound", { name: Schema.String }) {
  override get message() {
    return `The experiment has no variant "${this.name}".`
  }
}

/** An experiment cannot be as it was asked for. */
export class ExperimentRefused extends Schema.TaggedError<ExperimentRefused>()("ExperimentRefused", {
  problems: Schema.Array(
    Schema.Struct({ path: Schema.Array(Schema.Union([Schema.String, Schema.Int])), message: Schema.String })
  )
}) {
  override get message() {
    return this.problems.map(({ message, path }) => [path.join("."), message].filter(Boolean).join(": ")).join(" ")
  }
}

/** The owner has as many experiments as the settings allow. */
export class TooManyExperiments extends Schema.TaggedError<TooManyExperiments>()("TooManyExperiments", {
  limit: Schema.Int
}) {
  override get message() {
    return `There are ${this.limit} experiments already, which is the limit. Delete one of them first.`
  }
}
