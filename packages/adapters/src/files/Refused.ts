/** Why a file cannot be read, in a sentence for the user who uploaded it. The readers throw it, and their process passes it to the host. */

export type Reason = "encrypted" | "damaged" | "too_large" | "too_slow" | "unsupported"

/** A plain error, without a schema: the process that reads a file loads nothing of Effect, so that it starts fast and stays small. */
export class Refused extends Error {
  readonly reason: Reason
  constructor(reason: Reason, sentence: string) {
    super(sentence)
    this.reason = reason
  }
}

export const encrypted = (): Refused =>
  new Refused("encrypted", "The file is protected by a password. Remove the protection and upload it again.")

export const damaged = (kind: string): Refused =>
  new Refused("damaged", `The file cannot be read: it is damaged, incomplete, or not ${withArticle(kind)}.`)

export const withArticle = (kind: string): string => `${/^[aeiou]/iu.test(kind) ? "an" : "a"} ${kind}`

export const damagedPicture = (): Refused =>
  new Refused("damaged", "The picture cannot be read: it is damaged or of an unsupported type.")

export const tooLarge = (what: string): Refused =>
  new Refused("too_large", `The file is too large to be read: ${what}.`)

export const tooSlow = (seconds: number): Refused =>
  new Refused(
    "too_slow",
    `The file could not be read within ${seconds} seconds. Split it, or save it in a simpler form.`
  )

export const tooMuchMemory = (): Refused => tooLarge("it needs more memory than one file may take")
