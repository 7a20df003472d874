/** The choices of the host (`studio({ … })`), read from the elements that the server wrote into the page. */
const chosen = (name: string): string | undefined =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content

export const brandName = chosen("brand") ?? "Colloquy"

/** The first letter of the name, which stands in the rail. */
export const [brandMark = ""] = brandName

/** The address of the guide; null: there is none. */
export const guideAddress = chosen("guide") ?? null

const isReadOnly = chosen("read-only") === "yes"

/**
 * Whether this page may change something. If it may not, controls that change something are not drawn, and no such request is sent
 * (`api/http.ts`).
 */
export const mayAct = (): boolean => !isReadOnly

/** The names of the rooms; null: all. */
export const chosenRooms = chosen("rooms")?.split(" ") ?? null
