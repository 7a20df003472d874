/** Light or dark: the system's choice, until the user changes it. */
import { readStored, store } from "../lib/storage.ts"
import { signal } from "../view.ts"

const name = "colloquy-theme"
const system = matchMedia("(prefers-color-scheme: dark)")
const chosen = readStored(name)

export const isDark = signal(chosen === null ? system.matches : chosen === "dark")

const show = () => {
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light"
}

if (chosen !== null) show()

system.addEventListener("change", ({ matches }) => {
  if (readStored(name) === null) isDark.value = matches
})

export const switchTheme = (): void => {
  isDark.value = !isDark.value
  store(name, isDark.value ? "dark" : "light")
  show()
}
