/**
 * The ports of `@colloquy/core/webhooks` on Node.js: `NodeWebhooks.layer({ secret })`. Addresses of the host's own network are refused:
 * those that a URL names, and those to which a name leads when it is used.
 */
import { NotSent, type WebhookRequest, WebhookSecrets, WebhookSender } from "@colloquy/core/webhooks"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { lookup as resolve, type LookupAddress } from "node:dns"
import { request as overHttp } from "node:http"
import { request as overHttps } from "node:https"
import type { LookupFunction } from "node:net"
import { makeSeal } from "../postgres/SealedText.ts"
import { isPublicAddress, literalAddress } from "./Addresses.ts"

/** The secret with which the secrets of webhooks are encrypted, and the addresses that may be called. */
export interface NodeWebhookOptions {
  /** Encrypts the secrets of webhooks before they are stored. Without it, stored secrets cannot be read any more. */
  readonly secret: Redacted.Redacted<string>
  /** Earlier secrets, for webhooks whose secrets were encrypted with them. */
  readonly earlierSecrets?: ReadonlyArray<Redacted.Redacted<string>>
  /** True: addresses of private networks and of this machine may be used. */
  readonly privateAddresses?: boolean
  /** How names are resolved. Absent: by the system. */
  readonly resolve?: (name: string) => Promise<ReadonlyArray<LookupAddress>>
}

const longestAnswer = 65_536
const longestAttempt = "10 seconds"

const isPrivate = "The address is in a private network, and nothing is sent there."

class PrivateAddress extends Schema.TaggedError<PrivateAddress>()("PrivateAddress", {}) {}

const byTheSystem = (name: string): Promise<ReadonlyArray<LookupAddress>> =>
  new Promise((succeed, fail) => {
    resolve(name, { all: true }, (error, found) => (error === null ? succeed(found) : fail(error)))
  })

const addressProblem = (text: string, mayBePrivate: boolean): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return "This is no address that begins with https:// or http://."
  if (url.username !== "" || url.password !== "") return "The address has a user name or a password in it."
  const literal = literalAddress(url)
  return literal !== null && !mayBePrivate && !isPublicAddress(literal) ? isPrivate : null
}

const makeSender = ({ privateAddresses = false, resolve: find = byTheSystem }: NodeWebhookOptions) => {
  /**
   * Resolves a name to the addresses to which the connection may go. A name with a private address among its addresses is refused, because
   * it is meant to mislead.
   */
  const checked: LookupFunction = (name, options, answer) => {
    find(name).then(
      (found) => {
        const [first] = found
        if (first === undefined) return answer(new Error("The name has no address."), "")
        if (!privateAddresses && !found.every(({ address }) => isPublicAddress(address)))
          return answer(new PrivateAddress(), "")
        if (options.all === true) answer(null, [...found])
        else answer(null, first.address, first.family)
      },
      (error: unknown) => answer(error instanceof Error ? error : new Error("The name could not be resolved."), "")
    )
  }

  const send = ({ body, headers, url }: WebhookRequest): Effect.Effect<number, NotSent> =>
    Effect.callback<number, NotSent>((resume) => {
      const target = new URL(url)
      const ask = target.protocol === "https:" ? overHttps : overHttp
      const bytes = Buffer.from(body)
      // Without an agent no connection is kept, and no proxy of the environment is used.
      const sent = ask(
        target,
        {
          method: "POST",
          agent: false,
          lookup: checked,
          headers: { ...headers, "content-length": bytes.length, "user-agent": "colloquy-webhooks" }
        },
        (answer) => {
          let length = 0
          const end = () => {
            resume(Effect.succeed(answer.statusCode ?? 0))
            sent.destroy()
          }
          answer.on("data", (piece: Buffer) => {
            length += piece.length
            if (length > longestAnswer) end()
          })
          answer.once("end", end)
          answer.once("close", end)
          answer.on("error", () => {})
        }
      )
      sent.on("error", (error) => {
        const isFinal = error instanceof PrivateAddress
        const message = isFinal ? isPrivate : errorSentence(error)
        resume(Exit.fail(new NotSent({ message, isFinal })))
      })
      sent.end(bytes)
      return Effect.sync(() => void sent.destroy())
    }).pipe(
      Effect.timeoutOrElse({
        duration: longestAttempt,
        orElse: () => Effect.fail(new NotSent({ message: "There was no answer within 10 seconds.", isFinal: false }))
      })
    )

  return WebhookSender.of({
    problem: (url) => addressProblem(url, privateAddresses),
    send: (request) => {
      const problem = addressProblem(request.url, privateAddresses)
      return problem === null ? send(request) : Effect.fail(new NotSent({ message: problem, isFinal: true }))
    }
  })
}

/** Only the error code of the system is shown: the words of other errors may come from the receiver. */
const errorSentence = (error: NodeJS.ErrnoException): string =>
  typeof error.code === "string" && /^[A-Z0-9_]{1,60}$/u.test(error.code)
    ? `The address could not be reached (${error.code}).`
    : "The address could not be reached."

const makeSecrets = ({ earlierSecrets = [], secret }: NodeWebhookOptions) =>
  Effect.map(makeSeal(secret, earlierSecrets), (seal) =>
    WebhookSecrets.of({
      seal: (text, context) => Effect.map(seal.seal(text, context), (bytes) => Buffer.from(bytes).toString("base64")),
      open: (sealed, context) =>
        seal.open(Buffer.from(sealed, "base64"), context).pipe(
          Effect.map(({ text }) => text),
          Effect.catchDefect(() => Effect.succeed(null))
        )
    })
  )

/** Sends deliveries of webhooks with Node's network, and keeps their secrets encrypted. */
export const NodeWebhooks = {
  layer: (options: NodeWebhookOptions): Layer.Layer<WebhookSecrets | WebhookSender> =>
    Layer.merge(
      Layer.effect(WebhookSecrets, makeSecrets(options)),
      Layer.sync(WebhookSender, () => makeSender(options))
    )
}
