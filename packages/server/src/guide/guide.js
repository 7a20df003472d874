/** A button that copies each block of code. Without this script, or where the browser has no clipboard, there are no such buttons. */
for (const block of navigator.clipboard === undefined ? [] : document.querySelectorAll("pre")) {
  const button = document.createElement("button")
  button.className = "copy"
  button.type = "button"
  button.textContent = "Copy"
  const tell = (word) => {
    button.textContent = word
    setTimeout(() => (button.textContent = "Copy"), 2000)
  }
  button.addEventListener("click", () => {
    void navigator.clipboard.writeText(block.textContent).then(
      () => tell("Copied"),
      () => tell("Not copied")
    )
  })
  const frame = document.createElement("div")
  frame.className = "code"
  block.replaceWith(frame)
  frame.append(block, button)
}
