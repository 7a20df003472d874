/** How a host adds a wing to its kernel: one layer with everything of the wing in it, and the settings that the host changes as an argument. */
import * as Config from "effect/Config"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type DeepPartial, withDefaults } from "./Settings.ts"

/** The two ways to add a wing to a kernel. */
export interface WingLayers<Settings, Out, Error, In> {
  /** Settings that are not given have their defaults. */
  readonly layer: (settings?: DeepPartial<Settings>) => Layer.Layer<Out, Error, In>
  /** The same with settings from `effect/Config`: `layerConfig({ batch: Config.Int("RETENTION_BATCH") })`. */
  readonly layerConfig: (
    settings: Config.Wrap<DeepPartial<Settings>>
  ) => Layer.Layer<Out, Error | Config.ConfigError, In>
}

/** `wing` reads its settings from the reference while it is built. */
export const wingLayers = <Settings extends object, Out, Error, In>(
  reference: Context.Reference<Settings>,
  wing: Layer.Layer<Out, Error, In>
): WingLayers<Settings, Out, Error, In> => {
  const layer = (settings?: DeepPartial<Settings>) =>
    Layer.provide(wing, Layer.succeed(reference, withDefaults(reference.defaultValue(), settings)))
  return { layer, layerConfig: (settings) => Layer.unwrap(Effect.map(Config.unwrap(settings), layer)) }
}
