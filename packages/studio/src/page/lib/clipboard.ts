/** Copies texts. A page that is read without HTTPS, and not from this machine, has no `navigator.clipboard`. */

/** Whether the text was copied. */
export const copyText = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

const copySelected = (text: string): boolean => {
  const focused = document.activeElement
  const field = document.createElement("textarea")
  field.value = text
  field.style.position = "fixed"
  field.style.opacity = "0"
  // What is behind an open dialog cannot be selected.
  const parent = document.querySelector("dialog[open]") ?? document.body
  parent.append(field)
  field.select()
  // Deprecated, but nothing else copies where the page has no clipboard.
  const isCopied = document.execCommand("copy")
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}
