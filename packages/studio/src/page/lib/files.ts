/** Saving files from the page, and reading files into it. */
export const saveFile = (name: string, text: string, type = "application/json"): void => {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Asks the user for one file; resolves with its text when it is chosen, and never when the user cancels. */
export const chooseText = (accept: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const chooser = document.createElement("input")
    chooser.type = "file"
    chooser.accept = accept
    chooser.addEventListener("change", () => {
      chooser.files?.[0]?.text().then(resolve, reject)
    })
    chooser.click()
  })
