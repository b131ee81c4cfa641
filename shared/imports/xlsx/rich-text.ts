import type {Handlers} from './xml.ts'

/** Characters that XML cannot hold are written `_x000D_`, and an underscore that would read so `_x005F_`. */
const escaped = /_x([0-9A-F]{4})_/gi

/**
 * Gathers the text of a string item or an inline string: its runs in order, without the phonetic ones. Begin with `begin`, then pass every
 * event on until the item closes.
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

/** NUL and halves of surrogate pairs stay as they are written: no text may hold them. */
export const unescapeText = (text: string) =>
  text.includes('_x')
    ? text.replace(escaped, (all, hex: string) => {
        const code = Number.parseInt(hex, 16)
        return code === 0 || (code >= 0xd800 && code <= 0xdfff) ? all : String.fromCharCode(code)
      })
    : text
