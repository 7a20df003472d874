/** The programs of docs/comparison that use Colloquy do all that was looked for, from the sources. */
import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { joinedProgram } from "./joinedPrograms.ts"
import { applicationFindings, applications } from "../scripts/compare/Findings.ts"

const root = join(import.meta.dirname, "..")
const colloquy = {
  name: "colloquy",
  folder: root,
  nodeOptions: ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning"],
  programFile: (application: string) => joinedProgram(join(root, "docs/comparison", application, "colloquy.ts")),
  // On a machine that runs other tests too.
  patience: 120_000
}

describe("the programs of the comparison", () => {
  it.each(Object.keys(applications))(
    "%s",
    async (application) => {
      const findings = await applicationFindings(colloquy, application)
      assert.isNotEmpty(findings)
      for (const [finding, holds] of Object.entries(findings)) assert.isTrue(holds, finding)
    },
    600_000
  )
})
