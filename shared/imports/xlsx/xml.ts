import {SaxesParser} from 'saxes'
import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../row.ts'
import {corrupt} from './zip.ts'

const deepest = 64
/** Text and attributes of one element; saxes keeps them until it has them whole. */
const longestPiece = 4 * maxRowCharacters

export type Attributes = Record<string, string>
/** Names come without their namespace's prefix. */
export type Handlers = {
  open?(name: string, attributes: Attributes): void
  close?(name: string): void
  text?(text: string): void
}

/** An XML part read piece by piece. Declares no entities of its own, so it cannot grow; depth and the length of a piece are bounded. */
export const openXml = (part: string, {open, close, text}: Handlers) => {
  const parser = new SaxesParser({position: false, xmlns: false} as const)
  let [depth, waiting] = [0, 0]
  let decoder: InstanceType<typeof TextDecoder> | undefined
  parser.on('opentag', ({name, attributes}) => {
    waiting = 0
    if (++depth > deepest) throw corrupt(`${part} is nested too deep`)
    open?.(localName(name), attributes)
  })
  parser.on('closetag', ({name}) => {
    waiting = 0
    depth--
    close?.(localName(name))
  })
  const take = (characters: string) => {
    waiting = 0
    text?.(characters)
  }
  parser.on('text', take)
  parser.on('cdata', take)
  const parse = (characters: string) => {
    waiting += characters.length
    try {
      parser.write(characters)
    } catch (error) {
      throw error instanceof Refusal ? error : corrupt(`${part} is not XML (${(error as Error).message})`)
    }
    if (waiting > longestPiece) throw new Refusal('UNREADABLE', `In ${part} a single piece has more than ${longestPiece} characters`)
  }
  return {
    write(bytes: Buffer) {
      decoder ??= new TextDecoder(encodingOf(bytes))
      parse(decoder.decode(bytes, {stream: true}))
    },
    end() {
      parse(decoder?.decode() ?? '')
      if (depth > 0) throw corrupt(`${part} ends in the middle`)
      parser.close()
    },
  }
}

export const readXml = async (part: string, bytes: AsyncIterable<Buffer>, handlers: Handlers): Promise<void> => {
  const xml = openXml(part, handlers)
  for await (const piece of bytes) xml.write(piece)
  xml.end()
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1)

/** UTF-8 by far; UTF-16 and, in the declaration, others are allowed. */
const encodingOf = (bytes: Buffer) => {
  if (bytes[0] === 0xff || bytes[1] === 0) return 'utf-16le'
  if (bytes[0] === 0xfe || bytes[0] === 0) return 'utf-16be'
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})["']/.exec(bytes.toString('latin1', 0, 200))?.[1]
  try {
    return new TextDecoder(declared).encoding
  } catch {
    throw corrupt(`an encoding called ${declared} is not known`)
  }
}
