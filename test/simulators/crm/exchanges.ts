import {randomUUID} from 'node:crypto'
import {appendFileSync} from 'node:fs'
import {join} from 'node:path'
import {exchangesFolder} from '../../stack/contract-settings.ts'
import {partsOf} from './bulk-upload.ts'
import type {Request} from './request.ts'

/** One request to the CRM and its answer as sent. The access token is left out. */
export type Exchange = {
  method: string
  path: string
  query: [string, string][]
  contentType: string | null
  /** The user agent, or null. Lading's adapter sends none; tests that call the stand-in themselves send one. */
  caller: string | null
  body: string
  status: number
  answer: string
  /** The faults that changed the answer. */
  faults: string[]
}

const file = exchangesFolder && join(exchangesFolder, `${process.pid}-${randomUUID()}.jsonl`)

/** Returns the body as text. A multipart body becomes JSON with the names of its parts. */
const textOf = (type: string | undefined, body: Buffer) =>
  type?.startsWith('multipart/') ? JSON.stringify(Object.fromEntries(partsOf(body, type).map(({name}) => [name, {}]))) : body.toString()

/** Appends an exchange to the file for `npm run contract`. Does nothing in any other run. */
export const recordExchange = ({method, path, query, headers, body}: Request, answer: {status: number; text: string; faults: string[]}) => {
  if (!file || !path.startsWith('/crm/')) return
  const exchange: Exchange = {
    method,
    path,
    query: [...query],
    contentType: headers['content-type'] ?? null,
    caller: headers['user-agent'] ?? null,
    body: textOf(headers['content-type'], body),
    status: answer.status,
    answer: answer.text,
    faults: answer.faults,
  }
  appendFileSync(file, `${JSON.stringify(exchange)}\n`)
}
