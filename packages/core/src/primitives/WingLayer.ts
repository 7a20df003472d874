/** How a host adds a wing to its kernel: one layer with everything of the wing in it, and the settings that the host changes as an argument. */
import * as Config from "effect/Config"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { type DeepPartial, readSettings, type SettingRules, type SettingsUnusable } from "./Settings.ts"

/** The two ways to add a wing to a kernel. */
export interface WingLayers<Settings, Out, Error, In> {
  /** Settings that are not given have their defaults. Those that cannot work fail the layer, all together. */
  readonly layer: {
    (): Layer.Layer<Out, Error, In>
    (settings: DeepPartial<Settings> | undefined): Layer.Layer<Out, Error | SettingsUnusable, In>
  }
  /** The same with settings from `effect/Config`: `layerConfig({ batch: Config.Int("RETENTION_BATCH") })`. */
  readonly layerConfig: (
    settings: Config.Wrap<DeepPartial<Settings>>
  ) => Layer.Layer<Out, Error | SettingsUnusable | Config.ConfigError, In>
}

/** `wing` reads its settings from the reference while it is built. The key of the reference names the wing: `@colloquy/core/memory/…`. */
export const wingLayers = <Settings extends object, Out, Error, In>(
  reference: Context.Reference<Settings>,
  wing: Layer.Layer<Out, Error, In>,
  rules?: SettingRules<Settings>
): WingLayers<Settings, Out, Error, In> => {
  const name = reference.key.split("/").at(-2) ?? reference.key
  const over = (settings: Settings) => Layer.provide(wing, Layer.succeed(reference, settings))
  function layer(): Layer.Layer<Out, Error, In>
  function layer(settings: DeepPartial<Settings> | undefined): Layer.Layer<Out, Error | SettingsUnusable, In>
  function layer(settings?: DeepPartial<Settings>) {
    const defaults = reference.defaultValue()
    if (settings === undefined) return over(defaults)
    return Layer.unwrap(Effect.map(readSettings(name, defaults, settings, rules), over))
  }
  return { layer, layerConfig: (settings) => Layer.unwrap(Effect.map(readConfig(settings), layer)) }
}

/** The settings, or everything that is wrong with them: `Config.unwrap` alone tells the first fault only. */
export const readConfig = <Settings>(settings: Config.Wrap<Settings>): Effect.Effect<Settings, Config.ConfigError> =>
  Effect.catch(Config.unwrap(settings), (first) =>
    Effect.flatMap(
      Effect.partition(singleConfigs(settings), (config) => config),
      ([, faults]) => Effect.fail(joined(first, faults))
    )
  )

const singleConfigs = (settings: unknown): ReadonlyArray<Config.Config<unknown>> => {
  if (Config.isConfig(settings)) return [settings]
  return typeof settings === "object" && settings !== null ? Object.values(settings).flatMap(singleConfigs) : []
}

/** Where the configuration cannot be read at all, the first fault says everything. */
const joined = (first: Config.ConfigError, faults: ReadonlyArray<Config.ConfigError>): Config.ConfigError => {
  const [issue, ...others] = faults.flatMap(({ cause }) => (Schema.isSchemaError(cause) ? [cause.issue] : []))
  if (issue === undefined || others.length < faults.length - 1) return first
  return new Config.ConfigError(
    new Schema.SchemaError(new SchemaIssue.Composite(Schema.Unknown.ast, [issue, ...others]))
  )
}
