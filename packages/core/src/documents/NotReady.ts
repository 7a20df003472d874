/** The refusal of a message while documents of its thread or assistant are being processed. */
import * as Effect from "effect/Effect"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { DocumentSurvey } from "./DocumentStore.ts"
import { documentsPartName } from "./DocumentWork.ts"

export const notReady = (processing: DocumentSurvey["processing"]): Effect.Effect<never, TurnRefused> =>
  Effect.fail(
    new TurnRefused({
      part: documentsPartName,
      reason: "not_ready",
      problems: processing.map(({ filename, id }) => ({
        path: [],
        message: `The document "${filename}" (${id}) is still being processed. Send the message again when it is completed.`
      }))
    })
  )
