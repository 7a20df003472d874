/**
 * The body of an import of cases: JSON, or a case on each line. Lines are many, so they are decoded in steps. A problem names the index of its
 * case.
 */
import * as Result from "effect/Result"
import type { Steps } from "@colloquy/core/adapters"
import { EvalCaseRequest, EvalCasesImport, GivenCase } from "../wire/EvalRecords.ts"
import { isRecord, maximumValues } from "../wire/Json.ts"
import type { ValidationError } from "../wire/Errors.ts"
import { readJsonLines } from "./JsonLines.ts"
import { type Body, type BodyRules, exactBody, mostTold, type ServerParts } from "./RequestBody.ts"

/** The cases, or their problems. */
type ReadCases = Result.Result<ReadonlyArray<GivenCase>, ReadonlyArray<ValidationError>>

const list = exactBody(EvalCasesImport)
const single = exactBody(GivenCase)

/** The most cases: as many as a body of JSON can hold. */
const mostCases = maximumValues

const tooMany: ValidationError = {
  loc: ["body", "cases"],
  msg: `One import has at most ${mostCases} cases. Send the others in another one.`,
  type: "too_long"
}

function* readLines(pieces: ReadonlyArray<string>, server: ServerParts): Steps<ReadCases> {
  const cases: Array<GivenCase> = []
  const problems: Array<ValidationError> = []
  const all = yield* readJsonLines(pieces, (value, index) => {
    if (index >= mostCases || problems.length >= mostTold) return
    const read = single.decode({ value, files: [], problems: [] }, server)
    if (Result.isSuccess(read)) cases.push(read.success)
    else
      problems.push(...read.failure.map((each) => ({ ...each, loc: ["body", "cases", index, ...each.loc.slice(1)] })))
  })
  if (all.length > mostCases) return Result.fail([tooMany])
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(cases)
}

/** A body that is one JSON has few values, so one step is enough. */
function* inOneStep(cases: ReadonlyArray<GivenCase>): Steps<ReadCases> {
  yield
  return Result.succeed(cases)
}

export const casesBody: Body<{ readonly cases: () => Steps<ReadCases> }> = {
  ...list,
  most: 8 * 1024 * 1024,
  decode: (raw, server) => {
    const { lines } = raw
    if (lines !== undefined) return Result.succeed({ cases: () => readLines(lines, server) })
    return Result.map(list.decode(raw, server), ({ cases }) => ({ cases: () => inOneStep(cases) }))
  }
}

const asked = ["instructions", "output_schema", "output_name", "system_one"]

/** A case is made of a stored turn, or written by hand. */
const caseRules: BodyRules = ({ value }) => {
  if (!isRecord(value)) return []
  const isGiven = (name: string) => value[name] !== undefined && value[name] !== null
  const isTurn = isGiven("thread_id") || isGiven("message_id")
  const problem = (name: string, msg: string, type: string): ValidationError => ({ loc: ["body", name], msg, type })
  const needed = isTurn ? ["thread_id", "message_id"] : ["question"]
  const others = isTurn ? ["question", "messages", "tools", "tool_definitions", "assistant_id", ...asked] : []
  return [
    ...needed.filter((name) => !isGiven(name)).map((name) => problem(name, "Field required", "missing")),
    ...others
      .filter(isGiven)
      .map((name) => problem(name, "A case of a stored turn takes this from the turn: leave it out", "value_error"))
  ]
}

export const caseBody = exactBody(EvalCaseRequest, caseRules)
