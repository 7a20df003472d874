/** The service with documents for a test: its only readable files are text, and its model says everything that it was asked, as JSON. */
import { ScriptedModel } from "@colloquy/testing"
import type { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Provider, Providers } from "@colloquy/core"
import type { ChatEvent } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import { type DocumentSettings, Documents, TextExtractor } from "@colloquy/core/documents"
import { unknownPosition } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RoutesOptions } from "../src/index.ts"
import { serve, type Service, typed } from "./Service.ts"

export interface DocumentOptions {
  readonly http?: RoutesOptions<never>
  readonly settings?: Partial<DocumentSettings>
  /** Instead of plain text, as it is. */
  readonly extract?: typeof TextExtractor.Service.extract
  /** Instead of one that reads text. */
  readonly extractor?: Layer.Layer<TextExtractor>
}

export const openWithDocuments = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  { extract = readText, extractor, http, settings }: DocumentOptions = {}
): Promise<Service> =>
  serve(
    Layer.mergeAll(Documents.layer(settings), Answers.layer()).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide([extractor ?? Layer.succeed(TextExtractor, { readable: ["txt"], extract })]),
      Layer.provideMerge(
        Providers.layer({ providers: [reciting, typed], defaults: { provider: "reciting", model: "recital" } })
      ),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    ),
    http
  )

/** The text of a file as one section. */
export const readText: typeof TextExtractor.Service.extract = ({ bytes }) =>
  Effect.map(Stream.mkUint8Array(bytes), (all) => [
    { ...unknownPosition, form: "prose" as const, text: new TextDecoder().decode(all) }
  ])

const reciting: Provider = {
  id: "reciting",
  chat: ({ messages }) =>
    Stream.fromIterable<ChatEvent>([
      { _tag: "TextDelta", text: JSON.stringify(messages) },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
}

export const fileForm = (
  files: Readonly<Record<string, File | ReadonlyArray<File>>>,
  fields: Readonly<Record<string, string>> = {}
): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const [name, given] of Object.entries(files)) for (const file of [given].flat()) form.append(name, file)
  return form
}
