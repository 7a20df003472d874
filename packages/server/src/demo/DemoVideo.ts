/**
 * A video model that needs no network: every job gives the same real MP4 of two seconds, for a first look before a provider is configured.
 * Its jobs exist only in this process; they are completed at the first status request and cost nothing.
 */
import { describeModel, ModelError, type VideoJob, type VideoModel } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { readFileSync } from "node:fs"
import { brotliDecompressSync } from "node:zlib"

/** A ball that moves through a field: H.264 without compression, of 128 by 80 pixels. */
export const demoClip = (): Uint8Array =>
  new Uint8Array(brotliDecompressSync(readFileSync(new URL("../../src/demo/clip.mp4.br", import.meta.url))))

const job = (id: string, status: VideoJob["status"]): VideoJob => ({
  id,
  status,
  costUsd: 0,
  problem: null,
  retryAfterMillis: null
})

export const demoVideo = (): VideoModel => {
  const ordered = new Set<string>()
  return {
    submit: () =>
      Effect.sync(() => {
        const id = `demo-${crypto.randomUUID()}`
        ordered.add(id)
        return job(id, "pending")
      }),
    status: (id) => Effect.sync(() => (ordered.has(id) ? Option.some(job(id, "completed")) : Option.none())),
    content: (id, { model, provider }) =>
      Stream.suspend(() =>
        ordered.has(id)
          ? Stream.make(demoClip())
          : Stream.fail(new ModelError({ reason: "model_not_found", provider, model }))
      ),
    listModels: Effect.succeed([
      describeModel({
        name: "demo/clip",
        provider: "demo",
        modelType: "video",
        displayName: "Demo clip (no network)",
        supportsVision: false,
        supportsAudioInput: false,
        supportsVideoInput: false,
        details: {
          supported_durations: [2],
          supported_resolutions: [],
          supported_aspect_ratios: [],
          supported_sizes: ["128x80"],
          supported_frame_images: [],
          generate_audio: false,
          seed: false
        }
      })
    ])
  }
}
