/**
 * One session of a voice from parts. A turn of the user is heard, transcribed and answered; the answer is spoken sentence by sentence while it is still
 * being written. The words of an answer are told together with their sound, so that after an interruption it is known which were heard.
 *
 *     sound ─ turns (`SpokenTurns`) ─ transcript (`PartsHearing`) ─ conversation model ─ sentences ─ sound
 */
import type { ToolCall, Usage } from "@colloquy/core"
import {
  type ChatMessage,
  type ChatPolicy,
  type ChatRequest,
  converse,
  defaultChatPolicy,
  joinBytes,
  makeResampler,
  makeWholeSamples,
  ModelError,
  noUsage,
  readWavHead,
  traced
} from "@colloquy/core/adapters"
import {
  type Cut,
  heardPart,
  type ModelSetup,
  type Refusal,
  type SessionSetup,
  type VendorCommand,
  type VendorEvent,
  type VendorLink,
  type VendorListener,
  type VoiceTimes
} from "@colloquy/core/realtime"
import { makeSpokenText } from "@colloquy/core/voice"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { base64 } from "../protocols/Wire.ts"
import { makePlayClock } from "../realtime/PlayClock.ts"
import { PartsHearing, type UnderstoodTurn } from "./PartsHearing.ts"
import { makeSpokenTurns } from "./SpokenTurns.ts"
import type { DetectorSettings, TurnDetector } from "./TurnDetector.ts"
import { inTime, type ReadyParts, sound } from "./Parts.ts"

export interface PartsSurroundings {
  readonly listener: VendorListener
  readonly parts: ReadyParts
  readonly setup: SessionSetup
  readonly detector: TurnDetector | null
  readonly detected: DetectorSettings
  readonly policy: Partial<ChatPolicy>
  readonly conversationId: string
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly now: () => number
}

type Entry =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly itemId: string; text: string; readonly calls: ReadonlyArray<ToolCall> }

/** The times at which a turn passed its stages, in milliseconds of the clock. */
interface Stages {
  readonly itemId: string
  readonly endedAt: number
  readonly isLive: boolean
  readonly transcriptAt: number
  firstTokenAt: number | null
  firstSentenceAt: number | null
}

interface SpokenAnswer {
  readonly id: string
  readonly itemId: string
  readonly stages: Stages | null
  /** The text that the model has written. */
  written: string
  /** The part of the text that has been spoken so far. */
  spoken: string
  readonly calls: Array<ToolCall>
  usage: Usage | null
  characters: number
  isSilent: boolean
  fiber: Fiber.Fiber<void> | null
}

export class PartsSession {
  readonly link: VendorLink
  private readonly around: PartsSurroundings
  private readonly turns: ReturnType<typeof makeSpokenTurns>
  private readonly hearing: PartsHearing
  private setup: ModelSetup
  private readonly played = makePlayClock(sound)
  private readonly history: Array<Entry>
  private readonly outputs = new Map<string, string>()
  private readonly unanswered = new Set<string>()
  private readonly fibers = new Set<Fiber.Fiber<void>>()
  /** Closed while the client reads too slowly. */
  private readonly gate = Latch.makeUnsafe(true)
  private answer: SpokenAnswer | null = null
  private isSpeaking = false
  private isWanted: { readonly stages: Stages | null } | null = null
  private isReady = false
  private isFinishing = false
  private isOver = false
  private count = 0

