/** The two things that are compared, behind one interface: the kernel's server and the raw baseline, each over a store. */
import { closeConnections, send, sendJson, type Target } from "./Load.ts"
import { Process } from "./Processes.ts"

export type Store = "in-memory" | "pglite" | "postgres"

export interface Turn {
  readonly model: string
  readonly stream: boolean
}

export interface Side {
  readonly process: Process
  /** A thread with so many messages. */
  readonly thread: (messages: number) => Promise<string>
  /** One turn, read to its end. `onText` gets what comes, as it comes. */
  readonly turn: (threadId: string, turn: Turn, onText?: (text: string) => void) => Promise<void>
  readonly list: (threadId: string) => Promise<void>
}

/** Messages of the history that the baseline puts into a prompt; the kernel packs its window to about the same. */
export const historySize = 20

/** With a history of twenty such messages a prompt has some 5 KB. */
export const text = "lorem ipsum ".repeat(20)

const drop = () => {}

/** A turn that fails early is a quick one: both sides must say at the end that it was completed. */
const succeedWhole = async (
  ask: (onText: (text: string) => void) => Promise<number>,
  onText: (text: string) => void
): Promise<void> => {
  let before = ""
  let last = ""
  await succeed(
    ask((piece) => {
      before = last
      last = piece
      onText(piece)
    })
  )
  if (!/"status":"completed"/iu.test(before + last)) throw new Error("A turn was not completed")
}

const succeed = async (work: Promise<number>): Promise<void> => {
  const status = await work
  if (status !== 200) throw new Error(`A request was answered with ${status}`)
}

export type Env = Readonly<Record<string, string>>

export const startBaseline = async (program: "Baseline" | "Raw", upstream: string, env: Env): Promise<Side> => {
  const process = await Process.start(program, { BENCH_UPSTREAM: upstream, ...env })
  const target = processTarget(process)
  return {
    process,
    thread: async (messages) => threadIdIn(await sendJson(target, "POST", "/seed", { messages, model: "burst-20" })),
    turn: (id, turn, onText = drop) =>
      succeedWhole(
        (hear) => send(target, "POST", `/turn/${id}`, { ...turn, content: text, history: historySize }, hear),
        onText
      ),
    list: (id) => succeed(send(target, "GET", `/turn/${id}`, null))
  }
}

const threadIdIn = (record: unknown): string => String(Object(record).thread_id)

export const startKernel = async (
  upstream: string,
  store: Store,
  env: Env,
  program: "Subject" | "BundledSubject" = "Subject"
): Promise<Side> => kernelSide(await Process.start(program, { BENCH_UPSTREAM: upstream, BENCH_STORE: store, ...env }))

const kernelSide = (process: Process): Side => {
  const target = processTarget(process)
  /** Made when a thread is: a process whose first turn is measured has not answered anything before. */
  let made: Promise<string> | null = null
  const makeAssistant = async () => {
    const assistant = {
      name: "bench",
      system_prompt: "You are helpful.",
      llm_provider: "bench",
      model_name: "burst-20"
    }
    return String(Object(await sendJson(target, "POST", "/api/assistants", assistant)).assistant_id)
  }
  return {
    process,
    thread: async (messages) => {
      made ??= makeAssistant()
      const id = threadIdIn(await sendJson(target, "POST", `/api/assistants/${await made}/threads`, {}))
      const saved = { content: text, send_to_llm: false }
      for (let n = 0; n < messages; n++) await succeed(send(target, "POST", `/api/threads/${id}/messages`, saved))
      return id
    },
    turn: (id, { model, stream }, onText = drop) =>
      succeedWhole(
        (hear) =>
          send(target, "POST", `/api/threads/${id}/messages`, { content: text, model_name: model, stream }, hear),
        onText
      ),
    list: (id) => succeed(send(target, "GET", `/api/threads/${id}`, null))
  }
}

export const processTarget = ({ port }: Process): Target => ({ port, headers: { "x-api-key": "bench-key" } })

export const stop = async (sides: ReadonlyArray<Side>): Promise<void> => {
  closeConnections()
  for (const side of sides) await side.process.stop()
}
