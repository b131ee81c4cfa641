import {Refusal} from '../../errors.ts'
import {notATable} from '../assert-table.ts'
import {maxRowCharacters} from '../row.ts'

/** `text`: the text of one object. `number` counts from 1. */
export type JsonRecord = {number: number; text: string}

const [quote, backslash, open, close, openList, closeList, comma] = [34, 92, 123, 125, 91, 93, 44] as const
const isBlank = (code: number) => code === 32 || code === 10 || code === 13 || code === 9

/**
 * Splits a JSON array of objects, or NDJSON, into the texts of its objects. One object is in memory at a time, with at most `maxRowCharacters`.
 * Throws Refusal for a file that ends too early, that contains anything other than objects, or that is a single object without a list.
 */
export async function* readJsonRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<JsonRecord, void, undefined> {
  const cutter = openCutter()
  for await (const text of decoded(bytes)) yield* cutter.add(text)
  cutter.end()
}

async function* decoded(bytes: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder('utf-8', {fatal: true})
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, {stream: true})
    yield decoder.decode()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw unreadable('The JSON file has bytes that are not UTF-8. Save it as UTF-8 and send that')
  }
}

const unreadable = (message: string) => new Refusal('UNREADABLE', message)
const tooLong = (record: number) =>
  unreadable(`Record ${record} of the JSON file has more than ${maxRowCharacters.toLocaleString('en')} characters`)

/** What may come next between objects: the start, an object, a comma or the end of the list, or nothing. */
type Expected = 'start' | 'object' | 'separator' | 'nothing'

const openCutter = () => {
  let [isList, expected, number] = [false, 'start' as Expected, 0]
  let [depth, isInString, isEscaped, record] = [0, false, false, '']

  /** Returns whether an object begins. */
  const readBetween = (code: number): boolean => {
    if (isBlank(code)) return false
    if (expected === 'start' && code === openList) [isList, expected] = [true, 'object']
    else if (isList && expected === 'separator' && code === comma) expected = 'object'
    else if (isList && code === closeList && (expected === 'separator' || number === 0)) expected = 'nothing'
    else if (code === open && (expected === 'start' || expected === 'object' || (!isList && expected === 'separator'))) return true
    else
      throw unreadable(
        `The JSON file has something else than an object after record ${number}. Send an array of objects, or one object a line`,
      )
    return false
  }

  /** Reads one character inside an object. Returns whether the object ends with this character. */
  const readInside = (code: number): boolean => {
    if (isInString) {
      if (isEscaped) isEscaped = false
      else if (code === backslash) isEscaped = true
      else if (code === quote) isInString = false
      return false
    }
    if (code === quote) isInString = true
    else if (code === open || code === openList) depth++
    else if (code === close || code === closeList) depth--
    return depth === 0
  }

  function* add(text: string): Generator<JsonRecord> {
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (depth === 0) {
        if (!readBetween(code)) continue
        ;[depth, from] = [1, at]
      } else if (readInside(code)) {
        const found = whole(record + text.slice(from, at + 1))
        yield {number: ++number, text: found}
        ;[record, expected] = ['', 'separator']
      }
    }
    if (depth > 0) record = whole(record + text.slice(from))
  }

  const whole = (text: string) => {
    if (text.length <= maxRowCharacters) return text
    throw isList || number > 0 ? tooLong(number + 1) : notATable('JSON')
  }

  const end = () => {
    if (depth > 0 || (isList && expected !== 'nothing'))
      throw unreadable(`The JSON file ends within record ${depth > 0 ? number + 1 : number}. It may be cut off: send the complete file`)
    if (!isList && number === 1) throw notATable('JSON')
  }
  return {add, end}
}
