import {Refusal} from '../shared/errors.ts'
import {findCharset, findEncoding} from '../shared/files/text/encoding.ts'

/** Returns the charset of the content type. Throws for an unsupported charset, because another decoding would garble the file. */
export const charsetOf = (contentType: string | undefined): string | undefined => {
  const charset = findCharset(contentType)
  if (charset === undefined || findEncoding(charset) !== null) return charset
  throw new Refusal(
    'CHARSET_UNKNOWN',
    `The content type names the charset "${charset.slice(0, 40)}", which cannot be read. Name another, such as utf-8, windows-1252 or shift_jis, or leave it out`,
  )
}
