/** `ONLINE_SCORING`: which share of turns is scored, and by what. */
import { OnlineSettings } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"

export const onlineForm =
  'a JSON object such as {"share": 0.01, "expectations": [{"kind": "judge", "question": "Is it polite?"}]}, or a file with one'

const decode = Schema.decodeUnknownOption(OnlineSettings, { onExcessProperty: "error" })

/** The server has no scorers of a host. */
export const readOnlineScoring = (text: string): Option.Option<OnlineSettings> => {
  try {
    const json: unknown = JSON.parse(text.trimStart().startsWith("{") ? text : readFileSync(text, "utf8"))
    return Option.filter(
      decode(json),
      ({ expectations }) => expectations.length > 0 && expectations.every(({ kind }) => kind !== "custom")
    )
  } catch {
    return Option.none()
  }
}
