/** What stands in a field of a form; empty where there is none, or a file. */
export const textIn = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name)
  return typeof value === "string" ? value : ""
}
