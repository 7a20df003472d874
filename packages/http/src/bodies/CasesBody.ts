/** The body of an import of cases: JSON, or a case on each line. Both are checked as one list, so that a problem names its index. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { runSteps } from "@colloquy/core/adapters"
import { EvalCaseRequest, EvalCasesImport } from "../wire/EvalRecords.ts"
import { isRecord, parsingJson } from "../wire/Json.ts"
import type { ValidationError } from "../wire/Errors.ts"
import { type Body, type BodyRules, exactBody } from "./RequestBody.ts"

const list = exactBody(EvalCasesImport)
const isPieces = Schema.is(Schema.Array(Schema.String))

/** A line that is no JSON is no case. */
const parseLine = (line: string): unknown =>
  Result.match(runSteps(parsingJson(line)), { onFailure: () => null, onSuccess: (value): unknown => value })

export const casesBody: Body<typeof EvalCasesImport.Type> = {
  ...list,
  // It is decoded at once.
  most: 8 * 1024 * 1024,
  decode: (raw, server) => {
    const { value } = raw
    if (!isPieces(value)) return list.decode(raw, server)
    const lines = value.join("").split("\n")
    const cases = lines.filter((line) => line.trim() !== "").map(parseLine)
    return list.decode({ ...raw, value: { cases } }, server)
  }
}

const asked = ["instructions", "output_schema", "output_name", "system_one"]

/** A case is that of a stored turn, or it is written by hand. */
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
