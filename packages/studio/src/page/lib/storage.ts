/** Texts that the browser stores for the page. A browser may refuse: private windows, blocked cookies, a full storage. */
const here = new Map<string, string>()

export const readStored = (name: string): string | null => {
  const own = here.get(name)
  if (own !== undefined) return own
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Stores a text. If the browser refuses, the text lasts until the page is left. */
export const store = (name: string, text: string): void => {
  try {
    localStorage.setItem(name, text)
    here.delete(name)
  } catch {
    here.set(name, text)
  }
}
