import {Refusal} from '../errors.ts'
import {sampleBytes} from './text/sniff.ts'

/**
 * Throws NOT_A_TABLE if the first bytes of a file have the structure of a web page, XML, or JSON without records. If the content type is HTML or XML,
 * broken markup is refused too. If the content type is JSON, a single JSON string is refused too. The content type alone decides nothing, because
 * servers also label CSV as HTML.
 */
export const assertTable = (sample: Uint8Array, contentType = ''): void => {
  const text = asciiOf(sample)
  const isCut = sample.length >= sampleBytes
  if (isMarkup(text, isCut) || (/\b(html|xml)\b/i.test(contentType) && LABELLED_MARKUP.test(text))) throw notATable(markupOf(text))
  if ((isJson(text, isCut) && !isListOfObjects(text, isCut)) || (/\bjson\b/i.test(contentType) && JSON_STRING.test(text)))
    throw notATable('JSON')
}

export const notATable = (kind: string) =>
  new Refusal(
    'NOT_A_TABLE',
    `The file is ${kind}, not a table. Check the address or the export: it may be a sign-in or error page. If a spreadsheet program opens it as a table, save it there as .xlsx or CSV (UTF-8) and send that`,
  )

/**
 * Returns a sample as Latin-1 text without byte order mark, NULs and surrounding blanks. The structure of a file is ASCII and so looks equal in every
 * encoding.
 */
const asciiOf = (sample: Uint8Array) =>
  Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength)
    .toString('latin1')
    .replaceAll('\0', '')
    .replace(/^(\u00ef\u00bb\u00bf|\u00ff\u00fe|\u00fe\u00ff)/, '')
    .trim()

const markupOf = (text: string) => {
  if (/^<\?xml\b/i.test(text) && !/<html\b/i.test(text)) return 'XML'
  return /<(!doctype\s+html|html|head|body|table|script|style|meta|title|h\d|p|div|center|br|b)\b/i.test(text) ? 'an HTML page' : 'XML'
}

const LABELLED_MARKUP = /^<([!?]|[a-z][^<>]*>\s*[^,;|\s])/i
/** Matches one item that may precede the first element: a comment, a declaration, a processing instruction or a void element. */
const PROLOGUE = /^\s*<(!--[\s\S]*?-->|!doctype[^<>]*>|\?[a-z][^<>]*>|(meta|link|base|br|hr|img|input)\b[^<>]*>)/i
const ELEMENT = /^\s*<([a-z_][^\s<>/=,;|"']*)((\s[^<>]*)?\/?)>/i

/**
 * Returns whether a text is markup: elements contain all of its characters. A cell such as `<b>Name</b>` or `<a@example.org>` is not markup, because
 * a delimiter or text follows its first element. An element without an end tag is markup if it is `html`, `head` or `body`, or if the sample is cut
 * off and the element contains elements.
 */
const isMarkup = (text: string, isCut: boolean): boolean => {
  if (!text.startsWith('<')) return false
  let rest = text
  for (let found = PROLOGUE.exec(rest); found; found = PROLOGUE.exec(rest)) rest = rest.slice(found[0].length)
  for (let elements = 0; ; elements++) {
    if (rest.trim() === '') return true
    if (elements > 0 && PROLOGUE.test(rest)) return true
    const [tag, name, attributes = ''] = ELEMENT.exec(rest) ?? []
    if (tag === undefined || name === undefined) return false
    const inside = rest.slice(tag.length)
    const end = attributes.endsWith('/') ? 0 : endOf(inside, name)
    if (end === null) return isUnclosed(inside, name, isCut)
    rest = inside.slice(end)
  }
}

/** Returns the position after the end tag of the element, or null if there is no end tag. Nested elements of the same name are skipped. */
const endOf = (text: string, name: string): number | null => {
  const tags = new RegExp(`<(/?)${name.replace(/[^\w:-]/g, '\\$&')}(\\s[^<>]*)?>`, 'gi')
  let open = 1
  for (const {0: tag, 1: isEnd, index} of text.matchAll(tags)) {
    if (tag.endsWith('/>')) continue
    open += isEnd ? -1 : 1
    if (open === 0) return index + tag.length
  }
  return null
}

const isUnclosed = (inside: string, name: string, isCut: boolean) => {
  if (/^\s*[,;|\t]/.test(inside)) return false
  return /^(html|head|body)$/i.test(name) || (isCut && /^\s*</.test(inside) && inside.includes('</'))
}

/**
 * Returns whether a file is JSON with records: an array of objects, or one object per line. Returns false for a single object, because it may be
 * an error message. If the first line is longer than the sample, returns true; the JSON reader refuses the file if no second record follows.
 */
export const isJsonRecords = (sample: Uint8Array): boolean => {
  const text = asciiOf(sample)
  // A file that ends within a record is accepted here. The JSON reader then reports where the file ends.
  return isJson(text, true) && isListOfObjects(text, sample.length >= sampleBytes)
}

const isListOfObjects = (text: string, isCut: boolean) =>
  /^\[\s*\{/.test(text) || /^\{.*\}[ \t\r]*\n\s*\{/.test(text) || (isCut && /^\{.*$/.test(text))

const JSON_START = /^(\{\s*("[^"\\]*(\\.[^"\\]*)*"\s*:|\})|\[)/
const JSON_STRING = /^"[^"\\]*(\\.[^"\\]*)*"$/
const JSON_TOKEN = /\s*("[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{}:,])/y

/** Returns whether a text has the tokens of one JSON object or array, or of JSON Lines. `isCut`: the last object or array may be incomplete. */
const isJson = (text: string, isCut: boolean): boolean => {
  if (!JSON_START.test(text)) return false
  let depth = 0
  JSON_TOKEN.lastIndex = 0
  for (;;) {
    const at = JSON_TOKEN.lastIndex
    const token = JSON_TOKEN.exec(text)?.[1]
    if (token === undefined) return isCut && depth > 0 && isCutToken(text.slice(at).trimStart())
    if (token === '{' || token === '[') depth++
    if (token === '}' || token === ']') depth--
    if (depth > 0) continue
    const after = text.slice(JSON_TOKEN.lastIndex)
    if (after.trim() === '') return true
    const next = after.trimStart()
    const isNewLine = after.slice(0, after.length - next.length).includes('\n')
    if (token !== '}' || !isNewLine || !next.startsWith('{') || !JSON_START.test(next)) return false
  }
}

/** Whether the text after the last token may begin a token: it is empty, an open string, or the start of a literal such as `true`. */
const isCutToken = (rest: string) => /^"[^"\\]*(\\.[^"\\]*)*\\?$/.test(rest) || /^[a-z-]{0,4}$/.test(rest)
