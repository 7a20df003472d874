/** Names become parts of records and of index keys, so names above the limit are refused before anything is stored. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { longestName } from "./ReportedFigures.ts"

const Field = Schema.Literals(["name", "provider", "model", "embeddingProvider", "embeddingModel"])

export class NameTooLong extends Schema.TaggedError<NameTooLong>()("NameTooLong", { field: Field, limit: Schema.Int }) {
  override get message() {
    return `This name is longer than ${this.limit} characters. Shorten it.`
  }
}

/** Absent and null fields are not checked. */
export const checkNames = (names: { readonly [Name in typeof Field.Type]?: string | null | undefined }): Result.Result<
  void,
  NameTooLong
> => {
  const field = Field.literals.find((each) => isTooLong(names[each] ?? ""))
  return field === undefined ? Result.void : Result.fail(new NameTooLong({ field, limit: longestName }))
}

/** Counts characters as a reader does; some characters are two units of the text. */
const isTooLong = (name: string): boolean => name.length > longestName && Array.from(name).length > longestName
