/**
 * The one table from the kernel's errors to those of the wire. `KernelError` is computed from the use cases themselves, so a new error in
 * core does not compile here until it has its line; and a handler does not compile until its endpoint declares the outcome.
 */
import type {
  Allowances,
  Assistants,
  Billing,
  Catalog,
  Conversations,
  Erasures,
  Inbox,
  Keys,
  OverLimit,
  Threads,
  TurnRefused,
  Turns
} from "@colloquy/core"
import type { DecisionProblem, ToolOutputProblem } from "@colloquy/core/adapters"
import type {
  Answers,
  CaseRefused,
  Documents,
  Evals,
  ExperimentRefused,
  FeedbackRefused,
  FilesNotReady,
  Memories,
  MemoryLinesUnusable,
  MemoryUnusable,
  OutcomeRefused,
  ScheduleRefused,
  Schedules,
  Tickets,
  ToolAccess,
  ToolAccessFailed,
  WebhookRefused,
  Webhooks
} from "@colloquy/core/wings"
import { wirePath } from "./ImportNames.ts"
import type * as Effect from "effect/Effect"
import {
  BadGateway,
  BadRequest,
  Conflict,
  Forbidden,
  GatewayTimeout,
  HTTPValidationError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  PreconditionFailed,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UnsupportedMediaType,
  type ValidationError
} from "./Errors.ts"

type ErrorOf<UseCase> = UseCase extends (...args: never) => infer Result
  ? ErrorOf<Result>
  : UseCase extends Effect.Effect<unknown, infer Error, infer _Requires>
    ? Error
    : never

type ErrorsOf<Service> = { [Name in keyof Service]: ErrorOf<Service[Name]> }[keyof Service]

/** Everything that a use case of the kernel can fail with. */
export type KernelError =
  | ErrorsOf<typeof Assistants.Service>
  | ErrorsOf<typeof Threads.Service>
  | ErrorsOf<typeof Turns.Service>
  | ErrorsOf<typeof Conversations.Service>
  | ErrorsOf<typeof Keys.Service>
  | ErrorsOf<Omit<typeof Catalog.Service, "video">>
  | ErrorsOf<typeof Billing.Service>
  | ErrorsOf<typeof Inbox.Service>
  | ErrorsOf<typeof Allowances.Service>
  | ErrorsOf<Omit<typeof Erasures.Service, "register">>
  | ErrorsOf<Omit<typeof Documents.Service, "upload" | "receive">>
  | FilesNotReady
  | ErrorsOf<Pick<typeof Answers.Service, "recordOfTurn" | "report">>
  | ErrorsOf<Pick<typeof Tickets.Service, "issue">>
  | ErrorsOf<typeof Memories.Service>
  | ErrorsOf<typeof Schedules.Service>
  | ErrorsOf<typeof Webhooks.Service>
  | ErrorsOf<typeof Evals.Service>
  | ErrorsOf<typeof ToolAccess.Service>

type Tag = KernelError["_tag"]
type Tagged<T extends Tag> = Extract<KernelError, { readonly _tag: T }>

const detailFromError = (error: { readonly message: string }) => ({ detail: error.message })
const notFound = (error: { readonly message: string }) => new NotFound(detailFromError(error))
const unavailable = (error: { readonly message: string }) => new ServiceUnavailable(detailFromError(error))
const invalid = (...detail: ReadonlyArray<ValidationError>) => new HTTPValidationError({ detail })

/** The pause that a client is told after a refusal by a limit that ends only when the owner deletes something. */
const secondsToMakeRoom = 60

const overLimit = ({ limit, message, waitMillis }: OverLimit): PaymentRequired | TooManyRequests => {
  const seconds = waitMillis === null ? secondsToMakeRoom : Math.max(1, Math.ceil(waitMillis / 1000))
  const body = { detail: message, retry_after: seconds }
  return limit.startsWith("usd") ? new PaymentRequired(body) : new TooManyRequests(body)
}

/** The field of a request that a part's problem is about: a part names its own options, a client knows the fields that became them. */
export type BodyPath = (part: string, path: ReadonlyArray<string | number>) => ReadonlyArray<string | number>

