/** The reference shows programs of the guide as examples: each way in has one. */
import { assert, describe, it } from "@effect/vitest"
import { readExamples } from "../scripts/Examples.ts"
import { packages } from "../scripts/Workspace.ts"
import { publicNames } from "./rules/SourceFile.ts"

const findExample = readExamples()

/** Sub-paths that no program of the guide needs. */
const without: ReadonlySet<string> = new Set([
  // The types and functions of other sub-paths, for those who write stores and rooms of their own (examples/custom-store, examples/own-wing).
  "@colloquy/core/promises",
  "@colloquy/core/retrieval",
  "@colloquy/core/prepare",
  "@colloquy/core/adapters",
  "@colloquy/core/wings",
  "@colloquy/core/outputs",
  "@colloquy/core/inspection",
  "@colloquy/testing/contracts",
  // Started by the adapter beside them.
  "@colloquy/adapters/files/worker",
  "@colloquy/adapters/tesseract/worker",
  "@colloquy/adapters/sharp/worker",
  // Parts of a page, and documents as data.
  "@colloquy/http/docs-page",
  "@colloquy/studio/packed",
  "@colloquy/studio/highlight",
  "@colloquy/ws/asyncapi",
  // The guide shows them without Effect only.
  "@colloquy/core/evals",
  "@colloquy/core/helpers",
  "@colloquy/core/summaries",
  "@colloquy/adapters/effect-ai",
  "@colloquy/adapters/rerankers",
  "@colloquy/adapters/rnnoise",
  "@colloquy/adapters/sharp",
  "@colloquy/adapters/system-one",
  "@colloquy/adapters/web-search",
  // `connect` is shown as a name of @colloquy/http, the server as a command.
  "@colloquy/http/client",
  "@colloquy/server"
])

describe("the examples of the reference", () => {
  it("has a program for each sub-path", () => {
    const missing = packages
      .flatMap(({ entries }) => entries)
      .filter(({ name }) => !without.has(name))
      .filter(({ name, source }) => publicNames(source).every((each) => findExample(name, each) === undefined))
    assert.deepStrictEqual(
      missing.map(({ name }) => name),
      []
    )
  })
})
