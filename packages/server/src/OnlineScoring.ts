/** `ONLINE_SCORING`: which share of turns is scored, and by what. */
import { OnlineSettings } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { readJsonOrFile } from "./JsonOrFile.ts"

export const onlineForm =
  'a JSON object such as {"share": 0.01, "expectations": [{"kind": "judge", "question": "Is it polite?"}]}, or a file with one'

const decode = Schema.decodeUnknownOption(OnlineSettings, { onExcessProperty: "error" })

/** None: the value is invalid. It names no scorers of a host, for this server has none. */
export const readOnlineScoring = (text: string): Option.Option<OnlineSettings> => {
  try {
    return Option.filter(
      decode(readJsonOrFile(text)),
      ({ expectations }) => expectations.length > 0 && expectations.every(({ kind }) => kind !== "custom")
    )
  } catch {
    return Option.none()
  }
}
