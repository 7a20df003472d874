/** A few lines that make elements and keep lists scrolled to their end. Used by every other file of the page. */
export const at = (id) => document.getElementById(id)

export const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

/** Follows the end of a list, unless the reader has scrolled away from it. */
export const keepingEnd = (list, change) => {
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40
  const result = change()
  if (follows) list.scrollTop = list.scrollHeight
  return result
}