const samePath: BodyPath = (_, path) => path

const refused = ({ message, part, problems, reason }: TurnRefused, bodyPath: BodyPath) => {
  const detail = { detail: message }
  switch (reason) {
    case "invalid":
    case "absent":
      return invalid(
        ...problems.map((problem) => ({
          loc: ["body", ...bodyPath(part, problem.path)],
          msg: problem.message,
          type: reason === "absent" ? "not_available" : "value_error"
        }))
      )
    case "not_found":
      return new NotFound(detail)
    case "not_ready":
      return new BadRequest(detail)
    case "too_large":
      return new PayloadTooLarge(detail)
    case "unsupported_type":
      return new UnsupportedMediaType(detail)
    case "provider_failed":
      return new BadGateway(detail)
    case "provider_timeout":
      return new GatewayTimeout(detail)
    case "part_timeout":
      return new ServiceUnavailable(detail)
  }
}

const table = {
  TurnRefused: refused,
  AssistantNotFound: notFound,
  AssistantVersionNotFound: notFound,
  AssistantVersionUnknown: (error) =>
    invalid({ loc: ["body", "assistant_version"], msg: error.message, type: "version_not_found" }),
  ColleagueNotFound: (error) =>
    invalid(
      ...error.problems.map(({ index, list }) => ({
        loc: ["body", list, index, "assistant_id"],
        msg: error.message,
        type: "assistant_not_found"
      }))
    ),
  AssistantChanged: (error) => new PreconditionFailed(detailFromError(error)),
  ThreadNotFound: notFound,
  RunNotFound: notFound,
  MessageNotFound: notFound,
  MessageNotSendable: ({ message, reason }) => invalid({ loc: ["path", "message_id"], msg: message, type: reason }),
  ThreadChanged: (error) => new Conflict(detailFromError(error)),
  ImportRefused: ({ isTooLarge, message, problems }) =>
    isTooLarge
      ? new PayloadTooLarge({ detail: message })
      : invalid(
          ...problems.map(({ index, message: msg, path }) => ({
            loc: ["body", "messages", index, ...wirePath(path)],
            msg,
            type: "value_error"
          }))
        ),
  KeyNotFound: notFound,
  ModelNotFound: notFound,
  AnswersNotFound: notFound,
  OutcomeScopeNotFound: notFound,
  MemoryNotFound: notFound,
  MemoryUnusable: (error) => invalid(contentProblem(error)),
  MemoryLinesUnusable: (error) => invalid(...lineProblems(error)),
  DocumentNotFound: notFound,
  BlobNotFound: () => new NotFound({ detail: "The bytes of this document are gone. Upload the file again." }),
  FilesNotReady: ({ documentIds, message, threadId }) =>
    new BadRequest({ detail: message, thread_id: threadId, document_ids: documentIds }),
  OutcomeRefused: (error) => invalid(outcomeProblem(error)),
  NothingPending: notFound,
  FirstAnswerGone: notFound,
  ErasureNotFound: notFound,
  ScheduleNotFound: notFound,
  ScheduleRefused: (error) => invalid(...error.problems.map(scheduleProblem)),
  TooManySchedules: ({ message }) => new TooManyRequests({ detail: message, retry_after: secondsToMakeRoom }),
  WebhookNotFound: notFound,
  DeliveryNotFound: notFound,
  SecretUnreadable: (error) => new Conflict(detailFromError(error)),
  WebhookRefused: (error) => invalid(...error.problems.map(webhookProblem)),
  TooManyWebhooks: ({ message }) => new TooManyRequests({ detail: message, retry_after: secondsToMakeRoom }),
  CaseNotFound: notFound,
  FeedbackRefused: (error) => invalid(...error.problems.map(feedbackProblem)),
  ExperimentNotFound: notFound,
  JudgeScoreNotFound: notFound,
  VariantNotFound: notFound,
  ExperimentRefused: (error) => invalid(...error.problems.map(experimentProblem)),
  TooManyExperiments: ({ message }) => new TooManyRequests({ detail: message, retry_after: secondsToMakeRoom }),
  CaseRefused: (error) => invalid(...error.problems.map(caseProblem)),
  TooManyCases: ({ message }) => new TooManyRequests({ detail: message, retry_after: secondsToMakeRoom }),
  ToolServerNotFound: notFound,
  ToolAccessFailed: (error) => new accessStatus[error.reason](detailFromError(error)),
  InvalidKey: (error) => new Unauthorized(detailFromError(error)),
  InsufficientCredit: (error) => new PaymentRequired(detailFromError(error)),
  AssistantInSession: (error) => new Conflict(detailFromError(error)),
  OverLimit: overLimit,
  TooManyTickets: ({ message, waitMillis }) =>
    new TooManyRequests({ detail: message, retry_after: Math.ceil(waitMillis / 1000) }),
  TooManyFollowers: ({ message }) => new TooManyRequests({ detail: message, retry_after: secondsToMakeRoom }),
  ThreadInSession: (error) => new Conflict(detailFromError(error)),
  ThreadBusy: (error) => new Conflict({ detail: error.message, run_id: error.runId }),
  IdempotencyConflict: (error) => new Conflict(detailFromError(error)),
  EmptyMessage: (error) => invalid({ loc: ["body", "content"], msg: error.message, type: "missing" }),
  ContextTooLong: (error) =>
    invalid({
      loc: ["body", error.ofOutputs === true ? "tool_outputs" : "content"],
      msg: error.message,
      type: "context_too_long"
    }),
  ProviderNotFound: (error) =>
    invalid({
      loc: ["body", error.use === "embeddings" ? "embedding_provider" : "llm_provider"],
      msg: error.message,
      type: "provider_not_found"
    }),
  NameTooLong: (error) => invalid({ loc: ["body", nameField[error.field]], msg: error.message, type: "too_long" }),
  ModelNotNamed: (error) => invalid({ loc: ["body", "model_name"], msg: error.message, type: "missing" }),
  ToolNameTaken: (error) =>
    invalid({ loc: ["body", "tools", error.index, "function", "name"], msg: error.message, type: "name_taken" }),
  DecisionsRejected: (error) => invalid(...error.problems.map(decisionProblem)),
  AlreadyDecided: (error) => new Conflict(detailFromError(error)),
  ToolOutputsRejected: (error) => invalid(...error.problems.map(toolOutputProblem)),
  EmbeddingModelFixed: (error) =>
    invalid(
      ...error.fields.map((field) => ({
        loc: ["body", embeddingField[field]],
        msg: error.message,
        type: "frozen_field"
      }))
    ),
  ShuttingDown: unavailable,
  StoreUnavailable: ({ isErasing, message }) => {
    // Every endpoint would have to declare this error. So it is thrown, and `Envelope` answers with it for all endpoints.
    if (isErasing === true) throw new Conflict({ detail: message })
    return new ServiceUnavailable({ detail: "The store cannot be reached. Try again in a moment." })
  }
} satisfies { readonly [T in Tag]: (error: Tagged<T>, bodyPath: BodyPath) => unknown }

