/** Why a file gives no text, in a sentence for the person who uploaded it. Thrown by the readers, and carried out of their process. */

export type Reason = "encrypted" | "damaged" | "too_large" | "too_slow" | "unsupported"

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
  new Refused("damaged", `The file is damaged or incomplete, or no ${kind} at all, so that it cannot be read.`)

export const damagedPicture = (): Refused =>
  new Refused("damaged", "The picture is damaged, or of a kind that cannot be read.")

export const tooLarge = (what: string): Refused =>
  new Refused("too_large", `The file is too large to be read: ${what}.`)

export const tooSlow = (seconds: number): Refused =>
  new Refused(
    "too_slow",
    `The file could not be read within ${seconds} seconds. Split it, or save it in a simpler form.`
  )

export const tooMuchMemory = (): Refused => tooLarge("it needs more memory than one file may take")
