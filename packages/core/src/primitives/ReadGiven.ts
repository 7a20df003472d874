/** Checks what a caller gives with a schema, and finds every problem with its path: callers in plain JavaScript may give any value. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

export interface GivenProblem {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const pathStep = (step: unknown): string | number => (typeof step === "number" ? step : String(step))

/** A field that is not known is a problem, unless such fields are to be ignored. */
export const readerFor = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  onExcessProperty: "error" | "ignore" = "error"
) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty })
  return (value: unknown): Result.Result<S["Type"], ReadonlyArray<GivenProblem>> =>
    Result.mapError(decode(value), ({ issue }) =>
      format(issue).issues.map(({ message, path = [] }) => ({ path: path.map(pathStep), message }))
    )
}
