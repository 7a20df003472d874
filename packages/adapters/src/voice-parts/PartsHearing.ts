/**
 * Transcribes the turns of a session. If the driver has `listen`, the sound is sent while the user speaks, and the words come back as captions.
 * If it has no `listen`, fails or is late, the kept sound of the whole turn is transcribed after its end.
 *
 *     a turn ─ pieces ─ captions ─ end ─┬─ the whole text, in time
 *                                       └─ none: the whole sound ─ the whole text
 */
import type { Usage } from "@colloquy/core"
import {
  isRefusedRequest,
  joinBytes,
  ModelError,
  noUsage,
  traced,
  type Transcript,
  type TranscriptEvent,
  wavHeader
} from "@colloquy/core/adapters"
import type { VendorEvent } from "@colloquy/core/realtime"
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { inTime, type ReadyParts, sound } from "./Parts.ts"
import { pieceBytes } from "./TurnDetector.ts"

const bytesPerSecond = 2 * sound.sampleRate
/** How long after the end of a turn its whole text may arrive. Later, the whole sound is transcribed instead. */
const lateAfter = "3 seconds"

/** A turn of the user, with its text. */
export interface UnderstoodTurn {
  readonly itemId: string
  readonly text: string
  readonly endedAt: number
  /** True: the turn was transcribed while it was spoken. */
  readonly isLive: boolean
}

export interface HearingSurroundings {
  readonly hear: ReadyParts["hear"]
  readonly apiKey: Redacted.Redacted<string> | null
  readonly tell: (event: VendorEvent) => void
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly now: () => number
  readonly newId: () => string
  readonly understood: (turn: UnderstoodTurn) => void
  readonly failed: (error: ModelError, itemId: string) => void
  /** Called when no turn is being transcribed any more. */
  readonly settled: () => void
}

/** A turn that is transcribed while it is spoken. */
interface LiveTurn {
  readonly itemId: string
  readonly pieces: Queue.Queue<Uint8Array, Cause.Done>
  readonly transcript: Deferred.Deferred<Transcript, ModelError>
  /** How many pieces were put into the queue, including those that are still in it. */
  offered: number
  hasCaptions: boolean
  isCharged: boolean
  fiber: Fiber.Fiber<void> | null
}

export class PartsHearing {
  private readonly around: HearingSurroundings
  private listens: boolean
  private live: LiveTurn | null = null
  private writing = 0
  private lastTurn: Fiber.Fiber<void> | null = null

  constructor(around: HearingSurroundings) {
    this.around = around
    this.listens = around.hear.driver.listen !== undefined
  }

  readonly isWriting = (): boolean => this.writing > 0
  readonly isLive = (): boolean => this.live !== null

  /** Takes pieces of the turn that is being spoken. */
  hear(pieces: ReadonlyArray<Uint8Array>): void {
    this.live ??= this.listens ? this.listen() : null
    if (this.live === null) return
    this.live.offered += pieces.length
    for (const piece of pieces) Queue.offerUnsafe(this.live.pieces, piece)
  }

  /** Ends the turn; `audio` is all of its sound. The texts of turns are told one after the other, in the order of the turns. */
  end(audio: Uint8Array): void {
    const { fork, newId, now, settled, tell } = this.around
    const { lastTurn: before, live } = this
    const itemId = live?.itemId ?? newId()
    const endedAt = now()
    this.live = null
    this.writing++
    if (live !== null) Queue.endUnsafe(live.pieces)
    if (live?.hasCaptions === true) tell({ _tag: "SpeechEnded", itemId })
    else tell({ _tag: "UserItem", itemId, before: null, transcribed: true })
    const written = live === null ? this.fromWhole(audio, itemId, false) : this.fromLive(live, audio)
    const told = Effect.match(written, {
      onFailure: (error) => this.around.failed(error, itemId),
      onSuccess: ({ isLive, text }) => this.understand({ itemId, text: text.trim(), endedAt, isLive })
    })
    const inOrder = before === null ? told : Effect.andThen(Fiber.await(before), told)
    const done = Effect.sync(() => {
      this.writing--
      settled()
    })
    this.lastTurn = fork(Effect.ensuring(inOrder, done))
  }

  /** Forgets the turn that is being spoken. */
  drop(): void {
    const { live } = this
    if (live === null) return
    this.live = null
    live.fiber?.interruptUnsafe()
    this.chargeTaken(live)
    if (live.hasCaptions) this.around.tell({ _tag: "NothingSaid", itemId: live.itemId })
  }

  private understand(turn: UnderstoodTurn): void {
    const { itemId, text } = turn
    if (text === "") return this.around.tell({ _tag: "NothingSaid", itemId })
    this.around.tell({ _tag: "TranscriptFinal", role: "user", itemId, text })
    this.around.understood(turn)
  }

  private request() {
    const { apiKey, hear } = this.around
    return { provider: hear.id, model: hear.model, language: hear.language ?? null, prompt: null, apiKey }
  }

  // -- while it is spoken

