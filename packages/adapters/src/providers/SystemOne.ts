/**
 * A provider of typed answers with the protocol of System One. A host registers it with `SystemOne.provider({ apiKey })`; another server with the
 * same protocol needs another base URL and path. Names of models are sent unchanged unless `prefix` maps them.
 */
import { type ModelInfo, type Provider } from "@colloquy/core"
import { describeModel, mergeModelInfo, type ModelError } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import * as Protocol from "../protocols/SystemOne.ts"
import { bearer, fetchJson, type TransportSettings } from "../protocols/Transport.ts"
import { list, lookUp, record, text, type WireRecord } from "../protocols/Wire.ts"

/** The key, the address and the paths of a service of typed answers. */
export interface SystemOneSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `typedprovider`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  /** The path for questions, after the base URL. Default: `/v1/systemone`. */
  readonly path?: string
  /** The path of the list of models, after the base URL. Default: `/v1/models`; null for a server without a list. */
  readonly modelsPath?: string | null
  readonly headers?: { readonly [name: string]: string }
  /** Replaces the beginning of a model's name: `ours` in the kernel, `theirs` in requests and answers of the server. */
  readonly prefix?: { readonly ours: string; readonly theirs: string }
  /** Limits and prices by model name. Names that the vendor's list lacks, such as aliases, are added to the list. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

/** A service of typed answers as a provider. */
export const provider = (settings: SystemOneSettings = {}): Provider => {
  const { baseUrl = "https://api.typesafe.ai", id = "typedprovider", path = "/v1/systemone", prefix } = settings
  const full = {
    ...settings,
    url: `${checkedUrl(baseUrl)}${path}`,
    toWire: (model: string) => (prefix === undefined ? model : exchange(model, prefix.ours, prefix.theirs)),
    fromWire: (model: string) => (prefix === undefined ? model : exchange(model, prefix.theirs, prefix.ours))
  }
  return {
    id,
    answers: Protocol.driver(full),
    describe: (model) => lookUp(settings.models ?? {}, model),
    listModels: listModels(id, baseUrl, full)
  }
}

const exchange = (name: string, from: string, to: string): string =>
  name.startsWith(from) ? to + name.slice(from.length) : name

const listModels = (
  id: string,
  baseUrl: string,
  settings: SystemOneSettings & Pick<Protocol.SystemOneSettings, "fromWire">
): Effect.Effect<ReadonlyArray<ModelInfo>, ModelError> => {
  const { modelsPath = "/v1/models", models = {} } = settings
  const own = Object.keys(models).map((name) => ({ name }))
  const merge = (entries: ReadonlyArray<KnownModel>): ReadonlyArray<ModelInfo> =>
    [...new Map([...own, ...entries].map((entry) => [entry.name, entry])).values()].map((entry) =>
      mergeModelInfo(
        describeModel({ ...entry, provider: id, modelType: "system_one" }),
        lookUp(models, entry.name) ?? {}
      )
    )
  if (modelsPath === null) return Effect.succeed(merge([]))
  return Effect.suspend(() => {
    const call = {
      provider: id,
      model: "",
      url: `${baseUrl}${modelsPath}`,
      headers: { ...settings.headers },
      secrets: bearer(settings.apiKey),
      body: null
    }
    return Effect.map(fetchJson(call, Protocol.errorDialect, settings), (body) =>
      merge(list(record(body).models).flatMap((entry) => readModel(record(entry), settings.fromWire)))
    )
  })
}

type KnownModel = Pick<ModelInfo, "name"> & Partial<ModelInfo>

/** A list of one model, or an empty list for an entry without a name. */
const readModel = (entry: WireRecord, fromWire: (model: string) => string): ReadonlyArray<KnownModel> => {
  const name = text(entry.name)
  const description = text(entry.description)
  const released = text(entry.release_date)
  return name === undefined
    ? []
    : [
        {
          name: fromWire(name),
          details: {
            ...(description === undefined ? {} : { description }),
            ...(released === undefined ? {} : { release_date: released })
          }
        }
      ]
}
