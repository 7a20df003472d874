/** The excerpts and memories that an answer cites. `citations` of a message is an option of the turn itself. */
import { citationsIn, citationsName } from "@colloquy/core/wings"
import type { Wing } from "./Wing.ts"

export const citationsWing: Wing = {
  part: citationsName,
  fields: ({ answer }) => {
    const found = citationsIn({ [citationsName]: answer })
    if (found === null) return {}
    return { added: { citations: found.citations.map((each) => ({ ...each })), citations_dropped: found.dropped } }
  }
}
