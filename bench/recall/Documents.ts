/** The documents of this project as a library, and questions that a reader of them may have. The evidence is a phrase of the text. */
import { unknownPosition, ownText } from "@colloquy/core/retrieval"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Corpus, Question } from "./Corpus.ts"

const plain = (text: string): string => text.replaceAll(/\s+/gu, " ").toLowerCase()

const root = fileURLToPath(new URL("../../", import.meta.url))

const files = [
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "GLOSSARY.md",
  "README.md",
  ...["docs", "docs/decisions"].flatMap((folder) =>
    readdirSync(`${root}${folder}`)
      .filter((name) => name.endsWith(".md"))
      .sort()
      .map((name) => `${folder}/${name}`)
  )
]

const library = files.map((name) => ({ name, text: readFileSync(`${root}${name}`, "utf8") }))

const asked = (text: string, phrase: string): Question => {
  const wanted = plain(phrase)
  if (!library.some((file) => plain(file.text).includes(wanted)))
    throw new Error(`No document says "${phrase}" any more: change the question in bench/recall/Documents.ts.`)
  return {
    text,
    evidence: [({ hit }) => plain(ownText(hit.chunk)).includes(wanted)]
  }
}

const questions: ReadonlyArray<Question> = [
  asked("What happens to runs when a process dies?", "its lease on the run expires"),
  asked("How many store calls does a plain turn make?", "three calls of the store"),
  asked("Which package may import adapters?", "`@colloquy/http`"),
  asked("May a test sleep?", "no test sleeps"),
  asked("What is a leg of a run?", "one stretch of a run between pauses"),
  asked("How do I add a provider?", "one file in `packages/adapters/src/providers/`"),
  asked("Which command checks the packages as a stranger would use them?", "check:packages"),
  asked("Does a client that disconnects cancel its run?", "a client that goes away changes nothing"),
  asked("What does the word excerpt mean?", "a piece of a document that retrieval found"),
  asked("How does one install PostgreSQL for the tests?", "install-postgres.sh"),
  asked("When is a terminal event shown?", "shown when it is stored, not before"),
  asked("Is reasoning stored in the log?", "is never stored, so a log read from the store may have gaps"),
  asked("Who is a principal?", "the owner of the current request"),
  asked(
    "What is replaced when a customer's message supersedes a run?",
    "a new message ends a run that waits for outputs"
  ),
  asked("Why not use ts_rank for search?", "text search"),
  asked("How are vectors and words combined?", "joined by normalized score"),
  asked("Is pgvector needed?", "pgvector is optional"),
  asked("Which languages are stemmed?", "German, French and Spanish"),
  asked("How large may the bundle of core be?", "60 kB"),
  asked("How do benchmarks compare with a baseline?", "visits them in turns"),
  asked("What does a delta mean?", "a piece of streamed text"),
  asked("How is a store of my own tested?", "definition of done"),
  asked("Where are error statuses mapped?", "ErrorStatus.ts"),
  asked("What moves a run from QUEUED to FAILED?", "lease expired, cancel")
]

export const ownDocuments: Corpus = {
  name: "documents",
  groups: [
    {
      sources: library.map(({ name, text }) => ({
        kind: "file",
        title: name,
        sections: [{ ...unknownPosition, form: "markdown", text }]
      })),
      questions
    }
  ]
}
