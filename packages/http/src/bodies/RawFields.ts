/** The fields of a message before they are decoded, and tests of them for the rules of bodies and for the wings. */
import type { ValidationError } from "../wire/Errors.ts"

/** A message body before it is decoded. */
export type RawFields = Readonly<Record<string, unknown>>

export type Path = ReadonlyArray<string | number>

/** Names of the parts that the kernel has: `TurnParts.all()` at the time of a request. */
export type Installed = ReadonlySet<string>

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null

export const isOneOf = (value: unknown, ...words: ReadonlyArray<string>): boolean =>
  typeof value === "string" && words.includes(value)

export const isBlank = (value: unknown): boolean =>
  !isGiven(value) || (typeof value === "string" && value.trim() === "")

export const problem = (path: Path, type: string, msg: string): ValidationError => ({
  loc: ["body", ...path],
  msg,
  type
})

export const notAvailable = (path: Path, title: string): ValidationError =>
  problem(path, "not_available", `${title} is not available on this server. Leave the field out.`)
