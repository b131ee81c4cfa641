import type {Context, Middleware} from 'koa'
import {z} from 'zod'
import {isBackoffice} from '../../api/backoffice.ts'
import {type PossibleRefusal, refusalsOf, refusalsOfNoRoute} from '../../api/reference/refusals.ts'
import type {AnswerShape, Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {codes} from '../../shared/errors.ts'

/**
 * Checks every response of an API against its route's declaration: status, media type, JSON, or error code. Collects each violation once,
 * and changes no response.
 */
export const openAnswerChecker = (table: readonly Route[] = routes) => {
  const judge = openJudge(table)
  const wrong = new Set<string>()
  const look: Middleware = async (ctx, next) => {
    await next()
    for (const problem of judge(ctx)) wrong.add(`${ctx.method} ${ctx.state.route ?? ctx.path} ${ctx.status}: ${problem}`)
  }
  return {look, wrong: () => [...wrong]}
}

/** Returns a function that describes the violations of one response. */
export const openJudge = (table: readonly Route[] = routes): ((ctx: Context) => string[]) => {
  const known = new Map<string, KnownRecords>(table.map(route => [`${route.method} ${route.path}`, {route, refusals: refusalsOf(route)}]))
  return ctx => problemsOf(ctx, known)
}

const Envelope = z.looseObject({error: z.string().min(1), code: z.enum(codes)})

type KnownRecords = {route: Route; refusals: PossibleRefusal[]}

const problemsOf = (ctx: Context, known: Map<string, KnownRecords>): string[] => {
  if (ctx.state.route === undefined) return problemsOfNoRoute(ctx)
  const found = known.get(`${ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase()} ${ctx.state.route}`)
  if (!found) return [`the table has no ${ctx.method} ${ctx.state.route}`]
  const {route, refusals} = found
  // HEAD is answered like GET, without the body, so there is nothing to check.
  if (ctx.method === 'HEAD') return []
  const shapes = [route.answers[ctx.status] ?? []].flat() as AnswerShape[]
  const misfits = shapes.map(shape => misfitsOf(ctx, shape))
  if (misfits.some(issues => issues.length === 0)) return []
  if (ctx.status >= 400) {
    const refused = problemsOfRefusal(ctx, refusals)
    return refused.length ? [...misfits.flat(), ...refused] : []
  }
  return misfits.length ? misfits.flat() : [`this status is not declared, and was answered with ${textOf(ctx).slice(0, 200)}`]
}

/** Checks a response without a route: an unknown path or method, a refusal before routing, or a preflight. */
const problemsOfNoRoute = (ctx: Context): string[] => {
  if (ctx.status === 204 || isBackoffice(ctx.path)) return []
  return problemsOfRefusal(
    ctx,
    refusalsOfNoRoute.map(code => ({code, status: ctx.status})),
  )
}

const problemsOfRefusal = (ctx: Context, possible: PossibleRefusal[]): string[] => {
  const envelope = Envelope.safeParse(jsonOf(ctx))
  if (envelope.error) return [`no envelope of a refusal: ${textOf(ctx).slice(0, 200)}`]
  const {code} = envelope.data
  return possible.some(one => one.code === code && one.status === ctx.status) ? [] : [`${code} is not among its refusals`]
}

const misfitsOf = (ctx: Context, shape: AnswerShape): string[] => {
  const {type, schema} = 'what' in shape ? shape : {type: 'application/json', schema: shape}
  const given = mediaTypeOf(ctx)
  if (given !== type) return [`it was answered as ${given}, and ${type} is declared`]
  const parsed = schema?.safeParse(jsonOf(ctx))
  return (parsed?.error?.issues ?? []).map(issue => `at ${issue.path.join('.') || 'the top'}: ${wordsOf(issue)}`)
}

const wordsOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_union'
    ? `${issue.message} (${issue.errors.map(one => one.map(({path, message}) => `${path.join('.')} ${message}`).join(', ')).join(' | ')})`
    : issue.message

const mediaTypeOf = ({response}: Context): string | null => {
  const [type = ''] = (response.get('content-type') ?? '').split(';')
  return type.trim() || null
}

const textOf = ({body}: Context): string => (typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : '')

const jsonOf = (ctx: Context): unknown => {
  try {
    return JSON.parse(textOf(ctx))
  } catch {
    return undefined
  }
}
