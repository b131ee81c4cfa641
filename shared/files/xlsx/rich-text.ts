import type {Handlers} from './xml.ts'

/**
 * Matches the escapes of characters that XML cannot contain, such as `_x000D_`. In a literal text of this form, the first underscore is
 * escaped as `_x005F_`.
 */
const escaped = /_x([0-9A-F]{4})_/gi

/**
 * Collects the text of a shared or inline string, without its phonetic guides. Call `begin`, then pass all events until the item closes.
 */
export const openRichText = () => {
  let [text, inText, phonetic] = ['', false, 0]
  const handlers: Required<Handlers> = {
    open(name) {
      if (name === 'rPh') phonetic++
      else if (name === 't') inText = phonetic === 0
    },
    close(name) {
      if (name === 'rPh') phonetic--
      else if (name === 't') inText = false
    },
    text(characters) {
      if (inText) text += characters
    },
  }
  return {
    ...handlers,
    begin() {
      ;[text, inText, phonetic] = ['', false, 0]
    },
    end: () => unescapeText(text),
  }
}

/** Escapes of NUL and of lone surrogates stay, because text cannot contain these characters. */
export const unescapeText = (text: string) =>
  text.includes('_x')
    ? text.replace(escaped, (all, hex: string) => {
        const code = Number.parseInt(hex, 16)
        return code === 0 || (code >= 0xd800 && code <= 0xdfff) ? all : String.fromCharCode(code)
      })
    : text