  constructor(around: PartsSurroundings) {
    this.around = around
    this.setup = around.setup
    this.history = around.setup.history.map(({ role, text }) =>
      role === "user" ? { role, text } : { role, itemId: "", text, calls: [] }
    )
    this.hearing = new PartsHearing({
      hear: around.parts.hear,
      apiKey: around.setup.apiKey,
      tell: (event) => this.tell(event),
      fork: (effect) => this.fork(effect),
      now: around.now,
      newId: () => this.newId("speech"),
      understood: (turn) => this.understand(turn),
      failed: (error, itemId) => this.fail(error, { _tag: "TranscriptFailed", itemId }),
      settled: () => this.goOn()
    })
    this.turns = makeSpokenTurns(around.detector, around.detected, {
      began: () => {
        this.isSpeaking = true
        this.interrupt("present")
      },
      heard: (pieces) => this.hearing.hear(pieces),
      ended: (audio, goesOn) => {
        this.isSpeaking = goesOn
        this.hearing.end(audio)
      }
    })
    this.link = {
      send: (command) => (this.isOver ? null : this.take(command)),
      sendAudio: (audio, sent) => {
        if (!this.isOver) this.turns.hear(audio)
        sent?.()
      },
      buffered: () => 0,
      pause: () => void this.gate.closeUnsafe(),
      resume: () => void this.gate.openUnsafe(),
      finish: () => {
        this.isFinishing = true
        if (this.hearing.isLive()) this.turns.commit()
        this.endAnswer()
      }
    }
  }

  /** Tells the client that the session is ready. Nothing is answered before. */
  ready(): void {
    this.isReady = true
    this.tell({ _tag: "Ready" })
    this.goOn()
  }

  close(): void {
    this.isOver = true
    for (const fiber of this.fibers) fiber.interruptUnsafe()
  }

  private tell(event: VendorEvent): void {
    if (!this.isOver) this.around.listener.event(event)
  }

