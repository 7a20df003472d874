/** What the suites need to know of one vendor: how its provider is built against a server of ours, and what goes over its wire. */
import type { Provider } from "@colloquy/core"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import type * as Redacted from "effect/Redacted"
import type { TransportSettings } from "../../src/protocols/Transport.ts"

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
