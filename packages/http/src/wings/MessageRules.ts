/**
 * Pure: rules between the fields of a message body. Those of fields that speak to parts of the turn are in their
 * wings. Held against the raw body, so that they stand beside all other problems.
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

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0

/** Fields that the endpoint does not have are ignored there. */
const rulesFor =
  (ignored: ReadonlySet<string>): BodyRules =>
  (raw, server) => {
    if (!isRecord(raw.value)) return []
    const fields = Object.fromEntries(Object.entries(raw.value).filter(([name]) => !ignored.has(name)))
    return [...repeatedToolNames(fields["tools"]), ...server.problems(fields, raw), ...aboutContent(fields, raw)]
  }

export const messageRules: BodyRules = rulesFor(
  new Set(["video_generation", "video_model_provider", "video_model_name", "video_config"])
)
export const statelessMessageRules: BodyRules = rulesFor(new Set())