  private fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    // An event to the client may end the session. Then the next effect does not begin.
    const fiber = this.around.run(this.isOver ? Effect.void : effect)
    this.fibers.add(fiber)
    fiber.addObserver(() => this.fibers.delete(fiber))
    return fiber
  }

  private newId(kind: string): string {
    this.count++
    return `parts_${kind}_${this.count}`
  }

  private take(command: VendorCommand): Refusal | null {
    switch (command._tag) {
      case "Text":
        this.tell({ _tag: "Typed", itemId: this.newId("typed"), text: command.text })
        this.history.push({ role: "user", text: command.text })
        this.request(null)
        return null
      case "Commit":
        this.turns.commit()
        return null
      case "Cancel":
        this.interrupt("present")
        return null
      case "ClientGone":
        this.interrupt("gone")
        return null
      case "Played":
        this.played.report(command.itemId, command.millis, this.around.now())
        return null
      case "Heard": {
        const cut = this.played.cutAt(command.itemId, command.millis)
        if (cut === null) return null
        this.forget(cut)
        this.tell({ _tag: "CutShort", cut })
        return null
      }
      case "ToolOutputs":
        for (const { output, toolCallId } of command.outputs) {
          this.outputs.set(toolCallId, output)
          this.unanswered.delete(toolCallId)
        }
        if (this.unanswered.size === 0) this.request(null)
        return null
      case "Setup":
        this.setup = command
        return null
      case "Native":
        return this.native(command.event["type"])
    }
  }

  private native(type: unknown): Refusal | null {
    if (type === "input_audio_buffer.clear") {
      this.turns.clear()
      this.hearing.drop()
      this.isSpeaking = false
    } else if (type === "response.create") {
      if (this.answer !== null) return { code: "invalid_frame", reason: "An answer is being given." }
      this.request(null)
    } else return { code: "unsupported_frame", reason: "A voice from parts has no such event." }
    return null
  }

  // -- hearing

  private understand({ endedAt, isLive, itemId, text }: UnderstoodTurn): void {
    this.history.push({ role: "user", text })
    this.isWanted = {
      stages: {
        itemId,
        endedAt,
        isLive,
        transcriptAt: this.around.now(),
        firstTokenAt: null,
        firstSentenceAt: null
      }
    }
  }

  // -- answering

  private request(stages: Stages | null): void {
    this.isWanted ??= { stages }
    this.goOn()
  }

  /** Begins an answer if one is wanted, nobody speaks and no turn is being transcribed. */
  private goOn(): void {
    if (this.isWanted === null || this.answer !== null || this.isSpeaking || this.hearing.isWriting()) return
    if (this.isOver || this.isFinishing || !this.isReady) return
    const { stages } = this.isWanted
    this.isWanted = null
    this.begin(stages)
  }

  private begin(stages: Stages | null): void {
    const answer: SpokenAnswer = {
      id: this.newId("response"),
      itemId: this.newId("answer"),
      stages,
      written: "",
      spoken: "",
      calls: [],
      usage: null,
      characters: 0,
      isSilent: false,
      fiber: null
    }
    this.answer = answer
    this.tell({ _tag: "ResponseStarted", responseId: answer.id })
    const failed = (error: ModelError) =>
      Effect.sync(() => {
        if (this.answer !== answer) return
        this.fail(error, null)
        this.finish(answer)
      })
    answer.fiber = this.fork(
      Effect.matchEffect(traced("answer by voice")(this.converse(answer)), {
        onFailure: failed,
        onSuccess: () => Effect.sync(() => this.finish(answer))
      })
    )
  }

  private converse(answer: SpokenAnswer): Effect.Effect<void, ModelError> {
    const { policy, parts } = this.around
    const { driver } = parts.think
    return Effect.flatMap(Queue.make<string, Cause.Done>(), (sentences) => {
      const spoken = makeSpokenText()
      const say = (texts: ReadonlyArray<string>) => {
        if (texts.length > 0 && answer.stages !== null) answer.stages.firstSentenceAt ??= this.around.now()
        for (const text of texts) Queue.offerUnsafe(sentences, text)
      }
      const listener = {
        hear: (event: Parameters<Parameters<typeof converse>[3]["hear"]>[0]) => {
          if (event._tag === "TextDelta") {
            if (answer.stages !== null) answer.stages.firstTokenAt ??= this.around.now()
            answer.written += event.text
            say(spoken.feed(event.text))
          }
          if (event._tag === "ToolCallReady") answer.calls.push(event.call)
          if (event._tag === "Usage") answer.usage = event.usage
        },
        pause: () => {}
      }
      const thought = converse(driver, this.chatRequest(), { ...defaultChatPolicy, ...policy }, listener).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            say(spoken.end())
            Queue.endUnsafe(sentences)
          })
        )
      )
      const said = Stream.runForEach(Stream.fromQueue(sentences), (text) => this.speak(answer, text))
      return Effect.all([thought, said], { concurrency: 2, discard: true })
    })
  }

  private chatRequest(): ChatRequest {
    const { parts, setup } = this.around
    const { id, info, model } = parts.think
    return {
      provider: id,
      model,
      info,
      system: this.setup.instructions,
      tools: this.setup.tools,
      toolChoice: "auto",
      messages: this.messages(),
      thinking: null,
      routing: null,
      jsonOutput: false,
      maxOutputTokens: null,
      apiKey: setup.apiKey,
      conversationId: this.around.conversationId
    }
  }

  private messages(): ReadonlyArray<ChatMessage> {
    return this.history.flatMap((entry): ReadonlyArray<ChatMessage> => {
      if (entry.role === "user") return [{ role: "user", content: [{ type: "text", text: entry.text }] }]
      if (entry.text === "" && entry.calls.length === 0) return []
      const results = entry.calls.map(({ id, name }) => {
        const output = this.outputs.get(id) ?? "There is no output yet."
        return { role: "tool" as const, toolCallId: id, toolName: name, output }
      })
      return [{ role: "assistant", content: entry.text, toolCalls: entry.calls, providerData: null }, ...results]
    })
  }

  /** Speaks a sentence. If it cannot be spoken, its words are told anyway. */
  private speak(answer: SpokenAnswer, text: string): Effect.Effect<void> {
    const { driver, format, id, model, voice } = this.around.parts.speak
    const texts = text.length <= driver.maxCharacters ? [text] : cutTo(text, driver.maxCharacters)
    let hasBegun = false
    const begin = () => {
      if (!hasBegun) this.tellWords(answer, text)
      hasBegun = true
    }
    const pieces = Stream.fromIterable(texts).pipe(
      Stream.flatMap((each) => {
        answer.characters += each.length
        const asked = {
          provider: id,
          model,
          voice: voice ?? null,
          format,
          speed: null,
          apiKey: this.around.setup.apiKey
        }
        const late = () => new ModelError({ reason: "timeout", provider: id, model })
        const part = inTime(driver.speak({ ...asked, text: each }), late)
        // Each answer of the vendor is a file of its own.
        return Stream.map(part, makeSoundReader(format, driver.sampleRate))
      })
    )
    const spoken = Stream.runForEach(pieces, (samples) =>
      Effect.andThen(
        this.gate.await,
        Effect.sync(() => {
          if (samples.length === 0 || this.answer !== answer) return
          begin()
          this.play(answer, samples)
        })
      )
    )
    return Effect.suspend(() => (answer.isSilent ? Effect.void : spoken)).pipe(
      traced(`speak ${model}`, { kind: "client" }),
      Effect.catch((error) =>
        Effect.sync(() => {
          answer.isSilent = true
          this.fail(error, null)
        })
      ),
      Effect.andThen(Effect.sync(begin))
    )
  }

  private tellWords(answer: SpokenAnswer, sentence: string): void {
    if (this.answer !== answer) return
    const text = answer.spoken === "" ? sentence : ` ${sentence}`
    answer.spoken += text
    this.tell({ _tag: "TranscriptDelta", role: "assistant", itemId: answer.itemId, text })
  }

  private play(answer: SpokenAnswer, samples: Uint8Array): void {
    const encoded = Buffer.from(base64(samples), "latin1")
    const now = this.around.now()
    const isFirst = !this.played.has(answer.itemId)
    if (!this.played.add(answer.itemId, encoded, now)) return
    this.around.listener.audio(answer.itemId, encoded)
    if (isFirst && answer.stages !== null) this.tellStages(answer.id, answer.stages, now)
  }

  /** The times of a turn's stages, from the detected end of speech. */
  private tellStages(responseId: string, stages: Stages, now: number): void {
    const { endedAt, firstSentenceAt, firstTokenAt, isLive, itemId, transcriptAt } = stages
    const times: VoiceTimes = {
      pauseMillis: this.around.detector === null ? 0 : this.around.detected.silenceMillis,
      transcriptMillis: transcriptAt - endedAt,
      firstTokenMillis: (firstTokenAt ?? now) - endedAt,
      firstSentenceMillis: (firstSentenceAt ?? now) - endedAt,
      firstSoundMillis: now - endedAt,
      isLive
    }
    this.tell({ _tag: "Timed", responseId, times })
    const figures = {
      item_id: itemId,
      pause_ms: times.pauseMillis,
      transcript_ms: times.transcriptMillis,
      first_token_ms: times.firstTokenMillis,
      first_sentence_ms: times.firstSentenceMillis,
      first_sound_ms: times.firstSoundMillis,
      live: times.isLive
    }
    this.tell({ _tag: "Native", json: JSON.stringify({ type: "turn.timed", ...figures }) })
    const attributes = Object.entries(figures).map(([name, value]) => [`colloquy.voice.${name}`, value])
    this.fork(traced("voice turn", { attributes: Object.fromEntries(attributes) })(Effect.void))
  }

  /** Ends an answer that is complete. */
  private finish(answer: SpokenAnswer): void {
    if (this.answer !== answer || this.isOver) return
    const { calls, itemId, written } = answer
    this.answer = null
    this.history.push({ role: "assistant", itemId, text: written, calls })
    if (written !== "") this.tell({ _tag: "TranscriptFinal", role: "assistant", itemId, text: written })
    this.charge(answer)
    for (const call of calls) {
      this.unanswered.add(call.id)
      this.tell({ _tag: "ToolCalled", call })
    }
    this.tell({ _tag: "ResponseDone", responseId: answer.id })
    this.goOn()
  }

  private charge({ characters, usage }: SpokenAnswer): void {
    const { info } = this.around.parts.think
    const { inputCostPerMillionTokens: input, outputCostPerMillionTokens: output } = info
    const { usdPerMillionCharacters } = this.around.parts.speak
    const thought = usage ?? { ...noUsage, estimated: true }
    const priced =
      thought.costUsd === null && input !== null && output !== null && usage !== null
        ? (usage.inputTokens * input + usage.outputTokens * output) / 1e6
        : thought.costUsd
    this.tell({ _tag: "Used", usage: { ...thought, costUsd: priced, estimated: thought.estimated || priced === null } })
    if (characters === 0) return
    const costUsd = usdPerMillionCharacters === undefined ? null : (characters * usdPerMillionCharacters) / 1e6
    this.tell({ _tag: "Used", usage: { ...noUsage, costUsd, estimated: costUsd === null } })
  }

  // -- interruption

  private interrupt(client: "present" | "gone"): void {
    const { answer } = this
    const now = this.around.now()
    const cuts = this.played.cutAll(now, answer !== null && answer.spoken !== "" ? answer.itemId : null, client)
    if (answer === null && cuts.length === 0) return
    const [first, ...rest] = cuts
    this.tell({ _tag: "Interrupted", cut: first ?? null })
    for (const cut of rest) this.tell({ _tag: "CutShort", cut })
    for (const cut of cuts) this.forget(cut)
    this.endAnswer()
  }

  /** Takes the words that nobody heard out of the answer, so that the model does not count them as said. */
  private forget({ generatedMillis, heardMillis, itemId }: Cut): void {
    if (this.answer?.itemId === itemId) {
      this.answer.spoken = heardPart(this.answer.spoken, heardMillis, generatedMillis)
    }
    for (const entry of this.history) {
      if (entry.role === "assistant" && entry.itemId === itemId) {
        entry.text = heardPart(entry.text, heardMillis, generatedMillis)
      }
    }
  }

  /** Stops the answer. The tokens that it has used so far are not known. */
  private endAnswer(): void {
    const { answer } = this
    if (answer === null) return
    this.answer = null
    answer.fiber?.interruptUnsafe()
    this.history.push({ role: "assistant", itemId: answer.itemId, text: answer.spoken, calls: [] })
    this.charge(answer)
    this.tell({ _tag: "ResponseDone", responseId: answer.id })
  }

  // -- failures

  /** A part whose key or account is refused will not answer again, so the session cannot go on with it. */
  private fail(error: ModelError, event: VendorEvent | null): void {
    if (event !== null) this.tell(event)
    if (!hopeless.has(error.reason)) return this.tell({ _tag: "Failed", reason: error.message })
    this.tell({ _tag: "Closed", reason: error.message })
    this.close()
  }
}

