import { readFileSync } from "node:fs"

/** The value of a variable that is a JSON object, or the path of a file with one. Throws when it is neither. */
export const readJsonOrFile = (text: string): unknown =>
  JSON.parse(text.trimStart().startsWith("{") ? text : readFileSync(text, "utf8"))
