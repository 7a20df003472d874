/**
 * Sessions for those hosts of this folder whose framework has none: the user's name in a signed cookie, so that a client cannot forge one.
 * A real host has its own sessions (Auth.js, iron-session, a plugin of its framework), and asks for a password before it begins one.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

const secret = process.env["SESSION_SECRET"] ?? randomBytes(32)
const name = "session"

const userSignature = (userId: string): Buffer => createHmac("sha256", secret).update(userId).digest()

/** For `Set-Cookie`. */
export const sessionCookie = (userId: string): string =>
  `${name}=${Buffer.from(userId).toString("base64url")}.${userSignature(userId).toString("base64url")}; HttpOnly; SameSite=Lax; Path=/`

/** The user of a `Cookie` header; null: there is no session, or its signature is not valid. */
export const userFromCookie = (cookies: string | null | undefined): string | null => {
  const [, user, signature] = /(?:^|;\s*)session=([\w-]+)\.([\w-]+)/u.exec(cookies ?? "") ?? []
  if (user === undefined || signature === undefined) return null
  const userId = Buffer.from(user, "base64url").toString()
  const given = Buffer.from(signature, "base64url")
  const ours = userSignature(userId)
  return given.length === ours.length && timingSafeEqual(given, ours) ? userId : null
}
