import {parse} from 'content-disposition'

const mostLetters = 200

/** What a file is called that came from a path, or as an answer says (RFC 6266): the name alone, and nothing that moves or hides text. */
export const nameOf = (path: string, disposition?: string): string => tidy(told(disposition)) || tidy(path) || 'file'

const told = (disposition = '') => {
  try {
    return parse(disposition).parameters.filename ?? ''
  } catch {
    // A header nobody can read names nothing.
    return ''
  }
}

/** A long one is cut before its extension, by which the kind of the file is told. */
const tidy = (path: string): string => {
  const name = (path.split(/[/\\]/).findLast(Boolean) ?? '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .normalize('NFC')
    .trim()
  if (/^\.*$/.test(name)) return ''
  if (name.length <= mostLetters) return name.toWellFormed()
  const [extension = ''] = /\.\w{1,10}$/.exec(name) ?? []
  return `${name.slice(0, mostLetters - extension.length)}${extension}`.toWellFormed()
}
