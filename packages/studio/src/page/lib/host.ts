/** What the host chose for this page (`studio({ … })`), from the elements that the server wrote into it. */
const chosen = (name: string): string | undefined =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content

export const brandName = chosen("brand") ?? "Colloquy"

/** Its first letter, which stands in the rail. */
export const [brandMark = ""] = brandName

/** The address of the guide; null: there is none. */
export const guideAddress = chosen("guide") ?? null

const isReadOnly = chosen("read-only") === "yes"

/** Whether this page may change something. Where it may not, whatever acts is not drawn, and no such request is sent (`api/http.ts`). */
export const mayAct = (): boolean => !isReadOnly

/** The names of the rooms; null: all. */
export const chosenRooms = chosen("rooms")?.split(" ") ?? null
