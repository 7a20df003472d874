/**
 * One thread on the screen: its messages, the answer in progress, and the user's actions. The main room shows one conversation, the
 * comparison shows two. Its state is signals, so that the parts that read them redraw themselves.
 */
import { call, callAndRead, json, once, post, Refused } from "../api/http.ts"
import { follow, followWhole, type Reading } from "../api/stream.ts"
import { batch, effect, signal, type Signal } from "../view.ts"
import type {
  Attachment,
  JsonRecord,
  MessageResponse,
  Run,
  RunSummary,
  StoredMessage,
  StreamEvent,
  Thread,
  ToolCall
} from "../wire.ts"
import { afterEvent, type Answer, emptyAnswer, isOpen, type MessageBody, storedAnswer } from "../lib/answer.ts"
import { record } from "./log.ts"

export interface Question {
  readonly kind: "question"
  readonly key: string
  /** Null until the server has it. */
  readonly messageId: string | null
  readonly text: string
  readonly attachments: ReadonlyArray<Attachment>
  readonly at: string | null
  readonly isSent: boolean
}

export interface AnswerEntry {
  readonly kind: "answer"
  readonly key: string
  readonly answer: Signal<Answer>
}

export type Entry = Question | AnswerEntry

/** The calls that wait for the user's results. */
export interface Waiting {
  readonly runId: string
  readonly calls: ReadonlyArray<ToolCall>
}

/** What a person decides about a call that waits for an approval. */
export interface Decision {
  readonly tool_call_id: string
  readonly decision: "approve" | "reject"
  readonly arguments?: JsonRecord
  readonly reason?: string
}

export interface Draft {
  readonly body: MessageBody
  readonly attachments: ReadonlyArray<Attachment>
  /** The user's recorded speech. */
  readonly audio: Blob | null
  /** Called when the message did not reach the server. */
  readonly onRefused?: () => void
}

interface Listener {
  /** An answer was read aloud, and is stored as this document. */
  readonly onSpeech?: (documentId: string) => void
  /** A thread was made. It is not shown if another one was opened meanwhile. */
  readonly onThread: (thread: Thread, isShown: boolean) => void
  /** The assistant of a new thread, where none is open yet. */
  readonly assistantId?: () => Promise<string>
  readonly onActivity: (threadId: string) => void
  /** An answer under way cannot be followed. */
  readonly onProblem?: (error: unknown) => void
  /** Called when messages that an act took back were kept as another thread. */
  readonly onKept?: () => void
  /** A run of the thread has begun, goes on, waits or has ended. */
  readonly onRun?: (threadId: string, runId: string, hasEnded: boolean) => void
}

let keys = 0
const newKey = (): string => `entry-${++keys}`

/** The events that other tabs are told of: whether the run is over, or waits. */
const hasEnded: Readonly<Partial<Record<StreamEvent["type"], boolean>>> = {
  run_started: false,
  run_continuing: false,
  run_ended: true,
  run_failed: true,
  run_cancelled: true,
  tool_submit_required: true
}

/** Deltas are drawn at this interval, however fast they arrive. */
const drawEvery = 40

export class Conversation {
  readonly threadId = signal<string | null>(null)
  readonly assistantId = signal<string | null>(null)
  readonly entries = signal<ReadonlyArray<Entry>>([])
  readonly isRunning = signal(false)
  readonly waiting = signal<Waiting | null>(null)
  /** The thread that has the conversation as it was before the last act took something of it back. */
  readonly keptAs = signal<string | null>(null)
  /** The times and costs of the thread's runs. */
  readonly facts = signal<ReadonlyMap<string, RunSummary>>(new Map())
  /** Announcements for screen readers. */
  readonly spoken = signal("")
  private readonly listener: Listener
  /** Increases when another thread is shown, so that late responses for the old one are ignored. */
  private visits = 0
  /** The thread that is being read, to be shown. */
  private opening: string | null = null
  private stop = new AbortController()
  /** The thread that is being made for the first message, or for its files. */
  private making: Promise<string> | null = null
  private runId: string | null = null
  /** The user cancelled a run before its first event told its id. */
  private isCancelWanted = false
  private unread: Array<StreamEvent> = []
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(listener: Listener) {
    this.listener = listener
    effect(() => {
      if (!this.isRunning.value) this.isCancelWanted = false
    })
  }

  reset(assistantId: string | null): void {
    this.visits += 1
    this.opening = null
    this.leave()
    batch(() => {
      this.threadId.value = null
      this.assistantId.value = assistantId
      this.entries.value = []
      this.waiting.value = null
      this.isRunning.value = false
      this.keptAs.value = null
      this.facts.value = new Map()
      this.spoken.value = ""
    })
  }

