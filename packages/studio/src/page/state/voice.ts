/**
 * A voice session: microphone and loudspeaker with a native audio model, with the transcript and the tool calls. The browser has only a
 * ticket.
 */
import { RealtimeClient, type RealtimeEvent } from "@colloquy/ws/client"
import { base, json } from "../api/http.ts"
import { Player } from "../audio/player.ts"
import { signal } from "../view.ts"
import type { RealtimeTicket } from "../wire.ts"
import { readModelName } from "./catalogue.ts"

export interface Line {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly text: string
  readonly state: "draft" | "final" | "failed"
}

export interface SpokenCall {
  readonly id: string
  readonly name: string
  readonly given: string
  readonly isHosted: boolean
  readonly state: "open" | "done" | "cancelled"
}

export const state = signal<"off" | "opening" | "on" | "ending">("off")
export const lines = signal<ReadonlyArray<Line>>([])
export const calls = signal<ReadonlyArray<SpokenCall>>([])
export const isMuted = signal(false)
/** How the last session ended, in words. */
export const ending = signal<string | null>(null)

interface Session {
  readonly client: RealtimeClient
  readonly context: AudioContext
  readonly player: Player
  readonly threadId: string
  microphone: MediaStream | null
  meter: AnalyserNode | null
}

let session: Session | null = null
let written = 0
/** The number of sessions that were begun, or given up before they began. */
let begins = 0

export type Phase = "opening" | "listening" | "thinking" | "speaking"

/** What the assistant does now. */
export const phase = signal<Phase>("opening")

/** Milliseconds from the end of the user's words to the first sound of each answer. */
export const latencies = signal<ReadonlyArray<number>>([])

/** True from the end of what the user says until the answer is heard. */
let isAwaited = false
/** When the user was heard last, or has written; null: not since the last answer began. */
let saidAt: number | null = null
let answerId = ""

/** The least loudness of speech. */
const speech = 0.03

/** Takes the loudness of the user at short intervals. */
export const look = (heard: number): void => {
  if (session === null || state.value !== "on") return
  const { isPlaying } = session.player
  if (heard > speech && !isMuted.value && !isPlaying) saidAt = performance.now()
  if (isPlaying) isAwaited = false
  phase.value = isPlaying ? "speaking" : isAwaited ? "thinking" : "listening"
}

const firstSound = (itemId: string): void => {
  isAwaited = false
  if (itemId === answerId) return
  answerId = itemId
  if (saidAt !== null) latencies.value = [...latencies.value, performance.now() - saidAt]
  saidAt = null
}

/** The levels of microphone and loudspeaker, for the meters. */
export const meters = () => ({ heard: session?.meter ?? null, said: session?.player.meter ?? null })

const socketAddress = (path: string): string => {
  const address = new URL(base + path, location.href)
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:"
  return address.href
}

export interface VoiceRequest {
  readonly assistantId: string
  /** Null: a new thread. */
  readonly threadId: string | null
  /** `provider/model`. */
  readonly model: string
}

export const begin = async ({ assistantId, model, threadId }: VoiceRequest): Promise<void> => {
  const own = ++begins
  state.value = "opening"
  lines.value = []
  calls.value = []
  ending.value = null
  phase.value = "opening"
  latencies.value = []
  isAwaited = false
  saidAt = null
  try {
    const ids = threadId === null ? { assistant_id: assistantId } : { thread_id: threadId }
    const ticket = await json<RealtimeTicket>("/threads/realtime/tickets", { method: "POST", body: ids })
    if (own !== begins) return
    const named = readModelName(model)
    const context = new AudioContext()
    const player = new Player(context)
    const client = new RealtimeClient({
      url: socketAddress(ticket.websocket_path),
      ticket: ticket.ticket,
      first: { provider: named.provider ?? "", model: named.model ?? "" },
      onEvent: (event) => hear(event, player),
      onClose: () => close()
    })
    session = { client, context, player, threadId: ticket.thread_id, microphone: null, meter: null }
  } catch (error) {
    if (own !== begins) return
    state.value = "off"
    throw error
  }
}

/** The thread that the session writes to, or wrote to last. */
export const voiceThread = (): string | null => session?.threadId ?? lastThread
let lastThread: string | null = null

