/** What the terminal says when the server has started: its address, the studio with a new key, what is missing, and a request to try. */
import * as Redacted from "effect/Redacted"
import { hasGuide } from "./GuideResponse.ts"
import type { RunningServer } from "./Server.ts"
import type { Settings } from "./Settings.ts"
import { vendors } from "./Vendors.ts"

type Told = Pick<RunningServer, "defaultModel" | "newKey" | "url" | "voiceNotes">
type Chosen = Pick<Settings, "apiKeys" | "basePath" | "defaultModel" | "vendors">

/** How keys are managed: from an installed package, or in the repository. */
const keyCommand = import.meta.url.endsWith(".js") ? "npx colloquy key" : "npm run key --"

const keyLines = ({ newKey }: Told, { apiKeys }: Chosen): ReadonlyArray<string> => {
  if (newKey !== null) return ["Your API key stands behind “#key=” in this address. It is shown this once."]
  if (apiKeys.length > 0) return ["API keys: those of COLLOQUY_API_KEYS."]
  return [`API key: the one that was shown at the first start. Lost? Stop the server, then: ${keyCommand} make default`]
}

const vendorLines = ({ defaultModel, vendors: given }: Chosen): ReadonlyArray<string> => {
  if (defaultModel !== null) return []
  return [...given.keys()].some((vendor) => vendors.get(vendor)?.provider !== undefined)
    ? ["Set DEFAULT_MODEL_NAME (and DEFAULT_LLM_PROVIDER) to make a model of your providers the default."]
    : [
        "That is the demo model. Set OPENAI_API_KEY, or the key of another provider, and DEFAULT_MODEL_NAME for real answers."
      ]
}

/** `hasColours`: for a terminal that shows them. */
export const welcome = (server: Told, settings: Chosen, hasColours: boolean): string => {
  const paint = (code: number) => (text: string) => (hasColours ? `\u001B[${code}m${text}\u001B[0m` : text)
  const [strong, faint, link] = [paint(1), paint(2), paint(36)]
  const key = server.newKey === null ? null : Redacted.value(server.newKey)
  const api = `${server.url}${settings.basePath}`
  return [
    `${strong("Colloquy")} listens on ${api}, default model ${server.defaultModel}.`,
    ...[...vendorLines(settings), ...server.voiceNotes].map(faint),
    "",
    `${strong("Studio:")} ${link(`${server.url}/${key === null ? "" : `#key=${key}`}`)}`,
    ...keyLines(server, settings).map(faint),
    "",
    `${strong("Try it")}, with the key in COLLOQUY_API_KEY:`,
    `  curl -N ${api}/threads/messages -H "X-API-Key: $COLLOQUY_API_KEY" \\`,
    `    -H "Content-Type: application/json" -d '{"content": "What time is it?", "stream": true}'`,
    "",
    `${strong("Documentation:")} ${link(`${api}/docs`)}${hasGuide ? `, and to read: ${link(`${api}/docs/guide`)}` : ""}`
  ].join("\n")
}