  /** Shows a stored thread, and follows an answer in progress. Null: another thread was requested meanwhile. */
  async open(threadId: string): Promise<Thread | null> {
    const visit = ++this.visits
    this.opening = threadId
    const thread = await json<Thread>(`/threads/${threadId}`).finally(() => {
      if (visit === this.visits) this.opening = null
    })
    // What this tab began meanwhile is newer than what was read.
    if (visit !== this.visits || (threadId === this.threadId.value && this.isRunning.value)) return null
    this.reset(thread.assistant_id)
    this.threadId.value = threadId
    void this.readFacts()
    const running = thread.messages.find(({ status }) => status === "IN_PROGRESS")
    this.entries.value = thread.messages.filter((each) => each !== running).map(storedEntry)
    const last = thread.messages.at(-1)
    if (running?.run_id) void this.resume(running.message_id, running.run_id)
    else if (last?.status === "REQUIRES_ACTION" && last.run_id !== null) {
      this.waiting.value = { runId: last.run_id, calls: last.tool_calls ?? [] }
    }
    return thread
  }

  /** Shows no other thread than the present one. */
  stay(): void {
    if (this.opening === null || this.opening === this.threadId.value) return
    this.visits += 1
    this.opening = null
  }

  /** Reads the shown thread again, unless another one is being opened. */
  private async reread(threadId: string): Promise<Thread | null> {
    return this.opening === null || this.opening === threadId ? this.open(threadId) : null
  }

  /** Reads the thread again after another tab has worked on it. What this tab follows or has shown is not read again. */
  async catchUp(runId: string, isOver: boolean): Promise<void> {
    const last = this.entries.value.at(-1)
    const isShown = last?.kind === "answer" && last.answer.value.runId === runId && !isOpen(last.answer.value)
    if (this.threadId.value === null || this.isRunning.value || (isOver && isShown && this.waiting.value === null))
      return
    await this.reread(this.threadId.value)
  }

  /** Stops following a thread; the server continues its run. */
  private leave(): void {
    this.stop.abort()
    this.stop = new AbortController()
    this.making = null
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.unread = []
    this.runId = null
  }

  /** Sends a message. If the server refuses it, the conversation is as before. */
  async send(draft: Draft, title: string): Promise<void> {
    const { signal: stop } = this.stop
    const before = this.entries.value
    const waiting = this.waiting.value
    const headers = once()
    const question: Question = {
      kind: "question",
      key: newKey(),
      messageId: null,
      text: draft.body.content,
      attachments: draft.attachments,
      at: new Date().toISOString(),
      isSent: false
    }
    this.closeWaiting()
    this.entries.value = [...before, question]
    this.isRunning.value = true
    try {
      const threadId = await this.ensureThread(title)
      const request = (stream: boolean) => () =>
        callAndRead(messageAddress(draft.body, threadId), {
          body: draftBody({ ...draft, body: { ...draft.body, thread_id: threadId, stream } }),
          headers,
          signal: stop
        })
      // If another thread was opened while this one was made, the message is sent all the same.
      if (stop.aborted) await request(true)()
      else if ("system_one" in draft.body) await this.showWhole(await request(false)(), question.key, stop)
      else await this.listen((reading) => follow(request(true), reading), question.key)
      this.listener.onActivity(threadId)
    } catch (error) {
      if (this.isTaken(question.key)) throw error
      if (!stop.aborted)
        batch(() => {
          this.entries.value = before
          this.isRunning.value = false
          this.waiting.value = waiting
          if (waiting !== null) this.changeLast((answer) => ({ ...answer, state: "waiting" }))
        })
      draft.onRefused?.()
      throw error
    }
  }

  private isTaken(key: string): boolean {
    return this.entries.value.some((each) => each.kind === "question" && each.key === key && each.isSent)
  }

  /** The thread of the conversation; it is created if there is none yet. */
  async ensureThread(title: string): Promise<string> {
    if (this.threadId.value !== null) return this.threadId.value
    const making = this.making ?? this.makeThread(title, this.stop.signal)
    this.making = making
    try {
      return await making
    } finally {
      if (this.making === making) this.making = null
    }
  }

