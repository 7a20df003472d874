/**
 * A model plays the user of an assistant: `simulate({ kernel, persona, goal, turns })`. Both sides are turns of the kernel, so they run live or
 * scripted, and on the kernel's clock. Each turn of the conversation becomes a case.
 */
import type { ThreadCalls } from "../promises/RecordCalls.ts"
import type { SendRequest } from "../promises/Requests.ts"
import type { OpenCall } from "../tools/ToolCall.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import { type EvaluatedKernel, type Variant, variantRequest } from "./Evaluate.ts"
import type { RecordedOutput, TestCase } from "./TestCase.ts"

interface SimulatedReply extends Pick<TurnReply, "threadId" | "runId" | "status" | "toolCalls" | "content"> {
  readonly fault?: TurnReply["fault"]
}

/** A simulation that is aborted cancels the turn under way. */
interface Leaving {
  readonly signal?: AbortSignal | undefined
  readonly onLeave: "cancel"
}

/** What `simulate` needs of an open kernel. */
export interface SimulatedKernel extends Pick<EvaluatedKernel, "assistants"> {
  readonly send: (request: SendRequest, options: Leaving) => Promise<SimulatedReply>
  readonly submitToolOutputs: (
    request: Parameters<EvaluatedKernel["submitToolOutputs"]>[0],
    options: Leaving
  ) => Promise<{ readonly reply: () => Promise<SimulatedReply> }>
  readonly threads: Pick<ThreadCalls, "create" | "remove">
}

/** Who the simulated user is, what they want, and for how many turns. */
export interface SimulateOptions {
  readonly kernel: SimulatedKernel
  /** Who the user is, in a sentence or two. */
  readonly persona: string
  /** What the user wants. */
  readonly goal: string
  /** The most messages of the user. Default: 8. */
  readonly turns?: number | undefined
  /** The model that plays the user. Default: that of the kernel. */
  readonly user?: Pick<SendRequest, "model" | "provider" | "modelOptions"> | undefined
  /** What answers: an assistant, instructions, a model. Default: the kernel as it is. */
  readonly variant?: Omit<Variant, "name"> | undefined
  /** Answers calls of the client's tools. Without it, the simulation ends at the first one. */
  readonly runTool?: ((call: OpenCall) => string | Promise<string>) | undefined
  /** Called before each message but the first: the time in which the user reads. With a test's kernel, `() => kernel.adjust("1 minute")`. */
  readonly pause?: ((turn: number) => void | Promise<void>) | undefined
  /** When it is aborted, the turn under way is cancelled, nothing is left behind, and `simulate` rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** What was said, whether the goal was reached, and the cases that came of it. */
export interface Simulation {
  /**
   * Whether the user has what it wants: `reached`, or `given up`; `turns`: the conversation became too long; `waiting`: it waits for a tool or
   * a person; `failed`: one side gave no answer.
   */
  readonly outcome: "reached" | "given up" | "turns" | "waiting" | "failed"
  /** Which side failed, and why; null: none did. */
  readonly reason: string | null
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: string }>
  /** One for each message of the user, with what was said before it and what `runTool` returned, without expectations. */
  readonly cases: ReadonlyArray<TestCase>
}

const most = 8

/** How often one answer may wait for the client's tools. */
const mostToolRounds = 20

export const simulate = async (options: SimulateOptions): Promise<Simulation> => {
  const { kernel, pause, runTool, signal, turns = most, variant = {} } = options
  signal?.throwIfAborted()
  const said: Array<Said> = []
  const ended = (outcome: Simulation["outcome"], reason: string | null = null): Simulation => ({
    outcome,
    reason,
    messages: said.map(({ content, role }) => ({ role, content })),
    cases: casesFrom(said, variant.tools)
  })
  const speakers = await kernel.assistants.create({ name: "Simulation" })
  const speaker = { assistantId: speakers.id }
  // The tools are the assistant's: a user has none.
  const modelOptions = { ...options.user?.modelOptions, toolChoice: "none" } as const
  const user = new Side(
    kernel,
    { ...speaker, ...options.user, modelOptions, systemPrompt: instructions(options) },
    signal
  )
  const assistantId = variant.assistantId ?? speakers.id
  const assistant = new Side(kernel, { ...variantRequest(variant), assistantId }, signal)
  try {
    for (let turn = 0; turn < turns; turn++) {
      signal?.throwIfAborted()
      if (turn > 0) await pause?.(turn)
      const words = await user.hear(said.at(-1)?.content ?? "Begin the conversation.")
      if ("failure" in words) return ended("failed", `The user: ${words.failure}`)
      const end = readEnd(words.content)
      if (end !== null && said.length === 0)
        return ended("failed", "The user: it ended the conversation before it began.")
      if (end !== null) return ended(end)
      said.push({ role: "user", content: words.content, tools: [] })
      const answer = await assistant.hear(words.content, runTool)
      if ("failure" in answer) return ended("failed", `The assistant: ${answer.failure}`)
      if (answer.isWaiting) return ended("waiting")
      said.push({ role: "assistant", content: answer.content, tools: answer.tools })
    }
    return ended("turns")
  } finally {
    // The assistant of a variant stays, and its thread must go, whatever becomes of the other one.
    await Promise.allSettled([user.leave(), assistant.leave()])
    await kernel.assistants.remove(speakers.id)
  }
}

