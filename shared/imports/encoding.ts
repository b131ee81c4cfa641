/** The byte order marks that are recognised. UTF-32LE comes before UTF-16LE, whose mark is its beginning. */
const byteOrderMarks: [encoding: string, mark: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-32le', [0xff, 0xfe, 0x00, 0x00]],
  ['utf-32be', [0x00, 0x00, 0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
  ['gb18030', [0x84, 0x31, 0x95, 0x33]],
]

/** UTF-32 is no encoding of the WHATWG. Without a mark, `utf-32` is little-endian, as `utf-16` is there. */
const utf32Labels: Record<string, string> = {
  'utf-32': 'utf-32le',
  utf32: 'utf-32le',
  'utf-32le': 'utf-32le',
  utf32le: 'utf-32le',
  'utf-32be': 'utf-32be',
  utf32be: 'utf-32be',
}

/** The name of the encoding that a label such as `Latin1` or `SJIS` means; null for a label that is unknown. */
export const findEncoding = (label: string): string | null => {
  const utf32 = utf32Labels[label.trim().toLowerCase()]
  if (utf32) return utf32
  try {
    return new TextDecoder(label).encoding
  } catch {
    return null
  }
}

/** The encoding whose byte order mark begins the file; null for a file without a mark. */
export const findMarked = (start: Uint8Array): string | null =>
  byteOrderMarks.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0] ?? null

/** Whether an encoding takes two or four bytes for every character. */
export const isWide = (encoding: string) => encoding.startsWith('utf-16') || encoding.startsWith('utf-32')

/** A file may state `utf-16` and begin with the mark of the other byte order: then the mark is right. */
export const isSameFamily = (one: string, other: string) => isWide(one) && one.slice(0, 6) === other.slice(0, 6)

/** The `charset` of a content type such as `text/csv; charset="shift_jis"`; undefined where it has none. */
export const findCharset = (contentType = ''): string | undefined => {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? []
  return quoted ?? plain
}
