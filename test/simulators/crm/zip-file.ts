import {crc32, deflateRawSync, inflateRawSync} from 'node:zlib'

export type ZipEntry = {name: string; bytes: Buffer}

const [localMark, centralMark, endMark] = [0x04034b50, 0x02014b50, 0x06054b50]
const version = 20
const deflated = 8
/** The flag for names in UTF-8. */
const utf8 = 0x0800

/** Writes a ZIP file with deflated entries. */
export const writeZip = (entries: ZipEntry[]): Buffer => {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const {name, bytes} of entries) {
    const packed = deflateRawSync(bytes, {level: 1})
    const path = Buffer.from(name)
    const about = aboutEntry(crc32(bytes), packed.length, bytes.length, path.length)
    const local = Buffer.concat([numbers([localMark, 4]), about, path])
    const central = Buffer.concat([
      numbers([centralMark, 4], [version, 2]),
      about,
      numbers([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]),
      path,
    ])
    parts.push(local, packed)
    directory.push(central)
    offset += local.length + packed.length
  }
  const listed = Buffer.concat(directory)
  const count: [number, number] = [entries.length, 2]
  const end = numbers([endMark, 4], [0, 2], [0, 2], count, count, [listed.length, 4], [offset, 4], [0, 2])
  return Buffer.concat([...parts, listed, end])
}

/** Reads the entries of a ZIP file. Returns null if the file is not a ZIP file. */
export const readZip = (file: Buffer): ZipEntry[] | null => {
  const end = file.lastIndexOf(numbers([endMark, 4]))
  if (end === -1) return null
  const entries: ZipEntry[] = []
  let at = file.readUInt32LE(end + 16)
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    if (file.readUInt32LE(at) !== centralMark) return null
    const [nameLength, extraLength, noteLength] = [28, 30, 32].map(place => file.readUInt16LE(at + place)) as [number, number, number]
    const [method, packed, local] = [file.readUInt16LE(at + 10), file.readUInt32LE(at + 20), file.readUInt32LE(at + 42)]
    const name = file.toString('utf8', at + 46, at + 46 + nameLength)
    const start = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28)
    const content = file.subarray(start, start + packed)
    entries.push({name, bytes: method === deflated ? inflateRawSync(content) : Buffer.from(content)})
    at += 46 + nameLength + extraLength + noteLength
  }
  return entries
}

/** Returns the fields that the local header and the central directory share. */
const aboutEntry = (checksum: number, packed: number, unpacked: number, nameLength: number) =>
  numbers([version, 2], [utf8, 2], [deflated, 2], [0, 2], [0x21, 2], [checksum, 4], [packed, 4], [unpacked, 4], [nameLength, 2], [0, 2])

const numbers = (...values: [value: number, bytes: number][]): Buffer =>
  Buffer.concat(
    values.map(([value, bytes]) => {
      const part = Buffer.alloc(bytes)
      part.writeUIntLE(value, 0, bytes)
      return part
    }),
  )