  private async makeThread(title: string, stop: AbortSignal): Promise<string> {
    const assistantId = this.assistantId.value ?? (await this.listener.assistantId?.()) ?? null
    // A list of characters: none is cut in the middle.
    const metadata = { title: Array.from(title.replaceAll(/\s+/gu, " ")).slice(0, 80).join("") }
    const thread = await json<Thread>(`/assistants/${assistantId}/threads`, { method: "POST", body: { metadata } })
    if (!stop.aborted) {
      this.assistantId.value = assistantId
      this.threadId.value = thread.thread_id
    }
    this.listener.onThread(thread, !stop.aborted)
    return thread.thread_id
  }

  submit(outputs: ReadonlyArray<{ readonly tool_call_id: string; readonly output: string }>): Promise<void> {
    const byId = new Map(outputs.map(({ output, tool_call_id }) => [tool_call_id, output]))
    return this.answerCalls("submit-tool-outputs", { tool_outputs: outputs }, byId)
  }

  decide(decision: Decision): Promise<void> {
    return this.answerCalls("approvals", { approvals: [decision] }, new Map())
  }

  /**
   * Answers calls of the run that waits. The run continues with the last answer. If another person has answered a call meanwhile, that
   * answer stands; the thread is read again, and the reason is shown.
   */
  private async answerCalls(act: string, body: object, outputs: ReadonlyMap<string, string>): Promise<void> {
    const threadId = this.threadId.value
    const waiting = this.waiting.value
    if (waiting === null || threadId === null || this.isRunning.value) return
    const { signal: stop } = this.stop
    const headers = once()
    const begin = async () => {
      const path = `/threads/${threadId}/runs/${waiting.runId}/${act}?stream=true`
      const response = await callAndRead(path, { body, headers, signal: stop })
      if (stop.aborted) return response
      this.changeLast((answer) => ({
        ...answer,
        calls: answer.calls.map((each) => ({ ...each, output: outputs.get(each.id) ?? each.output }))
      }))
      if (response.status === 202) {
        const { open }: { readonly open: ReadonlyArray<string> } = await response.json()
        this.waiting.value = { ...waiting, calls: waiting.calls.filter(({ id }) => open.includes(id)) }
        return new Response(null, { status: 204 })
      }
      this.waiting.value = null
      this.changeLast((answer) => ({ ...answer, state: "done" }))
      return response
    }
    try {
      await this.listen((reading) => follow(begin, reading), null)
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 409 || stop.aborted) throw error
      await this.reread(threadId)
      throw new Error(`Somebody else was first. ${error.message} You see the conversation as it is now.`, {
        cause: error
      })
    }
  }

  /** The question that a message answers, or the message itself if it is one. */
  private questionFor(messageId: string): number {
    const at = this.entries.value.findIndex(
      (entry) => (entry.kind === "question" ? entry.messageId : entry.answer.value.messageId) === messageId
    )
    return this.entries.value.findLastIndex((entry, index) => index <= at && entry.kind === "question")
  }

  /**
   * Sends a question again, in place of itself and of all messages after it: with another text (`edit`), or for another answer
   * (`regenerate`). The conversation as it was is kept as a thread. If the server refuses it, the conversation is as before.
   */
  async again(messageId: string, act: "edit" | "regenerate", body: JsonRecord): Promise<void> {
    const before = this.entries.value
    const at = this.questionFor(messageId)
    const question = before[at]
    if (question?.kind !== "question" || this.isRunning.value) return
    const text = typeof body["content"] === "string" ? body["content"] : question.text
    const key = newKey()
    const isTyped = before.slice(at + 1).some((entry) => entry.kind === "answer" && entry.answer.value.typed !== null)
    const waiting = this.waiting.value
    const { signal: stop } = this.stop
    const path = `/threads/${this.threadId.value}/messages/${messageId}/${act}`
    const headers = once()
    const send = () => callAndRead(path, { body: { ...body, stream: !isTyped }, headers, signal: stop })
    batch(() => {
      this.waiting.value = null
      this.keptAs.value = null
      this.isRunning.value = true
      this.entries.value = [...before.slice(0, at), { ...question, key, messageId: null, text, isSent: false }]
    })
    try {
      if (isTyped) await this.showWhole(await send(), key, stop)
      else await this.listen((reading) => follow(send, reading), key)
    } catch (error) {
      if (this.isTaken(key) || stop.aborted) throw error
      batch(() => {
        this.entries.value = before
        this.waiting.value = waiting
        this.isRunning.value = false
      })
      throw error
    }
  }

  /** Takes back everything behind a message. */
  async rewind(messageId: string): Promise<void> {
    const threadId = this.threadId.value
    if (threadId === null) return
    const { signal: stop } = this.stop
    const path = `/threads/${threadId}/rewind`
    const { kept_as } = await post<{ readonly kept_as: string | null }>(path, { message_id: messageId })
    if (!stop.aborted && (await this.reread(threadId)) !== null) this.keptAs.value = kept_as
  }

  /** Unknown facts are not shown, so a failure is not reported. */
  private async readFacts(): Promise<void> {
    const threadId = this.threadId.value
    try {
      const { runs } = await json<{ readonly runs: ReadonlyArray<RunSummary> }>(`/runs?thread_id=${threadId}&limit=100`)
      if (threadId === this.threadId.value) this.facts.value = new Map(runs.map((run) => [run.run_id, run]))
    } catch {
      return
    }
  }

  async cancel(): Promise<void> {
    const runId = this.runId ?? this.waiting.value?.runId
    this.isCancelWanted = runId === undefined && this.isRunning.value
    if (runId === undefined || this.threadId.value === null) return
    await call(`/threads/${this.threadId.value}/runs/${runId}/cancel`, { method: "POST" })
    if (this.waiting.value?.runId === runId) this.closeWaiting()
  }

  private closeWaiting(): void {
    if (this.waiting.value === null) return
    this.waiting.value = null
    this.changeLast((answer) => (answer.state === "waiting" ? { ...answer, state: "cancelled" } : answer))
  }

  /**
   * After a reload, the log is read again from its first event. Answers of the run's earlier rounds are stored and shown already, so events
   * before the current answer are skipped.
   */
  private async resume(messageId: string, runId: string): Promise<void> {
    let isHere = false
    try {
      await this.listen(
        (reading) =>
          followWhole(runId, {
            ...reading,
            onEvent: (event) => {
              isHere ||=
                (event.type === "run_started" || event.type === "run_continuing") && event.message_id === messageId
              if (isHere) reading.onEvent(event)
              else record(event)
            }
          }),
        null
      )
    } catch (error) {
      this.listener.onProblem?.(error)
    }
  }

  private async listen(read: (reading: Reading) => Promise<void>, questionKey: string | null): Promise<void> {
    const { signal: stop } = this.stop
    this.isRunning.value = true
    try {
      await read({
        threadId: this.threadId.value ?? "",
        stop,
        onEvent: (event) => {
          this.take(event, questionKey)
        },
        onBreak: (isBroken) => {
          this.draw()
          this.changeLast((answer) => (isOpen(answer) ? { ...answer, state: isBroken ? "broken" : "live" } : answer))
        }
      })
    } finally {
      if (!stop.aborted) {
        this.draw()
        this.isRunning.value = false
        this.runId = null
      }
    }
  }

  /** Text is collected for a short time and then drawn at once; other events are drawn immediately. */
  private take(event: StreamEvent, questionKey: string | null): void {
    record(event)
    this.runId = event.run_id
    if (this.isCancelWanted) this.cancel().catch((error: unknown) => this.listener.onProblem?.(error))
    const end = hasEnded[event.type]
    if (this.threadId.value !== null && end !== undefined) this.listener.onRun?.(this.threadId.value, event.run_id, end)
    if (questionKey !== null && event.type === "user_message")
      this.markSent(questionKey, event.content, event.message_id)
    if (questionKey !== null && event.type === "stt_text_delta") this.addHeard(questionKey, event.delta)
    this.unread.push(event)
    const isDelta = event.type === "content_streaming" || event.type === "reasoning_streaming"
    if (!isDelta) this.draw()
    else this.timer ??= setTimeout(() => this.draw(), drawEvery)
  }

  private draw(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const events = this.unread
    this.unread = []
    if (events.length === 0) return
    batch(() => {
      for (const event of events) this.apply(event)
    })
  }

  private apply(event: StreamEvent): void {
    if (event.type === "run_started" || event.type === "run_continuing") this.openAnswer(event.message_id)
    if (event.type === "run_failed") this.openAnswer(event.message_id)
    const last = this.changeLast((answer) => afterEvent(answer, event))
    if (event.type === "run_started") this.spoken.value = "The answer begins."
    if (event.type === "tool_submit_required") {
      this.waiting.value = { runId: event.run_id, calls: event.tool_calls }
      this.spoken.value = "The assistant waits for your results."
    }
    if (event.type === "run_ended") {
      this.spoken.value = "The answer is complete."
      if (event.kept_as !== undefined) {
        this.keptAs.value = event.kept_as
        this.listener.onKept?.()
      }
      void this.readFacts()
      if (last?.calls.some(({ output }) => output === null)) this.refresh(event.message_id).catch(() => {})
    }
    if (event.type === "tts_stream_end" && event.document_id !== null) this.listener.onSpeech?.(event.document_id)
    if (event.type === "run_failed") this.spoken.value = `The answer failed: ${event.error}`
    if (event.type === "run_cancelled") this.spoken.value = "Cancelled."
  }

  private openAnswer(messageId: string): void {
    const last = this.entries.value.at(-1)
    if (last?.kind === "answer" && last.answer.value.messageId === messageId) return
    const answer = signal<Answer>({ ...emptyAnswer, messageId, startedAt: new Date().toISOString() })
    this.entries.value = [...this.entries.value, { kind: "answer", key: newKey(), answer }]
  }

  private changeLast(change: (answer: Answer) => Answer): Answer | null {
    const last = this.entries.value.at(-1)
    if (last?.kind !== "answer") return null
    last.answer.value = change(last.answer.value)
    return last.answer.value
  }

  /** Recognised speech appears while it is transcribed. */
  private addHeard(key: string, delta: string): void {
    this.entries.value = this.entries.value.map((each) =>
      each.kind === "question" && each.key === key ? { ...each, text: each.text + delta } : each
    )
  }

  private markSent(key: string, text: string, messageId: string | null): void {
    this.entries.value = this.entries.value.map((each) =>
      each.kind === "question" && each.key === key ? { ...each, text, messageId, isSent: true } : each
    )
  }

  /** Data that the stream does not contain (results of hosted tools, sources) is read from the stored message. */
  private async refresh(messageId: string): Promise<void> {
    const threadId = this.threadId.value
    const { messages } = await json<Thread>(`/threads/${threadId}`)
    if (this.threadId.value !== threadId) return
    const stored = messages.find(({ message_id }) => message_id === messageId)
    if (stored === undefined) return
    for (const entry of this.entries.value) {
      if (entry.kind !== "answer" || entry.answer.value.messageId !== messageId) continue
      const { calls, pieces, sources } = storedAnswer(stored)
      entry.answer.value = { ...entry.answer.value, calls, pieces, sources }
    }
  }

  /** Typed answers are not streamed: the reply is complete when it arrives. */
  private async showWhole(response: Response, questionKey: string, stop: AbortSignal): Promise<void> {
    if (stop.aborted) return
    const reply: MessageResponse = await response.json()
    const failed = reply.status === "FAILED"
    const answer: Answer = {
      ...emptyAnswer,
      messageId: reply.message_id,
      runId: reply.run_id,
      state: failed ? "failed" : "done",
      text: failed ? "" : reply.content,
      pieces: failed ? [] : [{ kind: "text", text: reply.content }],
      typed: reply.system_one,
      problem: failed ? reply.content : null,
      provider: reply.model_provider,
      model: reply.model_name,
      inputTokens: reply.input_tokens,
      outputTokens: reply.output_tokens,
      costUsd: reply.cost_usd,
      startedAt: reply.created_at
    }
    const text = this.entries.value.find(({ key }) => key === questionKey)
    this.markSent(questionKey, text?.kind === "question" ? text.text : "", null)
    this.keptAs.value = reply.kept_as ?? null
    void this.readFacts()
    this.entries.value = [...this.entries.value, { kind: "answer", key: newKey(), answer: signal(answer) }]
    this.isRunning.value = false
  }
}

