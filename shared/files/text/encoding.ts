/** Byte order marks. UTF-32LE comes before UTF-16LE, because the mark of UTF-32LE begins with the mark of UTF-16LE. */
const byteOrderMarks: [encoding: string, mark: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-32le', [0xff, 0xfe, 0x00, 0x00]],
  ['utf-32be', [0x00, 0x00, 0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
  ['gb18030', [0x84, 0x31, 0x95, 0x33]],
]

/** Labels of UTF-32, which is not a WHATWG encoding. Without a byte order mark, `utf-32` is little-endian, like `utf-16`. */
const utf32Labels: Record<string, string> = {
  'utf-32': 'utf-32le',
  utf32: 'utf-32le',
  'utf-32le': 'utf-32le',
  utf32le: 'utf-32le',
  'utf-32be': 'utf-32be',
  utf32be: 'utf-32be',
}

/** Returns the name of the encoding for a label such as `Latin1` or `SJIS`, or null for an unknown label. */
export const findEncoding = (label: string): string | null => {
  const utf32 = utf32Labels[label.trim().toLowerCase()]
  if (utf32) return utf32
  try {
    return new TextDecoder(label).encoding
  } catch {
    return null
  }
}

export const findMarked = (start: Uint8Array): string | null =>
  byteOrderMarks.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0] ?? null

export const isWide = (encoding: string) => encoding.startsWith('utf-16') || encoding.startsWith('utf-32')

export const isSameFamily = (one: string, other: string) => isWide(one) && one.slice(0, 6) === other.slice(0, 6)

export const findCharset = (contentType = ''): string | undefined => {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? []
  return quoted ?? plain
}
