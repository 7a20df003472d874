/**
 * Pure: combines the first frame with the assistant's settings. Absent fields are inherited, empty fields are cleared, and the service's
 * tools are added to the client's. A history that is too large refuses the session, because nothing is ever cut silently.
 */
import * as Result from "effect/Result"
import type { Message } from "../threads/Message.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import { hostedMark, type ToolDefinition } from "../tools/ToolDefinition.ts"
import type { Place } from "../turns/Place.ts"
import type { ErrorCode, SessionRequest } from "./Frames.ts"
import type { ModelSetup, SpokenMessage } from "./RealtimeModel.ts"
import type { SessionExtras } from "./SessionFeatures.ts"
import type { SessionLimits } from "./SessionLimits.ts"

export interface PlanRefused {
  readonly code: ErrorCode
  readonly message: string
}

export interface SessionPlan {
  readonly instructions: string | null
  /** The client's and the service's tools. */
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly hosted: SessionExtras["tools"]
  readonly followUps: SessionExtras["followUps"]
}

export const planSession = (
  request: SessionRequest,
  { assistant, summary }: Pick<Place, "assistant" | "summary">,
  extras: SessionExtras
): Result.Result<SessionPlan, PlanRefused> => {
  const { memory, memoryPro } = request.selection
  if (memory !== "off" && memoryPro !== "off") {
    return refused("memory and memory_pro cannot be combined: leave one of them out.")
  }
  const own = (request.tools ?? assistant.tools ?? []).filter((tool) => !hostedMark(tool))
  const hosted = extras.tools.map(({ tool }) => tool.definition)
  const taken = own.find(({ name }) => hosted.some((each) => each.name === name))
  if (taken !== undefined) return refused(`The tool name "${taken.name}" is taken by a tool of the service.`)
  const saved = request.systemPrompt ?? assistant.systemPrompt
  const parts = [saved, extras.instructions, summary === null ? null : `${summaryIntro}\n${summary.text}`].filter(
    (part) => part !== null && part !== ""
  )
  return Result.succeed({
    instructions: parts.length === 0 ? null : parts.join("\n\n"),
    tools: [...own, ...hosted],
    hosted: extras.tools,
    followUps: extras.followUps
  })
}

/** The setup of the model after a change. The history was counted when the session began, so the instructions are counted alone. */
export const changedSetup = (
  request: SessionRequest,
  place: Pick<Place, "assistant" | "summary">,
  extras: SessionExtras,
  limits: Pick<SessionLimits, "historyMessages" | "historyCharacters">
): Result.Result<ModelSetup, string> =>
  planSession(request, place, extras).pipe(
    Result.flatMap(({ instructions, tools }) => {
      const problem = historyProblem(0, [], instructions, limits)
      return problem === null ? Result.succeed({ instructions, tools }) : Result.fail(problem)
    }),
    Result.mapError(({ message }) => message)
  )

const summaryIntro = "A summary of what was said before in this conversation:"

const refused = (message: string): Result.Result<never, PlanRefused> =>
  Result.fail({ code: "invalid_first_frame", message })

/** The part of the thread that the model gets; messages without text are left out. */
export const spokenHistory = (
  messages: ReadonlyArray<Message>,
  summary: ThreadSummary | null
): ReadonlyArray<SpokenMessage> =>
  messages
    .filter(({ sequence }) => sequence > (summary?.throughSequence ?? 0))
    .flatMap(({ content, role }) => (content === null || content === "" ? [] : [{ role, text: content }]))

/** Null when the history is within the limits. `total` counts the messages that no summary covers. */
export const historyProblem = (
  total: number,
  history: ReadonlyArray<SpokenMessage>,
  instructions: string | null,
  limits: Pick<SessionLimits, "historyMessages" | "historyCharacters">
): PlanRefused | null => {
  if (total > limits.historyMessages) {
    return tooLarge(`The thread has ${total} messages, and a voice session takes at most ${limits.historyMessages}.`)
  }
  const characters = JSON.stringify(history).length + (instructions?.length ?? 0)
  return characters > limits.historyCharacters
    ? tooLarge(
        `History and instructions have ${characters} characters, and a voice session takes at most ${limits.historyCharacters}.`
      )
    : null
}

const tooLarge = (fact: string): PlanRefused => ({
  code: "history_too_large",
  message: `${fact} Start a new thread, or clear the instructions.`
})