const accessStatus: {
  readonly [reason in ToolAccessFailed["reason"]]: typeof BadRequest | typeof Forbidden | typeof BadGateway
} = {
  state: BadRequest,
  refused: Forbidden,
  server: BadGateway
}

const nameField = {
  name: "name",
  provider: "llm_provider",
  model: "model_name",
  embeddingProvider: "embedding_provider",
  embeddingModel: "embedding_model_name"
} as const

export const scheduleProblem = ({ field, message }: ScheduleRefused["problems"][number]): ValidationError => ({
  loc: field === "threadId" ? ["body", "thread", "thread_id"] : ["body", field],
  msg: message,
  type: "value_error"
})

export const webhookProblem = ({ field, message }: WebhookRefused["problems"][number]): ValidationError => ({
  loc: ["body", field],
  msg: message,
  type: "value_error"
})

/** An import names its cases by their index. */
const caseProblem = ({ index, message, path }: CaseRefused["problems"][number]): ValidationError => ({
  loc: ["body", ...(index === null ? [] : ["cases", index]), ...casePath(path)],
  msg: message,
  type: "value_error"
})

const casePath = (path: ReadonlyArray<string | number>): ReadonlyArray<string | number> => {
  const [first, index, ...inside] = path
  if (first === "messages") return wirePath(path)
  if (first !== "toolDefinitions" || index === undefined)
    return path.map((name) => (typeof name === "string" ? snakeCase(name) : name))
  return ["tool_definitions", index, "function", ...inside]
}

