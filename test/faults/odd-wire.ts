import {gzipSync} from 'node:zlib'
import {done, type Expected, silent} from '../journeys/fault-table.ts'
import type {Raw, RawCrmInput} from './raw-crm.ts'

/**
 * An odd answer to a request that the CRM has executed. `told` returns the expected result of both records. The result has the status null if
 * the client can read no status.
 */
export type OddWire = {fault: string; raw: Raw; told: (status: number) => Expected}

const unread: OddWire['told'] = status => ({relayed: silent(status)})
const unheard: OddWire['told'] = () => ({relayed: silent(null)})
const whole: OddWire['told'] = () => done

const head = (status: number, ...headers: string[]) =>
  [`HTTP/1.1 ${status} Said`, 'content-type: application/json', ...headers, '', ''].join('\r\n')
const sized = (status: number, text: string | Buffer, ...headers: string[]) =>
  Buffer.concat([Buffer.from(head(status, `content-length: ${Buffer.byteLength(text)}`, ...headers)), Buffer.from(text)])
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const chunked = (status: number) => head(status, 'transfer-encoding: chunked')
const wire = (fault: string, bytes: Raw['bytes'], told: OddWire['told'], ends = true): OddWire => ({fault, raw: {bytes, ends}, told})
/** Returns an answer with a changed body. Its content-length is correct for the changed body. */
const body = (fault: string, change: (text: string) => string | Buffer, told: OddWire['told'] = unread, ...headers: string[]) =>
  wire(fault, ({status, text}: RawCrmInput) => sized(status, change(text), ...headers), told, false)

/** HTTP answers with a broken or unusual form, or with a body that is not plain JSON. */
export const oddWires: OddWire[] = [
  wire('no HTTP at all', () => 'SSH-2.0-OpenSSH_9.2\r\n', unheard),
  wire('the JSON without a status line', ({text}) => text, unheard),
  wire('headers that break off', () => 'HTTP/1.1 201 Created\r\ncontent-le', unheard),
  wire('a header with a NUL', ({text}) => `HTTP/1.1 201 Created\r\nx-a: \0\r\ncontent-length: ${text.length}\r\n\r\n${text}`, unheard),
  wire('two lengths that differ', ({status, text}) => head(status, `content-length: ${text.length}`, 'content-length: 5') + text, unheard),
  wire('a length below nothing', ({status, text}) => head(status, 'content-length: -5') + text, unheard),
  wire('a length and chunks', ({status, text}) => head(status, 'content-length: 5', 'transfer-encoding: chunked') + chunk(text), unheard),
  wire('headers of 100 KiB', ({status, text}) => sized(status, text, `x-long: ${'x'.repeat(100 * 1024)}`), unheard),
  wire('a length too long', ({status, text}) => head(status, `content-length: ${text.length + 50}`) + text, unread),
  wire('a length too short', ({status, text}) => head(status, `content-length: ${text.length - 20}`) + text, unread),
  wire('half the body', ({status, text}) => head(status, `content-length: ${text.length}`) + text.slice(0, text.length / 2), unread),
  wire('all of the body but its last byte', ({status, text}) => head(status, `content-length: ${text.length}`) + text.slice(0, -1), unread),
  wire('a chunk whose size is no number', ({status, text}) => `${chunked(status)}zz\r\n${text}\r\n0\r\n\r\n`, unread),
  wire('chunks without the last one', ({status, text}) => chunked(status) + chunk(text), unread),
  wire('a chunk that breaks off', ({status, text}) => `${chunked(status)}${chunk(text).slice(0, -30)}`, unread),
  wire('chunks of one byte', ({status, text}) => `${chunked(status)}${[...text].map(chunk).join('')}0\r\n\r\n`, whole, false),
  wire('no length, and closed at its end', ({status, text}) => head(status, 'connection: close') + text, whole),
  wire(
    'an answer behind a 103',
    ({status, text}) => Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'), sized(status, text)]),
    whole,
    false,
  ),
  body('a mark of byte order before it', text => `\ufeff${text}`, whole),
  body('blanks around it', text => `\r\n\t ${text} \n`, whole),
  body('packed, which was not asked for', text => gzipSync(text), unread, 'content-encoding: gzip'),
  body('said to be packed', text => text, whole, 'content-encoding: gzip'),
  body('in UTF-16', text => Buffer.from(text, 'utf16le')),
  body('twice', text => text + text),
  body('with a comma too many', text => text.replace(/\]\}$/, ',]}')),
  body('as a script', text => `callback(${text});`),
  body('with a line of a proxy before it', text => `<!-- cached -->\n${text}`),
  body('with NaN in it', text => text.replace('{', '{"n":NaN,')),
  body('zeros', text => Buffer.alloc(text.length)),
  body('noise', text => Buffer.from(Array.from(text, (_, n) => (n * 151) % 256))),
]
