/** The longest text a helper takes. A cell may be longer; then say which part of it you want. */
export const LONGEST_TEXT = 100_000

/** No number is written longer, by anybody: more is looked at by no pattern that goes back and forth in it. */
export const LONGEST_WRITTEN = 1000

/** What a cell holds as text; null for nothing. A list or an object is a mistake and said as one. */
export const asText = (value, helper) => {
  if (value === null || value === undefined) return null
  if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`helpers.${helper} takes text and was given ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`)
  const text = String(value)
  if (text.length > LONGEST_TEXT) throw new RangeError(`helpers.${helper} takes at most ${LONGEST_TEXT} characters`)
  return text
}

const isBlank = code => /[\s\u200b-\u200d\u2060]/.test(code)

/** Without what looks empty at both ends: blanks of every script, no-break and zero-width ones too. In one pass. */
export const strip = text => {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text[from])) from++
  while (to > from && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

/** Stripped text, or null when nothing is left: what the helpers that read a value take as "no value". */
export const filled = (value, helper) => {
  const text = asText(value, helper)
  return text === null ? null : strip(text.normalize('NFC')) || null
}

/** A value in a message: short, so that a message never carries a whole cell. */
export const shown = text => `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`
