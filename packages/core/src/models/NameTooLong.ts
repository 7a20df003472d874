/** Names go into records and into keys of an index: what is longer than any name is refused at the door. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { longestName } from "./ReportedFigures.ts"

const Field = Schema.Literals(["name", "provider", "model", "embeddingProvider", "embeddingModel"])

export class NameTooLong extends Schema.TaggedError<NameTooLong>()("NameTooLong", { field: Field, limit: Schema.Int }) {
  override get message() {
    return `This name is longer than ${this.limit} characters. Shorten it.`
  }
}

/** Fields that are absent or null are not looked at. */
export const checkNames = (names: { readonly [Name in typeof Field.Type]?: string | null | undefined }): Result.Result<
  void,
  NameTooLong
> => {
  const field = Field.literals.find((each) => isTooLong(names[each] ?? ""))
  return field === undefined ? Result.void : Result.fail(new NameTooLong({ field, limit: longestName }))
}

/** In characters, as a reader counts them: some are two units of the text. */
const isTooLong = (name: string): boolean => name.length > longestName && Array.from(name).length > longestName
