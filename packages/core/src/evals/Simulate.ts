/**
 * A model plays the user of an assistant: `simulate({ kernel, persona, goal, turns })`. Both sides are turns of the kernel, so they run live or
 * scripted, and on the kernel's clock. Each turn of the conversation becomes a case.
 */
import type { ThreadCalls } from "../promises/RecordCalls.ts"
import type { SendRequest } from "../promises/Requests.ts"
import type { OpenCall } from "../tools/ToolCall.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import { type EvaluatedKernel, type Variant, variantRequest } from "./Evaluate.ts"
import type { TestCase } from "./TestCase.ts"

type SimulatedReply = Pick<TurnReply, "threadId" | "runId" | "status" | "toolCalls" | "content">

/** What `simulate` needs of an open kernel. */
export interface SimulatedKernel extends Pick<EvaluatedKernel, "assistants"> {
  readonly send: (request: SendRequest) => Promise<SimulatedReply>
  readonly submitToolOutputs: (
    request: Parameters<EvaluatedKernel["submitToolOutputs"]>[0]
  ) => Promise<{ readonly reply: () => Promise<SimulatedReply> }>
  readonly threads: Pick<ThreadCalls, "remove">
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
}

/** What was said, whether the goal was reached, and the cases that came of it. */
export interface Simulation {
  /**
   * Whether the user has what it wants: `reached`, or `given up`; `turns`: the conversation became too long; `waiting`: it waits for a tool or
   * a person; `failed`: one side gave no answer.
   */
  readonly outcome: "reached" | "given up" | "turns" | "waiting" | "failed"
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: string }>
  /** One for each message of the user, with what was said before it and without expectations. */
  readonly cases: ReadonlyArray<TestCase>
}

const most = 8

export const simulate = async (options: SimulateOptions): Promise<Simulation> => {
  const { kernel, pause, turns = most, variant = {} } = options
  const messages: Array<Simulation["messages"][number]> = []
  const speakers = await kernel.assistants.create({ name: "Simulation" })
  const said = { assistantId: speakers.id }
  // The tools are the assistant's: a user has none.
  const modelOptions = { ...options.user?.modelOptions, toolChoice: "none" } as const
  const user = new Side(kernel, { ...said, ...options.user, modelOptions, systemPrompt: instructions(options) })
  const assistant = new Side(kernel, { ...said, ...variantRequest(variant) })
  try {
    for (let turn = 0; turn < turns; turn++) {
      if (turn > 0) await pause?.(turn)
      const words = await user.hear(messages.at(-1)?.content ?? "Begin the conversation.")
      if (words.status !== "COMPLETED") return ended("failed", messages)
      const end = readEnd(words.content)
      if (end !== null) return ended(end, messages)
      messages.push({ role: "user", content: words.content })
      const answer = await assistant.hear(words.content, options.runTool)
      if (answer.status === "REQUIRES_ACTION") return ended("waiting", messages)
      if (answer.status !== "COMPLETED") return ended("failed", messages)
      messages.push({ role: "assistant", content: answer.content })
    }
    return ended("turns", messages)
  } finally {
    await user.leave()
    await assistant.leave()
    await kernel.assistants.remove(speakers.id)
  }
}

/** One side of the conversation: a thread in which the other side is the user. */
class Side {
  private readonly kernel: SimulatedKernel
  private readonly request: Omit<Variant, "name">
  private threadId: string | undefined

  constructor(kernel: SimulatedKernel, request: Omit<Variant, "name">) {
    this.kernel = kernel
    this.request = request
  }

  async hear(content: string, runTool?: SimulateOptions["runTool"]): Promise<SimulatedReply> {
    let reply = await this.kernel.send({ ...this.request, threadId: this.threadId, content })
    const { threadId } = reply
    this.threadId = threadId
    let text = reply.content
    if (runTool === undefined) return reply
    while (reply.status === "REQUIRES_ACTION" && reply.toolCalls.every(isOfClient)) {
      const outputs = await Promise.all(
        reply.toolCalls.map(async (call) => ({ toolCallId: call.id, output: await runTool(call) }))
      )
      const next = await this.kernel.submitToolOutputs({ threadId, runId: reply.runId, outputs })
      reply = await next.reply()
      text = [text, reply.content].filter((each) => each !== "").join("\n\n")
    }
    return { ...reply, content: text }
  }

  async leave(): Promise<void> {
    if (this.threadId !== undefined) await this.kernel.threads.remove(this.threadId)
  }
}

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

const ended = (outcome: Simulation["outcome"], messages: Simulation["messages"]): Simulation => ({
  outcome,
  messages,
  cases: messages.flatMap(({ content, role }, place) =>
    role === "user" ? [{ question: content, messages: messages.slice(0, place) }] : []
  )
})
