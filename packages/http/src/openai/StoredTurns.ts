/** A stored thread as OpenAI's clients see it: its last response, the run that waits for outputs, and the whole as a transcript. Pure. */
import type { Message, Thread } from "@colloquy/core"
import type { ThreadWithMessages } from "@colloquy/core/adapters"
import type { ResponseIds } from "./Ids.ts"
import type { ReadItem } from "./Transcript.ts"
import { keptTranscript } from "./TranscriptPart.ts"

/** The answer messages of a run, one for each leg. */
export const answersInRun = (messages: ReadonlyArray<Message>, runId: ResponseIds["runId"]): ReadonlyArray<Message> =>
  messages.filter((message) => message.runId === runId && message.role === "assistant")

export const questionInRun = (messages: ReadonlyArray<Message>, runId: ResponseIds["runId"]): Message | undefined =>
  messages.find((message) => message.runId === runId && message.role === "user")

/** Whether a leg waited for people's decisions alone, so that the client has no part in the next leg. */
const isDecided = (answer: Message | undefined): boolean =>
  answer !== undefined &&
  answer.toolCalls.length > 0 &&
  answer.toolCalls.every(({ approval }) => approval !== undefined)

/** The last leg of a response. Legs that a person's decision begins belong to the same response. */
export const endLeg = (answers: ReadonlyArray<Message>, from: number, newest = answers.length - 1): number => {
  let leg = from
  while (leg < newest && isDecided(answers[leg])) leg++
  return leg
}

/** Whether nothing was said after this response. */
export const isLast = (messages: ReadonlyArray<Message>, { leg, runId }: ResponseIds): boolean => {
  const answers = answersInRun(messages, runId)
  return messages.at(-1)?.runId === runId && answers.length === endLeg(answers, leg) + 1
}

/** The run that waits for outputs, and the leg that they begin. */
export const waitingIn = (messages: ReadonlyArray<Message>): ResponseIds | null => {
  const last = messages.at(-1)
  if (last?.status !== "REQUIRES_ACTION" || last.runId === null) return null
  return { threadId: last.threadId, runId: last.runId, leg: answersInRun(messages, last.runId).length }
}

/** The developer's messages on the thread so far. */
export const developerIn = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.flatMap((message) => (message.role === "user" ? (keptTranscript(message)?.developer ?? []) : []))

/** All messages up to the end of a response. */
export const upTo = (messages: ReadonlyArray<Message>, { leg, runId }: ResponseIds): ReadonlyArray<Message> => {
  const answers = answersInRun(messages, runId)
  const answer = answers[endLeg(answers, leg)]
  return answer === undefined ? messages : messages.slice(0, messages.indexOf(answer) + 1)
}

const notAnswered = "No result: the conversation went on before this call was answered."

/** The items of stored messages. Calls of the last one that a client has to answer stay open: their outputs come with the next request. */
export const transcriptItems = (messages: ReadonlyArray<Message>): ReadonlyArray<ReadItem> => {
  const items: Array<ReadItem["item"]> = []
  const last = messages.at(-1)
  for (const message of messages) {
    if (message.role === "user") {
      const transcript = keptTranscript(message)
      const text = { type: "text", text: message.content ?? "" } as const
      items.push(
        ...(transcript?.before ?? []),
        { role: "user", content: [text, ...(transcript?.media ?? [])] },
        ...(transcript?.after ?? [])
      )
      continue
    }
    const steps =
      message.steps.length > 0
        ? message.steps
        : [{ text: message.content ?? "", toolCalls: message.toolCalls, hostedResults: [] }]
    for (const step of steps) {
      if (step.text === "" && step.toolCalls.length === 0) continue
      items.push({ role: "assistant", content: step.text, toolCalls: step.toolCalls })
      const results = [...step.hostedResults, ...(message === last ? [] : message.toolResults)]
      for (const call of step.toolCalls) {
        const found = results.find(({ toolCallId }) => toolCallId === call.id)
        if (found === undefined && message === last && message.toolCalls.some(({ id }) => id === call.id)) continue
        items.push({
          role: "tool",
          toolCallId: call.id,
          toolName: call.name,
          output: found?.output ?? notAnswered
        })
      }
    }
  }
  return items.map((item) => ({ item, param: "previous_response_id" }))
}

/** The name in a thread's metadata which says that a response was deleted. */
export const deletedKey = ({ leg, runId }: ResponseIds): string => `deleted_response_${runId}_${leg}`

export const isDeleted = ({ metadata }: Thread, ids: ResponseIds): boolean => metadata?.[deletedKey(ids)] === true

/** Whether every response of the thread was deleted, so that nothing of it is to be kept. */
export const isForgotten = ({ messages, thread }: ThreadWithMessages): boolean => {
  const runs = new Set(messages.flatMap(({ runId }) => (runId === null ? [] : [runId])))
  return [...runs].every((runId) =>
    answersInRun(messages, runId).every(
      (_, leg, answers) => isDecided(answers[leg - 1]) || isDeleted(thread, { threadId: thread.id, runId, leg })
    )
  )
}
