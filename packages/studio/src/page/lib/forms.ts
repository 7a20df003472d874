/** The value of a form's field; empty if it is missing or a file. */
export const textIn = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name)
  return typeof value === "string" ? value : ""
}

/** The value of the control that an event is from. */
export const controlValue = (event: Event): string => {
  const { currentTarget: control } = event
  return control instanceof HTMLInputElement ||
    control instanceof HTMLTextAreaElement ||
    control instanceof HTMLSelectElement
    ? control.value
    : ""
}
