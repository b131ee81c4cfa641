import {Refusal} from '../shared/errors.ts'
import {findCharset, findEncoding} from '../shared/imports/encoding.ts'

/** The charset a file is sent with. One that cannot be read is refused: reading the file in another would garble it. */
export const charsetOf = (contentType: string | undefined): string | undefined => {
  const charset = findCharset(contentType)
  if (charset === undefined || findEncoding(charset) !== null) return charset
  throw new Refusal(
    'CHARSET_UNKNOWN',
    `The content type names the charset "${charset.slice(0, 40)}", which cannot be read. Name another, such as utf-8, windows-1252 or shift_jis, or leave it out`,
  )
}
