/** A kernel with the part "image", a conversation model that follows a script, and an image model that keeps what it is asked. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedModel, type ScriptedOptions, type ScriptStep } from "@colloquy/testing"
import {
  Kernel,
  Metering,
  type MeteringPort,
  noQuota,
  type Provider,
  Providers,
  type Quota,
  Quotas
} from "@colloquy/core"
import { type ImageReply, type ImageRequest, type ModelError, noUsage } from "@colloquy/core/adapters"
import { Images, type MediaSettings } from "@colloquy/core/media"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

/** The mark of a PNG, and a byte that tells one picture from another. */
export const png = (number: number) => Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, number)

export const cost = 0.04

export const painted = (...images: ReadonlyArray<Uint8Array>): ImageReply => ({
  images,
  usage: { ...noUsage, outputTokens: 1_000, costUsd: cost },
  model: null
})

export interface PainterOptions {
  readonly steps: ReadonlyArray<ScriptStep>
  readonly model?: ScriptedOptions
  readonly state?: InMemory.State
  readonly stores?: Layer.Layer<InMemory.Stores>
  readonly paint?: (request: ImageRequest) => Effect.Effect<ImageReply, ModelError>
  /** What is known of the image model. */
  readonly describe?: Provider["describe"]
  readonly settings?: Partial<MediaSettings>
  readonly metering?: MeteringPort
  readonly quota?: Partial<Quota>
}

export const painterKernel = (options: PainterOptions, asked: Array<ImageRequest> = []) => {
  const { describe, paint = () => Effect.succeed(painted(png(asked.length))) } = options
  const painter: Provider = {
    id: "painter",
    image: { generate: (request) => Effect.suspend(() => (asked.push(request), paint(request))) },
    ...(describe === undefined ? {} : { describe })
  }
  const providers = Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Providers.layer({
        providers: [provider, painter],
        defaults: { provider: provider.id, model: `${provider.id}-model` }
      })
    )
  )
  return Images.layer(options.settings).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering),
      Layer.succeed(Quotas, () => ({ ...noQuota, ...options.quota })),
      Logger.layer([])
    ]),
    Layer.provideMerge(providers),
    Layer.provideMerge(ScriptedModel.layer(options.steps, options.model)),
    Layer.provideMerge(options.stores ?? InMemory.layerFrom(options.state ?? InMemory.makeState())),
    Layer.fresh
  )
}

export type Services = Layer.Success<ReturnType<typeof painterKernel>>

/** `image_generation: "auto"` with the painter's model. */
export const withImages = (config?: Record<string, string | number>) => ({
  image: { provider: "painter", model: "oil", ...(config === undefined ? {} : { config }) }
})