/** Videos need the address for messages of any thread; the body names the thread. */
const messageAddress = (body: MessageBody, threadId: string): string =>
  "video_generation" in body ? "/threads/messages" : `/threads/${threadId}/messages`

/** A recording is sent as a form; everything else as JSON. */
const draftBody = ({ audio, body }: Pick<Draft, "audio" | "body">): object => {
  if (audio === null) return body
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === "") continue
    form.set(name, typeof value === "string" ? value : JSON.stringify(value))
  }
  form.set("audio_file", audio, "speech.wav")
  return form
}

const storedEntry = (message: StoredMessage): Entry =>
  message.role === "user"
    ? {
        kind: "question",
        key: newKey(),
        messageId: message.message_id,
        text: message.content ?? "",
        attachments: message.attachments ?? [],
        at: message.created_at,
        isSent: true
      }
    : { kind: "answer", key: newKey(), answer: signal(storedAnswer(message)) }

/** Why a stored answer failed, read from its run. */
export const failureReason = async (threadId: string, runId: string): Promise<string> => {
  try {
    const { error } = await json<Run>(`/threads/${threadId}/runs/${runId}`)
    return error?.message ?? "It is not known why."
  } catch (error) {
    return error instanceof Refused ? "The run is gone, and its reason with it." : "The reason could not be read."
  }
}
