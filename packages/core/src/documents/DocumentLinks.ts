/**
 * Addresses at which the bytes of documents can be read from outside, for responses of the service and for vendors that fetch a file
 * themselves. Core knows no addresses: the code that serves documents over HTTP registers how to write them (`serve`). An address is never
 * stored, because its signature expires.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { DocumentId } from "../primitives/Ids.ts"

/** The documents are not served, or the public address of the server is not known. */
export class NoPublicAddress extends Schema.TaggedError<NoPublicAddress>()("NoPublicAddress", {
  documentId: DocumentId
}) {
  override get message() {
    return (
      `There is no address from which others can read document ${this.documentId}. ` +
      "Set the public address of the server (`publicUrl` of the HTTP handler)."
    )
  }
}

/** How a server writes the addresses of the documents that it serves. */
export interface DocumentAddresses {
  /** For clients of this server. Signed; it stays equal for a while, so that two reads of one record agree. */
  readonly url: (id: DocumentId) => string
  /** With scheme and host, for others. Null if the server does not know its own address. */
  readonly signed: (id: DocumentId, lifetime: Duration.Input) => string | null
}

export class DocumentLinks extends Context.Service<
  DocumentLinks,
  {
    /** Until a server is registered, this is the document's path under the base address, which needs a key. */
    readonly url: (id: DocumentId) => string
    /** An address with scheme and host that needs no key and expires after the given time. */
    readonly signed: (
      id: DocumentId,
      options: { readonly expiresIn: Duration.Input }
    ) => Effect.Effect<string, NoPublicAddress>
    /** From now on this server writes the addresses, until the scope closes. If several are registered, the last one is used. */
    readonly serve: (addresses: DocumentAddresses) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@colloquy/core/documents/DocumentLinks") {
  static readonly layer: Layer.Layer<DocumentLinks> = Layer.sync(DocumentLinks, () => {
    let servers: ReadonlyArray<DocumentAddresses> = []
    return {
      url: (id) => servers.at(-1)?.url(id) ?? contentPath(id),
      signed: (documentId, { expiresIn }) =>
        Effect.suspend(() => {
          const found = servers.at(-1)?.signed(documentId, expiresIn) ?? null
          return found === null ? Effect.fail(new NoPublicAddress({ documentId })) : Effect.succeed(found)
        }),
      serve: (addresses) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            servers = [...servers, addresses]
          }),
          () =>
            Effect.sync(() => {
              servers = servers.filter((each) => each !== addresses)
            })
        )
    }
  })
}

const contentPath = (id: DocumentId): string => `/documents/${encodeURIComponent(id)}/content`
