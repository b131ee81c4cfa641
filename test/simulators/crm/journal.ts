import type {Answer} from './answers.ts'
import type {Request} from './request.ts'
import {createRing} from './ring.ts'

export type JournalOptions = {limit?: number; bodies?: boolean}

/** One request with its answer. Tokens and secrets are replaced by ***. */
export type JournalEntry = {
  seq: number
  at: string
  ms: number
  method: string
  path: string
  query: Record<string, string>
  dc: string
  headers: Record<string, string>
  org: string | null
  user: string | null
  client: string | null
  module: string | null
  body: any
  status: number | null
  answer: any
  /** `late`: executed after its connection ended. `repeated`: one of two executions, whose answer was not sent. */
  outcome: 'answered' | 'dropped' | 'truncated' | 'unfinished' | 'late' | 'repeated'
  committed: boolean
  fault: {id: number; actions: string[]} | null
}

export type Journal = {
  note: (
    kept: Omit<JournalEntry, 'seq' | 'body' | 'answer' | 'headers' | 'query'>,
    request: Request,
    answer: Answer | null,
    sent: string,
  ) => void
  list: () => JournalEntry[]
  clear: () => void
  total: () => number
}

export const createJournal = ({limit = 2000, bodies = true}: JournalOptions = {}): Journal => {
  const ring = createRing<JournalEntry & {accounts: boolean}>(limit)
  return {
    note: (kept, request, _answer, sent) => {
      const seq = ring.total + 1
      if (limit === 0) return ring.push(null as never)
      const accounts = request.path.startsWith('/oauth')
      const isMultipart = request.headers['content-type']?.startsWith('multipart/') && !accounts
      const body = !bodies ? '' : isMultipart ? `(${request.body.length} bytes)` : request.body.toString()
      ring.push({
        ...kept,
        seq,
        accounts,
        query: Object.fromEntries(request.query),
        headers: redactHeaders(request),
        body,
        answer: bodies ? sent : '',
      })
    },
    list: () => ring.list().map(readable),
    clear: ring.clear,
    total: () => ring.total,
  }
}

/** Returns an entry for reading. The journal keeps bodies as text and parses them only here. */
const readable = ({accounts, ...entry}: JournalEntry & {accounts: boolean}): JournalEntry => {
  if (!accounts) return {...entry, body: parse(entry.body), answer: parse(entry.answer)}
  const query = Object.fromEntries(Object.entries(entry.query).map(([name, value]) => [name, secret.test(name) ? '***' : value]))
  return {...entry, query, body: redactBody(entry), answer: redactAnswer(parse(entry.answer))}
}

const secret = /^(?:code|code_verifier|client_secret|refresh_token|access_token|token)$/

const redactHeaders = ({headers}: Request): Record<string, string> => {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) kept[name] = String(value)
  if (kept.authorization) kept.authorization = kept.authorization.replace(/\s.*$/, ' ***')
  return kept
}

const redactBody = ({body, headers}: JournalEntry): unknown => {
  if (headers['content-type']?.startsWith('multipart/')) return '(multipart)'
  return Object.fromEntries([...new URLSearchParams(body)].map(([name, value]) => [name, secret.test(name) ? '***' : value]))
}

const redactAnswer = (answer: any): unknown => {
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, secret.test(name) ? '***' : value]))
}

const parse = (text: string): unknown => {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