const experimentFields: Readonly<Record<string, string>> = { provider: "llm_provider", model: "model_name" }

const snakeCase = (name: string): string =>
  experimentFields[name] ?? name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)

const experimentProblem = ({ message, path }: ExperimentRefused["problems"][number]): ValidationError => ({
  loc: ["body", ...path.map((step) => (typeof step === "string" ? snakeCase(step) : step))],
  msg: message,
  type: "value_error"
})

const feedbackProblem = ({ message, path }: FeedbackRefused["problems"][number]): ValidationError =>
  path[0] === "messageId"
    ? { loc: ["path", "message_id"], msg: message, type: "value_error" }
    : { loc: ["body", ...path], msg: message, type: "value_error" }

const outcomeProblem = ({ message, problem }: OutcomeRefused): ValidationError => ({
  loc: ["body", problem === "no_such_question" ? "question" : "outcome"],
  msg: message,
  type: problem
})

const contentProblem = ({ message, reason }: MemoryUnusable): ValidationError => ({
  loc: ["body", "content"],
  msg: message,
  type: reason
})

/** Lines are counted from 1, as editors do. */
const lineProblems = ({ problems }: MemoryLinesUnusable): ReadonlyArray<ValidationError> =>
  problems.map(({ line, message }) => ({ loc: ["body", line], msg: `Line ${line}: ${message}`, type: "value_error" }))

const embeddingField = {
  provider: "embedding_provider",
  model: "embedding_model_name",
  dimensions: "embedding_dims"
} as const

const outputProblems: { readonly [P in ToolOutputProblem["problem"]]: string } = {
  unknown: "the run has no such call",
  duplicate: "this call is answered twice in the list",
  already_answered: "this call has been answered already",
  needs_approval: "this call waits for an approval, and not for an output",
  missing: "this call is open and has no output in the list"
}

const toolOutputProblem = ({ index, problem, toolCallId }: ToolOutputProblem): ValidationError => ({
  loc: index === null ? ["body", "tool_outputs"] : ["body", "tool_outputs", index, "tool_call_id"],
  msg: `${toolCallId}: ${outputProblems[problem]}`,
  type: problem
})

const decisionProblems: { readonly [P in DecisionProblem["problem"]]: string } = {
  unknown: "the run has no such call",
  duplicate: "this call is decided twice in the list",
  ambiguous: "several runs wait for a call with this id; decide it at the run of the helper that waits for it",
  not_an_approval: "this call waits for an output of the client, and not for an approval",
  arguments_of_rejection: "arguments go with an approval, and not with a rejection",
  invalid_arguments: "the arguments do not fit the tool"
}

const decisionProblem = ({ detail, index, path = [], problem, toolCallId }: DecisionProblem): ValidationError => {
  const isOfArguments = problem === "invalid_arguments" || problem === "arguments_of_rejection"
  return {
    loc: ["body", "approvals", index, ...(isOfArguments ? ["arguments", ...path] : ["tool_call_id"])],
    msg: detail ?? `${toolCallId}: ${decisionProblems[problem]}`,
    type: problem
  }
}

/** The errors of the wire for these errors of the kernel. */
export type WireError<E extends KernelError> = ReturnType<(typeof table)[E["_tag"]]>

/** The compiler does not follow that the entry under an error's tag takes that error; `satisfies` above has checked it. */
const entries: { readonly [T in Tag]: (error: never, bodyPath: BodyPath) => unknown } = table

/** For `Effect.mapError`. A turn is begun with fields that wings know: their `bodyPath` names those in a refusal. */
export const toWireError = <E extends KernelError>(error: E, bodyPath = samePath): WireError<E> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  entries[error._tag](error as never, bodyPath) as WireError<E>