const hopeless: ReadonlySet<ModelError["reason"]> = new Set(["auth", "quota", "model_not_found"])

/** Cuts a sentence between words, or between characters where a word is longer than the limit. */
const cutTo = (sentence: string, length: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let rest = sentence
  while (rest.length > length) {
    const space = rest.lastIndexOf(" ", length)
    // A character of two code units stays whole.
    const whole = /[\ud800-\udbff]$/.test(rest.slice(0, length)) ? Math.max(2, length - 1) : length
    const end = space > 0 ? space : whole
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return rest === "" ? parts : [...parts, rest]
}

/** Converts a vendor's answer to samples at 24 kHz, piece by piece. */
const makeSoundReader = (format: "pcm" | "wav", sampleRate: number): ((piece: Uint8Array) => Uint8Array) => {
  const wholeSamples = makeWholeSamples()
  let head: Uint8Array<ArrayBufferLike> | null = format === "wav" ? new Uint8Array() : null
  let resample = makeResampler(sampleRate, sound.sampleRate)
  /** The number of bytes of samples that the file still has, by its header. */
  let left = Infinity
  const toSamples = (piece: Uint8Array) => {
    const own = piece.subarray(0, left)
    left -= own.length
    return resample(wholeSamples(own))
  }
  return (piece) => {
    if (head === null) return toSamples(piece)
    const begun = joinBytes([head, piece])
    head = begun
    const read = readWavHead(begun)
    if (read === undefined || read === null) return new Uint8Array()
    head = null
    left = read.dataLength
    resample = makeResampler(read.format.sampleRate, sound.sampleRate)
    return toSamples(begun.subarray(read.dataAt))
  }
}
