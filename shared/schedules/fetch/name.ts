import {parse} from 'content-disposition'

const mostLetters = 200

/**
 * Returns the name of a fetched file, from the header of the answer (RFC 6266) or from the path. Only the last segment is used, without control
 * and formatting characters.
 */
export const nameOf = (path: string, disposition?: string): string => tidy(dispositionName(disposition)) || tidy(path) || 'file'

const dispositionName = (disposition = '') => {
  try {
    return parse(disposition).parameters.filename ?? ''
  } catch {
    // An unreadable header is treated as missing.
    return ''
  }
}

/** Shortens a long name before its extension, which shows the kind of the file. */
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
