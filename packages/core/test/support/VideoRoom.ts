/** A kernel with videos for tests: a scripted conversation, a scripted maker of clips, everything in memory. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, scripted, type ScriptStep, ScriptedVideo } from "@colloquy/testing"
import {
  Kernel,
  Metering,
  type MeteringPort,
  type ModelInfo,
  Principal,
  Providers,
  Threads,
  type ThreadId,
  Turns
} from "@colloquy/core"
import type { ChatDriver, ChatRequest } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import { defaultVideoSettings, MediaStorage, Videos, type VideoSettings } from "@colloquy/core/media"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { quiet } from "./Story.ts"

export type Services = Kernel.Kernel | InMemory.Stores | MediaStorage | DocumentLinks

export interface VideoRoomOptions {
  readonly steps?: ReadonlyArray<ScriptStep>
  /** Instead of a script. */
  readonly chat?: ChatDriver
  readonly studio?: ScriptedVideo.ScriptedVideo
  readonly settings?: Partial<VideoSettings>
  readonly metering?: MeteringPort
  readonly maxClip?: number
  readonly stores?: Layer.Layer<InMemory.Stores>
  /** Receives what the conversation model is asked. */
  readonly asked?: Array<ChatRequest>
}

export const videoRoom = (options: VideoRoomOptions = {}): Layer.Layer<Services> => {
  const { asked, studio = ScriptedVideo.make(), steps = [] } = options
  const { chat: script, ...rest } = scripted(steps)
  const chat = options.chat ?? script
  const talker =
    chat === undefined ? rest : { ...rest, chat: (request: ChatRequest) => (asked?.push(request), chat(request)) }
  const maxSize = options.maxClip ?? defaultVideoSettings.maxSize
  return Layer.orDie(Videos.layer({ ...options.settings, maxSize })).pipe(
    Layer.provideMerge(MediaStorage.layer),
    Layer.provideMerge(DocumentLinks.layer),
    Layer.provideMerge(Kernel.layer),
    Layer.provide(options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering)),
    Layer.provide([
      Providers.layer({
        providers: [talker, studio.provider],
        defaults: { provider: "scripted", model: "scripted-model" }
      }),
      quiet
    ]),
    Layer.provideMerge(options.stores ?? InMemory.layer),
    Layer.fresh
  )
}

export const videoStory = <E>(
  title: string,
  options: VideoRoomOptions,
  body: Effect.Effect<void, E, Services | Principal | Scope.Scope>
): void => it.effect(title, () => body.pipe(Principal.provide("ada"), Effect.provide([videoRoom(options), quiet])))

/** Of which everything is known. */
export const knownModel: Partial<ModelInfo> & Pick<ModelInfo, "name"> = {
  name: "acme/known",
  supportsVision: true,
  supportsAudioInput: false,
  supportsVideoInput: false,
  details: {
    supported_durations: [5, 10],
    supported_resolutions: ["720p", "1080p"],
    supported_aspect_ratios: ["16:9", "9:16"],
    supported_sizes: ["1280x720"],
    supported_frame_images: ["first_frame", "last_frame"],
    generate_audio: true,
    seed: true,
    upscale_factor: null,
    creativity: null,
    pricing_skus: { "per-video-second": "0.08", "per-video-second-1080p": "0.12" }
  }
}

export const wishes = (model = "acme/clip", config: Schema.JsonObject = {}) => ({
  video: { provider: "router", model, config }
})

/** One call of the tool, and a last word. */
export const callOnce = (args: Schema.JsonObject = {}): ReadonlyArray<ScriptStep> => [
  callTool("generate_video", Object.assign({ prompt: "A boat at dawn" }, args)),
  say("Done.")
]

/** A whole turn, with so much time to pass meanwhile. */
export const turnWith = Effect.fnUntraced(function* (
  request: Partial<Parameters<typeof Turns.Service.start>[0]> = {},
  time: "40 minutes" | "1 hour" = "40 minutes"
) {
  const turn = yield* (yield* Turns).start({ content: "A video, please.", options: wishes(), stream: true, ...request })
  const reading = yield* Effect.forkChild(Stream.runCollect(turn.events), { startImmediately: true })
  yield* TestClock.adjust(time)
  return { turn, events: yield* Fiber.join(reading), reply: yield* turn.reply }
})

/** What the model was told of its calls. */
export const toolResultsIn = (requests: ReadonlyArray<ChatRequest>): ReadonlyArray<string> =>
  (requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))

export const videoJobsIn = (threadId: ThreadId) =>
  Threads.use((threads) => Effect.map(threads.get(threadId), ({ thread }) => thread.metadata?.["video_jobs"] ?? null))
