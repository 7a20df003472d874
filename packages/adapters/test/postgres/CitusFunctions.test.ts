/** The functions that Citus gets, without Citus. */
import { assert, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { dialect, functionsOfNodes, functionsOnCitus } from "../../src/postgres/schema/CitusFunctions.ts"
import { schemaOfThisVersion } from "../../src/postgres/schema/Schema.ts"

const functions = functionsOnCitus(schemaOfThisVersion.functions)
const definitionFor = (name: string) => functions.find((one) => one.name === name)?.definition ?? assert.fail(name)

it("every function that a node runs has the owner first", () => {
  for (const name of functionsOfNodes) assert.match(definitionFor(name), /^\(\s*p_owner text, /u, name)
})

it("no function has a plan for all owners or a time that changes within a statement", () => {
  for (const { definition, name } of functions) {
    assert.notMatch(definition, /force_\w+_plan|(?<!:= )clock_timestamp\(\)/u, name)
  }
})

/** What a schema would keep using if `dialect` stayed the same: the functions of PostgreSQL say nothing of those of Citus. */
it("the dialect has another number when it changes a function in another way", () => {
  const sample = [
    "begin_run",
    "activate_run",
    "continue_run",
    "settle_run",
    "append_many",
    "notify_change",
    "claim_follow_ups"
  ]
  const written = functionsOnCitus(
    sample.map((name) => ({
      name,
      definition: `(p_owner text, p_run uuid default null)\nreturns text language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  v_now := clock_timestamp();
  return (select clock_timestamp() from {schema}.runs for update skip locked);
end $$`
    }))
  )
  const hash = createHash("sha256").update(JSON.stringify(written)).digest("hex").slice(0, 10)
  assert.deepStrictEqual([dialect, hash], [2, "8a03c4e815"], "raise `dialect`, and write both here")
})