  private listen(): LiveTurn {
    const live: LiveTurn = {
      itemId: this.around.newId(),
      pieces: Effect.runSync(Queue.make<Uint8Array, Cause.Done>()),
      transcript: Deferred.makeUnsafe(),
      offered: 0,
      hasCaptions: false,
      isCharged: false,
      fiber: null
    }
    const { driver, model } = this.around.hear
    const request = { ...this.request(), sampleRate: sound.sampleRate }
    const events = driver.listen?.(request, Stream.fromQueue(live.pieces)) ?? Stream.empty
    const listened = this.transcript(events, (words) => this.caption(live, words)).pipe(
      traced(`listen ${model}`, { kind: "client" }),
      Effect.tapError((error) => Effect.sync(() => this.noteFailure(live, error)))
    )
    live.fiber = this.around.fork(Effect.asVoid(Deferred.complete(live.transcript, listened)))
    return live
  }

  /** The last event of a driver has the whole text. */
  private transcript(
    events: Stream.Stream<TranscriptEvent, ModelError>,
    hearWords: (words: string) => void
  ): Effect.Effect<Transcript, ModelError> {
    const last = Stream.runFold(
      events,
      (): Transcript | null => null,
      (known, event) => {
        if (event._tag === "Transcribed") return event.transcript
        hearWords(event.text)
        return known
      }
    )
    return Effect.flatMap(last, (transcript) =>
      transcript === null ? Effect.fail(this.error("cut_off")) : Effect.succeed(transcript)
    )
  }

  private caption(live: LiveTurn, text: string): void {
    const { itemId } = live
    if (!live.hasCaptions) {
      this.around.tell({ _tag: "UserItem", itemId, before: null, transcribed: true, isOpen: true })
    }
    live.hasCaptions = true
    this.around.tell({ _tag: "TranscriptDelta", role: "user", itemId, text })
  }

  /**
   * Remembers a failure that would repeat itself, so that no further sound is sent. The provider may charge for the sound that it has
   * received.
   */
  private noteFailure(live: LiveTurn, error: ModelError): void {
    if (!error.isRetryable) this.listens = false
    if (!isRefusedRequest(error)) this.chargeTaken(live)
  }

  private fromLive(live: LiveTurn, audio: Uint8Array) {
    const late = Effect.suspend(() => {
      live.fiber?.interruptUnsafe()
      const error = this.error("timeout")
      this.noteFailure(live, error)
      return Effect.fail(error)
    })
    return Deferred.await(live.transcript).pipe(
      Effect.timeoutOrElse({ duration: lateAfter, orElse: () => late }),
      Effect.map((transcript) => this.charged(transcript, audio, true)),
      Effect.catch(() => this.fromWhole(audio, live.itemId, live.hasCaptions))
    )
  }

  private error(reason: ModelError["reason"]): ModelError {
    const { id: provider, model } = this.around.hear
    return new ModelError({ reason, provider, model })
  }

  // -- after its end

  /** Transcribes the whole sound. After captions, the driver's first words are not told, because the client has them already. */
  private fromWhole(audio: Uint8Array, itemId: string, hasCaptions: boolean) {
    const { hear, tell } = this.around
    const bytes = joinBytes([wavHeader(sound, audio.length), audio])
    const request = { ...this.request(), recording: { bytes, mimeType: "audio/wav", filename: "turn.wav" } }
    const { driver, model } = hear
    const whole = Stream.fromEffect(
      Effect.map(driver.transcribe(request), (transcript): TranscriptEvent => ({ _tag: "Transcribed", transcript }))
    )
    const hearWords = (text: string) => {
      if (!hasCaptions) tell({ _tag: "TranscriptDelta", role: "user", itemId, text })
    }
    const events = inTime(driver.stream?.(request) ?? whole, () => this.error("timeout"))
    return this.transcript(events, hearWords).pipe(
      Effect.map((transcript) => this.charged(transcript, audio, false)),
      traced(`transcribe ${model}`, { kind: "client" })
    )
  }

  // -- money

  private charged({ text, usage }: Transcript, audio: Uint8Array, isLive: boolean) {
    const costUsd = usage?.costUsd ?? this.price(audio.length)
    this.tellUsed({ ...(usage ?? noUsage), costUsd, estimated: costUsd === null })
    return { text, isLive }
  }

  /** Charges for sound that was sent and gave no text. */
  private chargeTaken(live: LiveTurn): void {
    const taken = live.offered - Queue.sizeUnsafe(live.pieces)
    if (live.isCharged || taken <= 0) return
    live.isCharged = true
    this.tellUsed({ ...noUsage, costUsd: this.price(taken * pieceBytes), estimated: true })
  }

  private tellUsed(usage: Usage): void {
    this.around.tell({ _tag: "Used", usage, isHearing: true })
  }

  private price(bytes: number): number | null {
    const { usdPerMinute } = this.around.hear
    return usdPerMinute === undefined ? null : (bytes / bytesPerSecond / 60) * usdPerMinute
  }
}
