/** Maximum length of a text that a helper accepts. For a longer cell, pass a part of it. */
export const LONGEST_TEXT = 100_000

/** Maximum length of a written number. Patterns that backtrack are not applied to longer text. */
export const LONGEST_WRITTEN = 1000

/** Returns a cell as text, or null for an empty value. Refuses lists and objects. */
export const asText = (value, helper) => {
  if (value === null || value === undefined) return null
  if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`helpers.${helper} takes text and was given ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`)
  const text = String(value)
  if (text.length > LONGEST_TEXT) throw new RangeError(`helpers.${helper} takes at most ${LONGEST_TEXT} characters`)
  return text
}

const isBlank = code => /[\s\u200b-\u200d\u2060]/.test(code)

/** Removes white space of every script from both ends, including no-break and zero-width characters, in one pass. */
export const strip = text => {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text[from])) from++
  while (to > from && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

/** Returns stripped text, or null if it is empty. Helpers treat null as "no value". */
export const filled = (value, helper) => {
  const text = asText(value, helper)
  return text === null ? null : strip(text.normalize('NFC')) || null
}

/** Quotes a value for a message, shortened so that no message contains a whole cell. */
export const shown = text => `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`
