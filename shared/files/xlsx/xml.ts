import {SaxesParser} from 'saxes'
import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../row.ts'
import {corrupt} from './zip.ts'

const deepest = 64
/** Maximum number of characters of an element's text or attributes. saxes buffers them until they are complete. */
const longestPiece = 4 * maxRowCharacters

export type Attributes = Record<string, string>
/** The handlers get element names without a namespace prefix. */
export type Handlers = {
  open?(name: string, attributes: Attributes): void
  close?(name: string): void
  text?(text: string): void
}

/** Does not expand custom entities, so the text cannot grow. Nesting depth and the length of a piece are limited. */
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
  const refusing = (step: () => void) => {
    try {
      step()
    } catch (error) {
      throw error instanceof Refusal ? error : corrupt(`${part} is not XML (${(error as Error).message})`)
    }
  }
  const parse = (characters: string) => {
    waiting += characters.length
    refusing(() => parser.write(characters))
    if (waiting > longestPiece) throw new Refusal('UNREADABLE', `One text in ${part} has more than ${longestPiece} characters. Shorten it`)
  }
  return {
    write(bytes: Buffer) {
      decoder ??= new TextDecoder(encodingOf(bytes))
      parse(decoder.decode(bytes, {stream: true}))
    },
    end() {
      parse(decoder?.decode() ?? '')
      if (depth > 0) throw corrupt(`${part} ends in the middle`)
      refusing(() => parser.close())
    },
  }
}

export const readXml = async (part: string, bytes: AsyncIterable<Buffer>, handlers: Handlers): Promise<void> => {
  const xml = openXml(part, handlers)
  for await (const piece of bytes) xml.write(piece)
  xml.end()
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1)

const encodingOf = (bytes: Buffer) => {
  if (bytes[0] === 0xff || bytes[1] === 0) return 'utf-16le'
  if (bytes[0] === 0xfe || bytes[0] === 0) return 'utf-16be'
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})["']/.exec(bytes.toString('latin1', 0, 200))?.[1]
  try {
    return new TextDecoder(declared).encoding
  } catch {
    throw corrupt(`the encoding ${declared} is unknown`)
  }
}
