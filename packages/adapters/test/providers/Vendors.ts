/**
 * One entry for each vendor: how to build its provider against a server of ours, and how its wire says what the contract of chat drivers scripts.
 * The files in `vendors/` hold the wires. To add a vendor, write one such file and add it to the list.
 */
import type { Provider } from "@colloquy/core"
import type * as Redacted from "effect/Redacted"
import type { TransportSettings } from "../../src/protocols/Transport.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import { aiSdk } from "./vendors/AiSdk.ts"
import { anthropic } from "./vendors/Anthropic.ts"
import { effectAi } from "./vendors/EffectAi.ts"
import { gemini } from "./vendors/Gemini.ts"
import { openAi, openAiCompatible, openRouter } from "./vendors/OpenAiChat.ts"
import { openAiResponses } from "./vendors/OpenAiResponses.ts"

export interface Vendor {
  readonly name: string
  readonly provider: (settings: VendorSettings) => Provider
  /** Where the driver posts a request for the model of the scenarios. */
  readonly path: string
  /** The header that holds a key, and how. */
  readonly keyHeader: readonly [name: string, value: (key: string) => string]
  /** The wire of each thing said: one text for one thing; empty when the vendor says it later. */
  readonly render: (says: ReadonlyArray<Said>) => ReadonlyArray<string>
  readonly refuse: (reason: RefusedWith) => { readonly status: number; readonly body: unknown }
  /** The conversation inside the body of a request, oldest first. */
  readonly history: (body: unknown) => ReadonlyArray<unknown>
  /** A library of the host reads the wire, and buffers as it likes. */
  readonly readByLibrary?: boolean
  /** What `reasoning` has on this wire that the provider needs back. */
  readonly needsBack?: string
  /** Scenarios that the wire cannot express, each with the reason. */
  readonly cannot?: { readonly [scenario: string]: string }
}

export interface VendorSettings extends TransportSettings {
  /** Address of the fake server, without a path. */
  readonly server: string
  readonly apiKey?: Redacted.Redacted<string>
}

export const vendors: ReadonlyArray<Vendor> = [
  openAi,
  openAiCompatible,
  openRouter,
  openAiResponses,
  anthropic,
  gemini,
  aiSdk,
  effectAi
]