const hear = (event: RealtimeEvent, player: Player): void => {
  switch (event.type) {
    case "session.begin":
      state.value = "on"
      void listen(event.input_format.sample_rate)
      return
    case "audio.delta":
      firstSound(event.item_id)
      player.play(event.data, event.sample_rate)
      return
    case "interrupted":
      isAwaited = false
      player.silence()
      return
    case "transcript.started":
      setLine({ id: event.item_id, role: event.role, text: "", state: "draft" })
      return
    case "transcript.delta": {
      const before = lines.value.find(({ id }) => id === event.item_id)
      setLine({ id: event.item_id, role: event.role, text: (before?.text ?? "") + event.text, state: "draft" })
      return
    }
    case "transcript.final":
      setLine({ id: event.item_id, role: event.role, text: event.text, state: "final" })
      if (event.role === "user") isAwaited = true
      return
    case "transcript.failed":
      setLine({
        id: event.item_id,
        role: event.role,
        text: "What was said could not be written down.",
        state: "failed"
      })
      return
    case "tool.call":
      calls.value = [
        ...calls.value,
        {
          id: event.tool_call_id,
          name: event.name,
          given: JSON.stringify(event.arguments ?? {}),
          isHosted: event.hosted,
          state: "open"
        }
      ]
      return
    case "tool.completed":
      setCall(event.tool_call_id, "done")
      return
    case "tool.cancelled":
      for (const id of event.tool_call_ids) setCall(id, "cancelled")
      return
    case "session.ended":
      ending.value ??= "The session has ended. What was said is on the thread."
      return
    case "error":
      ending.value = event.message
      return
    case "response.done":
      isAwaited = false
      return
    case "media.generated":
    case "provider.event":
      return
  }
}

const setLine = (line: Line): void => {
  const isThere = lines.value.some(({ id, role }) => id === line.id && role === line.role)
  lines.value = isThere
    ? lines.value.map((each) => (each.id === line.id && each.role === line.role ? line : each))
    : [...lines.value, line]
}

const setCall = (id: string, next: SpokenCall["state"]): void => {
  calls.value = calls.value.map((each) => (each.id === id ? { ...each, state: next } : each))
}

const listen = async (rate: number): Promise<void> => {
  const now = session
  if (now === null) return
  try {
    now.microphone = await navigator.mediaDevices.getUserMedia({
      audio: { echoCancellation: true, noiseSuppression: true, channelCount: 1 }
    })
    // The session may have ended while the user was asked for the microphone.
    if (session !== now) return stopMicrophone(now)
    await now.context.audioWorklet.addModule("studio/audio/microphone.ts")
    const source = now.context.createMediaStreamSource(now.microphone)
    const worklet = new AudioWorkletNode(now.context, "microphone", { processorOptions: { rate } })
    now.meter = now.context.createAnalyser()
    source.connect(now.meter)
    source.connect(worklet)
    worklet.port.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      if (!isMuted.value) now.client.sendAudio(data)
    })
    worklet.port.start()
  } catch {
    if (session === now) ending.value = "The microphone cannot be used. You can write instead."
  }
}

export const write = (text: string): void => {
  session?.player.silence()
  session?.client.sendText(text)
  saidAt = performance.now()
  isAwaited = true
  setLine({ id: `written-${++written}`, role: "user", text, state: "final" })
}

/** Stops the answer, including audio that is not played yet. */
export const interrupt = (): void => {
  session?.player.silence()
  session?.client.cancel()
}

export const answerCall = (call: SpokenCall, output: string): void => {
  session?.client.sendToolOutputs([{ tool_call_id: call.id, name: call.name, output }])
  setCall(call.id, "done")
}

export const end = async (): Promise<void> => {
  begins += 1
  if (session === null) {
    state.value = "off"
    return
  }
  state.value = "ending"
  session.player.silence()
  stopMicrophone(session)
  await session.client.stop()
}

const stopMicrophone = ({ microphone }: Session): void => {
  for (const track of microphone?.getTracks() ?? []) track.stop()
}

const close = (): void => {
  if (session !== null) {
    lastThread = session.threadId
    stopMicrophone(session)
    session.player.silence()
    void session.context.close()
  }
  session = null
  state.value = "off"
  ending.value ??= "The connection was closed."
}
