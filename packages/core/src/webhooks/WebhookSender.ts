/** Ports of the platform: sending to an address that a client gave, and encrypting the secrets that sign what is sent. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** A signed request to the address of a webhook. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The address gave no answer: a broken connection, a time limit, or an address that is not allowed. */
export class NotSent extends Schema.TaggedError<NotSent>()("NotSent", {
  message: Schema.String,
  /** True: another attempt would fail as well, for example because the address is a private one. */
  isFinal: Schema.Boolean
}) {}

export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /** Why nothing is sent to this address, as far as its text tells; null: it may be used. */
    readonly problem: (url: string) => string | null
    /**
     * POSTs once and returns the status of the answer. A name is resolved, its addresses are checked, and the connection goes to a checked
     * address only. Redirects are not followed, and the answer is not kept.
     */
    readonly send: (request: WebhookRequest) => Effect.Effect<number, NotSent>
  }
>()("@colloquy/core/webhooks/WebhookSender") {}

/** Encrypts the secrets of webhooks before they are stored. */
export class WebhookSecrets extends Context.Service<
  WebhookSecrets,
  {
    /** `context` is needed to open it again. */
    readonly seal: (secret: Redacted.Redacted<string>, context: string) => Effect.Effect<string>
    /** Null: it was sealed in another context, or under a key that the host no longer has. */
    readonly open: (sealed: string, context: string) => Effect.Effect<Redacted.Redacted<string> | null>
  }
>()("@colloquy/core/webhooks/WebhookSecrets") {}
