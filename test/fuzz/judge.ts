import type {Middleware} from 'koa'
import {codes} from '../../shared/errors.ts'
import {openJudge as openDeclared} from '../support/answer-checker.ts'
import type {DrawnRequest} from './requests.ts'
import type {Received} from './wire.ts'

export type Judge = ReturnType<typeof openJudge>

/** Checks each answer against what its route declares and against rules for every answer. The middleware `look` must run inside the API. */
export const openJudge = () => {
  const declared = openDeclared()
  const verdicts = new Map<string, string[]>()
  const look: Middleware = async (ctx, next) => {
    await next()
    if (ctx.state.callerRequest?.startsWith('fuzz-'))
      verdicts.set(
        ctx.state.callerRequest,
        declared(ctx).map(one => `${ctx.status}: ${one}`),
      )
  }
  /** Returns the problems of the answer, the worst first. */
  const problems = (drawn: DrawnRequest, received: Received): string[] => {
    const found = verdicts.get(received.request) ?? []
    verdicts.delete(received.request)
    return [...undeniable(drawn, received), ...found]
  }
  return {look, problems}
}

const undeniable = ({method}: DrawnRequest, {status, text}: Received): string[] => {
  if (status < 400 || method === 'HEAD') return []
  const {code, error} = parsed(text)
  return [
    ...only(status === 500 || code === 'INTERNAL', `500 ${code}: ${text.slice(0, 300)}`),
    ...only(status > 500 && !isCode(code), `${status} without a code: ${text.slice(0, 300)}`),
    // OAuth (RFC 6749) and JSON-RPC have their own error forms, which their routes declare.
    ...only(
      typeof error !== 'string' && typeof error !== 'object' && !isPage(text),
      `${status} without an envelope: ${text.slice(0, 300)}`,
    ),
    ...only(INSIDES.test(text), `${status} tells of the inside: ${text.slice(0, 600)}`),
  ]
}

const parsed = (text: string): {code?: unknown; error?: unknown} => {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

const isCode = (code: unknown) => (codes as readonly unknown[]).includes(code)
const isPage = (text: string) => text.startsWith('<!doctype html>')
const INSIDES = /\n\s+at .+:\d+:\d+|node_modules|slonik|pg-boss|\b(insert into|delete from|violates|relation "|syntax error at or near)/i

const only = (is: boolean, problem: string) => (is ? [problem] : [])
