/** `EvalStore` on PostgreSQL. A case is one JSON text; its tags have a column, by which lists are filtered. */
import { Principal } from "@colloquy/core"
import { EvalCase, type EvalStored, EvalStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { call, type Database } from "./Database.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, toText } from "./StoredText.ts"

interface Body {
  readonly body: string
}

export const evalStore = (database: Database): typeof EvalStore.Service => {
  const { query, schema } = database
  const cases = `${schema}.eval_cases`

  return EvalStore.of({
    insertCases: (made, most, once) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const args = {
          owner: toText(ownerId),
          ids: made.map(({ id }) => newRowId(id)),
          tags: made.map(({ tags }) => tagsText(tags)),
          bodies: made.map(caseBody),
          most,
          ...onceArguments(once)
        }
        const [row] = yield* query<{ readonly outcome: EvalStored }>(
          "EvalStore.insertCases",
          `select ${call(database, "insert_eval_cases", args)} as outcome`,
          Object.values(args)
        )
        return row?.outcome ?? "repeated"
      }),

    getCase: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<Body>("EvalStore.getCase", `select body from ${cases} where owner = $1 and id = $2`, [
            toText(ownerId),
            knownId(id)
          ]),
          ([row]) => Option.map(Option.fromNullishOr(row), readCase)
        )
      ),

    listCases: ({ after, limit, tag }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<Body>(
            "EvalStore.listCases",
            `select body from ${cases} where owner = $1
               and ($3 or ordinal < (select ordinal from ${cases} where owner = $1 and id = $2))
               and ($4::text is null or position($4 in tags) > 0)
             order by ordinal desc limit $5`,
            [
              toText(ownerId),
              after === undefined ? null : knownId(after),
              after === undefined,
              tag === undefined ? null : tagsText([tag]),
              limit
            ]
          ),
          (rows) => rows.map(readCase)
        )
      ),

    replaceCase: (evalCase) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query(
            "EvalStore.replaceCase",
            `update ${cases} set tags = $3, body = $4 where owner = $1 and id = $2 returning id`,
            [toText(ownerId), knownId(evalCase.id), tagsText(evalCase.tags), caseBody(evalCase)]
          ),
          (rows) => rows.length > 0
        )
      ),

    removeCase: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query("EvalStore.removeCase", `delete from ${cases} where owner = $1 and id = $2 returning id`, [
            toText(ownerId),
            knownId(id)
          ]),
          (rows) => rows.length > 0
        )
      )
  })
}

/** A tag has no end of line, so one tag is found by the ends around it. */
const tagsText = (tags: ReadonlyArray<string>): string =>
  tags.length === 0 ? "" : `\n${tags.map((tag) => toText(tag)).join("\n")}\n`

const caseCodec = Schema.toCodecJson(EvalCase)
/** A case was checked when it came. A later version may check more, and reads it all the same. */
const unchecked = { disableChecks: true }
const encodeCase = Schema.encodeSync(caseCodec, unchecked)
const decodeCase = Schema.decodeUnknownSync(caseCodec, unchecked)

const caseBody = (evalCase: EvalCase): string => JSON.stringify(encodeCase(evalCase))
const readCase = ({ body }: Body): EvalCase => decodeCase(fromJson(body))
