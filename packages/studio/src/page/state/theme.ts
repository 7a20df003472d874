/** Light or dark: the system's choice, until the user changes it. */
import { signal } from "../view.ts"

const name = "colloquy-theme"
const system = matchMedia("(prefers-color-scheme: dark)")
const chosen = localStorage.getItem(name)

export const isDark = signal(chosen === null ? system.matches : chosen === "dark")

const show = () => {
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light"
}

if (chosen !== null) show()

system.addEventListener("change", ({ matches }) => {
  if (localStorage.getItem(name) === null) isDark.value = matches
})

export const switchTheme = (): void => {
  isDark.value = !isDark.value
  localStorage.setItem(name, isDark.value ? "dark" : "light")
  show()
}
