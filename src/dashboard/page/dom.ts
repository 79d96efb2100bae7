/** An element with its class, text and children. Text is set as text: nothing from the feed is ever read as markup. */
export const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  content: string | readonly Node[] = [],
): HTMLElementTagNameMap[Name] => {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  if (typeof content === 'string') made.textContent = content
  else made.append(...content)
  return made
}

/** An element of the page's own shell. */
export const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found
}

/** Shows text without touching the document when it is the same, so that screen readers do not repeat it. */
export const setText = (target: HTMLElement, text: string): void => {
  if (target.textContent !== text) target.textContent = text
}
