/**
 * Pure: rules between the fields of a message body; the wings have the rules of their own fields. They are checked on the raw body, so that
 * their problems are listed together with all other problems.
 */
import type { ValidationError } from "../wire/Errors.ts"
import { repeatedToolNames } from "../wire/Tools.ts"
import { isBlank, isGiven, problem, type RawFields } from "../bodies/RawFields.ts"
import { isRecord } from "../wire/Json.ts"
import type { BodyRules, RawBody } from "../bodies/RequestBody.ts"

const aboutContent = (fields: RawFields, { files }: RawBody): ReadonlyArray<ValidationError> =>
  isBlank(fields["content"]) && files.length === 0 && !isFilled(fields["attachments"]) && !isGiven(fields["system_one"])
    ? [problem(["content"], "missing", "The message has no content. Send text, a file, audio or a state.")]
    : []

/** A message in the background is answered at once with 202, so it has no stream. */
const aboutBackground = (fields: RawFields): ReadonlyArray<ValidationError> =>
  fields["background"] === true && fields["stream"] === true
    ? [problem(["background"], "value_error", "A message in the background has no stream. Send one of the two.")]
    : []

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0

/** Fields that the endpoint does not have are ignored there. */
const rulesFor =
  (ignored: ReadonlySet<string>, needsContent = true): BodyRules =>
  (raw, server) => {
    if (!isRecord(raw.value)) return []
    const fields = Object.fromEntries(Object.entries(raw.value).filter(([name]) => !ignored.has(name)))
    return [
      ...repeatedToolNames(fields["tools"]),
      ...server.problems(fields, raw),
      ...(needsContent ? aboutContent(fields, raw) : []),
      ...aboutBackground(fields)
    ]
  }

const statelessFields = new Set(["video_generation", "video_model_provider", "video_model_name", "video_config"])

export const messageRules: BodyRules = rulesFor(statelessFields)
/** The question is there already. */
export const regenerateRules: BodyRules = rulesFor(statelessFields, false)
export const statelessMessageRules: BodyRules = rulesFor(new Set())
