/** Small questions about the raw fields of a message, asked by the wings and by the rules of the body. */
import type { ValidationError } from "../wire/Errors.ts"
import type { Path } from "./Wing.ts"

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