/** A message of the conversation; of an answer, with what the client's tools returned. */
interface Said {
  readonly role: "user" | "assistant"
  readonly content: string
  readonly tools: ReadonlyArray<RecordedOutput>
}

const casesFrom = (said: ReadonlyArray<Said>, toolDefinitions: Variant["tools"]): ReadonlyArray<TestCase> =>
  said.flatMap(({ content: question, role }, index) => {
    if (role !== "user") return []
    const tools = said[index + 1]?.tools ?? []
    const messages = said.slice(0, index).map((each) => ({ role: each.role, content: each.content }))
    const ofTools = tools.length === 0 || toolDefinitions === undefined ? {} : { tools, toolDefinitions }
    return [{ question, messages, ...ofTools }]
  })

type Heard = { readonly failure: string } | (Pick<Said, "content" | "tools"> & { readonly isWaiting: boolean })

type SideRequest = Omit<Variant, "assistantId" | "name" | "retrieval"> & { readonly assistantId: string }

/** One side of the conversation: a thread in which the other side is the user. */
class Side {
  private readonly kernel: SimulatedKernel
  private readonly request: SideRequest
  private readonly leaving: Leaving
  private threadId: string | undefined

  constructor(kernel: SimulatedKernel, request: SideRequest, signal: AbortSignal | undefined) {
    this.kernel = kernel
    this.request = request
    this.leaving = { signal, onLeave: "cancel" }
  }

  async hear(content: string, runTool?: SimulateOptions["runTool"]): Promise<Heard> {
    let reply = await this.answer(async () => {
      // Before the message: one that is aborted does not tell its thread.
      this.threadId ??= (await this.kernel.threads.create({ assistantId: this.request.assistantId })).id
      return this.kernel.send({ ...this.request, threadId: this.threadId, content }, this.leaving)
    })
    if ("failure" in reply) return reply
    const { threadId } = reply
    const texts = [reply.content]
    const tools: Array<RecordedOutput> = []
    for (let round = 0; isForTools(reply); round++) {
      if (runTool === undefined) break
      if (round === mostToolRounds) return { failure: `it called tools ${mostToolRounds} times and gave no answer.` }
      const { runId, toolCalls } = reply
      const outputs = await Promise.all(
        toolCalls.map(async (call) => ({ toolCallId: call.id, output: await runTool(call) }))
      )
      for (const [index, { arguments: given, name }] of toolCalls.entries())
        tools.push({ name, arguments: given, output: outputs[index]?.output ?? "" })
      const next = await this.answer(async () => {
        const turn = await this.kernel.submitToolOutputs({ threadId, runId, outputs }, this.leaving)
        return turn.reply()
      })
      if ("failure" in next) return next
      reply = next
      texts.push(reply.content)
    }
    if (reply.status === "REQUIRES_ACTION") return { content: "", tools, isWaiting: true }
    if (reply.status !== "COMPLETED") return { failure: reply.fault?.message ?? `its turn is ${reply.status}.` }
    const text = texts.filter((each) => each !== "").join("\n\n")
    return text.trim() === "" ? { failure: "it said nothing." } : { content: text, tools, isWaiting: false }
  }

  /** What the kernel refuses, such as a turn over a limit, ends the conversation, and what was said stays. */
  private async answer(ask: () => Promise<SimulatedReply>): Promise<SimulatedReply | { readonly failure: string }> {
    try {
      return await ask()
    } catch (error) {
      this.leaving.signal?.throwIfAborted()
      return { failure: error instanceof Error ? error.message : String(error) }
    }
  }

  async leave(): Promise<void> {
    if (this.threadId !== undefined) await this.kernel.threads.remove(this.threadId)
  }
}

const isForTools = ({ status, toolCalls }: SimulatedReply): boolean =>
  status === "REQUIRES_ACTION" && toolCalls.every(isOfClient)

const isOfClient = ({ approval }: OpenCall): boolean => approval === undefined

const instructions = ({ goal, persona }: Pick<SimulateOptions, "goal" | "persona">): string =>
  `You play a user who writes to an assistant. Write only what this user writes, in the user's own words, one message at a time.
Who you are: ${persona}
What you want: ${goal}
Answer what the assistant asks as this user would, and make up nothing that such a user would not know. You are not the assistant: do not help.
When you have what you want, write only [reached]. When you see that you will not get it, write only [given up].`

/** Null: the conversation goes on. */
const readEnd = (words: string): "reached" | "given up" | null => {
  const [, end] = /\[(reached|given up)\]\W*$/iu.exec(words) ?? []
  if (end === undefined) return null
  return end.toLowerCase() === "reached" ? "reached" : "given up"
}
