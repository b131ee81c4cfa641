import Router from '@koa/router'
import Koa, {type Context, type Middleware} from 'koa'
import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import {assertAccess, type Caller, type Member} from './access.ts'
import {openStream, readJson} from './body.ts'
import {readCaller} from './caller.ts'
import {allowOrigins} from './cross-origin.ts'
import {envelope, invalid} from './envelope.ts'
import {refuseInMaintenance} from './maintenance.ts'
import {observe} from './observe.ts'
import {send} from './reply.ts'
import type {Asked, Route, Tools} from './route.ts'
import connection from './routes/connection.ts'
import connectors from './routes/connectors.ts'
import discovery from './routes/discovery.ts'
import entitlements from './routes/entitlements.ts'
import health from './routes/health.ts'
import imports from './routes/imports.ts'
import jobs from './routes/jobs.ts'
import runRecords from './routes/run-records.ts'
import runs from './routes/runs.ts'
import signIn from './routes/sign-in.ts'
import sources from './routes/sources.ts'
import tokens from './routes/tokens.ts'

export const routes: Route[] = [
  ...health,
  ...signIn,
  ...connection,
  ...tokens,
  ...jobs,
  ...connectors,
  ...discovery,
  ...imports,
  ...sources,
  ...entitlements,
  ...runs,
  ...runRecords,
]

export const effectOf = ({effect, method}: Route) => effect ?? (method === 'get' ? 'read' : 'write')

type Surroundings = {isInMaintenance?: () => boolean; draining?: AbortSignal}

/** Every gate in the one order there is: maintenance, envelope, bearer and its standing, own org, role, schema, handler. */
export const createApp = (tools: Tools, {isInMaintenance = () => tools.config.MAINTENANCE, draining = never}: Surroundings = {}): Koa => {
  const router = new Router()
  for (const route of routes.toSorted(literalFirst)) router[route.method](route.path, serve(tools, route, draining))
  const app = new Koa()
  app.on('error', error => tools.log.warn({err: error}, 'answer broke off'))
  app.use(observe(tools.log, draining)).use(allowOrigins(tools.config)).use(envelope(tools.log))
  app.use(refuseInMaintenance({isOn: isInMaintenance})).use(refuseBadAddress)
  app.use(router.routes()).use(refuseUnknown(router))
  return app
}

const never = new AbortController().signal

const serve = (tools: Tools, route: Route, draining: AbortSignal): Middleware => {
  const {access, params, query, status = 200} = route
  const isQuietGet = route.method !== 'get' || effectOf(route) === 'read'
  return async ctx => {
    ctx.state.route = route.path
    if (ctx.method === 'HEAD' && !isQuietGet) throw methodNotAllowed(ctx, ['GET'])
    const caller = 'public' in access ? null : await admit(tools, access, ctx)
    const log = tools.log.child({request: ctx.state.request})
    const input = {
      ...tools,
      log,
      caller: caller as Member,
      params: read(params, ctx.params),
      query: read(query, ctx.query),
      body: route.body === 'stream' ? openStream(ctx.req) : route.body && read(route.body, await readJson(ctx.req)),
      request: describeRequest(ctx, draining),
    }
    await send(ctx, await route.handle(input), status)
  }
}

const admit = async (tools: Tools, gates: Exclude<Route['access'], {public: true}>, ctx: Context): Promise<Caller> => {
  const standing = await readCaller(tools, ctx.get('authorization'))
  ctx.state.caller = standing.caller
  assertAccess(gates, standing, ctx.params.org)
  return standing.caller
}

const read = (schema: z.ZodType | undefined, value: unknown) => {
  const parsed = schema?.safeParse(value)
  if (parsed?.error) throw invalid(parsed.error)
  return parsed?.data
}

const describeRequest = ({req, res, state, method}: Context, draining: AbortSignal): Asked => {
  const gone = new AbortController()
  res.once('close', () => res.writableFinished || gone.abort())
  return {id: state.request, method, headers: req.headers, signal: gone.signal, draining}
}

/** `/records/search` before `/records/:id`, whichever file declares it. */
const literalFirst = (one: Route, other: Route) => (shapeOf(one) < shapeOf(other) ? -1 : shapeOf(one) > shapeOf(other) ? 1 : 0)

const shapeOf = ({path}: Route) => path.replaceAll(/\/(:?)[^/]*/g, (_, isParameter) => (isParameter ? '1' : '0'))

/** Also what decodes to a NUL, which Postgres cannot hold. */
const refuseBadAddress: Middleware = (ctx, next) => {
  try {
    if (!decodeURIComponent(ctx.path + ctx.search).includes('\0')) return next()
  } catch {}
  throw new Refusal('INVALID', 'The address is not percent-encoded UTF-8')
}

const refuseUnknown =
  (router: Router): Middleware =>
  ctx => {
    const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap(layer => layer.methods))]
    if (methods.length === 0) throw new Refusal('NOT_FOUND', 'There is nothing at this address')
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx, methods)
    ctx.set('allow', methods.join(', '))
    ctx.status = 204
  }

const methodNotAllowed = (ctx: Context, methods: string[]) => {
  ctx.set('allow', methods.join(', '))
  return new Refusal('METHOD_NOT_ALLOWED', `This address takes ${methods.join(', ')}`)
}
